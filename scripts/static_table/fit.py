"""Fit the static table to the teacher's vectors and write the .lyt file.

The model: vector(text) = l2norm(sum over pieces of count ** tf_power * row). Rows start as the
teacher's own vector of the single piece, weighted by rarity and projected on the teacher's first
principal directions, and are then fitted by lazy Adam to two goals over the training texts: the
cosine to the projected teacher vector, and (in-batch) the teacher's ranking of every other text of
the batch, where two texts of one group (abstract, synset, page) get a small bonus.

    python fit.py MODEL_DIR WORK_DIR OUT.lyt [--exclude SOURCE_PREFIX ...]
"""
from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from encode import UNKNOWN, Table, is_cjk, load_vocab, runs, tf_weight, wordpiece, words
from teach import MAX_LEN, shards
from texts import number

SPECIAL = {"[PAD]", "[CLS]", "[SEP]", "[MASK]", UNKNOWN}


def kept(piece: str) -> bool:
    """Whether a piece gets a row: no special, unused or CJK piece, no CJK punctuation."""
    bare = piece.removeprefix("##")
    unused = piece.startswith("[unused") and piece.endswith("]")
    cjk = any(is_cjk(c) or 0x3000 <= ord(c) <= 0x30FF for c in bare)
    return not (piece in SPECIAL or unused or cjk)


def count_matrix(texts: list[str], names: list[str], limit: int) -> sparse.csr_matrix:
    """Piece counts of `texts`, one row each (the first `limit` pieces)."""
    vocab = {p: i for i, p in enumerate(names)}
    cache: dict[str, list[int]] = {}
    indptr, indices, data = [0], [], []
    for text in texts:
        found: list[int] = []
        for cjk, run in runs(text):
            for word in [] if cjk else words(run):
                ids = cache.get(word)
                if ids is None:
                    ids = cache[word] = [vocab.get(p, -1) for p in wordpiece(word, vocab)]
                found += ids
            if len(found) > limit:
                break
        counts = Counter(i for i in found[:limit] if i >= 0)
        indices += counts.keys()
        data += counts.values()
        indptr.append(len(indices))
    shape = (len(texts), len(names))
    return sparse.csr_matrix((np.array(data, np.float32), np.array(indices, np.int32),
                              np.array(indptr, np.int64)), shape)


@dataclass
class Data:
    """Texts with their teacher vectors (f16) and piece counts."""

    rows: list[dict]
    teacher: np.ndarray
    x: sparse.csr_matrix

    def pick(self, keep: list[int]) -> Data:
        """Some of the texts."""
        return Data([self.rows[i] for i in keep], self.teacher[keep], self.x[keep])


def load(work: Path, names: list[str]) -> Data:
    """Every text that has a cached teacher vector and at least one known piece."""
    rows, vectors, counts = [], [], []
    for path, chunk in shards(work):
        if not path.exists():
            continue
        stored = path.with_suffix(".counts.npz")
        if not stored.exists():
            matrix = count_matrix([r["text"] for r in chunk], names, MAX_LEN - 2)
            sparse.save_npz(stored, matrix, False)
        rows += chunk
        vectors.append(np.load(path))
        counts.append(sparse.load_npz(stored))
    data = Data(rows, np.concatenate(vectors), sparse.vstack(counts, "csr"))
    return data.pick(np.flatnonzero(np.diff(data.x.indptr)).tolist())


def group_order(rows: list[dict], rng: np.random.Generator) -> np.ndarray:
    """An order of the texts that keeps groups together, as shuffled chunks of neighbours.

    The long texts (abstracts) are each placed next to a random text of their group.
    """
    by_group: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        by_group.setdefault(row["group"], []).append(i)
    chunks: list[list[int]] = []
    for group, members in by_group.items():
        if group.startswith(("scifact/", "wordnet/")):
            members = [members[k] for k in rng.permutation(len(members))]
        at = int(rng.integers(0, 2))
        if at:
            chunks.append(members[:1])
        chunks += [members[k:k + 2] for k in range(at, len(members), 2)]
        whole = [i for i in members if rows[i]["source"] == "scifact-abstract"]
        if whole and len(members) > 1:
            other = int(rng.choice([i for i in members if i != whole[0]]))
            chunks.append([other, whole[0]])
    return np.array([i for k in rng.permutation(len(chunks)) for i in chunks[k]])


def softmax(x: np.ndarray) -> np.ndarray:
    """Row softmax, in place."""
    x -= x.max(1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(1, keepdims=True)
    return x


class Adam:
    """Adam that only touches the rows of a batch."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.m, self.v = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.steps = np.zeros(shape[0], np.float32)

    def update(self, w: np.ndarray, rows: np.ndarray, grad: np.ndarray, rate: float) -> None:
        """One step on `rows` of `w`."""
        self.steps[rows] += 1
        m = self.m[rows] * 0.9 + 0.1 * grad
        v = self.v[rows] * 0.99 + 0.01 * grad * grad
        self.m[rows], self.v[rows] = m, v
        n = self.steps[rows][:, None]
        w[rows] -= rate * (m / (1 - 0.9**n)) / (np.sqrt(v / (1 - 0.99**n)) + 1e-8)


def agreement(w: np.ndarray, held: Data) -> str:
    """Correlation of the table's and the teacher's cosines over held-out pairs."""
    z = held.x @ w
    z /= np.linalg.norm(z, axis=1, keepdims=True) + 1e-6
    t = held.teacher.astype(np.float32)
    upper = np.triu_indices(len(z), 1)
    a, b = (z @ z.T)[upper], (t @ t.T)[upper]
    near = b > 0.4
    return (f"held out: pearson {np.corrcoef(a, b)[0, 1]:.4f} "
            f"over 0.4 {np.corrcoef(a[near], b[near])[0, 1]:.4f}")


def train(w: np.ndarray, data: Data, held: Data, project: np.ndarray,
          args: argparse.Namespace) -> None:
    """Fit `w` in place."""
    rows, x, teacher = data.rows, data.x, data.teacher
    rng = np.random.default_rng(args.seed)
    keys = {g: i for i, g in enumerate({r["group"]: 0 for r in rows})}
    groups = np.array([keys[r["group"]] for r in rows])
    adam = Adam(w.shape)
    start, step = time.time(), 0
    total = int(args.epochs * len(rows) / args.batch * 1.02) + 1
    for epoch in range(args.epochs):
        order = group_order(rows, rng)
        losses = []
        for at in range(0, len(order) - args.batch + 1, args.batch):
            ids = order[at:at + args.batch]
            xb = x[ids]
            used, inverse = np.unique(xb.indices, return_inverse=True)
            xb = sparse.csr_matrix((xb.data, inverse.astype(np.int32), xb.indptr),
                                   (len(ids), len(used)))
            u = xb @ w[used]
            norm = np.linalg.norm(u, axis=1, keepdims=True) + 1e-6
            z = u / norm
            t = teacher[ids].astype(np.float32)
            goal = t @ project
            goal /= np.linalg.norm(goal, axis=1, keepdims=True)
            s, k = z @ z.T, t @ t.T
            k += args.bonus * (groups[ids][:, None] == groups[ids])
            np.fill_diagonal(s, -9)
            np.fill_diagonal(k, -9)
            s, k = softmax(s / args.tau), softmax(k / args.tau)
            if step % 10 == 0:
                losses.append((1 - (z * goal).sum(1).mean(),
                               -(k * np.log(s + 1e-9)).sum(1).mean()))
            g = s - k
            dz = args.rank * ((g + g.T) @ z) - args.cos * goal
            du = (dz - z * (dz * z).sum(1, keepdims=True)) / norm
            rate = args.rate * min(1.0, (step + 1) / 50) * max(0.02, 1 - step / total)
            adam.update(w, used, xb.T @ du, rate)
            step += 1
        print(f"epoch {epoch} 1-cos {np.mean([a for a, _ in losses]):.4f} rank "
              f"{np.mean([b for _, b in losses]):.4f} {agreement(w, held)} "
              f"{time.time() - start:.0f} s", flush=True)


def start_rows(single: np.ndarray, x: sparse.csr_matrix, project: np.ndarray) -> np.ndarray:
    """Rows from the teacher's vectors of single pieces, weighted by rarity."""
    share = np.asarray((x > 0).sum(0)).ravel() / x.shape[0]
    weight = 1e-3 / (1e-3 + share)
    return (single @ project * weight[:, None]).astype(np.float32)


def quantise(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric int8 rows and their scales."""
    scale = np.maximum(np.abs(w).max(1), 1e-12) / 127
    return scale.astype(np.float32), np.rint(w / scale[:, None]).astype(np.int8)


def main() -> None:
    """Fit and write."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("model_dir", type=Path)
    ap.add_argument("work", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--tf-power", type=float, default=0.5)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch", type=int, default=1024)
    ap.add_argument("--rate", type=float, default=0.015)
    ap.add_argument("--tau", type=float, default=0.05)
    ap.add_argument("--cos", type=float, default=1.0, help="weight of the cosine loss")
    ap.add_argument("--rank", type=float, default=1.0, help="weight of the ranking loss")
    ap.add_argument("--bonus", type=float, default=0.1, help="added to pairs within one group")
    ap.add_argument("--exclude", action="append", default=[], help="source prefix to leave out")
    ap.add_argument("--exclude-groups", default="-", help="pattern of groups to leave out")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    all_pieces = load_vocab(args.model_dir / "vocab.txt")
    names = [p for p in all_pieces if kept(p)]
    single = np.load(args.work / "teacher" / "tokens.npy").astype(np.float32)
    single = single[[all_pieces[p] for p in names]]
    data = load(args.work, names)
    data.x.data = tf_weight(data.x.data, args.tf_power)
    held = data.pick([i for i, r in enumerate(data.rows) if r["held"] and number(r["text"]) % 3 == 0
                      and r["source"] not in ("mixture", "wordnet-lemma")])
    data = data.pick([i for i, r in enumerate(data.rows) if not r["held"]
                      and not r["source"].startswith(tuple(args.exclude))
                      and not re.match(args.exclude_groups, r["group"])])
    print(len(names), "rows;", Counter(r["source"] for r in data.rows), flush=True)
    some = data.teacher[:: max(1, len(data.rows) // 60000)].astype(np.float32)
    values, vectors = np.linalg.eigh(some.T @ some)
    project = np.ascontiguousarray(vectors[:, ::-1][:, :args.dim], np.float32)
    print(f"energy kept by {args.dim} dimensions: {values[-args.dim:].sum() / values.sum():.4f}")
    w = start_rows(single, data.x, project)
    train(w, data, held, project, args)
    w /= np.median(np.linalg.norm(w, axis=1))  # so that one unit suits the CJK terms
    scale, quantised = quantise(w)
    table = Table(names, scale, quantised, args.tf_power, 1.0)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    table.save(args.out)
    print(args.out.name, args.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

"""Measure a static table: retrieval (nDCG@10) and agreement with the teacher.

The queries and judgements are for evaluation only; nothing here is used by the fit.

    python evaluate.py TABLE [--scifact CORPUS --scifact-queries DIR] [--jaquad DIR] [--work DIR]
"""
from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse, stats

from encode import Table

Qrels = dict[int, set[int]]


def ndcg10(scores: np.ndarray, qrels: Qrels) -> float:
    """Mean nDCG@10 of a (queries x documents) score matrix with binary judgements."""
    top = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    gain = 1 / np.log2(np.arange(2, 12))
    values = []
    for q, relevant in qrels.items():
        hits = np.array([d in relevant for d in top[q]])
        values.append((hits * gain).sum() / gain[: len(relevant)].sum())
    return float(np.mean(values))


def bm25(docs: list[str], queries: list[str], k1: float = 1.5, b: float = 0.75) -> np.ndarray:
    """Plain BM25: lower-cased alphanumeric words, no stemming, no stop words."""
    ids: dict[str, int] = {}

    def counts(texts: list[str], grow: bool) -> sparse.csr_matrix:
        rows, cols = [], []
        for i, text in enumerate(texts):
            for w in re.findall(r"\w+", text.lower()):
                j = ids.setdefault(w, len(ids)) if grow else ids.get(w)
                if j is not None:
                    rows.append(i)
                    cols.append(j)
        data = np.ones(len(rows), np.float32)
        return sparse.csr_matrix((data, (rows, cols)), (len(texts), len(ids)))

    d = counts(docs, True)
    q = counts(queries, False)
    df = np.bincount(d.indices, minlength=d.shape[1])
    idf = np.log(1 + (d.shape[0] - df + 0.5) / (df + 0.5))
    length = np.asarray(d.sum(1)).ravel()
    d = d.tocoo()
    norm = k1 * (1 - b + b * length[d.row] / length.mean())
    d.data = d.data * (k1 + 1) / (d.data + norm) * idf[d.col]
    return (q @ d.tocsr().T).toarray().astype(np.float32)


def minmax(scores: np.ndarray) -> np.ndarray:
    """Each row scaled to 0..1."""
    low, high = scores.min(1, keepdims=True), scores.max(1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def judgements(path: Path, queries: dict[str, int], docs: dict[str, int]) -> Qrels:
    """A BEIR qrels file, by index."""
    out: Qrels = defaultdict(set)
    for line in path.read_text().splitlines()[1:]:
        q, d, score = line.split("\t")
        if int(score) > 0 and q in queries and d in docs:
            out[queries[q]].add(docs[d])
    return out


def read_scifact(corpus: Path, folder: Path, only: str) -> tuple[list[str], list[str], Qrels]:
    """Documents whose id matches `only`, train queries and judgements of SciFact."""
    rows = [json.loads(line) for line in corpus.open(encoding="utf-8")]
    rows = [r for r in rows if re.fullmatch(only, str(r["doc_id"]))]
    docs = [r["title"] + " " + " ".join(r["abstract"]) for r in rows]
    names = {str(r["doc_id"]): i for i, r in enumerate(rows)}
    path = folder / "queries_train.jsonl"
    queries = [json.loads(line) for line in path.open(encoding="utf-8")]
    index = {str(r["_id"]): i for i, r in enumerate(queries)}
    qrels = judgements(folder / "qrels_train.tsv", index, names)
    return docs, [r["text"] for r in queries], qrels


def read_beir(folder: Path) -> tuple[list[str], list[str], Qrels]:
    """Documents, queries and judgements of a BEIR folder."""
    docs = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    qrels = judgements(folder / "qrels.tsv", {q["_id"]: i for i, q in enumerate(queries)},
                       {d["_id"]: i for i, d in enumerate(docs)})
    return [d["text"] for d in docs], [q["text"] for q in queries], qrels


def percentiles(values: np.ndarray) -> str:
    """The distribution in one line."""
    marks = (1, 5, 25, 50, 75, 95, 99)
    return " ".join(f"p{m}={v:.2f}" for m, v in zip(marks, np.percentile(values, marks)))


def held_out(table: Table, work: Path) -> None:
    """Agreement with the teacher on held-out texts, and typical cosines."""
    from teach import shards
    texts, teacher, groups, sources = [], [], [], []
    for path, rows in shards(work):
        if path.exists():
            vectors = np.load(path)
            for row, vector in zip(rows, vectors):
                if row["held"] and row["source"] not in ("mixture", "wordnet-lemma"):
                    texts.append(row["text"])
                    teacher.append(vector)
                    groups.append(row["group"])
                    sources.append(row["source"])
    t = np.array(teacher, np.float32)
    s = np.array([table.encode(x) for x in texts])
    rng = np.random.default_rng(0)
    n = len(texts)
    a, b = rng.integers(0, n, (2, 200000))
    keep = np.array([groups[i] != groups[j] for i, j in zip(a, b)])
    report_pairs("held out, random pairs", s, t, a[keep], b[keep])
    gram = t @ t.T
    np.fill_diagonal(gram, -1)
    near = np.argsort(-gram, axis=1)[:, :5]
    report_pairs("held out, the 5 nearest by the teacher", s, t, np.repeat(np.arange(n), 5),
                 near.ravel())
    mixed_a = np.concatenate([np.repeat(np.arange(n), 5), a[keep][:5 * n]])
    report_pairs("held out, half near, half random", s, t, mixed_a,
                 np.concatenate([near.ravel(), b[keep][:5 * n]]))
    part = np.array([i for i, x in enumerate(sources) if x == "scifact-sentence"], int)
    if len(part):
        i, j = rng.choice(part, 20000), rng.choice(part, 20000)
        ok = np.array([groups[x] != groups[y] for x, y in zip(i, j)])
        report_pairs("held-out abstracts' sentences, different abstracts", s, t, i[ok], j[ok])
        ok = np.array([x != y and groups[x] == groups[y] for x, y in zip(part, part + 1)])
        report_pairs("held-out abstracts' sentences, neighbours in one abstract", s, t,
                     part[ok], part[ok] + 1)


def report_pairs(name: str, s: np.ndarray, t: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Correlation with the teacher and the distribution of cosines over pairs."""
    x, y = (s[a] * s[b]).sum(1), (t[a] * t[b]).sum(1)
    print(f"{name} ({len(a)}): pearson {np.corrcoef(x, y)[0, 1]:.3f} "
          f"spearman {stats.spearmanr(x, y)[0]:.3f}\n  table   {percentiles(x)}\n"
          f"  teacher {percentiles(y)}")


def main() -> None:
    """Print the figures."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("table", type=Path)
    ap.add_argument("--scifact", type=Path)
    ap.add_argument("--scifact-queries", type=Path)
    ap.add_argument("--scifact-only", default=".*", help="pattern of document ids")
    ap.add_argument("--jaquad", type=Path)
    ap.add_argument("--work", type=Path, help="work folder with teacher vectors")
    args = ap.parse_args()
    table = Table.load(args.table)
    if args.scifact and args.scifact_queries:
        docs, queries, qrels = read_scifact(args.scifact, args.scifact_queries,
                                            args.scifact_only)
        d = np.array([table.encode(x) for x in docs])
        q = np.array([table.encode(x) for x in queries])
        sim, lexical = q @ d.T, bm25(docs, queries)
        line = [f"alone {ndcg10(sim, qrels):.4f}", f"bm25 {ndcg10(lexical, qrels):.4f}"]
        for w in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
            fused = w * minmax(sim) + (1 - w) * minmax(lexical)
            line.append(f"fused@{w} {ndcg10(fused, qrels):.4f}")
        print(f"scifact train queries ({len(qrels)}), nDCG@10:", "  ".join(line))
        pos = np.concatenate([sim[i, sorted(r)] for i, r in qrels.items()])
        rows = np.random.default_rng(0).integers(0, len(docs), (len(queries), 20))
        print("  claim to its abstract ", percentiles(pos))
        print("  claim to any abstract ", percentiles(np.take_along_axis(sim, rows, 1).ravel()))
    if args.jaquad:
        docs, queries, qrels = read_beir(args.jaquad)
        sim = np.array([table.encode(x) for x in queries]) @ np.array(
            [table.encode(x) for x in docs]).T
        print(f"jaquad dev ({len(qrels)}), nDCG@10: {ndcg10(sim, qrels):.4f}")
        pos = np.concatenate([sim[i, sorted(r)] for i, r in qrels.items()])
        print("  question to its paragraph", percentiles(pos))
        print("  question to any paragraph", percentiles(sim[::7, ::11].ravel()))
    if args.work:
        held_out(table, args.work)


if __name__ == "__main__":
    main()

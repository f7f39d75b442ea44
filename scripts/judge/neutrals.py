#!/usr/bin/env python3
"""Writes hard neutrals: a claim, and a sentence of the same document that is not relevant to it.

    python scripts/judge/neutrals.py --pairs PAIRS --articles EVIDENCE_INFERENCE --scifact SCIFACT OUT.jsonl.gz

EVIDENCE_INFERENCE is the folder `annotations/txt_files` of jayded/evidence-inference, SCIFACT a folder with
`corpus.jsonl` and `claims_train.jsonl`. A judge trained only on selected premises takes sides on sentences
that are merely in the same document; most sentences that it judges are of this kind.
"""

import argparse
import gzip
import json
import random
import re
from pathlib import Path

STOP = set("the a an of in on to and or is are was were with for by from that this than as at be not no between there has have had patients group study".split())
# A sentence that shares more of the claim's words may be relevant to it; one that shares none is too easy.
LEAST, MOST = 0.12, 0.4
PER_DOCUMENT = 14


def words(text):
    return {w[:6] for w in re.findall(r"[a-z0-9]{3,}", text.lower())} - STOP


# Titles and conclusions address the purpose of a study, in words that may differ from the claim's.
SUMS_UP = re.compile(r"TITLE|CONCLU|conclu|In summary|[Oo]ur (results|findings|data)|[Tt]hese (results|findings|data)|associated")


def sentences(text):
    parts = re.split(r"(?<=[.?!])\s+(?=[A-Z0-9])", re.sub(r"\s+", " ", text))
    parts = [re.sub(r"^(ABSTRACT|BODY)[A-Z0-9 .,:&/()-]*:\s*", "", s) for s in parts if not SUMS_UP.search(s)]
    return [s for s in parts if 30 <= len(s) <= 420]


def neutrals(claims, pool, group, rng):
    """Pairs of a claim and a similar sentence, and some with a sentence that shares little with it."""
    rows = []
    for _ in range(PER_DOCUMENT):
        claim = rng.choice(claims)
        sought = words(claim)
        share = lambda s: len(words(s) & sought) / max(1, len(sought))
        near = [s for s in rng.sample(pool, min(60, len(pool))) if LEAST <= share(s) <= MOST]
        if rng.random() < 0.15:
            near = [s for s in rng.sample(pool, min(8, len(pool))) if share(s) < LEAST]
        if near:
            rows.append(
                {
                    "premise": rng.choice(near),
                    "claim": claim,
                    "label": "neutral",
                    "reading": ["none", "other"],
                    "source": "document-neutrals",
                    "group": group,
                }
            )
    return rows


def of_articles(pairs, folder, rng):
    claims, told = {}, {}
    with gzip.open(Path(pairs) / "evidence-inference.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            told.setdefault(row["group"], []).append(words(row["premise"]))
            if row["label"] != "neutral":
                claims.setdefault(row["group"], []).append(row["claim"])
    for group, known in sorted(claims.items()):
        path = Path(folder) / f"PMC{group[3:]}.txt"
        if not path.is_file():
            continue
        tells = lambda s: any(len(words(s) & t) > 0.6 * min(len(words(s)), len(t)) for t in told[group])
        pool = [s for s in sentences(path.read_text(errors="replace")) if not tells(s)]
        if len(pool) > 20:
            yield from neutrals(known, pool, group, rng)


def of_abstracts(folder, rng):
    corpus = {}
    for line in (Path(folder) / "corpus.jsonl").read_text().splitlines():
        entry = json.loads(line)
        corpus[str(entry["doc_id"])] = entry["abstract"]
    for line in (Path(folder) / "claims_train.jsonl").read_text().splitlines():
        claim = json.loads(line)
        for document, sets in claim["evidence"].items():
            evidence = {i for s in sets for i in s["sentences"]}
            pool = [s for i, s in enumerate(corpus.get(document, [])) if i not in evidence and len(s) < 420 and not SUMS_UP.search(s)]
            rows = neutrals([claim["claim"]], pool, f"sf{claim['id']}", rng) if pool else []
            unique = {row["premise"]: row for row in rows}
            yield from list(unique.values())[:4]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--articles", required=True)
    parser.add_argument("--scifact", required=True)
    parser.add_argument("out")
    options = parser.parse_args()
    rng = random.Random(7)
    rows = [*of_articles(options.pairs, options.articles, rng), *of_abstracts(options.scifact, rng)]
    with gzip.open(options.out, "wt") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows), "rows")


if __name__ == "__main__":
    main()

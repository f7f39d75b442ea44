"""SciFact train as lines of labelled pairs for the feature dump and the baselines.

Usage: pairs.py SCIFACT_FOLDER > pairs.tsv

SCIFACT_FOLDER holds corpus.jsonl and claims_train.jsonl of SciFact (Wadden et al. 2020; claims
CC BY 4.0, abstracts ODC-By 1.0). Each line: id, kind, label, text, claim, split by tabs.

- `gold|CLAIM|DOC` passage: a claim with the abstract it cites; neutral where that abstract holds
  no evidence. These are the pairs that accuracy is measured on.
- `rationale|…` premise: the evidence sentences alone.
- `other|…` premise: a sentence of the same abstract that shares little with the evidence, neutral.
- `far|…` passage: an abstract that no claim of this kind cites, neutral.
"""

import json
import random
import sys
from pathlib import Path

NAMES = {"SUPPORT": "supports", "CONTRADICT": "refutes"}


def clean(text):
    return " ".join(text.split())


def read(folder):
    corpus = {}
    for line in (folder / "corpus.jsonl").open(encoding="utf-8"):
        doc = json.loads(line)
        corpus[doc["doc_id"]] = [clean(s) for s in doc["abstract"]]
    claims = [json.loads(line) for line in (folder / "claims_train.jsonl").open(encoding="utf-8")]
    return claims, corpus


def pairs(claims, corpus):
    rng = random.Random(20240601)
    doc_ids = sorted(corpus)
    for claim in claims:
        text = clean(claim["claim"])
        for doc in claim["cited_doc_ids"]:
            sentences = corpus[doc]
            sets = claim["evidence"].get(str(doc), [])
            label = NAMES[sets[0]["label"]] if sets else "neutral"
            yield f"gold|{claim['id']}|{doc}", "passage", label, " ".join(sentences), text
            evidence = {i for s in sets for i in s["sentences"]}
            for s in sets:
                premise = " ".join(sentences[i] for i in sorted(s["sentences"]))
                yield f"rationale|{claim['id']}|{doc}", "premise", label, premise, text
            others = [i for i in range(len(sentences)) if i not in evidence and i - 1 not in evidence]
            if sets and others:
                yield f"other|{claim['id']}|{doc}", "premise", "neutral", sentences[rng.choice(others)], text
        far = rng.choice(doc_ids)
        if far not in claim["cited_doc_ids"]:
            yield f"far|{claim['id']}|{far}", "passage", "neutral", " ".join(corpus[far]), text


def main():
    claims, corpus = read(Path(sys.argv[1]))
    for row in pairs(claims, corpus):
        print("\t".join(row))


if __name__ == "__main__":
    main()

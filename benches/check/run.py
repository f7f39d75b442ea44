#!/usr/bin/env python3
"""Measures how well `lyra-mcp check` distinguishes sound from faulty sentences.

    python3 benches/check/run.py PATH/TO/lyra-mcp [PATH/TO/data] [--half a|b]

cases.jsonl contains sentences written about sources, half of them with a planted fault; README.md describes
how they were made. Cases about the example corpus always run. The others need a folder with
scifact/corpus.jsonl, extraction-dev/html and api-replies/pmc-nxml; without it they are skipped, and the last
line says how many. Each source becomes a document of a corpus, each sentence a line of a draft that links to
it. Prints recall by class, false alarms on sound sentences, and the codes reported instead of the expected
one.
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
DEMO = HERE.parent.parent / "examples" / "corpus"
# The codes that count as finding a fault: its own code, or another code for the same fault.
FOUND_AS = {
    "quote_mismatch": {"quote_mismatch"},
    "number_mismatch": {"number_mismatch"},
    "contradicted_by_source": {"contradicted_by_source"},
    "overstated": {"overstated"},
    "not_in_source": {"not_in_source"},
}
# Findings that are not about the cited source's content; they are not alarms about the sentence.
BESIDE = {"contested", "superseded_source", "supported"}


def abstracts(data):
    path = data / "scifact" / "corpus.jsonl"
    if not path.is_file():
        return {}
    lines = (json.loads(line) for line in path.open(encoding="utf-8"))
    return {str(line["doc_id"]): line for line in lines}


def place(source, data, known, corpus):
    """Puts a source into the corpus; returns its file name, or None if the source is not available."""
    kind, name = source.split(":", 1)
    if kind == "demo":
        return name
    if data is None:
        return None
    if kind == "scifact":
        found = known.get(name)
        if found is None:
            return None
        target = corpus / f"scifact-{name}.md"
        target.write_text(f"# {found['title']}\n\n{' '.join(found['abstract'])}\n", encoding="utf-8")
        return target.name
    folder, suffix = {"page": ("extraction-dev/html", ".html"), "pmc": ("api-replies/pmc-nxml", ".xml")}[kind]
    found = data / folder / name
    if not found.is_file():
        return None
    stem = "".join(c if c.isascii() and c.isalnum() else "-" for c in pathlib.Path(name).stem)
    target = corpus / f"{kind}-{stem}{suffix}"
    shutil.copy(found, target)
    return target.name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="?")
    parser.add_argument("--half", choices=["a", "b"], default="b")
    parser.add_argument("--show", action="store_true", help="print every sentence that was classified wrongly")
    given = parser.parse_args()
    cases = [json.loads(line) for line in (HERE / "cases.jsonl").open(encoding="utf-8")]
    cases = [case for case in cases if case["half"] == given.half]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus = folder / "corpus"
        shutil.copytree(DEMO, corpus)
        known = abstracts(given.data) if given.data else {}
        kept = [(case, place(case["source"], given.data, known, corpus)) for case in cases]
        kept = [(case, name) for case, name in kept if name]
        lines = [f"{case['sentence']} ([source]({name}))" for case, name in kept]
        draft = folder / "draft.md"
        draft.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        command = [given.program, "check", draft, "--corpus", corpus, "--db", folder / "g.db", "--format", "json"]
        # The graph is built first, so that only the check is timed.
        subprocess.run([given.program, "research", "--db", folder / "g.db", "--corpus", corpus, "x causes y"],
                       capture_output=True, check=False)
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, check=False)
        seconds = time.monotonic() - began
        if done.returncode != 0:
            sys.exit(done.stderr.decode())
        report = json.loads(done.stdout)
    score(kept, report, lines, given)
    print(f"{len(kept)} sentences in {seconds:.1f} s; {len(cases) - len(kept)} left out: their sources are not available")


def score(kept, report, lines, given):
    starts, at = [], 0
    for line in lines:
        starts.append((at, at + len(line)))
        at += len(line) + 2
    said = collections.defaultdict(list)
    for sentence in report["sentences"]:
        for index, (start, end) in enumerate(starts):
            if start <= sentence["start"] < end:
                said[index].append(sentence)
    table = collections.defaultdict(collections.Counter)
    for index, (case, _) in enumerate(kept):
        codes = {f["code"] for s in said[index] for f in s.get("findings", [])} - BESIDE
        expected = case["expected"]
        if expected == "supported":
            outcome = "ok" if not codes else "alarm"
        else:
            outcome = "found" if codes & FOUND_AS[expected] else "other" if codes else "missed"
        verdict = min((s.get("verdict", "none") for s in said[index]), default="none")
        table[expected][outcome] += 1
        table[expected]["→ " + "+".join(sorted(codes) or ["nothing"])] += 1
        if given.show and outcome not in ("ok", "found"):
            print(json.dumps({"expected": expected, "codes": sorted(codes), "verdict": verdict, "sentence": case["sentence"],
                              "evidence": [f.get("evidence", {}).get("quote") for s in said[index] for f in s.get("findings", [])]},
                             ensure_ascii=False))
    for expected, counts in sorted(table.items()):
        total = sum(n for key, n in counts.items() if not key.startswith("→"))
        good = counts["ok"] if expected == "supported" else counts["found"]
        flagged = total - counts["missed"] if expected != "supported" else counts["alarm"]
        word = "false alarms" if expected == "supported" else "flagged"
        print(f"{expected:24} {good:4} of {total:4} right ({good / total:.2f}), {word} {flagged / total:.3f}")
        for key, count in counts.most_common():
            if key.startswith("→"):
                print(f"    {count:4} {key}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures how well `lyra-mcp check` distinguishes sound from faulty entries of reference lists.

    python3 benches/check/references.py PATH/TO/lyra-mcp [--half a|b] [--show]

reference_cases.jsonl contains the entries; README.md describes how they were made. Each entry is checked in
its own draft against the example corpus; a duplicate comes after the entry that it repeats. Every third
document of the corpus is marked as retracted, and each is cited once.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
DEMO = HERE.parent.parent / "examples" / "corpus"
CODES = {
    "ok": set(),
    "reference_not_found": {"reference_not_found"},
    "wrong_year": {"reference_wrong_year"},
    "doi_of_other_title": {"reference_wrong_doi"},
    "duplicate": {"reference_duplicate"},
    "not_retracted": set(),
}


def check(given, folder, text):
    draft = folder / "draft.md"
    draft.write_text(text, encoding="utf-8")
    command = [given.program, "check", draft, "--db", folder / "g.db", "--format", "json", "--cited-only"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return json.loads(done.stdout)


def codes(found):
    return {finding["code"] for one in found for finding in one.get("findings", [])}


def entries(given, folder):
    cases = [json.loads(line) for line in (HERE / "reference_cases.jsonl").open(encoding="utf-8")]
    by_id = {case["id"]: case for case in cases}
    for case in cases:
        if case["half"] != given.half:
            continue
        before = [by_id[case["duplicate_of"]]["reference"]] if "duplicate_of" in case else []
        listed = [re.sub(r"^\d+\.\s+", "", entry) for entry in [*before, case["reference"]]]
        lines = [f"{number}. {entry}" for number, entry in enumerate(listed, 1)]
        text = f"Heart failure was studied [{len(lines)}].\n\n## References\n\n" + "\n".join(lines) + "\n"
        report = check(given, folder, text)
        yield case["expected"], codes(report["references"][-1:]), case["reference"]


def retract(corpus):
    """Marks every third document with front matter as retracted; returns all names, and those of the
    retracted ones."""
    names = sorted(path.name for path in corpus.glob("*.md") if path.read_text(encoding="utf-8").startswith("---\n"))
    for name in names[::3]:
        text = (corpus / name).read_text(encoding="utf-8")
        (corpus / name).write_text("---\nis_retracted: true\n" + text.removeprefix("---\n"), encoding="utf-8")
    return names, set(names[::3])


def sentences(given, folder, names, retracted):
    """Sentences that cite a source, a retracted source, or nothing."""
    for name in names:
        text = f"The trial measured hospital admissions for heart failure ([source]({name}))."
        found = codes(check(given, folder, text)["sentences"]) & {"retracted_source"}
        yield ("retracted_source" if name in retracted else "not_retracted"), found, name
    for sentence in ["Saxagliptin raises the risk of hospitalization for heart failure by 27 percent.",
                     "Most patients with type 2 diabetes take metformin as their first drug.",
                     "Regulators on two continents have asked for outcome trials since 2008."]:
        yield "uncited", codes(check(given, folder, sentence)["sentences"]), sentence


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--half", choices=["a", "b"], default="b")
    parser.add_argument("--show", action="store_true", help="print every entry that was classified wrongly")
    given = parser.parse_args()
    table = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus = folder / "corpus"
        shutil.copytree(DEMO, corpus)
        names, retracted = retract(corpus)
        subprocess.run([given.program, "standing", "x causes y", "--db", folder / "g.db", "--corpus", corpus],
                       capture_output=True, check=True)
        for expected, found, text in [*entries(given, folder), *sentences(given, folder, names, retracted)]:
            wanted = CODES.get(expected, {expected})
            is_right = wanted <= found if wanted else not found - {"retracted_source", "superseded_source"}
            table[expected]["right" if is_right else "wrong"] += 1
            if given.show and not is_right:
                print(json.dumps({"expected": expected, "found": sorted(found), "text": text}, ensure_ascii=False))
    for expected, counts in sorted(table.items()):
        total = counts["right"] + counts["wrong"]
        print(f"{expected:20} {counts['right']:3} of {total:3} right ({counts['right'] / total:.2f})")


if __name__ == "__main__":
    main()

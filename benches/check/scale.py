#!/usr/bin/env python3
"""Measures the time of `lyra-mcp check` for a 5,000-word report with 60 references over 100,000 fragments.

    python3 benches/check/scale.py PATH/TO/lyra-mcp PATH/TO/data [--fragments 100000] [--words 5000]

The data folder contains scifact/corpus.jsonl. Documents are made of paragraphs of its abstracts, 20 each, in
an order determined by a seed. The report cites 60 of them: all its sentences are sentences of abstracts,
and every second one has a changed word or number. The check runs twice; in the second run its verdicts are
already stored.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

PARAGRAPHS = 20


def documents(path, fragments, random_source):
    abstracts = [json.loads(line) for line in path.open(encoding="utf-8")]
    paragraphs = [" ".join(a["abstract"][at:at + 3]) for a in abstracts for at in range(0, len(a["abstract"]), 3)]
    for number in range(fragments // PARAGRAPHS):
        title = f"{random_source.choice(abstracts)['title']} ({number})"
        yield title, random_source.sample(paragraphs, PARAGRAPHS)


def changed(sentence, random_source):
    words = sentence.split()
    at = random_source.randrange(len(words))
    words[at] = str(random_source.randrange(100)) if words[at][0].isdigit() else "not"
    return " ".join(words)


def write(folder, data, given):
    random_source = random.Random(21)
    cited, corpus = [], folder / "corpus"
    corpus.mkdir()
    for number, (title, paragraphs) in enumerate(documents(data / "scifact" / "corpus.jsonl", given.fragments, random_source)):
        (corpus / f"{number}.md").write_text(f"# {title}\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf-8")
        if number % (given.fragments // PARAGRAPHS // 60) == 0 and len(cited) < 60:
            cited.append((f"{number}.md", paragraphs))
    lines, words = [], 0
    while words < given.words:
        label = random_source.randrange(60)
        sentence = random_source.choice(cited[label][1]).split(". ")[0].rstrip(". ")
        if not sentence:
            continue
        if random_source.random() < 0.5:
            sentence = changed(sentence, random_source)
        lines.append(f"{sentence} [{label + 1}].")
        words += len(sentence.split())
    references = [f"{at + 1}. [{name}]({name})" for at, (name, _) in enumerate(cited)]
    draft = folder / "draft.md"
    draft.write_text("\n\n".join(lines) + "\n\n## References\n\n" + "\n".join(references) + "\n", encoding="utf-8")
    return corpus, draft, len(lines)


def run(command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return time.monotonic() - began, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--fragments", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=5_000)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the graph and the draft in this new folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = given.keep or pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        corpus, draft, sentences = write(folder, given.data, given)
        graph = ["--db", folder / "g.db"]
        seconds, _ = run([given.program, "standing", "Nothing is known of this", *graph, "--corpus", corpus])
        print(f"read {given.fragments} fragments in {seconds:.0f} s")
        for name in ["first", "second"]:
            seconds, out = run([given.program, "check", draft, *graph, "--format", "json"])
            found = json.loads(out)["summary"]["findings"]
            print(f"{name} check of {sentences} sentences: {seconds:.1f} s; {found}", flush=True)


if __name__ == "__main__":
    main()

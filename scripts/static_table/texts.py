"""Collect the training texts of the static table and write them as JSON lines.

Each line is {"text", "source", "group", "held"}; texts of one group (an abstract, a synset, a page)
are held out together. Every source is optional; missing sources are skipped.

    python texts.py WORK_DIR --vocab VOCAB [--scifact FILE] [--wordnet DIR] [--html NAME=DIR ...]
"""
from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from html.parser import HTMLParser
from pathlib import Path

from encode import is_cjk, pieces, load_vocab

HELD_PERCENT = 2
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9(\"'])")
SKIPPED_TAGS = {"script", "style", "nav", "pre", "code-block", "header", "footer", "table", "svg"}
BLOCK_TAGS = {"p", "li", "dd", "dt", "td", "h1", "h2", "h3", "h4", "div", "section", "summary"}


def number(text: str) -> int:
    """A stable 64-bit number for `text`."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


class Blocks(HTMLParser):
    """Collect the text of block elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self.parts: list[str] = []
        self.depth = 0

    def flush(self) -> None:
        """End the current block."""
        text = " ".join("".join(self.parts).split())
        self.parts = []
        if text:
            self.blocks.append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED_TAGS:
            self.depth += 1
        if tag in BLOCK_TAGS:
            self.flush()

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED_TAGS and self.depth:
            self.depth -= 1
        if tag in BLOCK_TAGS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.parts.append(data)


def scifact(path: Path) -> Iterator[tuple[str, str, str]]:
    """Titles, sentences, and whole abstracts."""
    for line in path.open(encoding="utf-8"):
        doc = json.loads(line)
        group = f"scifact/{doc['doc_id']}"
        yield doc["title"], "scifact-title", group
        for sentence in doc["abstract"]:
            yield sentence, "scifact-sentence", group
        yield doc["title"] + " " + " ".join(doc["abstract"]), "scifact-abstract", group


def wordnet(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Lemmas, glosses (with and without their lemmas) and examples."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").open(encoding="utf-8"):
            if line.startswith(" "):
                continue
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            count = int(fields[3], 16)
            lemmas = [re.sub(r"\(\w+\)$", "", w).replace("_", " ")
                      for w in fields[4:4 + 2 * count:2]]
            group = f"wordnet/{part}/{fields[0]}"
            examples = re.findall(r'"([^"]+)"', gloss)
            meaning = gloss.split('; "')[0].strip().strip('"')
            yield ", ".join(lemmas) + ": " + meaning, "wordnet-gloss", group
            if number(group) % 4 == 0:
                yield meaning, "wordnet-gloss", group
            for example in examples:
                yield example, "wordnet-example", group
            for lemma in lemmas:
                yield lemma, "wordnet-lemma", group


def html_docs(name: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Paragraphs and sentences of HTML documentation (index pages and sources left out)."""
    for path in sorted(folder.rglob("*.html")):
        rel = path.relative_to(folder).as_posix()
        if re.search(r"(^|/)(src|_sources|genindex|search|print|all\b)", rel):
            continue
        parser = Blocks()
        parser.feed(path.read_text(encoding="utf-8", errors="replace"))
        parser.flush()
        for block in parser.blocks:
            if len(block) < 40 or sum(c.isalpha() or c == " " for c in block) < 0.85 * len(block):
                continue
            yield block, f"{name}-paragraph", f"{name}/{rel}"
            sentences = SENTENCE_END.split(block)
            if len(sentences) > 1:
                for sentence in sentences:
                    if len(sentence) >= 30:
                        yield sentence, f"{name}-sentence", f"{name}/{rel}"


def mixtures(base: list[dict], vocab: dict[str, int], count: int, seed: int) -> Iterator[str]:
    """Self-made texts: joined spans of training texts, with rare words inserted.

    Words that start a token of the vocabulary are drawn uniformly, so that rare tokens occur.
    """
    rng = random.Random(seed)
    words = [w for w in vocab if w.isalpha() and len(w) > 2 and not any(map(is_cjk, w))]
    for i in range(count):
        out: list[str] = []
        for _ in range(1 + i % 3):
            span = base[rng.randrange(len(base))]["text"].split()
            size = rng.randint(1, 10)
            start = rng.randrange(max(1, len(span) - size + 1))
            out += span[start:start + size]
            out += rng.sample(words, rng.randint(0, 2) if i % 3 else rng.randint(1, 4))
        yield " ".join(out)


def main() -> None:
    """Write texts.jsonl."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("work", type=Path)
    ap.add_argument("--vocab", type=Path, required=True, help="vocab.txt of the teacher")
    ap.add_argument("--scifact", type=Path, help="corpus.jsonl of SciFact")
    ap.add_argument("--wordnet", type=Path, help="folder with data.noun, ...")
    ap.add_argument("--html", action="append", default=[], metavar="NAME=DIR")
    ap.add_argument("--paragraphs", type=int, default=60000, help="maximum number of texts from one --html")
    ap.add_argument("--mixtures", type=int, default=60000)
    args = ap.parse_args()
    sources: list[Iterator[tuple[str, str, str]]] = []
    if args.scifact:
        sources.append(scifact(args.scifact))
    if args.wordnet:
        sources.append(wordnet(args.wordnet))
    for item in args.html:
        name, folder = item.split("=", 1)
        rows = {r[0]: r for r in html_docs(name, Path(folder))}
        sources.append(iter(sorted(rows.values(), key=lambda r: number(r[0]))[:args.paragraphs]))
    vocab = load_vocab(args.vocab)
    seen: set[str] = set()
    rows: list[dict] = []

    def add(text: str, source: str, group: str) -> None:
        text = " ".join(text.split())
        if text and text.lower() not in seen and not any(map(is_cjk, text)):
            seen.add(text.lower())
            held = number(group) % 100 < HELD_PERCENT
            rows.append({"text": text, "source": source, "group": group, "held": held})

    for source in sources:
        for row in source:
            add(*row)
    base = [r for r in rows if not r["held"] and " " in r["text"]]
    for i, text in enumerate(mixtures(base, vocab, args.mixtures, 1)):
        add(text, "mixture", f"mixture/{i}")
    args.work.mkdir(parents=True, exist_ok=True)
    with (args.work / "texts.jsonl").open("w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(Counter(r["source"] for r in rows), len(rows), "held", sum(r["held"] for r in rows))
    sample = rows[:: max(1, len(rows) // 2000)]
    print("tokens per text", sum(len(pieces(r["text"], vocab)) for r in sample) / len(sample))


if __name__ == "__main__":
    main()

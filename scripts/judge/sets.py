#!/usr/bin/env python3
"""Restores the sentences of public documents in the labelled sets, for train.py.

    python scripts/judge/sets.py --documents FOLDER scripts/judge/sets OUT.jsonl

The labels of sets/*.jsonl identify each sentence of a public document by its document and a hash, so that the
repository contains no third-party text; sets of documents that were written for this model contain their
text. FOLDER contains the checkouts listed in sets/README.md, each in OWNER+NAME.
"""

import argparse
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ABBREVIATED = "".join(
    rf"(?<!\b{short})" for short in ("e\\.g", "i\\.e", "al", "Fig", "vs", "Dr", "No", "St", "cf", "approx", "Ref", "ca", "etc")
)
BOUNDARY = re.compile(ABBREVIATED + r'(?<=[.!?])["”)\]]?\s+(?=["“(\[]?[A-Z0-9])')
UNDERLINE = re.compile(r"^(=|-|~|'|\^|\")\1{2,}\s*$")
ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")


def sentences_of(text):
    found = BOUNDARY.split(re.sub(r"\s+", " ", text).strip())
    return [s.strip() for s in found if 15 < len(s.strip()) < 600]


def name_of(sentence):
    return hashlib.sha256(sentence.encode()).hexdigest()[:12]


def told(element):
    """The text of an element of a paper, without tables, figures and empty brackets."""
    parts = []

    def walk(node):
        if node.tag in ("table-wrap", "fig", "disp-formula") or (node.tag == "xref" and node.get("ref-type") == "bibr"):
            return
        parts.append(node.text or "")
        for child in node:
            walk(child)
            parts.append(child.tail or "")

    walk(element)
    text = re.sub(r"\s+", " ", "".join(parts))
    return re.sub(r"\s+([.,;])", r"\1", re.sub(r"[\[(][\s,;–-]*[\])]", "", text)).strip()


def read_paper(raw):
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?>", "", raw, flags=re.S))
    found = []
    for section in [*root.iter("abstract"), *root.iter("sec")]:
        title = section.find("title")
        heading = told(title) if title is not None else "Abstract"
        for paragraph in section.iter("p"):
            found += [(heading, sentence) for sentence in sentences_of(told(paragraph))]
    return told(root.find(".//article-title")), found


def read_markup(raw):
    """Title and sentences of a document in Markdown or reStructuredText."""
    named = re.search(r'^title\s*[:=]\s*"?(.+?)"?\s*$', raw, re.M | re.I)
    raw = re.sub(r"^\+\+\+\n.*?\n\+\+\+\n", "", raw, flags=re.S)
    raw = re.sub(r"```.*?```|<!--.*?-->", "", raw, flags=re.S)
    lines = re.sub(r"^---\n.*?\n---\n", "", raw, flags=re.S).split("\n")
    found, paragraph, heading, first = [], [], "", None

    def close():
        text = " ".join(paragraph)
        paragraph.clear()
        for pattern, kept in MARKUP:
            text = pattern.sub(kept, text)
        found.extend((heading, sentence) for sentence in sentences_of(text))

    for line, following in zip(lines, [*lines[1:], ""]):
        marked = re.match(r"^(#+)\s+(.*)", line)
        if marked or (UNDERLINE.match(following) and line.strip()):
            close()
            heading = marked[2].strip("# ").strip() if marked else line.strip()
            first = first or heading
        elif UNDERLINE.match(line):
            continue
        elif line.startswith(("    ", "\t", "|", "::", ".. ")) or not line.strip():
            close()
        else:
            if ITEM.match(line):
                close()
            paragraph.append(ITEM.sub("", line).strip())
    close()
    return (named[1] if named else first) or "", found


MARKUP = [
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[([^\]]*)\]\[[^\]]*\]"), r"\1"),
    (re.compile(r"[*_]{1,3}([^*_]+)[*_]{1,3}"), r"\1"),
    (re.compile(r"`{1,2}([^`]*)`{1,2}_?"), r"\1"),
    (re.compile(r":\w+:"), ""),
]


def read_document(path):
    raw = path.read_text(encoding="utf8", errors="replace")
    return read_paper(raw) if path.suffix in (".nxml", ".xml") else read_markup(raw)


def whole(found, documents):
    """A labelled set with the text of its sentences; none if a document or sentence is missing."""
    texts = {}
    for document in found["docs"]:
        if "path" not in document:
            continue
        path = documents / document["path"]
        if not path.is_file():
            return None
        title, sentences = read_document(path)
        document["title"] = title
        texts |= {(document["doc"], name_of(text)): (heading, text) for heading, text in sentences}
    sentences = []
    for entry in found["sentences"]:
        known = texts.get(tuple(entry)) if len(entry) == 2 else entry[1:]
        if known is None:
            return None
        sentences.append([entry[0], *known])
    claims = [{**c, "h": sentences[c["c"]][2]} if "c" in c else c for c in found["hypotheses"]]
    return {**found, "sentences": sentences, "hypotheses": claims}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("labels", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    lines = [json.loads(line) for path in sorted(options.labels.glob("*.jsonl")) for line in path.read_text().splitlines()]
    kept = [found for found in (whole(line, options.documents) for line in lines) if found]
    options.out.write_text("".join(json.dumps(found) + "\n" for found in kept))
    print(f"{len(kept)} sets of {len(lines)}; the others refer to a document or a sentence that was not found")


if __name__ == "__main__":
    main()

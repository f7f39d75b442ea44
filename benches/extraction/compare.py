"""Compares the text that Lyra extracts from HTML and PDF files with that of Python libraries.

HTML: main content. For each page, the evaluation set lists phrases that its main text must contain
and phrases that it must not contain; precision, recall and F1 are over all phrases. Compared with
trafilatura.

PDF: all text. There is no gold text, so the reference of a file is the agreement of the three
Python readers (pdfminer.six, PyMuPDF, pypdf): the median of their counts of every token. F1 is that
of the bag of tokens, its mean and median over the files. The three readers contribute to the
reference, Lyra does not.

Each reader runs separately over all files, one after the other, on one thread; times include the
reading, but not disk access. Everything is measured in one run.

    cargo build --release -p lyra-core --example extract_text
    pip install trafilatura pdfminer.six pymupdf pypdf
    python benches/extraction/compare.py --html DIR/extraction-dev --pdf DIR/pdf
"""

import argparse
import collections
import io
import json
import pathlib
import re
import statistics
import subprocess
import time
import unicodedata


def run_lyra(program, files):
    """Texts, errors and seconds by file, and the number of panics reported on stderr."""
    names = "".join(f"{file}\n" for file in files)
    run = subprocess.run([program], input=names, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return {row["file"]: row for row in rows}, run.stderr.count("panicked")


def run_python(read, files):
    """The same for a Python function from bytes to text."""
    rows = {}
    for file in files:
        content = pathlib.Path(file).read_bytes()
        row = {}
        begun = time.perf_counter()
        try:
            row["text"] = read(content) or ""
        except Exception as error:  # Any failure of a peer counts as one.
            row["error"] = f"{type(error).__name__}: {error}"
        row["seconds"] = time.perf_counter() - begun
        rows[str(file)] = row
    return rows


def trafilatura_text(content):
    import trafilatura

    return trafilatura.extract(content, include_comments=False)


def pdfminer_text(content):
    from pdfminer.high_level import extract_text

    return extract_text(io.BytesIO(content))


def pymupdf_text(content):
    import pymupdf

    with pymupdf.open(stream=content, filetype="pdf") as document:
        return "\n".join(page.get_text() for page in document)


def pypdf_text(content):
    import pypdf

    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)


def rates(rows):
    """Files per second, and failures."""
    seconds = sum(row["seconds"] for row in rows.values())
    return len(rows) / seconds, sum("error" in row for row in rows.values())


def compare_html(program, folder):
    gold = json.loads((folder / "evaldata.json").read_text())
    files = [folder / "html" / entry["file"] for entry in gold.values()]
    lyra, panics = run_lyra(program, files)
    readers = {"lyra": lyra, "trafilatura": run_python(trafilatura_text, files)}
    print(f"HTML, {len(files)} pages, {panics} panic messages")
    print(f"{'reader':14}{'precision':>10}{'recall':>8}{'F1':>8}{'pages/s':>9}{'errors':>8}")
    for name, rows in readers.items():
        found = missed = extra = 0
        for entry in gold.values():
            text = rows[str(folder / "html" / entry["file"])].get("text", "")
            held = sum(phrase in text for phrase in entry["with"])
            found += held
            missed += len(entry["with"]) - held
            extra += sum(phrase in text for phrase in entry["without"])
        precision, recall = found / (found + extra), found / (found + missed)
        f1 = 2 * precision * recall / (precision + recall)
        speed, errors = rates(rows)
        print(f"{name:14}{precision:10.3f}{recall:8.3f}{f1:8.3f}{speed:9.1f}{errors:8}")


def tokens(text):
    """Counts words, or single characters of scripts without spaces. Ligatures count as letters, and a word
    that is hyphenated at the end of a line is one word, for every reader."""
    text = re.sub(r"(?<=[a-z])[-\u00ad]\s*\n\s*(?=[a-z])", "", unicodedata.normalize("NFKC", text))
    words = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+", text.lower())
    return collections.Counter(words)


def median_bag(bags):
    words = set().union(*bags)
    counts = {word: statistics.median(bag[word] for bag in bags) for word in words}
    return collections.Counter({word: int(count) for word, count in counts.items() if count >= 1})


def bag_f1(found, reference):
    common = (found & reference).total()
    both = found.total() + reference.total()
    return 2 * common / both if both else 1.0


def compare_pdf(program, folder):
    files = sorted(folder.rglob("*.pdf"))
    lyra, panics = run_lyra(program, files)
    peers = {"pdfminer.six": pdfminer_text, "pymupdf": pymupdf_text, "pypdf": pypdf_text}
    readers = {"lyra": lyra}
    readers.update({name: run_python(read, files) for name, read in peers.items()})
    bags = {
        name: {file: tokens(row.get("text", "")) for file, row in rows.items()}
        for name, rows in readers.items()
    }
    reference = {
        str(file): median_bag([bags[name][str(file)] for name in peers]) for file in files
    }
    with_text = [file for file, bag in reference.items() if bag.total() >= 20]
    print(f"PDF, {len(files)} files, {len(with_text)} of them with text, {panics} panic messages")
    print(f"{'reader':14}{'F1 mean':>9}{'median':>8}{'files/s':>9}{'errors':>8}")
    for name, rows in readers.items():
        scores = {file: bag_f1(bags[name][file], reference[file]) for file in with_text}
        speed, errors = rates(rows)
        mean, median = statistics.mean(scores.values()), statistics.median(scores.values())
        print(f"{name:14}{mean:9.3f}{median:8.3f}{speed:9.1f}{errors:8}")
        if name == "lyra":
            worst = sorted(scores.items(), key=lambda item: item[1])[:8]
    for file, score in worst:
        reason = lyra[file].get("error", "")
        print(f"  lyra {score:.3f} {pathlib.Path(file).relative_to(folder)} {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/release/examples/extract_text")
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--pdf", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.html:
        compare_html(arguments.program, arguments.html)
    if arguments.pdf:
        compare_pdf(arguments.program, arguments.pdf)


if __name__ == "__main__":
    main()

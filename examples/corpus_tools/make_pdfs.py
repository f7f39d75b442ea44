#!/usr/bin/env python3
"""Make the three PDFs of the example corpus from the text sources beside this script.

Usage:  python3 make_pdfs.py [OUTPUT_DIR]      (default: ../corpus)

Needs reportlab (pip install reportlab). A source file NAME.src.txt becomes NAME.pdf:

    line 1                the title (also the PDF Title)
    Authors: A; B; C      (also the PDF Author)
    Layout: one-column | two-column | two-page
    # text                a heading
    === page ===          a page break
    anything else         a paragraph; paragraphs are separated by blank lines

Only the built-in PDF fonts are used, and the output is the same on every run.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    FrameBreak,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
)

HERE = Path(__file__).resolve().parent

TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=14, leading=18, spaceAfter=4)
AUTHORS = ParagraphStyle("authors", fontName="Helvetica-Oblique", fontSize=9, leading=12, spaceAfter=8)
HEADING = ParagraphStyle("heading", fontName="Helvetica-Bold", fontSize=11, leading=14, spaceBefore=8, spaceAfter=3)
BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14, spaceAfter=5, alignment=TA_JUSTIFY)


def read_source(path):
    """Return (title, authors, layout, blocks); a block is (kind, text)."""
    lines = path.read_text(encoding="utf-8").split("\n")
    title = lines[0].strip()
    authors, layout, rest = "", "one-column", 1
    for i, line in enumerate(lines[1:], start=1):
        if line.startswith("Authors:"):
            authors = line.split(":", 1)[1].strip()
        elif line.startswith("Layout:"):
            layout = line.split(":", 1)[1].strip()
        else:
            rest = i
            break
    blocks = []
    for chunk in "\n".join(lines[rest:]).split("\n\n"):
        text = " ".join(chunk.split())
        if not text:
            continue
        if text == "=== page ===":
            blocks.append(("page", ""))
        elif text.startswith("# "):
            blocks.append(("heading", text[2:]))
        else:
            blocks.append(("body", text))
    return title, authors, layout, blocks


def page_number(canvas, doc):
    canvas.saveState()
    canvas.setFont("Helvetica", 8)
    canvas.drawCentredString(A4[0] / 2, 10 * mm, str(doc.page))
    canvas.restoreState()


def templates(layout):
    width, height = A4
    margin, gap, head = 20 * mm, 8 * mm, 42 * mm
    text_w, text_h = width - 2 * margin, height - 2 * margin
    if layout != "two-column":
        frame = Frame(margin, margin, text_w, text_h, id="text")
        return [PageTemplate(id="page", frames=[frame], onPage=page_number)]
    col = (text_w - gap) / 2

    def columns(h, name):
        return [
            Frame(margin, margin, col, h, id=name + "left", leftPadding=0, rightPadding=0),
            Frame(margin + col + gap, margin, col, h, id=name + "right", leftPadding=0, rightPadding=0),
        ]

    top = Frame(margin, height - margin - head, text_w, head, id="head", leftPadding=0, rightPadding=0)
    # The columns of the first page are short, so that the text fills both of them.
    first_h = 118 * mm
    first = [top] + [
        Frame(f._x1, height - margin - head - first_h, col, first_h, id=f.id, leftPadding=0, rightPadding=0)
        for f in columns(first_h, "first")
    ]
    return [
        PageTemplate(id="page", frames=first, onPage=page_number),
        PageTemplate(id="later", frames=columns(text_h, "later"), onPage=page_number),
    ]


def build(source, out_dir):
    title, authors, layout, blocks = read_source(source)
    target = out_dir / (source.name.removesuffix(".src.txt") + ".pdf")
    doc = BaseDocTemplate(
        str(target),
        pagesize=A4,
        pageTemplates=templates(layout),
        title=title,
        author=authors,
        subject="Summary in our own words",
        creator="make_pdfs.py",
        invariant=1,
        pageCompression=1,
    )
    story = [Paragraph(escape(title), TITLE), Paragraph(escape(authors), AUTHORS)]
    if layout == "two-column":
        story += [NextPageTemplate("later"), FrameBreak()]
    for kind, text in blocks:
        if kind == "page":
            story.append(PageBreak())
        else:
            story.append(Paragraph(escape(text), HEADING if kind == "heading" else BODY))
    story.append(Spacer(1, 1))
    doc.build(story)
    return target


def main():
    out_dir = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "corpus"
    out_dir.mkdir(parents=True, exist_ok=True)
    for source in sorted(HERE.glob("*.src.txt")):
        target = build(source, out_dir)
        print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()

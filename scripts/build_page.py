#!/usr/bin/env python3
"""Joins the evidence page's sources into the single file that the exporter embeds.

`build_page.py` writes lyra-core/src/export/page/page.html; `build_page.py --check` only reports
whether it is up to date (exit code 1 if not).

The page's policy (Content-Security-Policy) names each script by its hash, so that a script injected
through the data would not run.
"""

import base64
import hashlib
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "lyra-core/src/export/page"
# The libraries in the order of their dependencies. The layout runs in a worker, which is created
# from the text of the first script.
LAYOUT_LIBRARIES = ["dispatch", "quadtree", "timer", "force"]
VIEW_LIBRARIES = ["selection", "color", "interpolate", "ease", "transition", "drag", "zoom"]
# Run for each set of data; the last one ends with a return.
PARTS = [
    "data.js",
    "dom.js",
    "verdicts.js",
    "theme.js",
    "claims.js",
    "contradictions.js",
    "details.js",
    "layout.js",
    "graph-data.js",
    "graph-paint.js",
    "graph.js",
    "timeline.js",
    "sources.js",
    "search.js",
    "main.js",
]
AROUND = ["app.js", "boot.js"]
DATA = "{{DATA}}"


def read(name: str) -> str:
    """One of the page's source files, with Unix line endings."""
    return (PAGE / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def vendored(names: list[str]) -> str:
    """Published d3 files, unchanged; each begins with its copyright line."""
    return "".join(read(f"vendor/d3-{name}.min.js") for name in names)


def own_scripts() -> str:
    """Our scripts, in their own scope. The page in a chat is drawn again after a correction, so its parts are
    a function of the data."""
    parts, around = (
        "\n".join(f"// ---- {name}\n{read(f'src/{name}')}" for name in names)
        for names in (PARTS, AROUND)
    )
    return f'(function () {{\n"use strict";\nfunction drawPage(data, app) {{\n{parts}}}\n\n{around}\n}})();\n'


def digest(text: str) -> str:
    """The hash of an inline script in the format of a policy."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def build() -> str:
    """The whole page, with the placeholder for its data."""
    scripts = {
        "LAYOUT_LIBRARIES": f"/*\n{read('vendor/LICENCES.txt')}*/\n{vendored(LAYOUT_LIBRARIES)}",
        "VIEW_LIBRARIES": vendored(VIEW_LIBRARIES),
        "THEME_FIRST": read("src/theme-first.js"),
        "SCRIPT": own_scripts(),
    }
    page = read("src/template.html")
    policy = " ".join(digest(text) for text in scripts.values())
    for name, text in {**scripts, "CSS": read("src/page.css"), "SCRIPT_HASHES": policy}.items():
        place = f"{{{{{name}}}}}"
        if page.count(place) != 1:
            raise SystemExit(f"template.html must hold {place} once")
        if "</script" in text.lower() or "<!--" in text or "</style" in text.lower():
            raise SystemExit(f"{name} holds a tag that would end or hide its element")
        page = page.replace(place, text)
    if page.count(DATA) != 1:
        raise SystemExit(f"the page must hold {DATA} once, and holds it {page.count(DATA)} times")
    return page


def main() -> int:
    """Writes the page, or reports whether it is up to date."""
    target = PAGE / "page.html"
    page = build()
    if "--check" in sys.argv[1:]:
        current = target.exists() and target.read_text(encoding="utf-8") == page
        print("page.html is up to date" if current else "page.html is stale: run scripts/build_page.py")
        return 0 if current else 1
    target.write_text(page, encoding="utf-8", newline="\n")
    print(f"{target.name}: {len(page.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Collects the licences of the crates that are linked into the program and the Python package.

Writes THIRD-PARTY-LICENSES, each text once with the crates to which it applies; with `--check` only
reports whether the file is up to date.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "THIRD-PARTY-LICENSES"
ROOTS = ("lyra-mcp", "lyra-py")
TEXTS = re.compile(r"^(licen[cs]e|copying|unlicense|copyright)", re.IGNORECASE)
NOTICES = re.compile(r"^notice", re.IGNORECASE)
# Crates that come without their licence, each with a crate of the same project that includes it.
SAME_AS = {"alloc-stdlib": "alloc-no-stdlib", "selectors": "cssparser"}
# The text of 0BSD, for crates that only name it.
ZERO_BSD = """Permission to use, copy, modify, and/or distribute this software for any purpose with or
without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS
SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE
AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE
OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS
SOFTWARE."""
HEAD = """Licences of third parties

The program lyra-mcp and the Python package are linked with the crates below. Where a crate may be
used under one of several licences, the MIT licence was chosen if it is among them. SQLite, which
comes with libsqlite3-sys, is in the public domain.
"""


def linked() -> list[dict]:
    """The packages that are linked in, for any platform and features."""
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [i for i, package in packages.items() if package["name"] in ROOTS]
    reached = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    foreign = [packages[i] for i in reached if packages[i]["source"]]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def plain(text: str) -> str:
    """A text without the differences between copies of it: trailing blanks and line endings."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def texts_of(package: dict, all_of: dict[str, dict]) -> list[str]:
    """The licence texts of a package: its own files, or the text of the licence that it names."""
    brother = all_of.get(SAME_AS.get(package["name"], ""))
    if brother:
        return texts_of(brother, all_of)
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file())
    found = [path for path in files if TEXTS.match(path.name)]
    choice = re.split(r" OR |/", package["license"] or "")
    if len(choice) > 1 and "MIT" in choice:
        found = [path for path in found if "mit" in path.name.lower()] or found
    found += [path for path in files if NOTICES.match(path.name)]
    if found:
        return [plain(path.read_text(errors="replace")) for path in found]
    if "MIT" in (package["license"] or ""):
        permission = (ROOT / "LICENSE-MIT").read_text().split("\n\n", 1)[1]
        authors = [author.split(" <")[0] for author in package["authors"]]
        holder = ", ".join(authors) or f"the developers of {package['name']}"
        permission = permission[permission.index("Permission is hereby") :]
        return [plain(f"MIT License\n\nCopyright (c) {holder}\n\n{permission}")]
    if "0BSD" in (package["license"] or ""):
        return [plain(f"BSD Zero Clause License\n\n{ZERO_BSD}")]
    if package["license"] == "Apache-2.0":
        return [plain((ROOT / "LICENSE-APACHE").read_text())]
    raise SystemExit(
        f"{package['name']} {package['version']} has no file with its licence"
        f" ({package['license']}): add the text that applies to it to this script"
    )


def gathered() -> str:
    """The whole file."""
    users = defaultdict(list)
    packages = linked()
    by_name = {package["name"]: package for package in packages}
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license']})"
        for text in texts_of(package, by_name):
            if name not in users[text]:
                users[text].append(name)
    parts = [HEAD]
    for text, names in sorted(users.items(), key=lambda item: (item[1], item[0])):
        parts.append("=" * 80 + "\n" + "\n".join(names) + "\n" + "-" * 80 + "\n" + text + "\n")
    return "\n".join(parts)


def main() -> int:
    """Writes the file, or checks it; returns 1 if it is not up to date."""
    text = gathered()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print("THIRD-PARTY-LICENSES does not match Cargo.lock: run python3 scripts/third_party.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that every dependency may be used under a licence that deny.toml allows.

Performs the same check as `cargo deny check licenses`, for machines without that tool.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def allowed(expression: str, licences: set[str]) -> bool:
    """Whether these licences satisfy an SPDX expression."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    terms: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word in ("(", ")"):
            terms.append(word)
        elif word in ("AND", "OR"):
            terms.append(word.lower())
        elif i + 2 < len(words) and words[i + 1] == "WITH":
            name = f"{word} WITH {words[i + 2]}"
            terms.append(str(name in licences))
            i += 2
        else:
            terms.append(str(word in licences))
        i += 1
    return bool(eval(" ".join(terms)))  # only True, False, and, or, parentheses


def main() -> int:
    """Prints dependencies that are not allowed; returns 1 if there are any."""
    config = tomllib.loads((ROOT / "deny.toml").read_text())
    licences = set(config["licenses"]["allow"])
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    packages = json.loads(subprocess.check_output(command, cwd=ROOT))["packages"]
    bad = [p for p in packages if not allowed(p["license"] or "NONE", licences)]
    for package in bad:
        print(f"{package['name']} {package['version']}: {package['license']}")
    print(f"{len(packages) - len(bad)} packages allowed, {len(bad)} not")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

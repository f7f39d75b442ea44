"""Every block of the guide and of the cookbook runs, in order, and says what the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/guide.md", "docs/cookbook.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# In `read.py`: the block that follows is that file, which a later block starts.
NAMED = re.compile(r"In `(\w+\.py)`:\s*\Z")
IDS = re.compile(r"(task|claim|edge|page|frag|job)_(?:[0-9a-f]+|…)")
MARK = "=== step"

SQL = """
import lyra, sys
rows = lyra.EvidenceGraph("evidence.db").query(sys.stdin.read())
assert rows, "no rows"
print(rows.columns, *rows, sep="\\n")
"""


@dataclass
class Step:
    """One block: what runs, and what it is to print."""

    line: int
    script: str
    expected: list[str]


def steps(page: str, folder: Path) -> list[Step]:
    """The blocks of a page as parts of a shell script; a language that is not known is a mistake."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Step] = []
    for match in BLOCK.finditer(text):
        language, block = match.groups()
        line = text[: match.start()].count("\n") + 1
        named = NAMED.search(text[: match.start()])
        if language == "sh":
            found.append(Step(line, block, []))
        elif language == "python":
            name = named[1] if named else f"step_{line}.py"
            (folder / f".{name}").write_text(block, encoding="utf-8")
            run = "" if named else f"\npython {name}"
            found.append(Step(line, f"cp .{name} {name}{run}", []))
        elif language == "sql":
            (folder / f".{line}.sql").write_text(block, encoding="utf-8")
            found.append(Step(line, f"python .ask.py < .{line}.sql", []))
        elif language == "json":
            assert isinstance(json.loads(block), dict), f"{page}:{line}"
        elif language == "text":
            found[-1].expected += [shown for shown in block.splitlines() if shown.strip(" …")]
        else:
            pytest.fail(f"{page}:{line}: nobody runs a block of {language!r}")
    return found


def pattern(shown: str) -> re.Pattern[str]:
    """What a line of output looks like: any id, anything for an ellipsis, any space."""
    parts = [re.escape(part) for part in IDS.sub(r"\1_…", shown).strip().split("…")]
    return re.compile(re.sub(r"(\\\s|\\\t)+", r"\\s+", ".*?".join(parts)))


def check(page: str, step: Step, output: str) -> None:
    """Every line that the page shows stands in the output; ids, which differ, order much of it."""
    output = re.sub(r"[ \t]+", " ", output)
    for shown in step.expected:
        found = pattern(re.sub(r"[ \t]+", " ", shown)).search(output)
        assert found, f"{page}, the block of line {step.line}: {shown!r} is not in what it prints:\n{output}"


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `lyra-mcp` and `python` are those under test."""
    program = os.environ.get("LYRA_MCP_BIN")
    bin_folder = tmp_path / ".bin"
    bin_folder.mkdir()
    start = f'exec "{program}" "$@"' if program else f'exec "{sys.executable}" -m lyra "$@"'
    for name, command in (("lyra-mcp", start), ("python", f'exec "{sys.executable}" "$@"')):
        (bin_folder / name).write_text(f"#!/bin/sh\n{command}\n")
        (bin_folder / name).chmod(0o755)
    (tmp_path / ".ask.py").write_text(SQL)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LYRA_")}
    return {**kept, "PATH": f"{bin_folder}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(tmp_path / ".none")}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_says_what_the_page_shows(page: str, shell: dict[str, str], tmp_path: Path) -> None:
    found = steps(page, tmp_path)
    assert len(found) > 5
    script = "\n".join(f"echo '{MARK} {number}'\n{step.script}" for number, step in enumerate(found))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"exec 2>&1\n{script}"],
        cwd=tmp_path, env=shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    outputs = re.split(rf"^{MARK} \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    assert len(outputs) == len(found)
    for step, output in zip(found, outputs, strict=True):
        check(page, step, output)

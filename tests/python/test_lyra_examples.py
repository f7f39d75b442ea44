"""What the documentation shows runs as it stands there, and is typed as the stubs say."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PAGES = ["README.md", "lyra-py/README.md", "docs/python.md"]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text("# Nurses\n\nIn 200 nurses, night work shortened sleep duration by one hour.")
    (papers / "b.md").write_text("# Drivers\n\nIn 80 drivers, night work did not shorten sleep duration.")
    names: dict[str, object] = {"__name__": "__main__"}
    assert blocks(page)
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)  # noqa: S102
    assert (tmp_path / "evidence.db").exists()


def test_a_first_question_is_answered() -> None:
    names = runpy.run_path(str(ROOT / "examples" / "python" / "first_question.py"))
    assert names["main"](names["CORPUS"], names["HYPOTHESIS"]) > 0


def test_own_models_research() -> None:
    assert runpy.run_path(str(ROOT / "examples" / "python" / "own_models.py"))["main"]() > 0


def test_a_sentence_encoder_researches_the_demo_question() -> None:
    folder = os.environ.get("LYRA_TEST_MINILM")
    if not folder:
        pytest.skip("LYRA_TEST_MINILM names no folder that scripts/minilm_onnx.py has written")
    assert runpy.run_path(str(ROOT / "examples" / "python" / "minilm.py"))["main"](Path(folder)) > 10


def mypy(*arguments: str) -> None:
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_are_those_of_the_module() -> None:
    mypy(
        "mypy.stubtest",
        f"--mypy-config-file={HERE / 'mypy.ini'}",
        f"--allowlist={HERE / 'stubtest-allowlist.txt'}",
        "lyra",
    )


def test_package_and_examples_are_typed(tmp_path: Path) -> None:
    pages = []
    for number, page in enumerate(PAGES):
        file = tmp_path / f"page{number}.py"
        file.write_text("\n".join(blocks(page)))
        pages.append(str(file))
    options = (f"--config-file={HERE / 'mypy.ini'}", "--strict")
    mypy("mypy", *options, "-p", "lyra")
    for file in [*map(str, EXAMPLES), *pages]:
        mypy("mypy", *options, file)


# What people write, and type checkers have to take.
TYPED = """
from collections.abc import Iterator
import numpy as np
import lyra

def folders() -> Iterator[str]:
    yield "papers"

def judge(pairs: list[tuple[str, str]]) -> list[list[str | float]]:
    return [["supports", 0.5] for _ in pairs]

group: str = "domain"
graph = lyra.EvidenceGraph("a.db", corpus=folders(), judge=judge, providers={"name": "brave", "key": "k"})
rows: lyra.Rows = graph.auth_queue(None, "none")
groups: dict[str, lyra.Rows] = graph.auth_queue(None, "domain")
named: dict[str, lyra.Rows] = graph.auth_queue(group_by="type")
either: lyra.Rows | dict[str, lyra.Rows] = graph.auth_queue(group_by=group)
graph.add_page("https://example.org/a", fresh_until="2027-01-01", near_duplicate_of="page_1")
graph.judge([["a", "b"]]), graph.judge([("a", "b")])
for body in (bytearray(b"x"), memoryview(b"x"), np.zeros(3, dtype=np.uint8)):
    lyra.extract(body), lyra.detect_challenge(body)
lyra.claim_confidence([("supports", 0.5), ("refutes", None)]), lyra.claim_confidence([["supports", 0.5]])
hits: lyra.Hits = graph.search("x")[:1].copy()
report: lyra.Status = graph.status("t").copy()
lyra.Report([("a", 1)]), lyra.Report(a=1), lyra.Report({"a": 1}, b=2)
"""


def test_what_people_write_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "written.py"
    file.write_text(TYPED)
    mypy("mypy", f"--config-file={HERE / 'mypy.ini'}", "--strict", str(file))


def test_the_module_is_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lyra", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert "Serve MCP" in run("--help").stdout
    lyra.EvidenceGraph(tmp_path / "evidence.db").create_task("h")
    done = run("--db", "evidence.db", "export")
    assert done.returncode == 0 and '"hypothesis":"h"' in done.stdout
    assert run("--db", "evidence.db", "verify").returncode == 0
    assert run("--db", "nowhere.db", "verify").returncode == 1
    assert run("psychic").returncode == 2

"""Reading in parts: the graph is the same whatever reads, in however many shards and processes."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "scale"
CORPUS = ROOT / "examples" / "corpus"
HYPOTHESIS = "Night work shortens sleep"
SAID = (
    "Night work shortened sleep by {n} minutes in {n} nurses.",
    "Night work did not shorten sleep in {n} drivers.",
    "Sleep was shorter after night work in a cohort of {n} guards.",
)
NOW = "2026-03-01T12:00:00Z"
PATIENCE = 300


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A file with a document a line, and two documents that are files; short, for they are judged."""
    folder = tmp_path_factory.mktemp("papers")
    lines = [{"id": n, "title": f"Study {n}", "abstract": SAID[n % 3].format(n=n + 40)} for n in range(3)]
    (folder / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "a.md").write_text("# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.\n")
    (folder / "b.html").write_text("<title>Pilots</title><p>Night work did not shorten sleep in 80 pilots.</p>")
    return [folder / name for name in ("list.jsonl", "a.md", "b.html")]


def judged(graph: Any) -> str:
    task = graph.tasks()[0]["id"]
    verdicts = [record for pairs in graph.candidate_pairs(task) for record in lyra.judge_pairs(pairs)]
    graph.add_records(verdicts)
    return str(graph.canonical_hash())


@pytest.fixture(scope="module")
def expected(papers: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of a graph that one process has read, whole files at a time."""
    with lyra.EvidenceGraph(tmp_path_factory.mktemp("scale") / "whole.db") as graph:
        graph.add_records(record for path in papers for record in lyra.read(path, HYPOTHESIS, now=NOW))
        before = graph.canonical_hash()
        after = judged(graph)
        assert before != after
        edges = graph.query("SELECT DISTINCT relation FROM edges ORDER BY 1").column("relation")
        assert {"origin", "supports", "refutes"} <= set(edges)
        assert graph.verify().ok
        return after


def test_shards_in_threads_make_the_same_graph(papers: list[Path], expected: str, tmp_path: Path) -> None:
    parts_of_list = [(0, 1), (1, 2), (2, 9)]
    shards: list[tuple[Path, tuple[int, int] | None]] = [(papers[0], lines) for lines in parts_of_list]
    shards += [(path, None) for path in papers[1:]]
    parts: dict[int, Any] = {}

    def read(place: int, path: Path, lines: tuple[int, int] | None) -> None:
        parts[place] = lyra.read(path, HYPOTHESIS, lines=lines, now=NOW)

    threads = [threading.Thread(target=read, args=(place, *shard)) for place, shard in enumerate(shards)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with lyra.EvidenceGraph(tmp_path / "parts.db") as graph:
        # The order of the parts does not matter either.
        graph.add_records(record for place in reversed(range(len(shards))) for record in parts[place])
        assert judged(graph) == expected


@pytest.mark.parametrize(
    ("engine", "module"), [("multiprocessing", None), ("dask", "distributed"), ("ray", "ray"), ("spark", "pyspark")]
)
def test_an_engine_makes_the_same_graph(
    engine: str, module: str | None, papers: list[Path], expected: str, tmp_path: Path
) -> None:
    if module is not None and importlib.util.find_spec(module) is None:
        assert module not in os.environ.get("LYRA_TEST_SCALE", "").split(), f"{module} is not installed"
        pytest.skip(f"{module} is not installed: run scripts/test_scale.sh")
    command = [sys.executable, EXAMPLES / f"read_with_{engine}.py", *papers, "--out", "graph.db"]
    command += ["--hypothesis", HYPOTHESIS, "--workers", "2", "--lines", "2"]
    done = subprocess.run(
        [str(word) for word in command],
        cwd=tmp_path,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 documents in 4 shards" in done.stdout, done.stdout
    found = re.search(r"graph\.db: ([0-9a-f]{64})", done.stdout)
    assert found and found[1] == expected, done.stdout


def test_the_block_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    said = ("shortened sleep by one hour in 200 nurses", "did not shorten sleep in 80 drivers")
    lines = [json.dumps({"id": n, "text": f"Night work {said[n % 2]} of group {n}."}) for n in range(2)]
    (tmp_path / "papers" / "a.jsonl").write_text("\n".join([lines[0], *[""] * 199, lines[1]]) + "\n")
    (tmp_path / "papers" / "b.pdf").write_bytes((CORPUS / "tecos-design.pdf").read_bytes())
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "scale.md", "exec"), names)  # noqa: S102
    graph = names["graph"]
    assert graph.query("SELECT count(*) AS n FROM pages")[0]["n"] == 3
    assert graph.query("SELECT count(*) AS n FROM nli_verdicts")[0]["n"] > 0


def test_what_travels_can_be_pickled() -> None:
    for function in (lyra.read, lyra.judge_pairs):
        assert pickle.loads(pickle.dumps(function)) is function
    records = lyra.read(CORPUS / "dpp4-heart-failure-abstracts.jsonl", HYPOTHESIS, now=NOW)
    assert pickle.loads(pickle.dumps(records)) == records == json.loads(json.dumps(records))


def test_bytes_are_read_as_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nurses.md"
    path.write_text("# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.\n")
    read = {"hypothesis": "Night work shortens sleep", "now": NOW}
    of_file = lyra.read(path, **read)
    of_bytes = lyra.read(path.read_bytes(), url=path.as_uri(), **read)
    for records in (of_file, of_bytes):
        for record in records:
            record.pop("last_modified", None)
    assert of_file == of_bytes == lyra.read(memoryview(path.read_bytes()), url=path.as_uri(), **read)
    kinds = [record["type"] for record in of_file]
    assert kinds[0] == "task" and {"page", "page_text", "fragment", "claim", "edge", "embedding"} <= set(kinds)


def test_a_bad_line_raises_or_warns(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('{"id": "a", "text": "Night work shortens sleep in nurses."}\n[]\n')
    with pytest.raises(lyra.InvalidInputError, match="line-2: .*not one JSON object") as raised:
        lyra.read(path, "Night work shortens sleep")
    assert "on_error" in raised.value.hint
    with pytest.warns(UserWarning, match="line-2"):
        records = lyra.read(path, "Night work shortens sleep", on_error="warn")
    assert [record["type"] for record in records].count("page") == 1


@pytest.mark.parametrize(
    ("arguments", "named", "error"),
    [
        ({"source": "none.md"}, "none.md", "NotFoundError"),
        ({"source": "."}, "is a folder", "InvalidInputError"),
        ({"source": "a.md", "url": "file:///a"}, "source is no bytes", "InvalidInputError"),
        ({"source": b"x", "hypothesis": " "}, "hypothesis is empty", "InvalidInputError"),
        ({"source": b"x", "now": "noon"}, "RFC 3339", "InvalidInputError"),
        ({"source": b"x", "lines": (0, 1)}, "no file of records", "InvalidInputError"),
        ({"source": b"x", "lines": (-1, 1)}, "lines", "InvalidInputError"),
        ({"source": b"x", "on_error": "no"}, "on_error", "InvalidInputError"),
        ({"source": b"x", "limits": {"none": 1}}, "none", "InvalidInputError"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], named: str, error: str) -> None:
    with pytest.raises(getattr(lyra, error), match=re.escape(named)):
        lyra.read(**{"hypothesis": "Night work shortens sleep", **arguments})


def test_bad_pairs_are_named(tmp_path: Path) -> None:
    with lyra.EvidenceGraph(tmp_path / "graph.db") as graph:
        task = graph.create_task("Night work shortens sleep")
        graph.add_claim(task, "Night shifts shorten sleep by an hour")
        (pairs,) = graph.candidate_pairs(task)
        with pytest.raises(lyra.InvalidInputError, match="batch"):
            graph.candidate_pairs(task, batch_size=0)
        with pytest.raises(lyra.TaskNotFoundError):
            graph.candidate_pairs("task_none")
    assert [record["type"] for record in lyra.judge_pairs(pairs)] == ["hypothesis_stance"]
    for wrong, named in [
        ({"type": "claim"}, "pairs[0] has not the type"),
        ({name: value for name, value in pairs[0].items() if name != "premise"}, "missing field `premise`"),
        ({**pairs[0], "more": 1}, "unknown field `more`"),
        ({**pairs[0], "judge_id": "another"}, "made for the judge"),
    ]:
        with pytest.raises(lyra.InvalidInputError, match=re.escape(named)):
            lyra.judge_pairs([wrong])

    def judge(asked: list[tuple[str, str]]) -> list[tuple[str, float]]:
        return [("refutes", 0.75) for _ in asked]

    with lyra.EvidenceGraph(tmp_path / "graph.db", judge=judge) as graph:
        (pairs,) = graph.candidate_pairs(task)
    (stance,) = lyra.judge_pairs(pairs, judge=judge, now=NOW)
    assert (stance["relation"], stance["confidence"], stance["created_at"]) == ("refutes", 0.75, NOW)

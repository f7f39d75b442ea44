"""A graph that is open read-only: what asks answers, what writes raises, nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")


@pytest.fixture
def theirs(tmp_path: Path) -> tuple[Path, str]:
    """A graph alone in its folder, and its task."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    with lyra.EvidenceGraph(folder / "g.db") as graph:
        task = graph.create_task("Tea helps")
        page = graph.add_page("https://a.org/1", text="Tea helped 40 adults.")
        graph.add_claim(task, "Tea helps adults")
        assert page
    assert [path.name for path in folder.iterdir()] == ["g.db"]
    return folder / "g.db", task


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_asks_answers(theirs: tuple[Path, str], tmp_path: Path) -> None:
    path, task = theirs
    before = contents(path.parent)
    with lyra.EvidenceGraph(path, read_only=True) as graph:
        assert graph.query("SELECT count(*) AS n FROM claims")[0]["n"] == 1
        assert graph.view("v_unsupported_claims", task) is not None
        assert len(graph.views()) >= 22
        assert graph.search("tea", min_similarity=0.0)[0]["text_preview"] == "Tea helps adults"
        assert graph.status(task).hypothesis == "Tea helps"
        assert [row["id"] for row in graph.tasks()] == [task]
        ids, vectors = graph.embeddings("claims")
        assert len(ids) == len(vectors) == 1
        assert graph.verify().ok
        graph.export(tmp_path / "out.jsonl")
        graph.export(tmp_path / "out.html", format="html")
        database = next(check for check in graph.doctor() if check["name"] == "database")
        assert database["ok"] and database["detail"].endswith("; open read-only")
        assert contents(path.parent) == before
    assert contents(path.parent) == before


def test_what_writes_raises_one_error(theirs: tuple[Path, str], tmp_path: Path) -> None:
    path, task = theirs
    before = contents(path.parent)
    (tmp_path / "in.jsonl").write_text('{"type": "task", "id": "t", "hypothesis": "h"}\n')
    graph = lyra.EvidenceGraph(path, read_only=True)
    writes: list[Callable[[], Any]] = [
        lambda: graph.create_task("Mine"),
        lambda: graph.queue_targets(task, ["tea"]),
        lambda: graph.run(task),
        lambda: graph.stop_task(task),
        lambda: graph.add_page("https://a.org/2", text="x"),
        lambda: graph.add_claim(task, "x"),
        lambda: graph.import_jsonl(tmp_path / "in.jsonl"),
        lambda: graph.forget(task_id=task),
    ]
    for number, write in enumerate(writes):
        with pytest.raises(lyra.UnsupportedError, match="open read-only") as caught:
            write()
        assert caught.value.code == "PIPELINE_ERROR", number
        assert "read_only" in (caught.value.hint or ""), number
    graph.close()
    assert contents(path.parent) == before


def test_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(lyra.NotFoundError, match="there is no database at"):
        lyra.EvidenceGraph(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []

"""The compiled extension loads, answers, and turns errors into exceptions."""

import json
from pathlib import Path

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")


def test_opens_queries_and_verifies(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db")
    reply = json.loads(graph.query_json("SELECT count(*) AS n FROM claims"))
    assert reply["rows"] == [{"n": 0}]
    assert graph.violations() == 0


def test_errors_say_what_was_wrong(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db")
    with pytest.raises(RuntimeError, match="claimz"):
        graph.query_json("SELECT * FROM claimz")

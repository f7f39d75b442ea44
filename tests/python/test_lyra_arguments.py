"""Arguments as people give them: what is taken, and what is said about the rest."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import functools
import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")
np = pytest.importorskip("numpy")

DIMENSION = 256
UTC = dt.timezone.utc


class Text(str):
    """A subclass of str, such as a StrEnum has."""


class Named:
    """Something to call, with attributes of its own."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __call__(self, *_: Any) -> Any:
        return [[1.0, 2.0]]


async def coroutine(*_: Any) -> Any:
    raise AssertionError("nobody awaits it")


NESTED: Any = functools.reduce(lambda inner, _: [inner], range(100), 0)
MASKED = np.ma.array([[0.5, 0.5]], mask=[[True, False]])


@pytest.fixture
def graph(tmp_path: Path) -> Any:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db")
    graph.add_claim(graph.add_task("Night work shortens sleep", id="task_1"), "Night shifts shorten sleep", id="c1")
    return graph


# What a call gets, and the error it ends with: its class, and words of its message.
REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda g: g.query("SELECT 1", limit=-1), lyra.InvalidInputError, "limit is -1; expected 0 or more"),
    (lambda g: g.query("SELECT 1", limit=1 << 70), lyra.InvalidInputError, "limit has more than 64 bits"),
    (lambda g: g.query("SELECT 1", limit=201), lyra.InvalidInputError, "limit is 201"),
    (lambda g: g.query("SELECT 1", limit=True), TypeError, "a bool is no whole number"),
    (lambda g: g.query("SELECT 1", limit=5.0), TypeError, "float"),
    (lambda g: g.query("SELECT 1", limit=None), TypeError, "NoneType"),
    (lambda g: g.query("SELECT 1", offset=-1), lyra.InvalidInputError, "offset is -1"),
    (lambda g: g.query("SELECT 1", timeout_ms=-1), lyra.InvalidInputError, "timeout_ms is -1"),
    (lambda g: g.query(None), TypeError, "None"),
    (lambda g: g.query("SELECT ?", "abc"), lyra.InvalidInputError, "expected an array or object"),
    (lambda g: g.query("SELECT ?", {1}), lyra.InvalidInputError, "params is of type set"),
    (lambda g: g.query("SELECT :a", {"a": {1}}), lyra.InvalidInputError, 'params["a"] is of type set'),
    (lambda g: g.query("SELECT ?", [b"abc"]), lyra.InvalidInputError, "params[0] is of type bytes"),
    (lambda g: g.query("SELECT ?", [memoryview(b"abc")]), lyra.InvalidInputError, "hex(column)"),
    (lambda g: g.query("SELECT ?", [bytearray(b"abc")]), lyra.InvalidInputError, "type bytearray"),
    (lambda g: g.query("SELECT ?, ?", [1, [{"x": object()}]]), lyra.InvalidInputError, 'params[1][0]["x"] is of type object'),
    (lambda g: g.query("SELECT ?", [2**63]), lyra.InvalidInputError, "params[0] does not fit into 64 bits"),
    (lambda g: g.query("SELECT :n", {"n": -(2**63) - 1}), lyra.InvalidInputError, 'params["n"] does not fit'),
    (lambda g: g.query("SELECT ?", np.array([2**63], dtype="uint64")), lyra.InvalidInputError, "params[0] does not fit"),
    (lambda g: g.query("SELECT :x", {"x": NESTED}), lyra.InvalidInputError, "a value in params is nested too deeply"),
    (lambda g: g.add_task("h", config_json=NESTED), lyra.InvalidInputError, "in config_json is nested too deeply"),
    (lambda g: g.query("SELECT ?", [float("inf")]), lyra.InvalidInputError, "params[0] is not finite"),
    (lambda g: g.view("v_evidence_timeline", params={"x": 2**63}), lyra.InvalidInputError, 'params["x"] does not fit'),
    (lambda g: g.add_work("doi:10.1/x", year=2**64), lyra.InvalidInputError, "year does not fit"),
    (lambda g: g.add_task("h", config_json={"a": [object()]}), lyra.InvalidInputError, 'config_json["a"][0] is of type'),
    (lambda g: g.add_records([{}, {"type": "task", "id": object()}]), lyra.InvalidInputError, 'records[1]["id"] is of type'),
    (lambda g: g.add_records([{"type": "task"}, 5]), lyra.InvalidInputError, "records[1] is of type int"),
    (lambda g: g.query("SELECT ?", [dt.datetime(2026, 1, 2)]), lyra.InvalidInputError, "no time zone"),
    (lambda g: g.query("SELECT ?", [1 << 70]), lyra.InvalidInputError, "does not fit into 64 bits"),
    (lambda g: g.query("SELECT '\ud800'"), ValueError, "surrogates"),
    (lambda g: g.search("x", top_k=-1), lyra.InvalidInputError, "top_k is -1"),
    (lambda g: g.search("x", min_similarity=float("nan")), lyra.InvalidInputError, "min_similarity"),
    (lambda g: g.search(None), lyra.InvalidInputError, "neither a str nor a vector"),
    (lambda g: g.search(b"abc"), lyra.InvalidInputError, "expected numbers"),
    (lambda g: g.search(["1", "2"]), lyra.InvalidInputError, "expected numbers"),
    (lambda g: g.search(np.ones(DIMENSION, dtype=complex)), lyra.InvalidInputError, "complex"),
    (lambda g: g.search(np.full(DIMENSION, np.nan)), lyra.InvalidInputError, "not finite"),
    (lambda g: g.search(np.ones(DIMENSION - 1)), lyra.InvalidInputError, "255"),
    (lambda g: g.embed("one text"), TypeError, "not a str"),
    (lambda g: g.embed([None]), TypeError, "None"),
    (lambda g: g.judge("ab"), TypeError, "pairs"),
    (lambda g: g.judge([("a", "b", "c")]), TypeError, "pairs"),
    (lambda g: g.judge(["ab"]), TypeError, "pairs"),
    (lambda g: g.embeddings("claims", "nobody"), lyra.NotFoundError, "no claim has a vector of nobody"),
    (lambda g: g.add_embeddings("claims", ["c1"], [[np.inf]], "m"), lyra.InvalidInputError, "of c1 has the value inf"),
    (lambda g: g.add_embeddings("claims", ["c1"], [[]], "m"), lyra.InvalidInputError, "no values"),
    (lambda g: g.add_embeddings("claims", ["c1"], np.array([[1e39, 1.0]]), "m"), lyra.InvalidInputError, "range of float32"),
    (lambda g: g.add_embeddings("claims", ["c1"], MASKED, "m"), lyra.InvalidInputError, "masked values"),
    (lambda g: g.search(MASKED[0]), lyra.InvalidInputError, "masked values"),
    (lambda g: g.embeddings("claims", "m", -1), lyra.InvalidInputError, "dimension is -1"),
    (lambda g: g.add_embeddings("claims", "c1", [[1.0]], "m"), TypeError, "not a str"),
    (lambda g: g.add_embeddings("claims", ["c1"], [[1.0]], " "), lyra.InvalidInputError, "model_id is empty"),
    (lambda g: g.add_embeddings("claims", ["c1", "c1"], [[1, 2], [3]], "m"), lyra.InvalidInputError, "inhomogeneous"),
    (lambda g: g.create_task("h", max_pages=-5), lyra.InvalidInputError, "max_pages is -5"),
    (lambda g: g.create_task("h", {"budget": {"max_pages": 5}}, max_pages=6), lyra.InvalidInputError, "max_pages is given, and"),
    (lambda g: g.create_task("h", {"priority_domains": []}, priority_domains=["a.org"]), lyra.InvalidInputError, "priority_domains is"),
    (lambda g: g.feedback("claim_restore", claim_id="c1", actor=" "), lyra.InvalidInputError, "actor is empty"),
    (lambda g: g.calibration_rollback("x", reason="r", actor=""), lyra.InvalidInputError, "actor is empty"),
    (lambda g: g.create_task("h", max_pages=1 << 40), lyra.InvalidInputError, "max_pages is 1099511627776"),
    (lambda g: g.create_task("h", priority_domains="a.org"), TypeError, "not a str"),
    (lambda g: g.queue_targets("task_1", b"words"), TypeError, "not bytes"),
    (lambda g: g.queue_targets("task_1", 5), TypeError, "not iterable"),
    (lambda g: g.run("task_1", progress=5), TypeError, "cannot be called"),
    (lambda g: g.run_async("task_1", progress=5), TypeError, "cannot be called"),
    (lambda g: g.run("task_1", progress=coroutine), TypeError, "progress is a coroutine function"),
    (lambda g: g.run_async("task_1", progress=coroutine), TypeError, "progress is a coroutine function"),
    (lambda g: g.status("task_1", wait=float("nan")), lyra.InvalidInputError, "wait is NaN"),
    (lambda g: g.add_page("https://x.org/a", fetched_at=dt.datetime(2026, 1, 2)), lyra.InvalidInputError, "time zone"),
    (lambda g: g.add_work("doi:10.1/x", year=True), lyra.InvalidInputError, "year"),
    (lambda g: g.diff(None), TypeError, "NoneType"),
    (lambda g: g.diff(g), lyra.InvalidInputError, "both sides"),
    (lambda g: g.diff("nowhere.db"), lyra.NotFoundError, "nowhere.db"),
    (lambda g: g.changes_since("yesterday"), lyra.InvalidInputError, "expected a day or a time"),
    (lambda g: g.changes_since(dt.datetime(2026, 1, 2)), lyra.InvalidInputError, "time zone"),
    (lambda g: g.changes_since(5), lyra.InvalidInputError, "not a date"),
    (lambda g: g.changes_since("2026-01-01", "task_none"), lyra.TaskNotFoundError, "task_none"),
    (lambda g: lyra.kneedle_cutoff([0.9, float("nan")]), lyra.InvalidInputError, "not finite"),
    (lambda g: lyra.kneedle_cutoff([10**400]), lyra.InvalidInputError, "out of the range of a float"),
    (lambda g: lyra.kneedle_cutoff(np.array([10**400])), lyra.InvalidInputError, "out of the range of a float"),
    (lambda g: lyra.kneedle_cutoff(np.ones((2, 2))), lyra.InvalidInputError, "scores has 2 dimension(s)"),
    (lambda g: lyra.kneedle_cutoff(np.array(["a"])), lyra.InvalidInputError, "expected numbers"),
    (lambda g: lyra.kneedle_cutoff([0.9], min_results=-1), lyra.InvalidInputError, "min_results is -1"),
    (lambda g: lyra.kneedle_cutoff([0.9], sensitivity=-1.0), lyra.InvalidInputError, "sensitivity is -1"),
    (lambda g: lyra.claim_confidence([("supports", 9.0)]), lyra.InvalidInputError, "a confidence is 9"),
    (lambda g: lyra.claim_confidence([("supports", float("nan"))]), lyra.InvalidInputError, "NaN"),
    (lambda g: lyra.detect_challenge("x", status=99_999), lyra.InvalidInputError, "status is 99999"),
    (lambda g: lyra.detect_challenge([1, 2]), lyra.InvalidInputError, "type list; expected str or bytes"),
    (lambda g: lyra.extract(Path("a.html")), lyra.InvalidInputError, "expected str or bytes"),
    (lambda g: lyra.canonical_id(title="x", authors="A. Author"), TypeError, "not a str"),
    (lambda g: lyra.EvidenceGraph(":memory:"), lyra.InvalidInputError, "a graph is a file"),
    (lambda g: lyra.EvidenceGraph(""), lyra.InvalidInputError, "a graph is a file"),
    (lambda g: lyra.EvidenceGraph("a\0b"), lyra.InvalidInputError, "a graph is a file"),
    (lambda g: lyra.EvidenceGraph(None), TypeError, "NoneType"),
    (lambda g: lyra.EvidenceGraph("x.db", judge=5), lyra.InvalidInputError, "judge is of type int"),
    (lambda g: lyra.EvidenceGraph("x.db", claim_extractor=5), lyra.InvalidInputError, "claim_extractor is of type int"),
    (lambda g: lyra.EvidenceGraph("x.db", providers={"key": "k"}), lyra.InvalidInputError, 'a provider has no "name"'),
    (lambda g: lyra.EvidenceGraph("x.db", judge=coroutine), lyra.InvalidInputError, "judge is a coroutine function"),
    (lambda g: lyra.EvidenceGraph("x.db", embedder=coroutine), lyra.InvalidInputError, "embedder is a coroutine function"),
    (lambda g: lyra.EvidenceGraph("x.db", embedder=Named(encode=coroutine)), lyra.InvalidInputError, "coroutine function"),
    (lambda g: lyra.EvidenceGraph("x.db", claim_extractor=coroutine), lyra.InvalidInputError, "coroutine function"),
    (lambda g: lyra.EvidenceGraph("x.db", providers=coroutine), lyra.InvalidInputError, "a provider is a coroutine function"),
    (lambda g: lyra.EvidenceGraph("x.db", judge=Named(judge_id=" ")), lyra.InvalidInputError, "judge_id of"),
    (lambda g: lyra.EvidenceGraph("x.db", judge=Named(judge_id=5)), lyra.InvalidInputError, "is of type int; expected a str"),
    (lambda g: lyra.EvidenceGraph("x.db", claim_extractor=Named(extractor_id="")), lyra.InvalidInputError, "extractor_id of"),
    (lambda g: lyra.EvidenceGraph("x.db", embedder=Named(model_id="")), lyra.InvalidInputError, "model_id of"),
    (lambda g: lyra.EvidenceGraph("x.db", providers=[Named(name="")]), lyra.InvalidInputError, "name of"),
    (lambda g: pickle.dumps(g), TypeError, "by its path"),
    (lambda g: copy.copy(g), TypeError, "by its path"),
    (lambda g: copy.deepcopy(g), TypeError, "by its path"),
    (lambda g: setattr(g.status("task_1"), "status", "x"), AttributeError, "for reading"),
    (lambda g: g.status("task_1").colour, AttributeError, "hypothesis"),
    (lambda g: g.query("SELECT 1 AS a").column("b"), KeyError, "there are: a"),
]


@pytest.mark.parametrize(("call", "kind", "said"), REFUSED)
def test_what_is_wrong_is_said(
    graph: Any,
    call: Callable[[Any], Any],
    kind: type[Exception],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        call(graph)
    assert said in str(caught.value)


def test_numbers_and_texts_of_other_libraries_are_taken(graph: Any) -> None:
    pandas = pytest.importorskip("pandas")
    assert len(graph.query(Text("SELECT 1 AS a"), limit=np.int32(5))) == 1
    assert graph.query("SELECT ? AS a, ? AS b", np.array([1.5, 2.5])) == [{"a": 1.5, "b": 2.5}]
    assert graph.query("SELECT ? AS a", (np.float32(1.5),)) == [{"a": 1.5}]
    for texts in (pandas.Series(["a", "b"]), np.array(["a", "b"]), (word for word in "ab"), {"a", "b"}, ("a", Text("b"))):
        assert graph.embed(texts).shape == (2, DIMENSION)
    assert len(graph.judge(zip(["a"], ["b"], strict=True))) == len(graph.judge([["a", "b"]])) == 1
    assert lyra.kneedle_cutoff(np.array([0.9, 0.5, 0.4, 0.3])) == lyra.kneedle_cutoff([0.9, 0.5, 0.4, 0.3])
    scores = np.array([0.9, 0.6, 0.4, 0.3, 0.25, 0.22, 0.2, 0.19, 0.18])
    for given in (scores, scores.astype("float32"), np.repeat(scores, 2)[::2], scores.astype(object), pandas.Series(scores)):
        assert lyra.kneedle_cutoff(given) == 3
    assert lyra.claim_confidence(pair for pair in [("supports", 0.9)])["alpha"] == 1.9
    page = b"<title>x</title><article><p>Night work shortens sleep.</p></article>"
    for body in (page, bytearray(page), memoryview(page), np.frombuffer(page, dtype="uint8")):
        assert lyra.extract(body, "text/html").title == "x"


def test_vectors_of_every_kind_of_array_are_taken(graph: Any) -> None:
    vector = graph.embeddings("claims")[1][0].astype("float64") + 0.01
    kinds = {
        "float64": vector,
        "float32": vector.astype("float32"),
        "big endian": vector.astype(">f4"),
        "not contiguous": np.stack([vector, vector], axis=1)[:, 0],
        "backwards": vector[::-1].copy()[::-1],
        "one row": vector.reshape(1, -1),
        "list": vector.tolist(),
        "masked": np.ma.array(vector),
    }
    scores = {name: graph.search(given, min_similarity=0.0)[0]["similarity"] for name, given in kinds.items()}
    assert max(scores.values()) - min(scores.values()) < 1e-5, scores
    assert abs(graph.search(vector.astype("float16"), min_similarity=0.0)[0]["similarity"] - scores["float64"]) < 1e-2
    read_only = vector.astype("float32")
    read_only.setflags(write=False)
    assert graph.search(read_only, min_similarity=0.0)
    own = np.random.default_rng(1).normal(size=(1, 6))
    for number, given in enumerate([own, np.asfortranarray(own), own.astype("float32"), own.astype("float16"), own[:, ::2]]):
        assert graph.add_embeddings("claims", np.array(["c1"]), given, model_id=f"m{number}") == 1
        back = graph.embeddings("claims", f"m{number}")[1]
        np.testing.assert_array_equal(back, given.astype("float32"))
    with pytest.raises(lyra.NotFoundError, match="c9"):
        graph.add_embeddings("claims", ["c1"] * 20_001 + ["c9"], np.ones((20_002, 2)), model_id="partly")
    assert graph.embeddings("claims", "partly", 2)[0] == [], "all of it or nothing"
    assert graph.add_embeddings("claims", [], [], model_id="none") == 0
    assert graph.add_embeddings("claims", [], np.empty((0, 6)), model_id="none") == 0


def test_dates_are_written_as_the_graph_writes_them(graph: Any) -> None:
    when = dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert graph.query("SELECT ? AS a, ? AS b", [when, dt.date(2026, 1, 2)]) == [
        {"a": "2026-01-02T03:04:05.678Z", "b": "2026-01-02"}
    ]
    tokyo = dt.timezone(dt.timedelta(hours=9))
    assert graph.query("SELECT ? AS a", [when.astimezone(tokyo)])[0]["a"] == "2026-01-02T03:04:05.678Z"
    page = graph.add_page("https://x.org/a", fetched_at=when)
    assert graph.query("SELECT id FROM pages WHERE fetched_at = ?", [when]) == [{"id": page}]
    pandas = pytest.importorskip("pandas")
    assert graph.query("SELECT ? AS a", [pandas.Timestamp(when)])[0]["a"] == "2026-01-02T03:04:05.678Z"
    with pytest.raises(lyra.InvalidInputError, match="no point in time"):
        graph.query("SELECT ?", [pandas.NaT])


def test_paths_are_what_python_takes_for_paths(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for corpus in (folder, str(folder), [folder], (str(folder),), (place for place in [folder]), []):
        with lyra.EvidenceGraph(Text(tmp_path / "a.db"), corpus=corpus) as graph:
            assert graph.path == tmp_path / "a.db"
    with lyra.EvidenceGraph(tmp_path / "it's 夜.db") as graph:
        assert repr(graph) == f"EvidenceGraph({str(tmp_path / chr(0x69))[:-1]!r}".replace("'", '"')[:-1] + "it's 夜.db\")"
        graph.export(str(tmp_path / "x.jsonl"))
    with pytest.raises(ValueError, match="closed"), graph:
        pass


def test_what_changed_is_told(graph: Any, tmp_path: Path) -> None:
    later = tmp_path / "later.db"
    graph.export(tmp_path / "graph.jsonl")
    now = lyra.EvidenceGraph(later)
    now.import_jsonl(tmp_path / "graph.jsonl")
    assert now.diff(graph).total == 0
    began = dt.datetime.now(UTC)
    page = now.add_page("https://x.org/a", text="Night shifts did not shorten sleep.")
    fragment = now.add_fragment(page, "Night shifts did not shorten sleep.")
    now.add_edge(fragment, "c1", "refutes", nli_edge_confidence=0.9)
    now.add_claim("task_1", "Nurses sleep less", id="c2")
    other = now.add_task("Coffee")
    for diff in (now.diff(graph), now.diff(graph.path), now.diff(str(graph.path), "task_1"), now.changes_since(began)):
        assert isinstance(diff, lyra.GraphDiff) and isinstance(diff, lyra.Report)
        assert [change.claim_id for change in diff.new_claims] == ["c2"]
        assert [change.claim_id for change in diff.new_contradictions] == ["c1"]
        assert diff.new_contradictions[0].relation_after == "refutes"
        assert [change.event for change in diff.moved_claims[0].edges] == ["added"]
        assert diff.moved_claims[0].before > diff.moved_claims[0].after
        assert diff.total >= 3 and diff["new_claims"] == diff.new_claims
        assert diff == pickle.loads(pickle.dumps(diff)) and type(copy.deepcopy(diff)) is lyra.GraphDiff
        assert "Nurses sleep less" in diff._repr_html_()
    assert now.changes_since(began, other).new_claims == []
    assert now.changes_since(dt.date.today() + dt.timedelta(days=2)).total == 0
    assert now.changes_since("2026-01-01").before == now.changes_since(dt.date(2026, 1, 1)).before
    (tmp_path / "junk.db").write_bytes(b"junk" * 1000)
    with pytest.raises(lyra.StorageError):
        now.diff(tmp_path / "junk.db")


HOSTILE = "</td></table><script>alert(1)</script><img src=x onerror='alert(2)'> \" ' $\\href{javascript:alert(3)}{x}$ \u202e"


def test_stored_text_cannot_write_html(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db")
    task = graph.create_task(HOSTILE)
    page = graph.add_page("https://x.org/a", text=HOSTILE, title=HOSTILE)
    graph.add_fragment(page, HOSTILE)
    graph.add_claim(task, HOSTILE)
    graph.queue_targets(task, [HOSTILE])
    document = lyra.extract(f"# {HOSTILE}\n\n{HOSTILE}", "text/markdown")
    shown = {
        "rows": graph.query("SELECT claim_text AS \"<b>x</b>\", hypothesis FROM claims JOIN tasks"),
        "hits": graph.search("alert", mode="lexical", min_similarity=0.0, target="fragments"),
        "view": graph.view("v_unsupported_claims"),
        "status": graph.status(task, detail="full"),
        "report": lyra.Report(graph.status(task, detail="full")),
        "diff": graph.changes_since("2020-01-01"),
        "document": document,
        "names": lyra.Report({HOSTILE: [{HOSTILE: HOSTILE}]}),
    }
    allowed = ("<table class=", "<thead>", "<tbody>", "<tr>", "<th>", "<td>", "<p>", "<p class=", "<b>", "</")
    for name, thing in shown.items():
        html = thing._repr_html_()
        assert "alert(1)" in html, f"{name} shows nothing of it"
        for at in (at for at, letter in enumerate(html) if letter == "<"):
            assert html.startswith(allowed, at), (name, html[at : at + 40])
        assert "<script" not in html and "<img" not in html and "onerror='" not in html
        # A notebook would make links of formulas.
        assert html.count("<table") == html.count('<table class="tex2jax_ignore mathjax_ignore"')


def test_what_a_query_says_stays_with_its_parts(graph: Any) -> None:
    rows = graph.query("SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3", limit=2)
    for part in (rows[:], rows[:1], rows.copy()):
        assert (part.truncated, part.next_offset, part.columns) == (True, 2, ["a"])
    hits = graph.search("night shifts", min_similarity=0.0)
    for some in (hits[:1], hits[5:], hits.copy()):
        assert type(some) is lyra.Hits and some.model_id == hits.model_id
        assert (some.skipped, some.total_searched) == (hits.skipped, hits.total_searched)


def test_every_row_has_every_column(graph: Any) -> None:
    for rows in (graph.search("night shifts", min_similarity=0.0), graph.doctor(), graph.views(), graph.tasks()):
        assert rows and all(set(rows.columns) <= set(row) for row in rows)
    assert graph.search("night shifts", min_similarity=0.0)[0]["url"] is None
    assert graph.status("task_1").evidence_summary is not None
    assert graph.status(graph.add_task("Coffee")).evidence_summary is None


REPORTS: list[Any] = [
    lyra.Report([("a", {"b": 1})]),
    lyra.Report(a={"b": 1}),
    lyra.Report({"a": 5}, a={"b": 1}),
    lyra.Report({"a": {"b": 1}}).copy(),
    lyra.Report({"a": {"b": 1}}) | {},
    {} | lyra.Report({"a": {"b": 1}}),
    lyra.Report({"a": 7}) | {"a": {"b": 1}},
]


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_is_made_as_a_dict_is(report: Any) -> None:
    assert type(report) is lyra.Report and report == {"a": {"b": 1}} and report.a.b == 1
    assert type(lyra.GraphDiff(new_claims=[]) | report) is lyra.GraphDiff


def test_a_document_is_data() -> None:
    document = lyra.extract("<title>x</title><article><p>Night work shortens sleep.</p></article>")
    asked = dataclasses.asdict(document)
    assert asked == document.to_dict() == json.loads(json.dumps(document.to_dict()))
    assert type(document.to_dict()["fragments"][0]) is dict and type(document.to_dict()["meta"]) is dict
    assert dataclasses.astuple(document)[0] == "x"


BIG = 2**53 + 1
# Values of a column, the type of the series, and that of the arrow array, or what is said.
COLUMNS: list[tuple[list[Any], str, str]] = [
    ([1, 2], "int64", "int64"),
    ([1, None, BIG], "Int64", "int64"),
    ([1, 2.5], "float64", "double"),
    ([1, 2.5, None], "float64", "double"),
    ([BIG, 2.5], "object", "no common type: float, int"),
    ([1, "x"], "object", "no common type: int, str"),
    ([2**63, 1], "object", "no common type: int"),
    ([None, None], "object", "null"),
    ([True, False], "bool", "bool"),
    ([True, None], "boolean", "bool"),
    (["a", None], "str", "string"),
    ([["a"], ["b", "c"]], "object", "list<"),
]


@pytest.mark.parametrize(("values", "series", "array"), COLUMNS)
def test_columns_of_frames_have_the_types_of_their_values(values: list[Any], series: str, array: str) -> None:
    pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    rows = lyra.Rows({"a": value} for value in values)
    kind = str(rows.to_pandas()["a"].dtype)
    assert kind == series or (series == "str" and kind == "object")
    if "common" in array:
        with pytest.raises(lyra.InvalidInputError, match=f"column 'a' has values of {array}"):
            rows.to_arrow()
    else:
        assert str(rows.to_arrow()["a"].type).startswith(array)
    text = rows.to_arrow(pyarrow.schema({"a": pyarrow.string()}))["a"]
    assert text.null_count == sum(value is None for value in values)


def test_pages_of_a_query_become_one_table() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    schema = pyarrow.schema({"a": pyarrow.int64(), "b": pyarrow.string()})
    pages = [lyra.Rows([{"a": 1, "b": None}]), lyra.Rows([{"a": None, "b": "x"}]), lyra.Rows([], ["a", "b"])]
    table = pyarrow.concat_tables([page.to_arrow(schema) for page in pages])
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]
    for wrong in ({"a": pyarrow.int64(), "c": pyarrow.int64()}, {"b": pyarrow.int64()}):
        with pytest.raises(lyra.InvalidInputError, match="column 'b' does not fit|has the column 'c'"):
            lyra.Rows([{"a": 1, "b": "x"}]).to_arrow(pyarrow.schema(wrong))


# What is put in, and what is said of it. From Python there is no file and there are no lines.
PUT_IN: list[tuple[Callable[[Any], Any], str]] = [
    (lambda g: g.add_claim("task_9", "x"), 'field "task_id": there is no task "task_9", neither here nor in the graph'),
    (lambda g: g.add_page("https://x.org/a", text="x", http_status=-1), 'field "http_status"'),
    (lambda g: g.add_page("https://x.org/a", titel="x"), 'unknown field "titel"; did you mean "title"?'),
    (lambda g: g.add_edge("frag_1", "c1", "supports"), 'there is no fragment "frag_1"'),
    (
        lambda g: g.add_records([{"type": "task", "id": "task_2", "hypothesis": "h"}, {"type": "claim", "id": "c2"}, {}]),
        "records[1]: ",
    ),
]


@pytest.mark.parametrize(("put", "said"), PUT_IN)
def test_what_is_put_in_is_named_without_lines(graph: Any, put: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(lyra.InvalidInputError) as caught:
        put(graph)
    message = str(caught.value)
    assert said in message and "nothing was written" in message
    assert "line" not in message and "file" not in message
    assert ("records[2]: " in message) == ("records[1]: " in message)


def test_a_graph_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    graph = lyra.EvidenceGraph("evidence.db")
    task = graph.create_task("Night work <b>shortens</b> sleep")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert graph.path == tmp_path / "evidence.db" and repr(graph) == "EvidenceGraph('evidence.db')"
    assert lyra.EvidenceGraph(graph.path).tasks()[0]["id"] == task
    assert lyra.EvidenceGraph(tmp_path / "other.db").diff(graph).after
    shown = graph._repr_html_()
    assert str(graph.path) in shown and task in shown and "claims</th><td>0" in shown and "<b>shortens" not in shown
    graph.close()
    assert "is closed" in graph._repr_html_()


RECORDS = ["task", "work", "work_author", "work_identifier", "page", "page_text", "fragment", "claim", "edge", "embedding", "task_page"]


@pytest.mark.parametrize("record", RECORDS)
def test_the_columns_of_a_record_are_in_its_signature(graph: Any, record: str) -> None:
    """The table of the format is asked for its fields by an unknown one."""
    with pytest.raises(lyra.InvalidInputError) as caught:
        graph.add_records([{"type": record, "no such field at all": 1}])
    fields = set(re.findall(r"[a-z_]+", str(caught.value).split(" has ")[-1].split(" (")[0])) - {"type"}
    parameters = set(inspect.signature(getattr(lyra.EvidenceGraph, f"add_{record}")).parameters) - {"self"}
    given = {"embedding": "embedding_blob"} if record == "embedding" else {}
    named = {given.get(name, name) for name in parameters}
    assert named - {"text"} == fields - {"text"}


def test_rows_stay_rows(graph: Any) -> None:
    rows = graph.query("SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3")
    for part in (rows[:2], rows[::-1], rows.copy(), copy.copy(rows), copy.deepcopy(rows)):
        assert isinstance(part, lyra.Rows) and part.columns == ["a"]
    assert rows[-1] == {"a": 3} and rows[1:].column("a") == [2, 3] and rows[:2] == [{"a": 1}, {"a": 2}]
    deep = copy.deepcopy(rows)
    deep[0]["a"] = 9
    assert rows[0]["a"] == 1
    hits = graph.search("night shifts")
    assert pickle.loads(pickle.dumps(hits)).model_id == copy.copy(hits).model_id == hits.model_id
    status = graph.status("task_1")
    assert copy.deepcopy(status) == status and type(copy.copy(status)) is lyra.Status


@pytest.mark.parametrize("name", [name for name in lyra.__all__ if name.endswith("Error")])
def test_exceptions_keep_what_they_know(name: str) -> None:
    kind = getattr(lyra, name)
    assert kind("x").code == kind.code and kind("x").hint is None
    error = kind("what", code="TIMEOUT", hint="do this")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (again.code, again.hint, str(again)) == ("TIMEOUT", "do this", "what (do this)")
    assert repr(error) == f"{name}('what')"


@pytest.mark.skipif(sys.platform == "win32" or sys.version_info < (3, 11), reason="no such interpreters here")
def test_a_second_interpreter_is_refused_in_words() -> None:
    interpreters = pytest.importorskip("_xxsubinterpreters")
    second = interpreters.create()
    try:
        with pytest.raises(Exception, match="one process for each"):
            interpreters.run_string(second, f"import sys\nsys.path[:] = {sys.path!r}\nimport lyra._lyra")
    finally:
        interpreters.destroy(second)

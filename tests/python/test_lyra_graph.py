"""The surface of `EvidenceGraph`: what goes in, what comes out, what bad input gets."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")
np = pytest.importorskip("numpy")

TEXT = "Night shifts shorten sleep by one hour. In nurses, day sleep is shorter than night sleep."
FIRST = "Night shifts shorten sleep by one hour."


@pytest.fixture
def graph(tmp_path: Path) -> Any:
    return lyra.EvidenceGraph(tmp_path / "evidence.db")


@pytest.fixture
def filled(graph: Any) -> tuple[Any, dict[str, str]]:
    """A graph with one claim that one page supports and another refutes."""
    ids = {"task": graph.add_task("Night work shortens sleep")}
    work = graph.add_work("doi:10.1000/x", title="Sleep of nurses", year=2020, doi="10.1000/x")
    graph.add_work_author(work, 0, "A. Author")
    ids["page"] = graph.add_page("https://a.example.org/1", text=TEXT, title="Sleep", canonical_id=work)
    ids["other"] = graph.add_page("https://b.example.org/2", text="Night shifts did not shorten sleep.")
    ids["fragment"] = graph.add_fragment(ids["page"], FIRST)
    ids["against"] = graph.add_fragment(ids["other"], "Night shifts did not shorten sleep.")
    ids["claim"] = graph.add_claim(ids["task"], "Night shifts shorten sleep", llm_claim_confidence=0.8)
    ids["origin"] = graph.add_edge(ids["fragment"], ids["claim"], "origin", quote_start=0, quote_end=12)
    ids["supports"] = graph.add_edge(ids["fragment"], ids["claim"], "supports", nli_edge_confidence=0.9)
    ids["refutes"] = graph.add_edge(ids["against"], ids["claim"], "refutes", nli_edge_confidence=0.6)
    ids["cites"] = graph.add_edge(ids["page"], ids["other"], "cites")
    graph.add_task_page(ids["task"], ids["page"])
    return graph, ids


def test_inserts_are_the_records_of_the_interchange_format(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    assert graph.verify().ok
    row = graph.query(
        "SELECT f.*, p.domain FROM fragments f JOIN pages p ON p.id = f.page_id WHERE f.id = ?",
        [ids["fragment"]],
    )[0]
    assert (row["char_start"], row["char_end"], row["domain"]) == (0, len(FIRST), "example.org")
    # Saying the same again changes nothing.
    again = graph.add_edge(ids["fragment"], ids["claim"], "supports", nli_edge_confidence=0.9)
    assert again == ids["supports"]
    assert graph.query("SELECT count(*) AS n FROM edges")[0]["n"] == 4
    assert graph.add_page("https://a.example.org/1") == ids["page"]


def test_views_count_what_was_put_in(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    (row,) = graph.view("v_claim_evidence_summary", task_id=ids["task"])
    assert (row["support_count"], row["refute_count"]) == (1, 1)
    assert row["bayesian_truth_confidence"] == round(1.9 / 3.5, 4)
    (chain,) = [r for r in graph.view("v_evidence_chain", ids["task"]) if r["relation"] == "supports"]
    assert chain["author_display"] == "A. Author"
    assert len(graph.views()) >= 22
    assert graph.view("v_contradictions", limit=1).columns[0] == "task_id"


@pytest.mark.parametrize(
    "call",
    [
        lambda g, i: g.add_claim("task_none", "x"),
        lambda g, i: g.add_claim(i["task"], ""),
        lambda g, i: g.add_claim(i["task"], "x", claim_type="rumour"),
        lambda g, i: g.add_claim(i["task"], "x", colour="red"),
        lambda g, i: g.add_claim(i["task"], "x", llm_claim_confidence=1.5),
        lambda g, i: g.add_fragment(i["page"], "words that do not stand there"),
        lambda g, i: g.add_fragment(i["page"], FIRST, char_start=1, char_end=5),
        lambda g, i: g.add_edge(i["page"], i["claim"], "supports"),
        lambda g, i: g.add_edge(i["fragment"], i["claim"], "implies"),
        lambda g, i: g.add_edge(i["against"], i["claim"], "origin", quote_start=0, quote_end=999),
        lambda g, i: g.add_records([{"type": "task", "id": "task_9", "hypothesis": "h"}, {"type": "x"}]),
        lambda g, i: g.add_records([3]),
        lambda g, i: g.add_embeddings("claims", [i["claim"]], np.zeros((2, 3))),
        lambda g, i: g.add_embeddings("claims", ["claim_none"], np.ones((1, 3)), model_id="m"),
        lambda g, i: g.add_embeddings("claims", [i["claim"]], np.ones(3), model_id="m"),
        lambda g, i: g.add_embeddings("claims", [i["claim"]], np.full((1, 3), np.nan), model_id="m"),
        lambda g, i: g.search("x", top_k=0),
        lambda g, i: g.search("x", mode="psychic"),
        lambda g, i: g.search(""),
        lambda g, i: g.search(np.zeros(3)),
        lambda g, i: g.search(np.zeros((2, 256))),
        lambda g, i: g.search(np.zeros(256), mode="hybrid"),
        lambda g, i: g.search(object()),
        lambda g, i: g.view("v_nothing"),
        lambda g, i: g.query("SELECT 1", limit=0),
        lambda g, i: g.query("SELECT 1", timeout_ms=99_999),
        lambda g, i: g.query("DELETE FROM claims"),
        lambda g, i: g.query("SELECT nothing FROM claims"),
        lambda g, i: g.query("SELECT ?", [object()]),
        lambda g, i: g.query("SELECT ?", [float("nan")]),
        lambda g, i: g.query("SELECT ?", [1 << 70]),
        lambda g, i: g.status("task_none"),
        lambda g, i: g.status(i["task"], wait=-1),
        lambda g, i: g.status(i["task"], detail="everything"),
        lambda g, i: g.create_task(""),
        lambda g, i: g.create_task("h", max_pages=0),
        lambda g, i: g.create_task("h", {"bugdet": {}}),
        lambda g, i: g.create_task("h", {"budget": {"max_page": 1}}),
        lambda g, i: g.queue_targets(i["task"], []),
        lambda g, i: g.queue_targets(i["task"], ["q"], priority="urgent"),
        lambda g, i: g.queue_targets(i["task"], ["q"], providers=["altavista"]),
        lambda g, i: g.stop_task(i["task"], mode="gently"),
        lambda g, i: g.feedback("edge_correct"),
        lambda g, i: g.feedback("edge_correct", edge_id="e", correct_relation="neutral"),
        lambda g, i: g.feedback("claim_reject", claim_id=i["claim"]),
        lambda g, i: g.feedback("claim_reject", claim_id=i["claim"], edge_id="e", reason="r"),
        lambda g, i: g.feedback("domain_block", domain_pattern="*.com", reason="r"),
        lambda g, i: g.feedback("praise"),
        lambda g, i: g.resolve_auth(),
        lambda g, i: g.resolve_auth("iq_1", domain="example.org"),
        lambda g, i: g.resolve_auth("iq_1", action="skip", cookies="a=b"),
        lambda g, i: g.auth_queue(group_by="colour"),
        lambda g, i: g.calibration_metrics("get_rich"),
        lambda g, i: g.calibration_rollback("judge", 3, "why not"),
        lambda g, i: g.calibration_rollback("judge"),
        lambda g, i: g.queue_reference_candidates(i["task"], ["a"], ["b"]),
        lambda g, i: g.import_jsonl("/nowhere/graph.jsonl"),
        lambda g, i: g.export("/nowhere/graph.jsonl"),
        lambda g, i: g.export("graph.xml", format="xml"),
        lambda g, i: g.forget("task_none"),
        lambda g, i: g.embeddings("pages"),
        lambda g, i: g.embed(["x"], role="chorus"),
        lambda g, i: lyra.normalize_url("no address"),
        lambda g, i: lyra.claim_confidence([("implies", 0.5)]),
        lambda g, i: lyra.extract(5),
        lambda g, i: lyra.EvidenceGraph("/nowhere/at/all/evidence.db"),
        lambda g, i: lyra.EvidenceGraph("x.db", embedder="onnx:/nowhere"),
        lambda g, i: lyra.EvidenceGraph("x.db", embedder="psychic"),
        lambda g, i: lyra.EvidenceGraph("x.db", embedder=5),
        lambda g, i: lyra.EvidenceGraph("x.db", judge=5),
        lambda g, i: lyra.EvidenceGraph("x.db", claim_extractor="x"),
        lambda g, i: lyra.EvidenceGraph("x.db", providers=["altavista"]),
        lambda g, i: lyra.EvidenceGraph("x.db", providers=[{"base_url": "https://x.org"}]),
        lambda g, i: lyra.EvidenceGraph("x.db", providers=[{"name": "openalex", "colour": "x"}]),
        lambda g, i: lyra.EvidenceGraph("x.db", corpus="/nowhere/papers"),
    ],
)
def test_bad_input_gets_a_typed_error_and_changes_nothing(
    filled: tuple[Any, dict[str, str]],
    call: Callable[[Any, dict[str, str]], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    graph, ids = filled
    before = graph.export(tmp_path / "before.jsonl").written
    with pytest.raises(lyra.LyraError) as caught:
        call(graph, ids)
    error = caught.value
    assert error.code.isupper() and str(error)
    assert error.code != "INTERNAL_ERROR" or isinstance(error, lyra.StorageError)
    assert graph.export(tmp_path / "after.jsonl").written == before
    assert (tmp_path / "before.jsonl").read_bytes() == (tmp_path / "after.jsonl").read_bytes()


def test_errors_say_what_to_do_and_can_be_sent_elsewhere(graph: Any) -> None:
    with pytest.raises(lyra.QueryRejectedError, match="claimz") as caught:
        graph.query("SELECT * FROM claimz")
    error = caught.value
    assert error.code == "QUERY_REJECTED" and "claims" in error.hint
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.code, again.hint, str(again)) == (error.code, error.hint, str(error))
    with pytest.raises(LookupError):
        graph.status("task_none")
    with pytest.raises(ValueError):
        graph.search("x", top_k=0)


def test_rows_know_their_columns_and_go_where_they_are_wanted(graph: Any) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
    rows = graph.query(numbers + "SELECT i, i / 2.0 AS half, '<b>' AS mark FROM n", limit=10)
    assert isinstance(rows, list) and len(rows) == 10 and rows[3] == {"i": 4, "half": 2.0, "mark": "<b>"}
    assert (rows.columns, rows.truncated, rows.next_offset) == (["i", "half", "mark"], True, 10)
    assert "&lt;b&gt;" in rows._repr_html_() and "<b>" not in rows._repr_html_().replace("<body>", "")
    again = pickle.loads(pickle.dumps(rows))
    assert again == rows and vars(again) == vars(rows)
    empty = graph.query("SELECT id, claim_text FROM claims")
    assert empty == [] and empty.columns == ["id", "claim_text"] and not empty.truncated
    assert graph.query("SELECT 1 AS a, 2 AS a").columns == ["a", "a_2"]
    assert graph.query("SELECT x'00ff' AS b, 1e999 AS inf, NULL AS n") == [{"b": "00ff", "inf": None, "n": None}]


def test_rows_become_tables(filled: tuple[Any, dict[str, str]]) -> None:
    graph, _ = filled
    rows = graph.query("SELECT id, nli_edge_confidence FROM edges ORDER BY id")
    pandas = pytest.importorskip("pandas")
    frame = rows.to_pandas()
    assert list(frame.columns) == rows.columns and len(frame) == len(rows)
    pandas.testing.assert_frame_equal(frame, pandas.DataFrame(list(rows)))
    pytest.importorskip("pyarrow")
    assert rows.to_arrow().to_pylist() == list(rows)
    assert graph.query("SELECT id FROM claims WHERE 0").to_arrow().column_names == ["id"]


def test_search_takes_words_and_vectors(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    by_words = graph.search("night shifts and sleep")
    assert [hit["id"] for hit in by_words] == [ids["claim"]]
    vector = graph.embed(["night shifts and sleep"], role="query")
    for query in (vector, vector[0], vector[0].tolist(), vector[0].astype("float64")):
        hits = graph.search(query, top_k=5)
        assert [hit["id"] for hit in hits] == [ids["claim"]]
        assert abs(hits[0]["similarity"] - by_words[0]["similarity"]) < 1e-6
    found = graph.search("sleep", target="fragments", mode="lexical", min_similarity=0.0, task_id=ids["task"])
    assert {hit["id"] for hit in found} == {ids["fragment"], ids["against"]}
    assert found[0]["url"].startswith("https://")
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.model_id == found.model_id
    assert graph.search("night shifts", mode="hybrid", cutoff="kneedle")[0]["id"] == ids["claim"]


def test_embeddings_go_out_and_come_in(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    models = graph.models()
    claims, vectors = graph.embeddings("claims")
    assert claims == [ids["claim"]] and vectors.dtype == np.float32
    assert vectors.shape == (1, models.dimension)
    np.testing.assert_allclose(vectors, graph.embed(["Night shifts shorten sleep"]), atol=1e-7)
    own = np.asfortranarray(np.random.default_rng(1).normal(size=(2, 4)))
    fragments = [ids["fragment"], ids["against"]]
    assert graph.add_embeddings("fragments", fragments, own, model_id="mine") == 2
    order, back = graph.embeddings("fragments", "mine", 4)
    np.testing.assert_array_equal(back[[order.index(i) for i in fragments]], own.astype("float32"))
    graph.add_embedding("claim", ids["claim"], np.array([1, 0], dtype="<f4").tobytes(), model_id="two")
    assert graph.embeddings("claims", "two", 2)[1].tolist() == [[1, 0]]
    assert graph.embed([]).shape == (0, models.dimension)
    assert graph.embeddings("claims", "nobody", 3)[1].shape == (0, 3)


def test_export_and_import_give_the_same_graph(filled: tuple[Any, dict[str, str]], tmp_path: Path) -> None:
    graph, ids = filled
    report = graph.export(tmp_path / "a.jsonl")
    assert report.written.claim == 1 and report.total_written == sum(report.written.values())
    other = lyra.EvidenceGraph(tmp_path / "other.db")
    assert other.import_jsonl(tmp_path / "a.jsonl").total_inserted == report.total_written
    assert other.import_jsonl(str(tmp_path / "a.jsonl")).total_inserted == 0
    other.export(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    third = lyra.EvidenceGraph(tmp_path / "third.db")
    third.add_records(reversed(records))
    third.export(tmp_path / "c.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    (tmp_path / "bad.jsonl").write_text('{"type": "claim"}\n')
    with pytest.raises(lyra.InvalidInputError, match="line 1"):
        other.import_jsonl(tmp_path / "bad.jsonl")
    assert graph.forget(task_id=ids["task"], orphans=True).deleted.claims == 1
    assert graph.query("SELECT count(*) AS n FROM pages") == [{"n": 0}]


def test_a_graph_goes_to_other_programs(filled: tuple[Any, dict[str, str]], tmp_path: Path) -> None:
    graph, ids = filled
    for format, mark in (
        ("bibtex", "10.1000/x"),
        ("ris", "10.1000/x"),
        ("csl-json", "10.1000/x"),
        ("graphml", "Night shifts shorten sleep"),
        ("markdown", "Night shifts shorten sleep"),
        ("csv", "Night shifts shorten sleep"),
    ):
        graph.export(tmp_path / "out", format, task_id=ids["task"])
        assert mark in (tmp_path / "out").read_text(encoding="utf-8"), format
    assert not (tmp_path / "out.part").exists()


def test_feedback_bites(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    report = graph.feedback("edge_correct", edge_id=ids["refutes"], correct_relation="neutral", reason="x")
    assert (report.previous, report.current) == ("refutes", "neutral")
    assert len(graph.view("v_contradictions", ids["task"])) == 0
    graph.feedback("claim_reject", claim_id=ids["claim"], reason="wrong", actor="alice")
    assert graph.query("SELECT actor FROM feedback_log ORDER BY rowid DESC LIMIT 1") == [{"actor": "alice"}]
    with pytest.raises(lyra.LyraError):
        graph.search("night shifts and sleep")
    graph.feedback("claim_restore", claim_id=ids["claim"])
    assert len(graph.search("night shifts and sleep")) == 1
    assert graph.calibration_metrics().sources[0].corrections >= 0
    assert graph.calibration_metrics("get_evaluations").evaluations == []


def test_an_agent_judges_lent_pairs(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    pairs = graph.judgements(ids["task"], limit=20, lease_seconds=60)
    assert {pair["kind"] for pair in pairs} == {"passage"}
    assert graph.judgements(ids["task"]) == []
    answers = [
        {"pair_id": pair["pair_id"], "relation": "supports", "quote": pair["passage"]} for pair in pairs
    ]
    refused = graph.submit_judgements(ids["task"], [{**answers[0], "quote": "not a word of it is there"}], "m")
    assert (refused.stored, refused.refused[0]["pair_id"]) == (0, pairs[0]["pair_id"])
    report = graph.submit_judgements(ids["task"], answers, "my model", client="notebook")
    assert (report.stored, report.open, report.judge_id) == (len(answers), 0, "agent:notebook:my-model")
    assert len(graph.view("v_contradictions", ids["task"])) == 0
    assert graph.query("SELECT count(*) AS n FROM edges WHERE edge_human_corrected")[0]["n"] == 0
    assert graph.verify().ok
    for wrong in ({"relation": "supports"}, {"pair_id": "p", "relation": "maybe"}, {"pair_id": "p", "why": 1}):
        with pytest.raises(lyra.LyraError):
            graph.submit_judgements(ids["task"], [wrong], "m")
    with pytest.raises(lyra.LyraError):
        graph.judgements(ids["task"], focus="easy")


def test_a_task_lives(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text("# Trial A\n\nNight work shortened sleep by one hour in nurses.")
    (papers / "b.txt").write_text("A cohort of drivers.\n\nNight work did not shorten sleep in drivers.")
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers)
    task = graph.create_task("Night work shortens sleep", {"budget": {"max_pages": 5}}, max_seconds=60)
    assert graph.queue_targets(task, "night work sleep").queued_count == 1
    assert graph.queue_targets(task, {"kind": "query", "query": "shift work"}, priority="high").queued_count == 1
    seen: list[Any] = []
    status = graph.run(task, progress=seen.append)
    assert seen and all(s.task_id == task for s in seen)
    assert status.is_idle and status.metrics.total_pages == 2 and status.metrics.total_claims >= 2
    assert status.budget.pages_limit == 5 and status.budget.seconds_limit == 60
    assert status == pickle.loads(pickle.dumps(status)) and task in status._repr_html_()
    assert graph.status(task, wait=5, detail="full").searches_detail
    assert graph.verify().ok
    assert graph.sync_corpus() is not None
    assert graph.stop_task(task, "user_cancelled", mode="full").final_status == "paused"
    claims = graph.query("SELECT count(*) AS n FROM claims WHERE task_id = :t", {"t": task})[0]["n"]
    assert claims == status.metrics.total_claims
    assert [t["id"] for t in graph.tasks()] == [task]
    kinds = {check["name"] for check in graph.doctor()}
    assert {"database", "models", "search"} <= kinds


def test_a_closed_graph_says_so(tmp_path: Path) -> None:
    with lyra.EvidenceGraph(tmp_path / "evidence.db") as graph:
        task = graph.create_task("h")
        assert "evidence.db" in repr(graph)
    with pytest.raises(lyra.InvalidInputError, match="is closed.*open it again"):
        graph.status(task)
    graph.close()
    with lyra.EvidenceGraph(str(tmp_path / "evidence.db")) as again:
        assert again.status(task).status == "created"


def test_documents_are_taken_apart() -> None:
    html = "<html><head><title>Sleep</title></head><body><article><p>夜勤は睡眠を短くする。</p></article></body>"
    for given, kind in ((html, None), (html.encode(), "text/html; charset=utf-8"), (html, "text/html")):
        document = lyra.extract(given, kind)
        assert "夜勤は睡眠を短くする。" in document.text
        for fragment in document.fragments:
            assert document.text[fragment.char_start : fragment.char_end] == fragment.text_content
    sjis = html.replace("<head>", '<head><meta charset="shift_jis">')
    assert "夜勤" in lyra.extract(sjis).text, "a str needs no decoding"
    assert "夜勤" in lyra.extract(sjis.encode("shift_jis")).text
    document = lyra.extract("plain words <b> and no markup")
    assert (document.page_type, document.text) == ("text", "plain words <b> and no markup")
    assert pickle.loads(pickle.dumps(document)) == document
    assert "<table" in document._repr_html_()
    data = Path(__file__).parents[1] / "data" / "documents"
    assert lyra.extract((data / "paper.pdf").read_bytes()).page_type == "pdf"
    assert lyra.extract((data / "article.xml").read_bytes()).meta.doi


def test_fragments_of_a_document_go_into_the_graph(graph: Any) -> None:
    document = lyra.extract("# Sleep\n\nNight work shortens sleep.\n\n- one\n- two", "text/markdown")
    page = graph.add_page("https://example.org/sleep", document.text, title=document.title)
    for fragment in document.fragments:
        graph.add_fragment(page, **fragment)
    assert graph.verify().ok
    assert graph.query("SELECT count(*) AS n FROM fragments")[0]["n"] == len(document.fragments)


def test_all_rows_come_where_all_are_asked_for(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "many.db")
    task = graph.add_task("Tea calms")
    with graph.batch():
        for number in range(450):
            graph.add_claim(task, f"Tea calms person {number}.")
    sql = "SELECT id FROM claims ORDER BY id"
    some = graph.query(sql)
    with pytest.warns(UserWarning, match="all=True"):
        some.to_pandas()
    every = graph.query(sql, all=True)
    assert len(every) == 450 and not every.truncated
    assert every.column("id") == sorted(set(every.column("id")))
    assert graph.query(sql, offset=440, all=True) == every[440:]
    claims = graph.view("v_unsupported_claims", task, all=True)
    assert sorted(claims.column("claim_id")) == every.column("id")
    assert len(claims.to_pandas()) == 450


def test_a_batch_is_stored_at_once_or_not_at_all(graph: Any) -> None:
    count = lambda: graph.query("SELECT count(*) AS n FROM claims")[0]["n"]
    with graph.batch() as same:
        assert same is graph
        task = graph.add_task("Night work shortens sleep")
        page = graph.add_page("https://a.example.org/1", text=TEXT)
        claim = graph.add_claim(task, "Night shifts shorten sleep")
        graph.add_edge(graph.add_fragment(page, FIRST), claim, "origin", quote_start=0, quote_end=12)
        assert count() == 0
    assert count() == 1
    assert graph.verify().ok
    with pytest.raises(KeyError), graph.batch():
        graph.add_claim(task, "This is taken back")
        raise KeyError("elsewhere")
    with pytest.raises(lyra.InvalidInputError, match=r"records\[1\]"), graph.batch():
        graph.add_claim(task, "This is right")
        graph.add_claim("task_none", "This belongs to no task")
    assert count() == 1
    with graph.batch():
        with pytest.raises(lyra.InvalidInputError, match="open already"), graph.batch():
            pass
        with pytest.raises(lyra.InvalidInputError, match="a batch is open"):
            graph.add_records([])
        graph.add_claim(task, "The outer batch goes on")
    assert count() == 2
    graph.add_claim(task, "After a batch each call stores by itself")
    assert count() == 3


def test_screening_takes_a_source_out_and_brings_it_back(filled: tuple[Any, dict[str, str]]) -> None:
    graph, ids = filled
    task, page = ids["task"], ids["page"]
    graph.add_task_page(task, ids["other"])
    before = graph.view("v_evidence_chain", task)
    assert graph.screen(task, ids["other"], "exclude", reason="wrong population", by="ann").counts is False
    assert len(graph.view("v_evidence_chain", task)) == len(before) - 1
    own = graph.screening(task, by="ann").sources
    assert [vote["decision"] for source in own for vote in source["decisions"]] == ["exclude"]
    assert graph.screen(task, ids["other"], "include", by="ann").previous == "exclude"
    assert graph.view("v_evidence_chain", task) == before
    assert "PRISMA-trAIce" in graph.review(task, format="markdown")
    assert graph.review(task, since="2026-01-01").task_id == task
    with pytest.raises(lyra.InvalidInputError, match="reason is empty"):
        graph.screen(task, page, "exclude")
    with pytest.raises(lyra.InvalidInputError, match="decision"):
        graph.screen(task, page, "maybe")

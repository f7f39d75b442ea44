"""Models and services of the user's own, as Python callables."""

from __future__ import annotations

import functools
import json
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")
np = pytest.importorskip("numpy")

PAPERS = {
    "a.md": "# Trial A\n\nNight work shortened sleep by one hour in nurses.",
    "b.md": "# Trial B\n\nNight work did not shorten sleep in drivers.",
}


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in PAPERS.items():
        (folder / name).write_text(text)
    return folder


class Encoder:
    """An encoder with the method of sentence-transformers: hashed words."""

    model_id = "hashed-words-64"
    related_threshold = 0.2

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.threads: set[int] = set()

    def encode(self, texts: list[str]) -> Any:
        assert isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        self.calls.append(len(texts))
        self.threads.add(threading.get_ident())
        rows = np.zeros((len(texts), 64), dtype="float64")
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(map(ord, word)) % 64] += 3.0
        return rows


def test_everything_of_ones_own_researches_a_question(papers: Path, tmp_path: Path) -> None:
    encoder = Encoder()
    asked: list[dict[str, Any]] = []
    judged: list[tuple[str, str]] = []

    def extract(request: dict[str, Any]) -> list[Any]:
        asked.append(request)
        text = request["passages"][0]["text"]
        words = text.split(". ")[0]
        return [words, {"text": "Sleep is touched by work", "passage": 0, "confidence": 0.25, "claim_type": "opinion"}]

    extract.extractor_id = "first-sentence"  # type: ignore[attr-defined]

    def judge(pairs: list[tuple[str, str]]) -> list[tuple[str, float]]:
        judged.extend(pairs)
        return [("refutes" if "not" in premise else "supports", 0.75) for premise, _ in pairs]

    graph = lyra.EvidenceGraph(
        tmp_path / "evidence.db", corpus=papers, embedder=encoder, claim_extractor=extract, judge=judge
    )
    models = graph.models()
    assert models.embedder == "hashed-words-64" and models.dimension == 64 and models.builtin == []
    assert models.claim_extractor == "first-sentence" and models.stance_judge.endswith("judge")
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    status = graph.run(task)
    assert status.metrics.total_claims == 4, status
    assert asked[0]["hypothesis"] == "Night work shortens sleep" and judged
    rows = graph.query("SELECT claim_text, extractor_id, claim_type, llm_claim_confidence FROM claims ORDER BY 1")
    assert {row["extractor_id"] for row in rows} == {"first-sentence"}
    assert rows[-1]["claim_type"] == "opinion" and rows[-1]["llm_claim_confidence"] == 0.25
    verdicts = graph.query("SELECT relation, judge_id FROM edges WHERE judge_id IS NOT NULL")
    assert verdicts and all(row["judge_id"] == models.stance_judge for row in verdicts)
    assert graph.verify().ok
    vectors = graph.embed(["a b", "", "c"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-6)
    assert graph.judge([("not so", "x"), ("so", "x")]) == [("refutes", 0.75), ("supports", 0.75)]
    assert graph.search("night work", min_similarity=0.0).model_id == "hashed-words-64"


def test_queries_and_documents_may_be_encoded_differently(tmp_path: Path) -> None:
    class Asymmetric:
        def encode_query(self, texts: list[str]) -> Any:
            return [[1.0, 0.0]] * len(texts)

        def encode_document(self, texts: list[str]) -> Any:
            return np.array([[0.0, 1.0]] * len(texts), dtype="float16")

    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", embedder=Asymmetric())
    assert graph.embed(["x"], role="query").tolist() == [[1, 0]]
    assert graph.embed(["x"], role="document").tolist() == [[0, 1]]
    assert graph.models().embedder.endswith("Asymmetric:2")


def test_a_provider_is_asked_beside_the_corpus(papers: Path, tmp_path: Path) -> None:
    asked = []

    def library(query: str, limit: int) -> list[Any]:
        asked.append((query, limit))
        return [
            {
                "url": "https://doi.org/10.1000/night",
                "title": "Night work and sleep",
                "doi": "10.1000/night",
                "authors": ["A. Author"],
                "year": 2021,
                "abstract": "In 200 nurses, night work shortened sleep by 50 minutes (95% CI 40 to 60).",
            }
        ]

    library.is_academic = True  # type: ignore[attr-defined]
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=[papers], providers=[library])
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    graph.run(task)
    assert asked
    reasons = graph.query(
        "SELECT p.canonical_id = 'doi:10.1000/night' ours, group_concat(DISTINCT t.reason) r"
        " FROM task_pages t JOIN pages p ON p.id = t.page_id GROUP BY 1 ORDER BY 1"
    )
    assert reasons.column("r") == ["search", "academic_api"]
    (work,) = graph.query("SELECT title, year, doi FROM works WHERE doi = '10.1000/night'")
    assert (work["title"], work["year"]) == ("Night work and sleep", 2021)
    assert graph.query("SELECT DISTINCT engine FROM serp_items ORDER BY 1").column("engine") == ["corpus", "library"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda texts: 1 / 0, "ZeroDivisionError"),
        (lambda texts: np.zeros(3), "1 dimension"),
        (lambda texts: np.zeros((len(texts) + 1, 3)), "shape"),
        (lambda texts: "no vectors", "embedder gave 'no vectors': "),
        (lambda texts: np.array([[1e300, 1.0]]), "range of float32"),
    ],
)
def test_an_embedder_that_fails_says_so_at_once(wrong: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(lyra.LyraError, match=message):
        lyra.EvidenceGraph(tmp_path / "evidence.db", embedder=wrong)


def test_what_a_callable_raises_is_the_cause(tmp_path: Path) -> None:
    def judge(pairs: list[tuple[str, str]]) -> list[tuple[str, float]]:
        raise OSError("the model went away")

    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", judge=judge)
    with pytest.raises(lyra.BackendError, match="went away") as caught:
        graph.judge([("a", "b")])
    assert isinstance(caught.value.__cause__, OSError)


def test_an_extractor_or_provider_that_fails_costs_its_own_part(papers: Path, tmp_path: Path) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of order")

    graph = lyra.EvidenceGraph(
        tmp_path / "evidence.db", corpus=papers, claim_extractor=broken, providers=[broken]
    )
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    status = graph.run(task)
    assert status.is_idle
    (output,) = graph.query("SELECT output_json FROM jobs WHERE kind = 'target_queue'").column("output_json")
    errors = json.loads(output)["errors"]
    assert len(errors) == 3 and all("out of order" in error for error in errors), errors
    assert graph.verify().ok


# What a judge gives, and what is said of it; None where it is taken.
VERDICTS: list[tuple[Any, str | None]] = [
    ([("refutes", 0.5)], None),
    ([["refutes", 0.5]], None),
    ((("refutes", np.float32(0.5)),), None),
    ((verdict for verdict in [["refutes", 0.5]]), None),
    ([], "0 verdict"),
    ([("implies", 0.5)], "gave ('implies', 0.5): "),
    ([("cites", 0.5)], "gave ('cites', 0.5): "),
    ([("supports", 2.0)], "gave ('supports', 2.0): a confidence is 2"),
    ([("supports", "much")], "gave ('supports', 'much'): "),
    (["supports"], "gave 'supports': expected pairs"),
    ([5], "gave 5: "),
    ("supports", "gave 'supports': expected a list with one (relation, confidence) for each pair"),
    ({"supports": 0.5}, "gave {'supports': 0.5}: expected a list"),
    (None, "gave None: expected a list"),
    (5, "gave 5: expected a list"),
]


@pytest.mark.parametrize(("given", "said"), VERDICTS)
def test_verdicts_are_pairs(given: Any, said: str | None, tmp_path: Path) -> None:
    def judge(pairs: list[tuple[str, str]]) -> Any:
        return given

    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", judge=judge)
    if said is None:
        assert graph.judge([("a", "b")]) == [("refutes", 0.5)]
        return
    with pytest.raises(lyra.BackendError) as caught:
        graph.judge([("a", "b")])
    assert said in str(caught.value) and "raised" not in str(caught.value)


def bursting() -> Iterator[str]:
    yield "Night work"
    raise RuntimeError("half way")


# What an extractor and a provider give in place of a list, and what is noted.
NO_LISTS: list[tuple[Any, str]] = [
    ("Night", "gave 'Night': expected a list of "),
    (b"Night", "gave b'Night': expected a list of "),
    ({"text": "Night work", "url": "https://x.org/a"}, "expected a list of "),
    (None, "gave None: expected a list of "),
    ([{}], "gave {}: a "),
    ([5], "gave 5: "),
    (bursting, "raised RuntimeError: half way"),
]


@pytest.mark.parametrize(("given", "said"), NO_LISTS)
def test_a_text_is_no_list_of_letters(given: Any, said: str, papers: Path, tmp_path: Path) -> None:
    def wrong(*_: Any) -> Any:
        return given() if callable(given) else given

    graph = lyra.EvidenceGraph(
        tmp_path / "evidence.db", corpus=papers, claim_extractor=wrong, providers=wrong
    )
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    graph.run(task)
    (output,) = graph.query("SELECT output_json FROM jobs WHERE kind = 'target_queue'").column("output_json")
    errors = json.loads(output)["errors"]
    for role in ("claim extractor", "search provider"):
        assert any(role in error and said in error and "wrong" in error for error in errors), errors
    assert all(len(text) > 10 for text in graph.query("SELECT claim_text FROM claims").column("claim_text"))


PROVIDERS: list[Any] = [
    "openalex",
    ["openalex"],
    {"name": "openalex", "base_url": "http://127.0.0.1:1/"},
    ({"name": "openalex"}, "crossref"),
    (name for name in ["openalex"]),
]


@pytest.mark.parametrize("providers", PROVIDERS)
def test_providers_are_one_or_several(providers: Any, tmp_path: Path) -> None:
    with lyra.EvidenceGraph(tmp_path / "evidence.db", providers=providers) as graph:
        assert "openalex" in str(graph.doctor())


def vectors(texts: list[str], scale: float = 1.0) -> Any:
    return [[scale, 1.0, 2.0] for _ in texts]


def named(function: Any, **attributes: str) -> Any:
    for name, value in attributes.items():
        setattr(function, name, value)
    return function


# What is given, and the attribute that it lacks; None where nobody is warned.
NAMELESS: list[tuple[dict[str, Any], str | None]] = [
    ({"embedder": lambda texts: vectors(texts)}, "model_id"),
    ({"embedder": functools.partial(vectors, scale=2.0)}, "model_id"),
    ({"embedder": named(functools.partial(vectors, scale=2.0), model_id="twice")}, None),
    ({"embedder": named(lambda texts: vectors(texts), model_id="mine")}, None),
    ({"embedder": vectors}, None),
    ({"judge": lambda pairs: []}, "judge_id"),
    ({"claim_extractor": lambda request: []}, "extractor_id"),
    ({"providers": lambda query, limit: []}, "name"),
    ({"providers": named(lambda query, limit: [], name="mine")}, None),
]


@pytest.mark.parametrize(("given", "attribute"), NAMELESS)
def test_who_cannot_be_told_apart_is_warned_of(given: dict[str, Any], attribute: str | None, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        lyra.EvidenceGraph(tmp_path / "evidence.db", **given)
    assert [warning.category for warning in heard] == ([UserWarning] if attribute else [])
    if attribute:
        assert f"has no {attribute}: " in str(heard[0].message) and heard[0].filename == __file__


@pytest.mark.parametrize("own_object", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_run_inside_its_own_callable_is_refused(own_object: bool, awaited: bool, papers: Path, tmp_path: Path) -> None:
    said: list[str] = []

    def extract(request: dict[str, Any]) -> list[Any]:
        inner = lyra.EvidenceGraph(tmp_path / "evidence.db") if own_object else graph
        with pytest.raises(lyra.InvalidInputError) as caught:
            inner.run_async(task) if awaited else inner.run(task)
        said.append(str(caught.value))
        other = lyra.EvidenceGraph(tmp_path / "other.db")
        assert other.run(other.create_task("h")).is_idle, "another graph waits for nobody"
        return []

    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers, claim_extractor=extract)
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    assert graph.run(task).is_idle
    assert said and all("inside the claim extractor" in text for text in said)
    assert graph.run(task).is_idle, "outside it is as ever"


def test_a_judge_that_fails_is_told_by_run(tmp_path: Path, papers: Path) -> None:
    def broken(pairs: Any) -> Any:
        raise RuntimeError("secret words of a service")

    graph = lyra.EvidenceGraph(tmp_path / "e.db", corpus=papers, judge=broken)
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    with pytest.warns(UserWarning, match="verification failed 1 time") as caught:
        status = graph.run(task)
    assert "secret words" not in str(caught[0].message)
    assert any("verification failed" in warning for warning in status.warnings)
    graph.close()
    graph = lyra.EvidenceGraph(tmp_path / "e.db", corpus=papers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = graph.create_task("Night work shortens sleep")
        graph.queue_targets(other, ["night work sleep"])
        assert not any("verification" in warning for warning in graph.run(other).warnings)

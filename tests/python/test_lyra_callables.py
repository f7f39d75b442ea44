"""Models and services of the user's own, as Python callables."""

from __future__ import annotations

import json
import threading
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
        (lambda texts: "no vectors", "embedder raised"),
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
    for wrong in ([], [("implies", 0.5)], [("supports", 2.0)], [5]):
        graph = lyra.EvidenceGraph(tmp_path / "evidence.db", judge=lambda pairs, wrong=wrong: wrong)
        with pytest.raises(lyra.BackendError):
            graph.judge([("a", "b")])


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

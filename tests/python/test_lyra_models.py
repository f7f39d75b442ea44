"""Models by name, as on the command line, and what a model that fails costs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Server:
    """A model server that is out of order: it notes what it is asked and says 400."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append((self.path, self.headers.get("Authorization")))
                body = b'{"error": {"message": "out of order"}}'
                self.send_response(400)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Trial A\n\nNight work shortened sleep by one hour in nurses.")
    (folder / "b.md").write_text("# Trial B\n\nNight work did not shorten sleep in drivers.")
    return folder


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LYRA_EMBEDDER_KEY", "LYRA_LLM_KEY", "LYRA_JUDGE_KEY"):
        monkeypatch.delenv(name, raising=False)


def research(graph: Any) -> Any:
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    return graph.run(task)


def test_the_built_in_ones_have_names(tmp_path: Path) -> None:
    names = {"embedder": "builtin", "claim_extractor": "builtin", "judge": "builtin"}
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", **names)
    assert graph.models() == lyra.EvidenceGraph(tmp_path / "other.db").models()
    assert graph.models().builtin == ["embedder", "claim_extractor", "stance_judge"]


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"embedder": "psychic"}, "InvalidInputError", 'there is no embedder "psychic"'),
        ({"judge": "psychic"}, "InvalidInputError", 'there is no judge "psychic"'),
        ({"claim_extractor": "psychic"}, "InvalidInputError", 'there is no claim extractor "psychic"'),
        ({"claim_extractor": "onnx:/x"}, "InvalidInputError", "expected builtin, openai:MODEL or ollama:MODEL"),
        ({"judge": "openai:"}, "InvalidInputError", "onnx:FOLDER, openai:MODEL or ollama:MODEL"),
        ({"judge": "onnx:/nowhere"}, "BackendError", "the judge onnx:/nowhere"),
        ({"embedder": "onnx:/nowhere"}, "BackendError", "the embedder onnx:/nowhere"),
        ({"judge": "ollama:m", "judge_url": "ftp://h"}, "InvalidInputError", "the judge ollama:m"),
        ({"claim_extractor": "ollama:m", "claim_extractor_url": "ftp://h"}, "InvalidInputError", "claim extractor"),
        ({"judge": "ollama:m", "judge_key": "two words"}, "InvalidInputError", "judge_key"),
        ({"judge_url": "http://h"}, "InvalidInputError", "judge_url is given"),
        ({"judge": "builtin", "judge_key": "k"}, "InvalidInputError", "judge_key is given"),
        ({"judge": lambda pairs: [], "judge_key": "k"}, "InvalidInputError", "judge_key is given"),
        ({"embedder_url": "http://h"}, "InvalidInputError", "embedder_url is given"),
        ({"claim_extractor_key": "k"}, "InvalidInputError", "claim_extractor_key is given"),
    ],
)
def test_a_name_that_is_wrong_says_why(options: dict[str, Any], kind: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(getattr(lyra, kind)) as caught:
        lyra.EvidenceGraph(tmp_path / "evidence.db", **options)
    assert said in str(caught.value) and "two words" not in str(caught.value)
    assert not (tmp_path / "evidence.db").exists(), "nothing is made of what cannot be opened"


def test_onnx_models_are_opened_by_name(papers: Path, tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    for script, name in (("tiny_onnx_judge.py", "judge"), ("tiny_onnx_model.py", "encoder")):
        subprocess.run([sys.executable, str(SCRIPTS / script), str(tmp_path / name)], check=True, timeout=120)
    graph = lyra.EvidenceGraph(
        tmp_path / "evidence.db",
        corpus=papers,
        embedder=f"onnx:{tmp_path / 'encoder'}",
        judge=f"onnx:{tmp_path / 'judge'}",
    )
    models = graph.models()
    assert models.builtin == ["claim_extractor"], models
    ((relation, confidence),) = graph.judge([("Night work shortened sleep.", "Night work shortens sleep")])
    assert relation in ("supports", "refutes", "neutral") and 0 <= confidence <= 1
    assert research(graph).is_idle and graph.verify().ok
    judges = set(graph.query("SELECT judge_id FROM edges WHERE judge_id IS NOT NULL").column("judge_id"))
    assert judges <= {models.stance_judge}


def test_servers_are_asked_with_their_key(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"judge": "openai:small", "judge_url": server.url}
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", judge_key="sk-given", **options)
    assert graph.models().stance_judge.startswith("openai:small@127.0.0.1")
    with pytest.raises(lyra.BackendError, match="out of order") as caught:
        graph.judge([("a", "b")])
    assert "sk-given" not in str(caught.value)
    monkeypatch.setenv("LYRA_JUDGE_KEY", "sk-environment")
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", **options)
    with pytest.raises(lyra.BackendError):
        graph.judge([("a", "b")])
    assert [key for _, key in server.asked] == ["Bearer sk-given", "Bearer sk-environment"]
    assert {path for path, _ in server.asked} == {"/v1/chat/completions"}


def errors_of(graph: Any, status: Any) -> list[str]:
    """What went wrong, as the search's own report and as the status of the task tell it."""
    output = graph.query("SELECT output_json FROM jobs WHERE kind = 'target_queue'").column("output_json")
    told: list[str] = json.loads(output[0])["errors"]
    recent = graph.status(status.task_id, detail="full").recent_errors
    assert sorted(told) == sorted(entry.error for entry in recent), "one tells what the other does not"
    return told


def check_that_the_built_in_one_read(graph: Any, status: Any, name: str, reason: str) -> None:
    assert status.is_idle and status.metrics.total_pages == 2, "no document is lost"
    extractors = graph.query("SELECT DISTINCT extractor_id FROM claims").column("extractor_id")
    assert extractors == ["lyra-minilm-claims-v4"]
    errors = errors_of(graph, status)
    assert len(errors) == 2, errors
    for error in errors:
        assert "lyra-minilm-claims-v4 was used instead" in error
        assert name in error and reason in error
    assert graph.verify().ok


def test_a_claim_extractor_on_a_server_that_fails_costs_no_document(server: Server, papers: Path, tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(
        tmp_path / "evidence.db", corpus=papers, claim_extractor="openai:small", claim_extractor_url=server.url
    )
    assert graph.models().claim_extractor.startswith("openai:small@")
    check_that_the_built_in_one_read(graph, research(graph), "", "out of order")
    assert server.asked


class Forgetful:
    extractor_id = "forgetful-1"

    def __call__(self, request: dict[str, Any]) -> list[Any]:
        raise RuntimeError("no idea what this says")


def empty_handed(request: dict[str, Any]) -> Any:
    return None


def off_topic(request: dict[str, Any]) -> list[Any]:
    return [{"text": "Words that stand nowhere"}]


def talkative(request: dict[str, Any]) -> list[Any]:
    raise ValueError("x" * 100_000)


def leaving(request: dict[str, Any]) -> list[Any]:
    sys.exit("goodbye")


@pytest.mark.parametrize(
    ("extractor", "name", "reason"),
    [
        (Forgetful(), "forgetful-1", "RuntimeError: no idea what this says"),
        (empty_handed, "empty_handed", "gave None: expected a list of claims"),
        (off_topic, "off_topic", "stand in none of the passages"),
        (talkative, "talkative", "ValueError: xxxx"),
        (leaving, "leaving", "SystemExit: goodbye"),
    ],
)
def test_a_claim_extractor_that_raises_costs_no_document(
    extractor: Any, name: str, reason: str, papers: Path, tmp_path: Path
) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers, claim_extractor=extractor)
    status = research(graph)
    check_that_the_built_in_one_read(graph, status, name, reason)
    assert all(len(error) < 1_000 for error in errors_of(graph, status))


def test_one_document_that_an_extractor_chokes_on_leaves_the_others_alone(papers: Path, tmp_path: Path) -> None:
    def picky(request: dict[str, Any]) -> list[str]:
        text: str = request["passages"][0]["text"]
        if "drivers" in text:
            raise ValueError("drivers")
        return [text]

    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers, claim_extractor=picky)
    status = research(graph)
    ids = graph.query("SELECT DISTINCT extractor_id FROM claims ORDER BY 1").column("extractor_id")
    assert len(ids) == 2 and ids[0] == "lyra-minilm-claims-v4" and ids[1].endswith("picky"), ids
    assert len(errors_of(graph, status)) == 1


LEFT_OPEN = """
import sys, lyra

def vowels(texts):
    return [[text.count(letter) + 1.0 for letter in "aeiou"] for text in texts]

vowels.model_id = "vowels-1"
graph = lyra.EvidenceGraph(sys.argv[1], embedder=vowels)
vowels.graph = graph
graph.create_task("Tea helps.")
"""


def test_a_graph_that_is_left_open_is_whole_in_its_file_when_python_ends(tmp_path):
    db = tmp_path / "left.db"
    subprocess.run([sys.executable, "-c", LEFT_OPEN, str(db)], check=True, timeout=120)
    copy = tmp_path / "copy.db"
    copy.write_bytes(db.read_bytes())
    with lyra.EvidenceGraph(copy) as graph:
        assert graph.query("SELECT count(*) AS n FROM tasks")[0]["n"] == 1


def test_a_judge_goes_by_either_name(tmp_path):
    def never(pairs):
        return [("neutral", 0.9) for _ in pairs]

    never.judge_id = "never-1"
    for name in ("judge", "stance_judge"):
        with lyra.EvidenceGraph(tmp_path / "a.db", **{name: never}) as graph:
            assert graph.models().stance_judge == "never-1"
    with pytest.raises(lyra.InvalidInputError, match="two names of one thing"):
        lyra.EvidenceGraph(tmp_path / "a.db", judge=never, stance_judge="builtin")

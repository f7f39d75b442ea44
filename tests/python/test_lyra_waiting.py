"""Threads, signals, forks, asyncio: a call that waits gets in nobody's way."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")
np = pytest.importorskip("numpy")


def make_papers(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        text = f"# Trial {number}\n\nIn trial {number}, night work shortened sleep by {number} minutes in nurses."
        (folder / f"{number:03}.md").write_text(text)
    return folder


# Seconds after the signal; the calls that are interrupted would take at least twice as long. What it
# takes on a quiet machine is measured by benches/python_interrupts.py.
SOON = 1.0

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def slow(texts: list[str]) -> Any:
    """An embedder that takes its time."""
    time.sleep(0.25 * len(texts))
    return np.ones((len(texts), 4))


@pytest.fixture
def slow_graph(tmp_path: Path) -> Any:
    papers = make_papers(tmp_path / "papers", 20)
    return lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers, embedder=slow)


class Interrupt:
    """Sends SIGINT to this process after a while; measures how late KeyboardInterrupt comes."""

    def __init__(self, after: float) -> None:
        self.sent = 0.0
        self.after = after

    def __enter__(self) -> Interrupt:
        def send() -> None:
            time.sleep(self.after)
            self.sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        self.thread = threading.Thread(target=send)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join()

    @property
    def late(self) -> float:
        return time.monotonic() - self.sent


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("call", ["run", "embed", "status", "query"])
def test_ctrl_c_ends_a_long_call(slow_graph: Any, call: str) -> None:
    task = slow_graph.create_task("Night work shortens sleep")
    slow_graph.queue_targets(task, ["night work sleep"])
    calls: dict[str, Callable[[], Any]] = {
        "run": lambda: slow_graph.run(task),
        "embed": lambda: slow_graph.embed(["x"] * 40),
        "status": lambda: slow_graph.status(task, wait=30),
        "query": lambda: slow_graph.query(ENDLESS, timeout_ms=2_000, max_vm_steps=50_000_000),
    }
    with Interrupt(0.1 if call == "query" else 0.6) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            calls[call]()
        late = interrupt.late
    assert late < SOON, f"{call} ended {late * 1000:.0f} ms after the signal"
    # The graph is whole, and the task can go on.
    assert slow_graph.verify().ok
    assert slow_graph.status(task).progress.queue.depth + slow_graph.status(task).progress.queue.running == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_import_that_is_interrupted_writes_nothing(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db")
    lines = tmp_path / "graph.jsonl"
    with lines.open("w") as file:
        file.write('{"type": "task", "id": "task_1", "hypothesis": "h"}\n')
        for n in range(150_000):
            file.write(f'{{"type": "claim", "id": "c{n}", "task_id": "task_1", "claim_text": "claim number {n}"}}\n')
    with Interrupt(0.4) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            graph.import_jsonl(lines)
        assert interrupt.late < SOON
    began = time.monotonic()
    assert graph.create_task("The graph can be written to")
    assert time.monotonic() - began < 5, "the import goes on"
    assert graph.query("SELECT count(*) AS n FROM claims") == [{"n": 0}]


HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
held.execute("ROLLBACK")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("call", ["create_task", "queue_targets", "feedback", "add_claim", "add_embeddings", "stop_task"])
def test_ctrl_c_ends_the_wait_for_another_programs_transaction(tmp_path: Path, call: str) -> None:
    graph = filled(tmp_path / "evidence.db", 1)
    writes: dict[str, Callable[[], Any]] = {
        "create_task": lambda: graph.create_task("another"),
        "queue_targets": lambda: graph.queue_targets("task_1", ["words"]),
        "feedback": lambda: graph.feedback("domain_block", domain_pattern="a.example.org", reason="r"),
        "add_claim": lambda: graph.add_claim("task_1", "x"),
        "add_embeddings": lambda: graph.add_embeddings("claims", ["claim_0"], [[1.0]], "mine"),
        "stop_task": lambda: graph.stop_task("task_1"),
    }
    # Of its own process: two copies of SQLite in one do not see each other's locks.
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "evidence.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin and other.stdout
    assert other.stdout.readline().strip() == b"held"
    try:
        with Interrupt(0.3) as interrupt:
            with pytest.raises(KeyboardInterrupt):
                writes[call]()
            late = interrupt.late
        assert late < SOON, f"{call} ended {late * 1000:.0f} ms after the signal"
        assert graph.query("SELECT count(*) AS n FROM tasks") == [{"n": 1}], "reading does not wait"
    finally:
        other.stdin.close()
        other.wait(timeout=10)
    assert graph.verify().ok
    assert graph.create_task("The graph can be written to")


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    papers = make_papers(tmp_path / "papers", 3)
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers)
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep", "sleep of nurses"])

    class Enough(Exception):
        pass

    def stop(status: Any) -> None:
        raise Enough

    with pytest.raises(Enough):
        graph.run(task, progress=stop)
    began = time.monotonic()
    status = graph.run(task)
    assert status.is_idle and status.metrics.total_pages == 3
    assert time.monotonic() - began < 10, "nobody waits for the lease of the interrupted job"
    attempts = graph.query("SELECT max(attempts) AS most FROM jobs")[0]["most"]
    assert attempts == 1, "an interruption is not counted"


def test_progress_is_told_on_the_calling_thread(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=make_papers(tmp_path / "papers", 2))
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    threads: list[int] = []
    graph.run(task, progress=lambda status: threads.append(threading.get_ident()))
    assert threads and set(threads) == {threading.get_ident()}


def filled(path: Path, claims: int) -> Any:
    graph = lyra.EvidenceGraph(path)
    graph.add_records(
        [{"type": "task", "id": "task_1", "hypothesis": "h"}]
        + [
            {"type": "claim", "id": f"claim_{n}", "task_id": "task_1", "claim_text": f"Drug {n} lowers glucose"}
            for n in range(claims)
        ]
    )
    return graph


def test_eight_threads_search_and_query_while_another_writes(tmp_path: Path) -> None:
    graph = filled(tmp_path / "evidence.db", 300)
    errors: list[BaseException] = []
    answers: list[int] = []
    stop = threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not stop.is_set():
                    work()
            except BaseException as error:  # noqa: BLE001
                errors.append(error)
                stop.set()

        return run

    def look() -> None:
        count = graph.query("SELECT count(*) AS n FROM claims")[0]["n"]
        assert count >= 300
        hits = graph.search("Drug 7 lowers glucose", top_k=5)
        assert len(hits) == 5 and hits.total_searched >= 300
        assert graph.view("v_unsupported_claims", "task_1", limit=5)[0]["claim_id"]
        answers.append(count)

    numbers = iter(range(300, 100_000))

    def write() -> None:
        batch = [next(numbers) for _ in range(20)]
        graph.add_records(
            {"type": "claim", "id": f"claim_{n}", "task_id": "task_1", "claim_text": f"Drug {n} lowers glucose"}
            for n in batch
        )

    threads = [threading.Thread(target=guarded(look)) for _ in range(8)]
    threads.append(threading.Thread(target=guarded(write)))
    for thread in threads:
        thread.start()
    time.sleep(4)
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive(), "a deadlock"
    assert not errors, errors
    written = graph.query("SELECT count(*) AS n FROM claims")[0]["n"]
    assert len(answers) > 8 and written > 300 and max(answers) <= written
    assert graph.verify().ok


def test_the_interpreter_goes_on_while_a_call_waits(tmp_path: Path) -> None:
    graph = filled(tmp_path / "evidence.db", 10)
    task = graph.create_task("h")
    graph.queue_targets(task, ["something"])
    ticks = 0
    done = threading.Event()

    def wait() -> None:
        graph.status(task, wait=1)
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.005)
    thread.join()
    assert ticks > 50


def test_a_run_can_be_awaited(tmp_path: Path) -> None:
    graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=make_papers(tmp_path / "papers", 2))
    task = graph.create_task("Night work shortens sleep")
    graph.queue_targets(task, ["night work sleep"])
    told: list[Any] = []

    async def research() -> Any:
        loop_thread = threading.get_ident()

        def listen(status: Any) -> None:
            assert threading.get_ident() == loop_thread
            told.append(status)

        run = asyncio.create_task(graph.run_async(task, progress=listen))
        change = await graph.status_async(task, wait=20)
        assert change.task_id == task
        return await run

    status = asyncio.run(research())
    assert status.is_idle and status.metrics.total_pages == 2 and told

    async def unknown() -> None:
        await graph.run_async("task_none")

    with pytest.raises(lyra.TaskNotFoundError):
        asyncio.run(unknown())


def test_cancelling_an_awaited_run_ends_it(slow_graph: Any) -> None:
    task = slow_graph.create_task("Night work shortens sleep")
    slow_graph.queue_targets(task, ["night work sleep"])

    async def give_up() -> float:
        began = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow_graph.run_async(task), timeout=0.5)
        return time.monotonic() - began

    assert asyncio.run(give_up()) < 1.0
    deadline = time.monotonic() + 10
    while slow_graph.status(task).progress.queue.running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert slow_graph.status(task).progress.queue.depth == 1, "the job went back to the queue"


def test_a_progress_callback_that_fails_ends_the_run(slow_graph: Any) -> None:
    task = slow_graph.create_task("h")
    slow_graph.queue_targets(task, ["https://127.0.0.1:1/nothing"])

    def fail(status: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        slow_graph.run(task, progress=fail)


@pytest.mark.parametrize("error", [KeyError("mine"), StopIteration(), asyncio.CancelledError()])
def test_a_progress_callback_that_fails_ends_an_awaited_run(error: BaseException, tmp_path: Path) -> None:
    papers = make_papers(tmp_path / "papers", 3)
    slow_graph = lyra.EvidenceGraph(tmp_path / "evidence.db", corpus=papers, embedder=slow)
    task = slow_graph.create_task("h")
    slow_graph.queue_targets(task, ["night work sleep", "sleep of nurses"])
    told: list[Any] = []
    unheard: list[Any] = []

    def fail(status: Any) -> None:
        told.append(status)
        raise error

    async def research() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
        with pytest.raises((type(error), RuntimeError)) as caught:
            await slow_graph.run_async(task, progress=fail)
        assert error in (caught.value, caught.value.__cause__)

    asyncio.run(research())
    assert len(told) == 1 and not unheard
    deadline = time.monotonic() + 10
    while slow_graph.status(task).progress.queue.running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert slow_graph.status(task).progress.queue.depth == 1, "the run went on"


PAGE = "<article>" + "<p>Night work shortens sleep by 50 minutes in nurses.</p>" * 40_000 + "</article>"
LONG = "see doi.org/10.1234/abc. " * 400_000
# Work of a second or so each, which needs no graph.
PURE: dict[str, Callable[[], Any]] = {
    "kneedle_cutoff of an array": lambda: lyra.kneedle_cutoff(np.random.default_rng(1).random(4_000_000)),
    "kneedle_cutoff of a list": lambda: lyra.kneedle_cutoff([float(number) for number in range(2_000_000)]),
    "find_identifiers": lambda: lyra.find_identifiers(LONG),
    "canonical_id": lambda: lyra.canonical_id(LONG),
    "extract": lambda: lyra.extract(PAGE),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("call", PURE)
def test_work_without_a_graph_gets_in_nobodys_way(call: str) -> None:
    began = time.monotonic()
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    other = threading.Thread(target=tick)
    other.start()
    try:
        PURE[call]()
    finally:
        done.set()
        other.join()
    took = time.monotonic() - began
    gaps = [after - before for before, after in zip(ticks, ticks[1:], strict=False)]
    assert max(gaps) < max(0.3, took / 2), f"others waited {max(gaps):.2f} s of {took:.2f} s"
    if took < 0.4:
        pytest.skip(f"{call} takes {took:.2f} s here: too short to interrupt")
    with Interrupt(took / 4) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            PURE[call]()
        assert interrupt.late < max(SOON, took / 2)


# In a process of its own: a fork is safe only while no other thread is inside lyra, and other tests
# leave graphs whose threads may still be ending.
FORKS = """
import gc, multiprocessing, sys, time
import lyra

def in_child(graph, path, answers):
    try:
        graph.query("SELECT 1")
        answers.put("answered")
    except lyra.StorageError as error:
        answers.put(str(error))
    own = lyra.EvidenceGraph(path)
    answers.put(own.query("SELECT count(*) AS n FROM claims")[0]["n"])
    answers.put(len(own.search("Drug 7 lowers glucose")))
    del graph
    gc.collect()

path = sys.argv[1]
graph = lyra.EvidenceGraph(path)
graph.search("Drug 7 lowers glucose")
time.sleep(0.5)
context = multiprocessing.get_context("fork")
answers = context.Queue()
child = context.Process(target=in_child, args=(graph, path, answers))
child.start()
for _ in range(3):
    print(answers.get(timeout=30))
child.join(timeout=30)
print(child.exitcode, graph.query("SELECT count(*) AS n FROM claims")[0]["n"])
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    path = tmp_path / "evidence.db"
    filled(path, 20).close()
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "process" in said[0] and "fork" in said[0]
    assert said[1:] == ["20", "10", "0 20"]


@pytest.fixture(autouse=True)
def signals_as_usual() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    # A process that a script starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

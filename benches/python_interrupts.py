"""The delay with which Ctrl-C ends a call: from the signal to KeyboardInterrupt, in milliseconds.

    python benches/python_interrupts.py [--tries 20] [--vectors 400000] [--only NAME]

Requires the installed wheel. Another process sends SIGINT in the middle of a call that takes seconds, and
records the time; both read the same clock. After every try the graph must answer again, and after the last
one it must be intact. Prints the median and the worst time of each call; exits with 1 if a time exceeds 200
ms, or if a call ended before its signal came.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from python_overhead import claims_without_vectors

import lyra

TARGET_MS = 200
SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    sent = time.monotonic()
    os.kill(os.getppid(), signal.SIGINT)
    print(sent, flush=True)
"""
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


class Sender:
    """A process that interrupts this one."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def late_ms(self, call: Callable[[], Any], after: float) -> float | None:
        """The delay of the interrupt; None if the call had already ended."""
        assert self.process.stdin and self.process.stdout
        came = None
        try:
            self.process.stdin.write(f"{after}\n")
            call()
            while True:
                time.sleep(1)
        except KeyboardInterrupt as interrupt:
            came = time.monotonic()
            frames = interrupt.__traceback__
            while frames is not None and frames.tb_next is not None:
                frames = frames.tb_next
            # During a call of the library, the innermost Python frame is the caller's.
            in_the_call = frames is not None and frames.tb_frame.f_code is not self.late_ms.__code__
        sent = float(self.process.stdout.readline())
        return (came - sent) * 1000 if in_the_call else None

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def documents(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        sentences = [f"In trial {number}.{n}, night work shortened sleep by {n} minutes in nurses." for n in range(40)]
        (folder / f"{number:05}.md").write_text(f"# Trial {number}\n\n" + "\n\n".join(sentences))
    return folder


def lines(path: Path, count: int) -> Path:
    with path.open("w") as file:
        file.write('{"type": "task", "id": "task_1", "hypothesis": "h"}\n')
        for n in range(count):
            file.write(f'{{"type": "claim", "id": "c{n}", "task_id": "task_1", "claim_text": "claim number {n}"}}\n')
    return path


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Any]:
    graph = lyra.EvidenceGraph(path, **options)
    yield graph
    # The claims for the vectors were inserted without updating the full-text index.
    violations = [violation for violation in graph.verify().violations if "full_text" not in violation.check]
    assert not violations, violations
    graph.close()


def slow_encoder(texts: list[str]) -> Any:
    time.sleep(0.05 * len(texts))
    return np.ones((len(texts), 4))


Call = tuple[Callable[[], Any], float]


def calls(folder: Path, vectors: int, only: str | None) -> Iterator[tuple[str, Any, Call]]:
    """The name of a call, its graph, the call and the time of its interrupt in seconds."""

    def wanted(*names: str) -> bool:
        return only is None or any(only in name for name in names)

    if wanted("run"):
        with opened(folder / "run.db", corpus=documents(folder / "papers", 1_500)) as graph:
            task = graph.create_task("Night work shortens sleep", max_pages=100_000, max_seconds=100_000)
            graph.queue_targets(task, [f"night work sleep trial {n}" for n in range(200)], budget_pages=1_000)
            yield "run", graph, (lambda: graph.run(task), 0.3)
        with opened(folder / "own.db", corpus=folder / "papers", embedder=slow_encoder) as graph:
            task = graph.create_task("Night work shortens sleep")
            graph.queue_targets(task, ["night work sleep"])
            yield "run, slow embedder in Python", graph, (lambda: graph.run(task), 0.3)
    if wanted("status", "query", "embed many", "import_jsonl"):
        with opened(folder / "plain.db") as graph:
            task = graph.create_task("h")
            graph.queue_targets(task, ["something"])
            yield "status(wait=60)", graph, (lambda: graph.status(task, wait=60), 0.2)
            query = lambda: graph.query(ENDLESS, timeout_ms=2_000, max_vm_steps=50_000_000)  # noqa: E731
            yield "query", graph, (query, 0.1)
            texts = ["Night work shortened the sleep of nurses in this trial. " * 8 + str(n) for n in range(150_000)]
            yield "embed many", graph, (lambda: graph.embed(texts), 0.4)
            jsonl = lines(folder / "graph.jsonl", 300_000)
            yield "import_jsonl", graph, (lambda: graph.import_jsonl(jsonl), 0.5)
    if wanted("embeddings", "search", "add_embeddings") and vectors:
        path = folder / "vectors.db"
        claims_without_vectors(path, vectors)
        matrix = np.random.default_rng(0).normal(size=(vectors, 384)).astype(np.float32)
        ids = [f"c{n}" for n in range(vectors)]
        encoder = Fixed()
        with opened(path, embedder=encoder) as graph:
            graph.add_embeddings("claims", ids, matrix)
            yield "embeddings", graph, (lambda: graph.embeddings(), 0.2)  # noqa: PLW0108

            def cold() -> None:
                lyra.EvidenceGraph(path, embedder=encoder).search(matrix[0])

            yield "first search", graph, (cold, 0.3)
            yield "add_embeddings", graph, (lambda: graph.add_embeddings("claims", ids, matrix, "other"), 0.5)


class Fixed:
    """An encoder whose vectors have the dimension of the stored ones."""

    model_id = "bench-384"

    def encode(self, texts: list[str]) -> Any:
        return np.ones((len(texts), 384))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tries", type=int, default=20)
    options.add_argument("--vectors", type=int, default=400_000)
    options.add_argument("--only")
    given = options.parse_args()
    print(f"lyra {lyra.__version__}, Python {sys.version.split()[0]}, {os.cpu_count()} cores, {given.tries} tries each")
    sender = Sender()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for what, graph, (call, after) in calls(Path(name), given.vectors, given.only):
            late = []
            for _ in range(given.tries):
                late.append(sender.late_ms(call, after))
                assert graph.query("SELECT 1 AS a") == [{"a": 1}]
            heard = [ms for ms in late if ms is not None]
            missed = len(late) - len(heard)
            said = f"median {statistics.median(heard):6.1f} ms, worst {max(heard):6.1f} ms" if heard else ""
            more = f", {missed} ended before the signal" if missed else ""
            print(f"{what:30} {said}{more}", flush=True)
            failed |= bool(missed) or max(heard, default=0.0) > TARGET_MS
    sender.end()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""What the Python layer costs: calls beside the Rust call, and vectors in and out beside numpy.

    python benches/python_overhead.py [--claims 10000] [--vectors 1000000] [--rust BINARY]

It wants the wheel installed, and for the comparison the program `python_overhead` of lyra-core
(`cargo build --release -p lyra-core --example python_overhead`), which makes the same calls on the
same file from Rust. Figures are medians of many calls, one thread; memory is the peak of resident
memory, as the kernel counts it. Reading vectors is beside `numpy.fromfile` of a flat file, and
storing them beside `ndarray.tofile`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lyra

SQL = "SELECT id, claim_text, llm_claim_confidence FROM claims ORDER BY id LIMIT 50"
WORDS = "Drug 77 lowers glucose"


def median_us(call: Callable[[], Any], seconds: float = 2.0) -> float:
    call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fill(graph: Any, claims: int) -> None:
    graph.add_records(
        [{"type": "task", "id": "task_1", "hypothesis": "h"}]
        + [
            {"type": "claim", "id": f"claim_{n:07}", "task_id": "task_1", "claim_text": f"Drug {n} lowers glucose"}
            for n in range(claims)
        ]
    )


def calls(path: Path, rust: str | None) -> None:
    graph = lyra.EvidenceGraph(path)
    vector = graph.embed([WORDS], role="query")[0]
    python = {
        "query, 1 row": median_us(lambda: graph.query("SELECT 1 AS a")),
        "query, 50 rows of 3": median_us(lambda: graph.query(SQL)),
        "search by words, top 10": median_us(lambda: graph.search(WORDS)),
        "search by vector, top 10": median_us(lambda: graph.search(vector)),
        "view": median_us(lambda: graph.view("v_unsupported_claims", "task_1")),
    }
    graph.close()
    beside: dict[str, float] = {}
    if rust:
        done = subprocess.run([rust, str(path)], check=True, capture_output=True, text=True)
        beside = json.loads(done.stdout)
    for name, own in python.items():
        other = beside.get(name)
        more = f", Rust {other:8.1f} µs, difference {own - other:7.1f} µs" if other else ""
        print(f"{name:28} Python {own:8.1f} µs{more}")


def threads(path: Path) -> None:
    graph = lyra.EvidenceGraph(path)
    graph.search(WORDS)

    def work(count: int) -> None:
        for _ in range(count):
            graph.search(WORDS)
            graph.query(SQL)

    def timed(number: int, each: int) -> float:
        workers = [threading.Thread(target=work, args=(each,)) for _ in range(number)]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return number * each / (time.perf_counter() - began)

    alone, together = timed(1, 400), timed(8, 100)
    print(f"search + query: 1 thread {alone:.0f}/s, 8 threads {together:.0f}/s, {together / alone:.2f}×")


def vectors(folder: Path, count: int, dimension: int = 384) -> None:
    path = folder / "vectors.db"
    claims_without_vectors(path, count)
    graph = lyra.EvidenceGraph(path)
    matrix = np.random.default_rng(0).normal(size=(count, dimension)).astype(np.float32)
    ids = [f"c{n}" for n in range(count)]
    mib = matrix.nbytes / 2**20
    before = peak_mib()
    began = time.perf_counter()
    graph.add_embeddings("claims", ids, matrix, model_id="bench")
    stored = time.perf_counter() - began
    print(f"{count} × {dimension} ({mib:.0f} MiB) in: {stored:.2f} s, peak memory +{peak_mib() - before:.0f} MiB")
    began = time.perf_counter()
    matrix.tofile(folder / "flat")
    with (folder / "flat").open() as file:
        os.fsync(file.fileno())
    flat = time.perf_counter() - began
    print(f"  beside: ndarray.tofile + fsync {flat:.2f} s")
    del matrix
    before = peak_mib()
    began = time.perf_counter()
    again, back = graph.embeddings("claims", "bench", dimension)
    read = time.perf_counter() - began
    print(
        f"{count} × {dimension} out: {read:.2f} s, peak memory +{peak_mib() - before:.0f} MiB, "
        f"array owns its memory: {back.base is None or type(back.base).__name__}"
    )
    began = time.perf_counter()
    flat_again = np.fromfile(folder / "flat", dtype=np.float32).reshape(count, dimension)
    print(f"  beside: numpy.fromfile {time.perf_counter() - began:.2f} s")
    assert again == ids and (back == flat_again).all()


def claims_without_vectors(path: Path, count: int) -> None:
    """Claims alone: the built-in model would embed them, which is not what is measured."""
    with lyra.EvidenceGraph(path) as graph:
        graph.add_task("h", id="task_1")
    plain = sqlite3.connect(path)
    plain.executemany(
        "INSERT INTO claims (id, task_id, claim_text, claim_type, claim_adoption_status, created_at) "
        "VALUES (?, 'task_1', 'x', 'fact', 'adopted', '2026-01-01T00:00:00.000Z')",
        ((f"c{n}",) for n in range(count)),
    )
    plain.commit()
    plain.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--claims", type=int, default=10_000)
    options.add_argument("--vectors", type=int, default=1_000_000)
    options.add_argument("--rust")
    given = options.parse_args()
    print(f"lyra {lyra.__version__}, Python {sys.version.split()[0]}, numpy {np.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "calls.db"
        graph = lyra.EvidenceGraph(path)
        fill(graph, given.claims)
        graph.close()
        calls(path, given.rust)
        threads(path)
        if given.vectors:
            vectors(folder, given.vectors)


if __name__ == "__main__":
    main()

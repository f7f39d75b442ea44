"""The cost of the Python layer: calls compared with Rust, and vectors in and out compared with numpy.

    python benches/python_overhead.py [--claims 10000] [--vectors 1000000] [--rust BINARY]

Requires the installed wheel, and for the comparison the program `python_overhead` of lyra-core (`cargo build
--release -p lyra-core --example python_overhead`), which makes the same calls on the same file from Rust.
Figures are medians of many calls, one thread; memory is the peak of resident memory, as counted by the
kernel. Reading vectors is compared with `numpy.fromfile` of a flat file and with the module sqlite3, and
storing them with `ndarray.tofile`.
"""

from __future__ import annotations

import argparse
import json
import os
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
SCAN = "SELECT count(*) AS n FROM claims WHERE claim_text LIKE '%77%glucose'"
WORDS = "Drug 77 lowers glucose"
PAIRS = [(f"Drug {n} lowered glucose by {n} percent in patients.", "Drug 7 lowers glucose") for n in range(16)]


def median_us(call: Callable[[], Any], seconds: float = 2.0) -> float:
    call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def _status_mib(entry: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(entry)) / 1024


class Growth:
    """The peak growth of resident memory, in MiB, since this was created. Linux only."""

    def __init__(self) -> None:
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        self.before = _status_mib("VmRSS")

    def __str__(self) -> str:
        return f"peak memory +{_status_mib('VmHWM') - self.before:.0f} MiB"


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


def threads(path: Path, rounds: int = 5) -> None:
    """One thread and eight, alternating, then eight while another thread imports; the best of each."""
    graph = lyra.EvidenceGraph(path)
    number_of_claims = graph.query("SELECT count(*) AS n FROM claims")[0]["n"]
    jobs: dict[str, Callable[[], Any]] = {
        "search": lambda: graph.search(WORDS),
        "query, 50 rows": lambda: graph.query(SQL),
        "query, scan": lambda: graph.query(SCAN),
        "judge, 16 pairs": lambda: graph.judge(PAIRS),
    }

    def rate(job: Callable[[], Any], workers: int, seconds: float = 0.6) -> float:
        done = [0] * workers
        end = time.perf_counter() + seconds

        def work(place: int) -> None:
            while time.perf_counter() < end:
                job()
                done[place] += 1

        pool = [threading.Thread(target=work, args=(place,)) for place in range(workers)]
        began = time.perf_counter()
        for worker in pool:
            worker.start()
        for worker in pool:
            worker.join()
        return sum(done) / (time.perf_counter() - began)

    print(f"threads, {number_of_claims} claims:")
    for name, job in jobs.items():
        job()
        alone = together = 0.0
        for _ in range(rounds):
            alone = max(alone, rate(job, 1))
            together = max(together, rate(job, 8))
        print(f"  {name:16} 1 thread {alone:8.0f}/s, 8 threads {together:8.0f}/s, {together / alone:.2f}×")
    stop = threading.Event()
    imported = [0]

    def write() -> None:
        while not stop.is_set():
            n = imported[0]
            batch = [
                {"type": "claim", "id": f"new_{n}_{k}", "task_id": "task_1", "claim_text": f"Drug {n} {k}"}
                for k in range(500)
            ]
            graph.add_records(batch)
            imported[0] += len(batch)

    writer = threading.Thread(target=write)
    writer.start()
    began = time.perf_counter()
    both = rate(lambda: (graph.search(WORDS), graph.query(SQL)), 8, 3.0)
    seconds = time.perf_counter() - began
    stop.set()
    writer.join()
    print(f"  search + query in 8 threads {both:.0f}/s, while another inserts {imported[0] / seconds:.0f} claims/s")


def vectors(folder: Path, count: int, dimension: int = 384) -> None:
    path = folder / "vectors.db"
    claims_without_vectors(path, count)
    graph = lyra.EvidenceGraph(path)
    matrix = np.random.default_rng(0).standard_normal((count, dimension), dtype=np.float32)
    ids = [f"c{n}" for n in range(count)]
    mib = matrix.nbytes / 2**20
    growth, began = Growth(), time.perf_counter()
    graph.add_embeddings("claims", ids, matrix, model_id="bench")
    stored = time.perf_counter() - began
    print(f"{count} × {dimension} ({mib:.0f} MiB) in: {stored:.2f} s, {growth}")
    began = time.perf_counter()
    matrix.tofile(folder / "flat")
    with (folder / "flat").open() as file:
        os.fsync(file.fileno())
    print(f"  comparison: ndarray.tofile + fsync {time.perf_counter() - began:.2f} s")
    del matrix
    # Twice, alternating: the first read may come from the disk.
    for _ in range(2):
        growth, began = Growth(), time.perf_counter()
        again, back = graph.embeddings("claims", "bench", dimension)
        print(f"{count} × {dimension} out: {time.perf_counter() - began:.2f} s, {growth}")
        growth, began = Growth(), time.perf_counter()
        flat_again = np.fromfile(folder / "flat", dtype=np.float32).reshape(count, dimension)
        print(f"  comparison: numpy.fromfile {time.perf_counter() - began:.2f} s, {growth}")
        assert again == ids and (back == flat_again).all()
        del back, flat_again, again
    # Two copies of SQLite in one process do not see each other's locks, so the files are opened one
    # at a time.
    graph.close()
    plain = sqlite3.connect(path)
    began = time.perf_counter()
    blobs = [blob for (blob,) in plain.execute("SELECT embedding_blob FROM embeddings ORDER BY seq")]
    joined = np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(count, dimension)
    print(f"  comparison: sqlite3 + numpy.frombuffer {time.perf_counter() - began:.2f} s")
    assert joined.shape == (count, dimension)
    plain.close()


def claims_without_vectors(path: Path, count: int) -> None:
    """Inserts claims without vectors: the built-in model would embed them, which is not measured here."""
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

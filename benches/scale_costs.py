"""The cost of reading and judging on one core, and the gain from a second process.

    python benches/scale_costs.py PAPERS.jsonl --hypothesis "..." [--documents 400] [--lines 20] [--ray]

PAPERS.jsonl contains one document per line, in the format of `lyra.read`. Requires the package `lyra` in a
release build, a machine with two idle cores, and the package `ray` for --ray.

Prints processor time and bytes for each document, claim and pair; rows per second that one writer adds; and
the total wall time with one and with two processes, compared with the time that the model of docs/scale.md
predicts from the costs. One process does everything first, without a pool: this gives the costs, and the hash
that every other run must produce.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "scale"))

import lyra
from shards import judge_batch, packed, read_shard, shards_of, unpacked

Run = Callable[[Callable[[Any], bytes], Iterable[Any]], Iterable[bytes]]


@dataclass
class Costs:
    """Seconds of one process, by stage."""

    read: list[float]
    judge: list[float]
    add_documents: float
    add_verdicts: float
    find_pairs: float

    def expected(self, workers: int) -> float:
        """The wall time with this number of workers: all stages except the writer's are divided among them.

        A stage of n equal parts takes ceil(n / workers) rounds.
        """

        def stage(parts: list[float]) -> float:
            rounds = -(-len(parts) // workers)
            return rounds * sum(parts) / max(1, len(parts))

        return stage(self.read) + stage(self.judge) + self.add_documents + self.add_verdicts + self.find_pairs


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("papers", type=Path)
    parser.add_argument("--hypothesis", required=True)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--lines", type=int, default=20, help="documents in one shard")
    parser.add_argument("--ray", action="store_true")
    return parser.parse_args()


def timed(work: Callable[[Any], bytes], items: Iterable[Any]) -> tuple[list[float], list[bytes]]:
    """Seconds of processor time for each item, and the results."""
    seconds, results = [], []
    for item in items:
        began = time.process_time()
        results.append(work(item))
        seconds.append(time.process_time() - began)
    return seconds, results


def alone(shards: list[Any], graph: lyra.EvidenceGraph, task: Callable[[], str]) -> Costs:
    """Runs everything in this process and measures it; prints the costs."""
    read, parts = timed(read_shard, shards)
    began = time.perf_counter()
    added = graph.add_records(record for part in parts for record in unpacked(part))
    add_documents = time.perf_counter() - began
    began = time.perf_counter()
    batches = [packed(batch) for batch in graph.candidate_pairs(task())]
    find_pairs = time.perf_counter() - began
    judge, verdicts = timed(judge_batch, batches)
    began = time.perf_counter()
    judged = graph.add_records(record for part in verdicts for record in unpacked(part))
    add_verdicts = time.perf_counter() - began

    documents, claims = added.inserted["page"], added.inserted.get("claim", 0)
    pairs = sum(batch.count(b"\n") for batch in batches)
    sizes = [sum(map(len, texts)) for texts in (parts, batches)]
    print(f"read: {documents} documents, {claims} claims: {1000 * sum(read) / documents:.1f} ms of processor time and "
          f"{sizes[0] / documents:.0f} bytes of records for each document, {claims / documents:.1f} claims")
    print(f"judge: {pairs} pairs: {1000 * sum(judge) / max(1, pairs):.1f} ms and {sizes[1] / max(1, pairs):.0f} bytes each, "
          f"{pairs / max(1, claims):.1f} for each claim")
    rows = added.total_inserted
    print(f"add: {rows} rows in {add_documents:.2f} s, {rows / add_documents:.0f} a second; "
          f"verdicts: {judged.total_inserted} rows in {add_verdicts:.2f} s; pairs found in {find_pairs:.2f} s")
    return Costs(read, judge, add_documents, add_verdicts, find_pairs)


def spread(shards: list[Any], path: Path, run: Run, hypothesis: str) -> tuple[float, str]:
    """Runs everything with the engine of `run`; returns the seconds and the hash."""
    began = time.perf_counter()
    with lyra.EvidenceGraph(path) as graph:
        graph.add_records(record for part in run(read_shard, shards) for record in unpacked(part))
        task = next(task["id"] for task in graph.tasks() if task["hypothesis"] == hypothesis)
        batches = map(packed, graph.candidate_pairs(task))
        graph.add_records(record for part in run(judge_batch, batches) for record in unpacked(part))
        seconds = time.perf_counter() - began
        return seconds, str(graph.canonical_hash())


def with_processes(workers: int, measure: Callable[[Run], tuple[float, str]]) -> tuple[float, str]:
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(judge_batch, [b""] * workers)  # Starting Python and Lyra is not what is measured.
        return measure(lambda work, items: pool.imap(work, items))


def with_ray(workers: int, measure: Callable[[Run], tuple[float, str]]) -> tuple[float, str]:
    import ray

    folder = str(Path(__file__).resolve().parent.parent / "examples" / "scale")
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False,
             runtime_env={"env_vars": {"PYTHONPATH": folder}})

    def run(work: Callable[[Any], bytes], items: Iterable[Any]) -> Iterable[bytes]:
        remote = ray.remote(work)
        return [ray.get(part) for part in [remote.remote(item) for item in items]]

    list(run(judge_batch, [b""] * workers))
    try:
        return measure(run)
    finally:
        ray.shutdown()


def main() -> None:
    args = options()
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder) / "papers.jsonl"
        with args.papers.open("rb") as file:
            papers.write_bytes(b"".join(line for line, _ in zip(file, range(args.documents))))
        shards = shards_of([papers], args.hypothesis, args.lines)
        with lyra.EvidenceGraph(Path(folder) / "alone.db") as graph:
            costs = alone(shards, graph, lambda: graph.tasks()[0]["id"])
            expected_hash = graph.canonical_hash()
        engines = [("processes", with_processes)] + ([("Ray", with_ray)] if args.ray else [])
        for name, engine in engines:
            first = None
            for workers in (1, 2):
                path = Path(folder) / f"{name}{workers}.db"
                seconds, found = engine(workers, lambda run: spread(shards, path, run, args.hypothesis))  # noqa: B023
                first = first or seconds
                print(f"{name}, {workers}: {seconds:.1f} s, expected {costs.expected(workers):.1f} s, "
                      f"{first / seconds:.2f} times as fast as 1, same graph: {found == expected_hash}")


if __name__ == "__main__":
    main()

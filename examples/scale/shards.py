"""Shared code of the examples in this folder: a corpus in shards, the work on one shard, and the final graph.

A shard is one file, or some lines of a .jsonl file. The work on a shard is a plain function: no graph, no
state, and it returns bytes. So every engine that can map a function over a list can run it, in any number of
processes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import lyra


class Shard(NamedTuple):
    """A part of a corpus, the hypothesis for which it is read, and the time that all parts share."""

    path: str
    lines: tuple[int, int] | None
    hypothesis: str
    now: str


def arguments(description: str, *, cluster: bool = True) -> argparse.Namespace:
    """The command line of every example."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("papers", nargs="+", type=Path, help="documents, or .jsonl files with one document per line")
    parser.add_argument("--hypothesis", required=True, help="the hypothesis for which the papers are read")
    parser.add_argument("--out", required=True, type=Path, help="the graph; created if it does not exist")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine")
    parser.add_argument("--lines", type=int, default=200, help="lines of a .jsonl file in one shard")
    if cluster:
        parser.add_argument("--address", help="a cluster, instead of processes on this machine")
    return parser.parse_args()


def shards_of(papers: Iterable[Path], hypothesis: str, lines: int) -> list[Shard]:
    """Cuts a corpus into shards."""
    now = datetime.now(timezone.utc).isoformat()
    shards = []
    for path in papers:
        path = path.resolve()
        if path.suffix not in {".jsonl", ".ndjson"}:
            shards.append(Shard(str(path), None, hypothesis, now))
            continue
        with path.open("rb") as file:
            count = sum(1 for _ in file)
        for start in range(0, count, lines):
            shards.append(Shard(str(path), (start, min(start + lines, count)), hypothesis, now))
    return shards


def read_shard(shard: Shard) -> bytes:
    """The records of a shard as JSON lines. A document that cannot be read causes a warning."""
    path, lines, hypothesis, now = shard
    return packed(lyra.read(path, hypothesis, lines=lines, now=now, on_error="warn"))


def judge_batch(pairs: bytes) -> bytes:
    """The verdicts on a batch of pairs; pairs and verdicts are JSON lines."""
    return packed(lyra.judge_pairs(unpacked(pairs)))


def packed(records: Iterable[dict[str, Any]]) -> bytes:
    """Records as JSON lines, which every engine can transfer, whatever fields the records have."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def unpacked(lines: bytes) -> Iterator[dict[str, Any]]:
    """The records from JSON lines."""
    return (json.loads(line) for line in lines.splitlines())


def research(
    papers: Iterable[Path],
    out: Path,
    hypothesis: str,
    lines: int,
    run: Callable[[Callable[[Any], bytes], Iterable[Any]], Iterable[bytes]],
) -> str:
    """Reads a corpus into a graph, judges its claims, and returns the graph's canonical hash.

    `run` maps a function over a list of items, on any machine, and returns the results in the order of the
    items.
    """
    shards = shards_of(papers, hypothesis, lines)
    began = time.monotonic()
    with lyra.EvidenceGraph(out) as graph:
        # One call for all shards: which of two copies is the original must not depend on the order of arrival.
        read = graph.add_records(
            record for part in run(read_shard, shards) for record in unpacked(part)
        )
        count = read.inserted.get("page", 0)
        print(f"{count} documents in {len(shards)} shards, {read.inserted.get('claim', 0)} claims, "
              f"{time.monotonic() - began:.1f} s")
        for task in graph.tasks():
            if task["hypothesis"] == hypothesis:
                batches = map(packed, graph.candidate_pairs(task["id"]))
                graph.add_records(
                    record for part in run(judge_batch, batches) for record in unpacked(part)
                )
                print(f"{graph.status(task['id']).evidence_summary}")
        print(f"{out}: {graph.canonical_hash()}, {time.monotonic() - began:.1f} s in all")
        return str(graph.canonical_hash())

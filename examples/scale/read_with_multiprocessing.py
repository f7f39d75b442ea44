"""Reads a corpus in processes of this machine, with plain Python.

    python examples/scale/read_with_multiprocessing.py papers/*.jsonl --out graph.db --hypothesis "…" --workers 4
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from typing import Any

from shards import arguments, research


def main() -> None:
    args = arguments("Read a corpus in processes of this machine.", cluster=False)
    # Spawned, not forked: the graph that is open here belongs to this process.
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:

        def run(work: Callable[[Any], bytes], items: Iterable[Any]) -> Iterable[bytes]:
            return pool.imap(work, items)

        research(args.papers, args.out, args.hypothesis, args.lines, run)


if __name__ == "__main__":
    main()

"""Reads a corpus with Ray Data: in processes of this machine, or on a cluster.

    pip install "ray[data]"
    python examples/scale/read_with_ray.py papers/*.jsonl --out graph.db --hypothesis "…" --workers 4
    python examples/scale/read_with_ray.py … --address ray://head:10001

Every node of the cluster needs lyra, and the papers at the same path.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import ray
import ray.data
from shards import arguments, research


def start(workers: int, address: str | None) -> None:
    """Connects to the cluster, or starts processes on this machine."""
    environment = {"working_dir": str(Path(__file__).parent)}
    if address is None:
        ray.init(num_cpus=workers, include_dashboard=False, runtime_env=environment)
    else:
        ray.init(address=address, runtime_env=environment)
    ray.data.DataContext.get_current().execution_options.preserve_order = True


def run(work: Callable[[Any], bytes], items: Iterable[Any]) -> Iterator[bytes]:
    """Maps a function with Ray Data, one item per row."""

    def row(row: dict[str, Any]) -> dict[str, Any]:
        return {"made": work(pickle.loads(row["item"]))}

    # Pickled, because a table cannot contain tuples.
    rows = [{"item": pickle.dumps(item)} for item in items]
    if not rows:
        return
    made = ray.data.from_items(rows, override_num_blocks=len(rows)).map(row)
    for result in made.iter_rows():
        yield result["made"]


def main() -> None:
    args = arguments("Read a corpus with Ray Data.")
    start(args.workers, args.address)
    research(args.papers, args.out, args.hypothesis, args.lines, run)


if __name__ == "__main__":
    main()

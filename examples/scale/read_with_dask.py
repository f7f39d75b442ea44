"""Reads a corpus with Dask: in processes of this machine, or on a cluster.

    pip install "dask[distributed]"
    python examples/scale/read_with_dask.py papers/*.jsonl --out graph.db --hypothesis "…" --workers 4
    python examples/scale/read_with_dask.py … --address tcp://scheduler:8786

Every worker of the cluster needs lyra, and the papers at the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import shards
from distributed import Client, LocalCluster


def start(workers: int, address: str | None) -> Client:
    """A client of the cluster, or of processes of this machine."""
    if address is None:
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        return Client(cluster)
    client = Client(address)
    client.upload_file(str(Path(shards.__file__)))
    return client


def main() -> None:
    args = shards.arguments("Read a corpus with Dask.")
    with start(args.workers, args.address) as client:

        def run(work: Callable[[Any], bytes], items: Iterable[Any]) -> Iterator[bytes]:
            # The same function and item always give the same bytes, so a lost result can be computed again.
            for future in client.map(work, list(items)):
                yield future.result()

        shards.research(args.papers, args.out, args.hypothesis, args.lines, run)


if __name__ == "__main__":
    main()

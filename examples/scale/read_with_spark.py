"""Reads a corpus with Spark: in processes of this machine, or on a cluster.

    pip install pyspark pandas pyarrow      # and Java 17 or newer
    python examples/scale/read_with_spark.py papers/*.jsonl --out graph.db --hypothesis "…" --workers 4
    python examples/scale/read_with_spark.py … --address spark://master:7077

Every node of the cluster needs lyra, and the papers at the same path.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas
import shards
from pyspark import StorageLevel
from pyspark.sql import SparkSession


def start(workers: int, address: str | None) -> SparkSession:
    """Connects to the cluster, or starts processes on this machine."""
    if address is None:
        # Otherwise Spark uses the first Python on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.appName("lyra").master(address or f"local[{workers}]").getOrCreate()
    session.sparkContext.addPyFile(str(Path(shards.__file__)))
    return session


def main() -> None:
    args = shards.arguments("Read a corpus with Spark.")
    session = start(args.workers, args.address)

    def run(work: Callable[[Any], bytes], items: Iterable[Any]) -> Iterator[bytes]:
        """Maps a function with `mapInPandas`, one item per partition."""

        def read(frames: Iterable[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
            for frame in frames:
                made = [work(pickle.loads(bytes(item))) for item in frame["item"]]
                yield pandas.DataFrame({"place": frame["place"], "made": made})

        # Pickled, because a table cannot contain tuples.
        rows = [(place, pickle.dumps(item)) for place, item in enumerate(items)]
        if not rows:
            return
        table = session.sparkContext.parallelize(rows, len(rows)).toDF("place long, item binary")
        made = table.mapInPandas(read, "place long, made binary").persist(StorageLevel.MEMORY_AND_DISK)
        # All partitions at once; an iterator alone would compute one after the other.
        made.count()
        # In the order of the partitions, which is the order of the items.
        for row in made.toLocalIterator():
            yield bytes(row.made)
        made.unpersist()

    shards.research(args.papers, args.out, args.hypothesis, args.lines, run)
    session.stop()


if __name__ == "__main__":
    main()

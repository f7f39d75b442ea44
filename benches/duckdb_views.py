"""Compares the views in DuckDB over an export to Parquet with the same views in SQLite.

    python benches/duckdb_views.py DATABASE [--runs 3] [--cut-off 60]

DATABASE is a graph, such as one that

    cargo run --release -p lyra-core --example views_at_scale -- 1000000 --keep FOLDER --make

leaves in FOLDER. Requires the packages `lyra` and `duckdb`.

Prints seconds and megabytes of the export, and for each view milliseconds (the median of the runs):
- SQLite: the first 50 rows through `graph.view`, which uses indexes and precomputed counts;
- DuckDB 50: the first 50 rows of the same view;
- DuckDB all: every row, fetched as Arrow; and the number of rows.

Views with an optional task are queried for the whole graph; views that require a task, for the task with the
most claims. Both sides read files that are in the system's cache. A call that takes longer than the cut-off
is shown as "-" and is not repeated. The first 50 rows must be equal on both sides, except for the last digits
of numbers; otherwise the program fails.
"""

from __future__ import annotations

import argparse
import math
import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import lyra

YEAR = 2026


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cut-off", type=float, default=60, help="seconds that a call may take")
    return parser.parse_args()


def timed(runs: int, call: Callable[[], Any]) -> tuple[float | None, Any]:
    """The median of the runs in ms, and the result of the last run; None for a call that was stopped."""
    times, given = [], None
    for _ in range(runs):
        begun = time.perf_counter()
        try:
            given = call()
        except (duckdb.Error, lyra.LyraError) as error:
            print(f"  {type(error).__name__}: {str(error).splitlines()[0][:120]}", file=sys.stderr)
            return None, None
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), given


def within(connection: Any, seconds: float, call: Callable[[], Any]) -> Any:
    """Makes a call; DuckDB is interrupted after the given number of seconds."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        return call()
    finally:
        timer.cancel()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def shown(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:,.1f}"


def exported(graph: Any, folder: Path) -> Any:
    begun = time.perf_counter()
    graph.export(folder, "parquet")
    seconds = time.perf_counter() - begun
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"export: {seconds:.1f} s, {size / 1e6:.1f} MB")
    connection = duckdb.connect()
    connection.execute("SET file_search_path = '" + str(folder).replace("'", "''") + "'")
    connection.execute((folder / "views.sql").read_text(encoding="utf-8"))
    return connection


def main() -> int:
    chosen = options()
    failures = []
    with tempfile.TemporaryDirectory() as temporary, lyra.EvidenceGraph(chosen.database, read_only=True) as graph:
        size = chosen.database.stat().st_size / 1e6
        with closing(sqlite3.connect(f"{chosen.database.resolve().as_uri()}?mode=ro", uri=True)) as plain:
            (edges,) = plain.execute("SELECT count(*) FROM edges").fetchone()
        print(f"{edges:,} edges, {size:.1f} MB in SQLite; DuckDB {duckdb.__version__}, {os.cpu_count()} processors")
        connection = exported(graph, Path(temporary) / "graph")
        task = connection.execute("SELECT task_id FROM claims GROUP BY task_id ORDER BY count(*) DESC LIMIT 1").fetchall()[0][0]
        print(f"{'view':28} {'SQLite':>10} {'DuckDB 50':>10} {'DuckDB all':>11} {'rows':>10}")
        for view in graph.views():
            name, declared = view["name"], {p["name"]: p for p in view["parameters"]}
            params = {"current_year": YEAR} if "current_year" in declared else {}
            if declared.get("task_id", {}).get("required"):
                params["task_id"] = task
            given = ", ".join(f"{each} := ?" for each in params)
            sql = f"SELECT * FROM {name}({given})"
            values = list(params.values())

            def ask(more: str = "", sql: str = sql, values: list = values) -> Any:
                return within(connection, chosen.cut_off, lambda: connection.sql(sql + more, params=values).to_arrow_table())

            ours, rows = timed(chosen.runs, lambda name=name, params=params: graph.view(name, params=params))
            first, found = timed(chosen.runs, lambda ask=ask: ask(" LIMIT 50"))
            every, table = timed(chosen.runs, ask)
            count = "-" if table is None else f"{table.num_rows:,}"
            print(f"{name:28} {shown(ours):>10} {shown(first):>10} {shown(every):>11} {count:>10}", flush=True)
            if rows is not None and found is not None:
                pairs = zip(rows, found.to_pylist(), strict=False)
                equal = all(same(a[column], b[column]) for a, b in pairs for column in b)
                if not equal:
                    failures.append(name)
    for name in failures:
        print(f"FAIL {name}: the first rows differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

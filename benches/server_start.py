#!/usr/bin/env python3
"""Time from starting the server to its answer to tools/list, its resident memory then, its size.

    python3 benches/server_start.py target/release/lyra-mcp [RUNS]

Measured: wall time of a fresh process over stdio with a new database each time (median and worst of
RUNS, 20 by default), VmRSS from /proc after tools/list (Linux). For scale, the same machine's time to
start `true` is shown. Not measured: the first start after boot, when the file is not in memory.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def start(binary: str, folder: str, run: int) -> tuple[float, int]:
    """Milliseconds to the answer to tools/list, and resident kilobytes."""
    begun = time.perf_counter()
    command = [binary, "--db", f"{folder}/{run}.db"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdin and server.stdout
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    server.stdin.write("".join(json.dumps(m) + "\n" for m in messages))
    server.stdin.flush()
    while json.loads(server.stdout.readline()).get("id") != 2:
        pass
    elapsed = (time.perf_counter() - begun) * 1000
    status = Path(f"/proc/{server.pid}/status").read_text()
    resident = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
    server.stdin.close()
    server.wait(timeout=10)
    return elapsed, resident


def main() -> None:
    """Prints the figures."""
    binary = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        results = [start(binary, folder, run) for run in range(runs)]
    begun = time.perf_counter()
    subprocess.run(["true"], check=True)
    floor = (time.perf_counter() - begun) * 1000
    times = [elapsed for elapsed, _ in results]
    print(f"start to tools/list: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms (`true`: {floor:.0f} ms)")
    print(f"resident: {max(kilobytes for _, kilobytes in results) / 1024:.0f} MB")
    print(f"binary: {Path(binary).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

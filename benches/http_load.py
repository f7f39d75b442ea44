#!/usr/bin/env python3
"""Many clients of one server over HTTP: errors, and the duration of their calls.

    python3 benches/http_load.py target/release/lyra-mcp [--clients 16] [--seconds 60] [--claims 5000] [--db FILE]

A graph is generated first, as in tool_latency.py, or taken from --db; the server works on a copy. Every
client has its own token and connection. Half of the clients have a session (2025-11-25), half send requests
without one (2026-07-28). Each calls one tool after another without a pause, from a fixed mixture: eight of
ten calls read (query_view, query_sql, vector_search, get_status, list_views), two write (create_task,
queue_targets of a stopped task). Measured: wall time from sending a request to having read its answer. Errors
are statuses other than 200, answers without a result, failed calls by error_code, and broken connections.
Calls that a tool refuses (a query that exceeds its budget) also count.
"""

import argparse
import collections
import http.client
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tool_latency import GLOBAL_VIEWS, arguments, make, sentence, task_id

MIXTURE = (["query_view"] * 5 + ["query_sql"] * 4 + ["vector_search"] * 3 + ["get_status"] * 3 + ["list_views"]
           + ["create_task"] * 2 + ["queue_targets"] * 2)
SESSION, STATELESS = "2025-11-25", "2026-07-28"
ABOUT = {"name": "bench", "version": "1"}


class Server:
    """The server with its tokens."""

    def __init__(self, binary: str, folder: Path, db: Path, clients: int) -> None:
        file = folder / "tokens"
        add = [binary, "token", "add", "--scope", "write", "--tokens", str(file)]
        self.tokens = [subprocess.run([*add, f"client{n}"], check=True, capture_output=True, text=True).stdout.strip()
                       for n in range(clients)]
        limits = {"LYRA_HTTP_RATE": "100000", "LYRA_HTTP_BURST": "1000000", "LYRA_LOG": "warn,lyra_mcp::log=info"}
        self.process = subprocess.Popen(
            [binary, "serve", "--http", "127.0.0.1:0", "--tokens", str(file), "--db", str(db)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **limits},
        )
        assert self.process.stderr
        for line in self.process.stderr:
            if "serving MCP on http://" in line:
                self.address = line.split("http://")[1].split("/")[0]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def resident(self) -> str:
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return "unknown"
        return next(line.split(":")[1].strip() for line in status.read_text().splitlines() if line.startswith("VmRSS"))

    def end(self) -> tuple[int, float]:
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60), time.perf_counter() - began


class Client:
    """One client: a connection, a token, a revision."""

    def __init__(self, address: str, token: str, revision: str) -> None:
        self.address, self.revision = address, revision
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}
        self.connection = http.client.HTTPConnection(address, timeout=120)
        self.last_id = 0
        if revision == SESSION:
            hello = {"protocolVersion": SESSION, "capabilities": {}, "clientInfo": ABOUT}
            response, _ = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
            self.headers |= {"Mcp-Session-Id": response.headers["Mcp-Session-Id"], "MCP-Protocol-Version": SESSION}
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any], more: dict[str, str] | None = None) -> tuple[http.client.HTTPResponse, str]:
        self.connection.request("POST", "/mcp", json.dumps(message), {**self.headers, **(more or {})})
        response = self.connection.getresponse()
        return response, response.read().decode()

    def call(self, tool: str, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Calls a tool; returns "ok" or the error, and the reply."""
        self.last_id += 1
        params: dict[str, Any] = {"name": tool, "arguments": asked}
        more = {}
        if self.revision == STATELESS:
            name = "io.modelcontextprotocol"
            params["_meta"] = {f"{name}/protocolVersion": STATELESS, f"{name}/clientCapabilities": {}, f"{name}/clientInfo": ABOUT}
            more = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": params}
        try:
            response, body = self.send(message, more)
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            return type(error).__name__, {}
        if response.status != 200:
            return f"status {response.status}", {}
        texts = [line[5:] for line in body.splitlines() if line.startswith("data:")] or [body]
        answers = [json.loads(text) for text in texts if text.strip()]
        answer = next((answer for answer in answers if answer.get("id") == self.last_id), None)
        if answer is None or "result" not in answer:
            return "no result", {}
        reply = answer["result"]["structuredContent"]
        return ("ok" if reply["ok"] else reply["error_code"]), reply


def work(client: Client, nth: int, ids: dict[str, list[str]], until: float, taken: list[tuple[str, float, str]]) -> None:
    draw = random.Random(nth)
    own = client.call("create_task", {"hypothesis": sentence(draw)})[1]["task_id"]
    client.call("stop_task", {"task_id": own, "mode": "immediate"})
    count = nth
    while time.perf_counter() < until:
        count += 1
        tool = draw.choice(MIXTURE)
        asked = arguments(tool, count, draw, {**ids, "made": [own]})
        began = time.perf_counter()
        outcome, _ = client.call(tool, asked)
        taken.append((tool, 1000 * (time.perf_counter() - began), outcome))


def report(taken: list[tuple[str, float, str]], seconds: float) -> None:
    print(f"{len(taken)} calls in {seconds:.0f} s, {len(taken) / seconds:.0f} a second")
    print(f"{'tool':16} {'calls':>7} {'p50 ms':>9} {'p99 ms':>9} {'max ms':>9}  errors")
    for name in ["all", *sorted(set(MIXTURE))]:
        of_tool = [call for call in taken if name in ("all", call[0])]
        times = [call[1] for call in of_tool]
        if len(times) < 2:
            continue
        p99 = statistics.quantiles(times, n=100, method="inclusive")[98]
        errors = dict(collections.Counter(call[2] for call in of_tool if call[2] != "ok"))
        print(f"{name:16} {len(times):7} {statistics.median(times):9.1f} {p99:9.1f} {max(times):9.1f}  {errors or 'none'}")


def main() -> None:
    """Generates the graph if there is none, runs the clients, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--claims", type=int, default=5_000)
    parser.add_argument("--db", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = (given.db or folder / "made.db").resolve()
        if not kept.exists():
            make(given.binary, kept, given.claims)
        db = folder / "copy.db"
        shutil.copy(kept, db)
        server = Server(given.binary, folder, db, given.clients)
        clients = [Client(server.address, token, [SESSION, STATELESS][n % 2]) for n, token in enumerate(server.tokens)]
        views = [view["name"] for view in clients[0].call("list_views", {})[1]["views"]]
        ids = {"views": [view for view in views if view not in GLOBAL_VIEWS], "claims": [""] * given.claims}
        assert clients[0].call("get_status", {"task_id": task_id(0), "wait": 0})[0] == "ok"
        taken: list[tuple[str, float, str]] = []
        began = time.perf_counter()
        until = began + given.seconds
        threads = [threading.Thread(target=work, args=(client, n, ids, until, taken)) for n, client in enumerate(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report(taken, time.perf_counter() - began)
        print(f"resident: {server.resident()}")
        code, seconds = server.end()
        print(f"SIGTERM: exit code {code} after {seconds:.1f} s")


if __name__ == "__main__":
    main()

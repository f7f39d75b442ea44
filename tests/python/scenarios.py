"""The scenarios of tests/clients/cases.json: calls of tools with what they must give.

The TypeScript client runs the same ones (tests/clients/scenarios.mjs). tests/clients/README.md
says what the fields mean.
"""

import json
import re
import socket
import sqlite3
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from raw_server import CORPUS, PATIENCE, ROOT, binary, clean_environment

CLIENTS = ROOT / "tests" / "clients"
CASES = json.loads((CLIENTS / "cases.json").read_text(encoding="utf-8"))
HEADER_BYTES = 4096


def filled(value, variables: dict):
    """The value with `{name}` replaced by the variable of that name; alone, it keeps its type."""
    if isinstance(value, dict):
        return {key: filled(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    alone = re.fullmatch(r"\{(\w+)\}", value)
    if alone and alone[1] in variables:
        return variables[alone[1]]
    return re.sub(r"\{(\w+)\}", lambda m: str(variables.get(m[1], m[0])), value)


def at(body, path: str):
    """What is at `a.0.b`; a missing field is None."""
    for part in path.split("."):
        if isinstance(body, list):
            assert int(part) < len(body), (path, body)
            body = body[int(part)]
        else:
            body = body.get(part)
    return body


class Site:
    """A web server on this machine that answers as CASES["site"] says."""

    def __enter__(self):
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                page = CASES["site"].get(self.path)
                if page is None:
                    return self.answer({"status": 404, "headers": {}, "body": ""})
                granted = "with_cookie" in page and "session=granted" in self.headers.get("Cookie", "")
                self.answer(page["with_cookie"] if granted else page)

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.do_GET()

            def answer(self, page):
                body = filled(page["body"], {"site": site.url}).encode()
                self.send_response(page["status"])
                for name, value in page["headers"].items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Silence:
    """A port whose queue of connections is full, so that no new one is ever answered."""

    def __enter__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.waiting = []
        for _ in range(8):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(self.listener.getsockname())
            self.waiting.append(connection)
        return self

    def __exit__(self, *_):
        for each in [*self.waiting, self.listener]:
            each.close()


def prepared(scenario: dict, folder: Path, variables: dict) -> dict:
    """Lays out what the scenario needs; the server's command, arguments and environment."""
    for name, text in scenario.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    environment = clean_environment(folder) | filled(scenario.get("env", {}), variables)
    db = folder / "graph.db"
    if "import" in scenario:
        command = [binary(), "--db", str(db), "import", str(CLIENTS / scenario["import"])]
        subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    arguments = ["--db", str(db), *filled(scenario["args"], variables)]
    return {"command": binary(), "args": arguments, "env": environment, "cwd": str(folder)}


def variables_of(folder: Path, site: Site, silence: Silence) -> dict:
    return {"corpus": str(CORPUS), "folder": str(folder), "site": site.url, "silence": silence.url}


def damage(step: dict, db: Path):
    """What another program does to the database behind the server's back."""
    with sqlite3.connect(db) as connection:
        for statement in step.get("sql", ["PRAGMA wal_checkpoint(TRUNCATE)"]):
            connection.execute(statement).fetchall()
    connection.close()
    if step.get("overwrite"):
        with db.open("r+b") as file:
            file.seek(HEADER_BYTES)
            file.write(b"\xff" * (db.stat().st_size - HEADER_BYTES))


async def run_step(step: dict, call, variables: dict):
    """Makes the calls of a step. `call` gives (is_error, structured content)."""
    for each in step.get("each", [{}]):
        arguments = filled(step["arguments"], variables | each)
        deadline = time.monotonic() + PATIENCE
        while True:
            is_error, body = await call(step["tool"], arguments)
            label = (step["tool"], arguments, body)
            given = body["error_code"] if is_error else "ok"
            assert given == step["gives"], label
            assert body["ok"] is not is_error, label
            assert not is_error or body["error"], label
            if all(at(body, path) == value for path, value in step.get("until", {}).items()):
                break
            assert time.monotonic() < deadline, label
        for path, value in step.get("holds", {}).items():
            assert at(body, path) == value, (path, value, label)
        for name, path in step.get("save", {}).items():
            variables[name] = at(body, path)


async def run_scenario(scenario: dict, folder: Path, connect):
    """Runs a scenario. `connect(server)` is a context that gives a `call`."""
    with Site() as site, Silence() as silence:
        variables = variables_of(folder, site, silence)
        server = prepared(scenario, folder, variables)
        async with connect(server) as call:
            for step in scenario["steps"]:
                if "tool" in step:
                    await run_step(step, call, variables)
                else:
                    damage(step, folder / "graph.db")

"""A server on the other end of a pipe, spoken to line by line, so that a test sees every message
as it is."""

import json
import os
import queue
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "examples" / "corpus"
# Machines that build at the same time are slow; no answer takes nearly as long.
PATIENCE = 900


def binary() -> str:
    """The server: LYRA_MCP_BIN, else what cargo built last in the usual place."""
    named = os.environ.get("LYRA_MCP_BIN")
    candidates = [Path(named)] if named else [
        ROOT / "target" / profile / "lyra-mcp" for profile in ("release", "debug")
    ]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate.resolve())
    pytest.fail(f"no server binary among {[str(c) for c in candidates]}; set LYRA_MCP_BIN")


def clean_environment(folder: Path) -> dict[str, str]:
    """The environment without what a developer may have set for the server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LYRA_")}
    return kept | {"XDG_CONFIG_HOME": str(folder / "no-config")}


class RawServer:
    """A running server; every message that it ever sent is in `messages`."""

    def __init__(self, folder: Path, *arguments: str):
        self.process = subprocess.Popen(
            [binary(), "--db", str(folder / "graph.db"), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env=clean_environment(folder), cwd=folder,
        )
        self.messages: list[dict] = []
        self._lines: queue.Queue = queue.Queue()
        self._next_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def say(self, message: dict | str):
        line = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def message(self) -> dict:
        """The next message, whatever it is."""
        message = self._lines.get(timeout=PATIENCE)
        self.messages.append(message)
        return message

    def answer(self, request_id) -> dict:
        """The answer to a request; what comes before it is kept in `messages` only."""
        while True:
            message = self.message()
            if message.get("id") == request_id and "method" not in message:
                return message

    def send(self, method: str, params: dict | None = None) -> int:
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        self.say(message if params is None else message | {"params": params})
        return self._next_id

    def request(self, method: str, params: dict | None = None) -> dict:
        return self.answer(self.send(method, params))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

#!/usr/bin/env python3
"""The duration of small writes on a server while another server is busy on the same database.

    python3 benches/two_servers.py target/release/lyra-mcp [DOCUMENTS] [WRITES] [LONG]

The first server reads DOCUMENTS files (300 by default) for a task: it reads, embeds, extracts claims,
verifies, links. One file in fifty has LONG paragraphs (2,000 by default). Meanwhile create_task is called
WRITES times (100 by default), one call after another, on a second server process. Both have the default two
workers, so that the second one also takes jobs from the first one's queue. Measured is the time from sending
a call to having read its answer. The bench reports whether the first server was still busy at the end; with
too few documents the last calls have no competition.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, Queue
from typing import Any

DOCUMENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 300
WRITES = int(sys.argv[3]) if len(sys.argv) > 3 else 100
LONG = int(sys.argv[4]) if len(sys.argv) > 4 else 2_000
PATIENCE = 120

SUBJECTS = ["Green tea", "Black tea", "Coffee", "Night work", "Vitamin D", "Metformin", "Aspirin", "Walking"]
EFFECTS = ["lowers", "raises", "does not change", "improves", "reduces", "increases"]
OUTCOMES = ["blood pressure", "HbA1c", "sleep", "mortality", "body weight", "heart rate", "mood", "memory"]


class Server:
    """One server process."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.argv[1], "--db", folder / "g.db", "--corpus", folder / "corpus"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        self.answers: Queue[dict[str, Any]] = Queue()
        self.last_id = 0
        threading.Thread(target=self.read, daemon=True).start()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if "id" in message:
                self.answers.put(message)

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.last_id += 1
        self.say({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.answers.get(timeout=PATIENCE)["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result["isError"]:
            raise RuntimeError(result["structuredContent"])
        return result["structuredContent"]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def write_documents(folder: Path) -> list[str]:
    """Writes Markdown files; returns their addresses."""
    rng = random.Random(7)
    folder.mkdir()
    addresses = []
    for number in range(DOCUMENTS):
        paragraphs = LONG if number % 50 == 25 else rng.randint(6, 40)
        lines = [f"# Study {number}", ""]
        for n in range(paragraphs):
            facts = [
                f"{rng.choice(SUBJECTS)} {rng.choice(EFFECTS)} {rng.choice(OUTCOMES)} by {rng.randint(2, 60)} percent"
                f" in {rng.randint(20, 9000)} adults of trial {number}-{n}."
                for _ in range(3)
            ]
            lines += [" ".join(facts), ""]
        path = folder / f"{number}.md"
        path.write_text("\n".join(lines))
        addresses.append(path.as_uri())
    return addresses


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        addresses = write_documents(folder / "corpus")
        busy, other = Server(folder), Server(folder)
        try:
            config = {"budget": {"max_pages": 10_000, "max_seconds": 100_000}}
            task = busy.call("create_task", {"hypothesis": "Green tea lowers blood pressure.", "config": config})
            task_id = task["task_id"]
            for first in range(0, len(addresses), 50):
                busy.call("queue_targets", {"task_id": task_id, "targets": addresses[first : first + 50]})
            busy.call("queue_targets", {"task_id": task_id, "targets": ["green tea and blood pressure"]})
            took, failed, unanswered = [], [], 0
            for number in range(WRITES):
                began = time.perf_counter()
                try:
                    other.call("create_task", {"hypothesis": f"Black tea helps, {number}."})
                except RuntimeError as error:
                    failed.append(str(error))
                except Empty:
                    unanswered += 1
                    break
                took.append(1000 * (time.perf_counter() - began))
                time.sleep(0.1)
            status = other.call("get_status", {"task_id": task_id, "wait": 0})
            queue = status["progress"]["queue"]
            cuts = statistics.quantiles(took, n=100)
            print(
                f"{len(took)} small writes: p50 {cuts[49]:.0f} ms   p99 {cuts[98]:.0f} ms   worst {max(took):.0f} ms;"
                f" {len(failed)} refused, {unanswered} without an answer in {PATIENCE} s"
            )
            print(f"at the end {queue['running']} jobs ran and {queue['depth']} waited; {status['metrics']}")
            for error in failed[:3]:
                print(error)
        finally:
            busy.end()
            other.end()


if __name__ == "__main__":
    main()

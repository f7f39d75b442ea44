#!/usr/bin/env python3
"""How quickly long polls receive a change, and how much they slow down other calls.

    python3 benches/long_polls.py target/release/lyra-mcp [POLLS] [ROUNDS]

POLLS get_status calls (100 by default) wait concurrently on one server, for a task whose job hangs on a web
server that never answers. In each of ROUNDS rounds (20 by default) one change is made: through the same
server, or through a second server process on the same database. Measured for every poll: from sending the
change (so its own transaction is included) to having read the poll's answer.

Then query_sql and vector_search are called on the same server, one after another: without waiting calls; with
POLLS waiting calls; with waiting calls while the second process commits to another task as fast as it can, so
that the watcher checks each time; and with the same commits without waiting calls.
"""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

POLLS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
QUESTIONS = 300


class Server:
    """One server process; records when each answer was read."""

    def __init__(self, folder: str) -> None:
        self.process = subprocess.Popen(
            [sys.argv[1], "--db", f"{folder}/g.db", "--corpus", f"{folder}/corpus", "--allow-private-hosts"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.answers: dict[int, tuple[float, bytes]] = {}
        self.news = threading.Condition()
        self.last_id = 0
        self.write_lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.answer(self.send("initialize", hello))
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            now = time.perf_counter()
            # The id comes first; whole answers are parsed only when needed.
            message_id = json.loads(line).get("id") if b'"id"' in line[:200] else None
            with self.news:
                if message_id is not None:
                    self.answers[message_id] = (now, line)
                self.news.notify_all()

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        with self.write_lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any]) -> int:
        self.last_id += 1
        self.say({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def send_call(self, tool: str, arguments: dict[str, Any]) -> int:
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, message_id: int) -> tuple[float, dict[str, Any]]:
        with self.news:
            assert self.news.wait_for(lambda: message_id in self.answers, timeout=60), "no answer"
            read_at, line = self.answers.pop(message_id)
        return read_at, json.loads(line)["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self.answer(self.send_call(tool, arguments))[1]
        assert not result["isError"], result
        return result["structuredContent"]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def percentiles(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=100)
    return f"p50 {cuts[49]:6.1f} ms   p99 {cuts[98]:6.1f} ms   worst {max(values):6.1f} ms"


def polls(server: Server, task: str) -> list[int]:
    ids = [server.send_call("get_status", {"task_id": task, "wait": 40}) for _ in range(POLLS)]
    # These calls are answered after the polls were received, so all polls are waiting then.
    for _ in range(3):
        server.call("query_sql", {"sql": "SELECT 1"})
    time.sleep(0.2)
    return ids


def wake_ups(waiting: Server, changing: Server, task: str, place: str) -> None:
    latencies = []
    for round_number in range(ROUNDS):
        ids = polls(waiting, task)
        assert not any(i in waiting.answers for i in ids), "a poll was answered before anything changed"
        began = time.perf_counter()
        rule = {"action": "domain_block", "domain_pattern": f"{place}{round_number}.example", "reason": "bench"}
        change = changing.send_call("feedback", rule)
        for i in ids:
            read_at, result = waiting.answer(i)
            assert result["structuredContent"]["changed"], result
            latencies.append((read_at - began) * 1000)
        changing.answer(change)
    print(f"  change made in the {place:12} {percentiles(latencies)}   ({len(latencies)} wake-ups)")


def questions(server: Server) -> list[float]:
    times = []
    for n in range(QUESTIONS):
        began = time.perf_counter()
        if n % 2:
            server.call("query_sql", {"sql": "SELECT kind, state, count(*) FROM jobs GROUP BY 1, 2"})
        else:
            server.call("vector_search", {"query": "tea and sleep", "target": "claims"})
        times.append((time.perf_counter() - began) * 1000)
    return times


def committing(server: Server, task: str, stop: threading.Event) -> None:
    n = 0
    while not stop.is_set():
        server.call("queue_targets", {"task_id": task, "targets": [{"kind": "doi", "doi": f"10.1000/{n}"}]})
        n += 1
    print(f"    (the other process committed {n} times)")


def write_corpus(folder: Path) -> None:
    """Documents that become claims, so that there is something to search."""
    folder.mkdir()
    for n in range(100):
        text = f"Cohort {n} followed {300 + n} adults. In this cohort tea increased sleep by {n} minutes."
        (folder / f"{n}.md").write_text(f"# Cohort {n}\n\n{text}\n")


def main() -> None:
    """Prints the figures."""
    silent = socket.create_server(("127.0.0.1", 0))
    page = f"http://127.0.0.1:{silent.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "corpus")
        here, elsewhere = Server(folder), Server(folder)
        read = here.call("create_task", {"hypothesis": "Tea helps one sleep"})["task_id"]
        here.call("queue_targets", {"task_id": read, "targets": ["tea sleep"]})
        while not here.call("get_status", {"task_id": read, "wait": 5})["milestones"]["nli_verification_done"]:
            pass
        task = here.call("create_task", {"hypothesis": "Tea helps one sleep"})["task_id"]
        # More jobs than both servers have workers: all workers hang, and nothing changes by itself.
        here.call("queue_targets", {"task_id": task, "targets": [f"{page}/{n}" for n in range(8)]})
        while here.call("get_status", {"task_id": task, "wait": 0})["progress"]["queue"]["running"] < 4:
            time.sleep(0.05)
        print(f"{POLLS} long polls at one server: from sending the change to reading the answer")
        wake_ups(here, here, task, "same-process")
        wake_ups(here, elsewhere, task, "other-process")
        other = here.call("create_task", {"hypothesis": "Coffee keeps one awake"})["task_id"]
        print(f"query_sql and vector_search at that server, {QUESTIONS} one after another")
        for is_storm in (False, True):
            for waiting in (0, POLLS):
                ids = polls(here, task) if waiting else []
                stop = threading.Event()
                storm = threading.Thread(target=committing, args=(elsewhere, other, stop))
                if is_storm:
                    storm.start()
                times = questions(here)
                if is_storm:
                    stop.set()
                    storm.join()
                early = sum(i in here.answers for i in ids)
                assert early == 0, f"{early} polls woke without a change of their task"
                commits = "commits elsewhere" if is_storm else "all quiet"
                print(f"  {waiting:3} waiting, {commits:17}  {percentiles(times)}")
                if ids:
                    here.call("feedback", {"action": "domain_block", "domain_pattern": f"s{int(is_storm)}.example", "reason": "bench"})
                    for i in ids:
                        here.answer(i)
        here.end()
        elsewhere.end()


if __name__ == "__main__":
    main()

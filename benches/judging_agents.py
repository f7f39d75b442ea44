#!/usr/bin/env python3
"""Agents that judge concurrently and are killed: no pair is judged by two agents, and none is lost.

    python3 benches/judging_agents.py target/release/lyra-mcp [PAIRS] [KILLS]

A graph with PAIRS pairs (4,000 by default) is generated. Eight agents, each with its own server on the same
database, lend up to twenty pairs and answer them in two halves. KILLS times (200 by default) a server is
killed between the two, with half of its loan unanswered. Prints seconds, judgements per second, pairs that
were answered under more than one loan, and pairs without a judgement at the end.
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 4_000
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
AGENTS = 8
PASSAGES = 10
LEASE_SECONDS = 10
TASK = "task_00000001"


def graph() -> str:
    lines: list[dict[str, Any]] = [{"type": "task", "id": TASK, "hypothesis": "Tea lowers blood pressure."}]
    for page in range(PASSAGES):
        lines.append({"type": "page", "id": f"p{page}", "url": f"https://site{page}.org/a"})
    for claim in range(PAIRS // PASSAGES):
        text = f"In trial {claim}, tea lowered blood pressure."
        lines.append({"type": "claim", "id": f"c{claim}", "task_id": TASK, "claim_text": text})
        for page in range(PASSAGES):
            fragment = f"f{claim}_{page}"
            words = f"Report {page} says that in trial {claim} the pressure fell after weeks of tea."
            lines.append({"type": "fragment", "id": fragment, "page_id": f"p{page}", "position": claim,
                          "text_content": words})
            lines.append({"type": "edge", "source_type": "fragment", "source_id": fragment,
                          "target_type": "claim", "target_id": f"c{claim}", "judge_id": "judge-1",
                          "relation": "supports", "nli_edge_confidence": round(random.random(), 3)})
    return "\n".join(map(json.dumps, lines))


class Server:
    def __init__(self, program: str, db: Path) -> None:
        self.process = subprocess.Popen([program, "--db", str(db)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.asked = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self.asked += 1
        self.send({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.asked:
                return reply["result"]
        raise RuntimeError("the server ended")

    def call(self, tool: str, **arguments: Any) -> Any:
        body = self.request("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]
        assert body["ok"], body
        return body

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Crowd:
    def __init__(self, program: str, db: Path) -> None:
        self.program, self.db = program, db
        self.kills, self.answered = KILLS, 0
        self.lock = threading.Lock()

    def may_kill(self) -> bool:
        with self.lock:
            self.kills -= 1
            return self.kills >= 0

    def agent(self, number: int) -> None:
        server = Server(self.program, self.db)
        rests = 0
        # Pairs lent by a killed server are free again after their lease.
        while rests < LEASE_SECONDS + 3:
            pairs = server.call("get_judgements", task_id=TASK, limit=20, lease_seconds=LEASE_SECONDS)["pairs"]
            if not pairs:
                rests += 1
                time.sleep(1)
                continue
            rests = 0
            for half in (pairs[: len(pairs) // 2 or 1], pairs[len(pairs) // 2 or 1 :]):
                if half is not pairs and half and half[0] is not pairs[0] and self.may_kill():
                    server.kill()
                    server = Server(self.program, self.db)
                    break
                self.answer(server, number, half)
        server.kill()

    def answer(self, server: Server, number: int, pairs: list[Any]) -> None:
        if not pairs:
            return
        answers = [{"pair_id": p["pair_id"], "relation": "supports", "quote": p["passage"]} for p in pairs]
        report = server.call("submit_judgements", task_id=TASK, model=f"m{number}", judgements=answers)
        with self.lock:
            self.answered += report["stored"]


def main() -> None:
    program = sys.argv[1]
    folder = Path(tempfile.mkdtemp())
    db, file = folder / "a.db", folder / "g.jsonl"
    file.write_text(graph())
    subprocess.run([program, "--db", str(db), "import", str(file)], check=True, capture_output=True)
    crowd = Crowd(program, db)
    begun = time.monotonic()
    threads = [threading.Thread(target=crowd.agent, args=(n,)) for n in range(AGENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begun
    server = Server(program, db)
    doubles = "SELECT count(*) AS n FROM (SELECT 1 FROM nli_verdicts WHERE judge_kind = 'agent' " \
        "GROUP BY claim_id, fragment_id HAVING count(*) > 1)"
    left = "SELECT count(*) AS n FROM v_open_judgements"
    found = [server.call("query_sql", sql=sql, options={"timeout_ms": 2000})["rows"][0]["n"] for sql in (doubles, left)]
    server.kill()
    verified = subprocess.run([program, "--db", str(db), "verify"], capture_output=True).returncode == 0
    print(f"{AGENTS} agents, {PAIRS} pairs, {KILLS - max(crowd.kills, 0)} kills: {seconds:.0f} s, "
          f"{crowd.answered / seconds:.0f} judgements/s, {found[0]} judged twice, {found[1]} left, verify {verified}")
    assert found == [0, 0] and verified and crowd.answered == PAIRS, (found, crowd.answered)


if __name__ == "__main__":
    main()

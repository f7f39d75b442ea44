#!/usr/bin/env python3
"""The latency of each MCP tool on a graph of 100,000 claims, the size of its replies, the server's memory.

    python3 benches/tool_latency.py target/release/lyra-mcp [CALLS] [--db FILE] [--claims N]

A graph is generated first (100,000 claims over 50 tasks, the first with 20,000; 60,000 fragments of 20,000
pages; 400,000 edges), imported, and embedded by the server's own embed jobs with the built-in model. --db
keeps it, or reuses it; the measurement works on a copy. Then CALLS calls (200 by default) of each of the
tools are made over one stdio connection, one after another, with varying arguments: the large task, small
tasks, every view, deep pages, filters and joins, searches of every mode. Measured: wall time from writing the
request to having read the line of the answer; bytes of the structured content, to which the 48 KiB budget
applies; and the whole line, which contains it twice (structured, and as text).

Also: the time from start to the answer to tools/list (median and worst of 20), and the resident memory
(VmRSS, Linux) 10 s after the start without a call, for an empty graph and for the large one, and after the
run. Not measured: fetching from the network. queue_reference_candidates makes a dry run; calibration_rollback
has no earlier version and returns an error.
"""

import argparse
import collections
import hashlib
import json
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

SUBJECTS = """metformin|saxagliptin|aspirin|regular exercise|coffee|vitamin D|a low-salt diet|statin therapy|sleep
loss|green tea|intermittent fasting|air pollution|noise at night|ibuprofen|omega-3 supplements|screen time|smoking
cessation|school meals|cognitive therapy|influenza vaccination|early screening|remote work|forest cover|soil
erosion|ocean warming|solar storage|urban trees|graphene coating|lithium recycling|deep tillage""".replace("\n", " ").split("|")
VERBS = "increased|reduced|did not change|was associated with lower|was associated with higher|doubled|halved".split("|")
OBJECTS = """blood pressure|hospital admissions|heart failure|bone density|reaction time|all-cause mortality|insulin
resistance|crop yield|stroke risk|depressive symptoms|body weight|kidney function|surface temperature|battery
lifetime|water quality|school attendance|inflammation markers|lung function|species richness|fuel use""".replace("\n", " ").split("|")
GROUPS = """older adults|patients with type 2 diabetes|women after menopause|school children|nurses on shift|coastal
towns|a cohort of 12,000 people|a randomized trial|two field seasons|rural clinics""".replace("\n", " ").split("|")
TAILS = """over two years|at six months|after adjustment for age and sex|in a pre-registered analysis|when dropouts were
counted as failures|with wide confidence intervals|in four of five sites|compared with placebo""".replace("\n", " ").split("|")
SMALL_TASKS = 49
START = 1_767_225_600


def node_id(prefix: str, number: int) -> str:
    """Scattered like real ids, which are hashes."""
    return prefix + hashlib.blake2b(str(number).encode(), digest_size=8).hexdigest()


def task_id(number: int) -> str:
    return "task_" + node_id("", number)[:8]


def sentence(draw: random.Random) -> str:
    change = draw.randint(2, 480) / 10
    return (f"{draw.choice(SUBJECTS).capitalize()} {draw.choice(VERBS)} {draw.choice(OBJECTS)} by {change} percent "
            f"in {draw.choice(GROUPS)} {draw.choice(TAILS)}.")


def graph(claims: int) -> Iterator[dict[str, Any]]:
    """The lines of the interchange file; the same size gives the same lines."""
    draw = random.Random(8)
    now = "2026-01-01T00:00:00Z"
    pages, edges = claims // 5, 4 * claims
    for task in range(SMALL_TASKS + 1):
        yield {"type": "task", "id": task_id(task), "hypothesis": sentence(draw), "status": "exploring", "created_at": now,
               "started_at": now}
    first_share = pages // 5
    task_of_page = [0 if page < first_share else 1 + page % SMALL_TASKS for page in range(pages)]
    fragments_of: list[list[int]] = [[] for _ in range(SMALL_TASKS + 1)]
    for page in range(pages):
        work = f"doi:10.5555/{page}"
        if page % 10:
            yield {"type": "work", "canonical_id": work, "title": sentence(draw)[:-1], "year": 1995 + int(31 * draw.random() ** 0.5),
                   "venue": f"Journal of {draw.choice(OBJECTS).title()}", "doi": f"10.5555/{page}", "source_api": "openalex",
                   "is_retracted": page % 97 == 0}
            for place in range(1 + page % 4):
                yield {"type": "work_author", "canonical_id": work, "position": place, "name": f"Author {draw.randint(1, 9000)}"}
        texts = [" ".join(sentence(draw) for _ in range(draw.randint(2, 5))) for _ in range(3)]
        yield {"type": "page", "id": node_id("page_", page), "url": f"https://site{page % 900}.example/paper/{page}",
               "domain": f"site{page % 900}.example", "title": sentence(draw)[:-1], "page_type": "html", "fetched_at": now,
               **({"canonical_id": work} if page % 10 else {})}
        yield {"type": "page_text", "page_id": node_id("page_", page), "version": 1, "text": "\n\n".join(texts), "fetched_at": now}
        start = 0
        for place, text in enumerate(texts):
            number = 3 * page + place
            yield {"type": "fragment", "id": node_id("frag_", number), "page_id": node_id("page_", page), "page_version": 1,
                   "position": place, "text_content": text, "heading_context": ["Background", "Results", "Discussion"][place],
                   "char_start": start, "char_end": start + len(text), "created_at": now}
            start += len(text) + 2
            fragments_of[task_of_page[page]].append(number)
        yield {"type": "task_page", "task_id": task_id(task_of_page[page]), "page_id": node_id("page_", page), "reason": "search"}
    pairs: set[tuple[str, int, int]] = set()
    for claim in range(claims):
        task = 0 if claim < claims // 5 else 1 + claim % SMALL_TASKS
        yield {"type": "claim", "id": node_id("claim_", claim), "task_id": task_id(task), "claim_text": sentence(draw),
               "claim_type": "fact", "llm_claim_confidence": round(0.3 + 0.6 * draw.random(), 4), "created_at": now}
        own = fragments_of[task]
        yield edge(own[claim % len(own)], claim, "origin", None, now)
        # A few claims have hundreds of pieces of evidence, many have none.
        wanted = 300 if claim % 5000 == 0 else (0 if claim % 3 == 0 else draw.choice([1, 1, 2, 3, 5]))
        for _ in range(wanted):
            fragment = draw.choice(own)
            if ("v", fragment, claim) not in pairs:
                pairs.add(("v", fragment, claim))
                yield edge(fragment, claim, draw.choice(["supports"] * 5 + ["refutes"] * 3 + ["neutral"] * 2),
                           round(0.5 + draw.random() / 2, 4), now)
    verdicts = len(pairs)
    while len(pairs) < edges - claims:
        citing, cited = draw.randrange(pages), int(pages * draw.random() ** 3)
        if citing != cited and ("c", citing, cited) not in pairs:
            pairs.add(("c", citing, cited))
            yield {"type": "edge", "source_type": "page", "source_id": node_id("page_", citing), "target_type": "page",
                   "target_id": node_id("page_", cited), "relation": "cites", "citation_source": "openalex", "created_at": now}
    print(f"graph: {claims} claims, {3 * pages} fragments, {claims} origins, {verdicts} verdicts, {len(pairs) - verdicts} citations")


def edge(fragment: int, claim: int, relation: str, confidence: float | None, now: str) -> dict[str, Any]:
    made = {"type": "edge", "source_type": "fragment", "source_id": node_id("frag_", fragment), "target_type": "claim",
            "target_id": node_id("claim_", claim), "relation": relation, "created_at": now}
    if confidence is not None:
        made |= {"nli_label": relation, "nli_edge_confidence": confidence, "judge_id": "bench"}
    return made


class Server:
    """One server process, called with one request at a time."""

    def __init__(self, binary: str, db: Path, *more: str) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen([binary, "--db", str(db), *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=db.parent)
        self.last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.request("tools/list", {})
        self.ready_ms = (time.perf_counter() - self.began) * 1000

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> tuple[float, bytes]:
        """Milliseconds to the answer, and the line of the answer."""
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode() + b"\n"
        assert self.process.stdin and self.process.stdout
        began = time.perf_counter()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        while True:
            answer = self.process.stdout.readline()
            assert answer, "the server ended"
            took = (time.perf_counter() - began) * 1000
            if json.loads(answer).get("id") == self.last:
                return took, answer

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[float, bytes, dict[str, Any]]:
        took, line = self.request("tools/call", {"name": tool, "arguments": arguments})
        return took, line, json.loads(line)["result"]["structuredContent"]

    def resident(self) -> str:
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        fields = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status if line.startswith(("VmRSS", "RssFile"))}
        return f"{fields['VmRSS']:.0f} MB ({fields['RssFile']:.0f} MB of it mapped files)"

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=60)


def make(binary: str, db: Path, claims: int) -> None:
    """Generates the graph, and waits until everything in it has a vector."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for row in graph(claims):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        lines.flush()
        began = time.perf_counter()
        subprocess.run([binary, "import", lines.name, "--db", str(db)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        print(f"import: {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    server = Server(binary, db)
    wanted, made = claims + claims // 5 * 3, 0
    while made < wanted and time.perf_counter() - began < 1800:
        time.sleep(1)
        _, _, reply = server.call("query_sql", {"sql": "SELECT count(*) AS n FROM embeddings"})
        made = reply["rows"][0]["n"] if reply["ok"] else made
    server.end()
    print(f"embedded: {made} of {wanted} texts in {time.perf_counter() - began:.1f} s")


SQL = [
    "SELECT count(*) AS n FROM claims",
    "SELECT relation, count(*) AS n FROM edges GROUP BY relation",
    "SELECT id, claim_text FROM claims WHERE task_id = :t LIMIT 50",
    "SELECT c.id, c.claim_text, f.text_content, p.url FROM claims c JOIN edges e ON e.target_id = c.id AND e.relation = 'origin' "
    "JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id WHERE c.task_id = :t LIMIT 50 OFFSET :n",
    "SELECT w.year, count(*) AS n FROM works w GROUP BY w.year ORDER BY w.year",
    "SELECT id, text_content FROM fragments WHERE rowid IN (SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH :w) LIMIT 20",
    "SELECT id, claim_text FROM claims WHERE rowid IN (SELECT rowid FROM claims_fts WHERE claims_fts MATCH :w LIMIT 50)",
    "SELECT domain, count(*) AS n FROM pages GROUP BY domain ORDER BY n DESC LIMIT 20",
    "SELECT p.title, w.year, w.doi FROM pages p JOIN works w ON w.canonical_id = p.canonical_id WHERE w.is_retracted = 1 LIMIT 50",
    "SELECT target_id, count(*) AS n FROM edges WHERE relation = 'refutes' GROUP BY target_id ORDER BY n DESC LIMIT 10",
    "SELECT * FROM v_claim_evidence_summary WHERE task_id = :t LIMIT 20",
    "SELECT * FROM v_contradictions WHERE task_id = :t LIMIT 20",
    "SELECT text_content FROM fragments WHERE id = :f",
    "SELECT text FROM page_texts LIMIT 200",
    "WITH s AS (SELECT target_id, sum(relation = 'supports') AS a, sum(relation = 'refutes') AS b FROM edges "
    "WHERE target_type = 'claim' GROUP BY target_id) SELECT count(*) AS n FROM s WHERE a > b",
]


def arguments(tool: str, nth: int, draw: random.Random, ids: dict[str, list[str]]) -> dict[str, Any]:
    """The arguments of the nth call of a tool."""
    task = task_id(0 if nth % 2 else 1 + nth % SMALL_TASKS)
    words = sentence(draw)
    claim = node_id("claim_", draw.randrange(len(ids["claims"])))
    match tool:
        case "create_task":
            return {"hypothesis": words}
        case "queue_targets":
            return {"task_id": ids["made"][nth % len(ids["made"])], "targets": [words, f"10.5555/{draw.randrange(10**6)}"]}
        case "queue_reference_candidates":
            return {"task_id": task, "dry_run": True, "limit": [10, 50, 200][nth % 3]}
        case "get_status":
            return {"task_id": task, "wait": 0, "detail": ["summary", "full"][nth // 2 % 2]}
        case "stop_task":
            return {"task_id": ids["made"][nth % len(ids["made"])], "mode": ["graceful", "immediate"][nth % 2]}
        case "query_sql":
            sql = SQL[nth % len(SQL)]
            values = {"t": task, "n": 50 * (nth % 40), "w": draw.choice(OBJECTS).split()[-1], "f": node_id("frag_", nth)}
            used = {name: value for name, value in values.items() if f":{name}" in sql}
            return {"sql": sql, "params": used, "options": {"limit": [20, 50, 200][nth % 3]}}
        case "vector_search":
            return {"query": words, "target": ["claims", "fragments"][nth % 2], "mode": ["semantic", "hybrid", "lexical"][nth % 3],
                    "top_k": [10, 50][nth // 2 % 2], "min_similarity": 0.3, **({"task_id": task} if nth % 4 < 2 else {})}
        case "query_view":
            view = ids["views"][nth % len(ids["views"])]
            return {"view_name": view, "task_id": task, "limit": [20, 50, 200][nth % 3], "offset": [0, 0, 200, 1000][nth // 2 % 4]}
        case "get_auth_queue":
            return {"group_by": ["none", "domain", "type"][nth % 3], **({"task_id": task} if nth % 2 else {})}
        case "resolve_auth":
            return {"target": "item", "queue_id": ids["waiting"][nth % len(ids["waiting"])], "action": "skip"}
        case "feedback":
            verdict, domain = ids["verdicts"][nth % len(ids["verdicts"])], f"site{nth}.example"
            return [{"action": "edge_correct", "edge_id": verdict, "correct_relation": draw.choice(["supports", "refutes", "neutral"])},
                    {"action": "claim_reject", "claim_id": claim, "reason": "not what the source says"},
                    {"action": "domain_block", "domain_pattern": domain, "reason": "advertising"},
                    {"action": "claim_restore", "claim_id": claim}][nth % 4]
        case "calibration_metrics":
            return {"action": ["get_stats", "get_evaluations"][nth % 2]}
        case "calibration_rollback":
            return {"source": "bench", "version": 1, "reason": "a measurement"}
    return {}


GLOBAL_VIEWS = {"v_citation_flow", "v_citation_chains", "v_citation_age_gap", "v_bibliographic_coupling", "v_citation_clusters"}
"""Views that are not about a task."""

ORDER = ["list_views", "query_view", "query_sql", "vector_search", "get_status", "queue_reference_candidates", "get_auth_queue",
         "calibration_metrics", "create_task", "feedback", "resolve_auth", "calibration_rollback", "queue_targets", "stop_task"]


def fill_auth_queue(db: Path, items: int) -> list[str]:
    """Adds pages that wait for a human, which otherwise come only from the network."""
    with sqlite3.connect(db) as own:
        rows = [(f"iq_{n:016x}", task_id(n % 50), f"https://site{n % 90}.example/closed/{n}", f"site{n % 90}.example") for n in range(items)]
        own.executemany("INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at) "
                        "VALUES (?, ?, ?, ?, 'login', '2026-01-01T00:00:00Z')", rows)
    own.close()
    return [row[0] for row in rows]


def prepared(server: Server, db: Path, calls: int, waiting: list[str]) -> dict[str, list[str]]:
    views = server.call("list_views", {})[2]["views"]
    verdicts = server.call("query_sql", {"sql": "SELECT id FROM edges WHERE relation = 'supports' LIMIT 200",
                                         "options": {"limit": 200}})[2]["rows"]
    number = server.call("query_sql", {"sql": "SELECT count(*) AS n FROM claims"})[2]["rows"][0]["n"]
    made = [server.call("create_task", {"hypothesis": f"A task of its own, number {n}, is quick."})[2]["task_id"] for n in range(20)]
    return {"views": [view["name"] for view in views], "verdicts": [row["id"] for row in verdicts], "claims": [""] * number,
            "made": made, "waiting": waiting}


def measure(server: Server, ids: dict[str, list[str]], calls: int) -> None:
    print(f"{'tool':28} {'calls':>5} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'reply p50':>10} {'reply max':>10} {'line max':>9}  errors")
    for tool in ORDER:
        draw = random.Random(tool)
        taken: dict[str, list[tuple[float, int, int, str]]] = collections.defaultdict(list)
        errors: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for nth in range(calls):
            asked = arguments(tool, nth, draw, ids)
            took, line, reply = server.call(tool, asked)
            size = len(json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode())
            names = [tool] + ([f"  {part(tool, asked)}"] if part(tool, asked) else [])
            for name in names:
                taken[name].append((took, size, len(line), json.dumps(asked)[:150]))
                if not reply["ok"]:
                    errors[name][reply["error_code"]] += 1
        for name, calls_of in sorted(taken.items(), key=lambda item: item[0].startswith(" ")):
            times, sizes = [call[0] for call in calls_of], [call[1] for call in calls_of]
            p99 = statistics.quantiles(times, n=100, method="inclusive")[98] if len(times) > 1 else times[0]
            print(f"{name:28} {len(times):5} {statistics.median(times):8.2f} {p99:8.2f} {max(times):8.2f} "
                  f"{int(statistics.median(sizes)):10} {max(sizes):10} {max(call[2] for call in calls_of):9}  "
                  f"{dict(errors[name]) or ''}", flush=True)
        for took, *_, asked in sorted(taken[tool], reverse=True)[:3]:
            if took > 100:
                print(f"    {took:8.1f} ms  {asked}")


def part(tool: str, asked: dict[str, Any]) -> str:
    """The group of a call, for tools whose calls differ much."""
    if tool == "vector_search":
        return str(asked["mode"])
    if tool == "query_view":
        return "whole graph" if asked["view_name"] in GLOBAL_VIEWS else "one task"
    return ""


def starts(binary: str, db: Path) -> str:
    times = []
    for _ in range(20):
        server = Server(binary, db)
        times.append(server.ready_ms)
        server.end()
    return f"median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms of {len(times)}"


def idle(binary: str, db: Path) -> str:
    server = Server(binary, db)
    time.sleep(10)
    held = server.resident()
    server.end()
    return held


def main() -> None:
    """Generates the graph if there is none, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("calls", nargs="?", type=int, default=200)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--claims", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = (given.db or Path(folder) / "made.db").resolve()
        if not kept.exists():
            make(given.binary, kept, given.claims)
        db, empty = Path(folder) / "copy.db", Path(folder) / "empty.db"
        shutil.copy(kept, db)
        print(f"database: {db.stat().st_size / 1e6:.0f} MB")
        waiting = fill_auth_queue(db, max(500, given.calls))
        for name, which in (("empty graph", empty), ("large graph", db)):
            print(f"start to tools/list, {name}: {starts(given.binary, which)}; resident when idle for 10 s: {idle(given.binary, which)}",
                  flush=True)
        server = Server(given.binary, db)
        measure(server, prepared(server, db, given.calls, waiting), given.calls)
        print(f"resident after the run: {server.resident()}")
        server.end()


if __name__ == "__main__":
    main()

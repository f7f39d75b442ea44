#!/usr/bin/env python3
"""Measures how much of a model's context a long research session over MCP takes.

    python3 benches/session_bytes.py target/release/lyra-mcp

`lyra-mcp demo` researches its example question into a fresh graph; then two sessions are replayed over stdio.
A typical session has some 50 calls: polls, the views that the tools name, ten or twenty rows each, the
evidence of the most disputed claims, searches, small queries. A greedy session has some 190, and tries to
exceed the size limit of a reply: every view with 200 rows, some paged to their end, queries of many shapes,
including whole tables, searches of every mode, resources, mistakes. Counted for each reply: the bytes of its
structured content (to which the budget of 48 KiB applies), and of the whole line, which contains it twice,
structured and as text, as the protocol requires; a client shows its model one of the two. Tokens are
estimated roughly as bytes / 4.

For comparison, "everything at once": the size of one reply with everything about the task, as in the former
design (claims with their evidence and citations; and the same with the page texts).
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 48 * 1024
"""Bytes of structured content that a reply may take."""


class Session:
    """One connection; records the sizes of all answers."""

    def __init__(self, binary: str, db: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LYRA_")}
        environment["XDG_CONFIG_HOME"] = str(db.parent / "no-config")
        self.process = subprocess.Popen([binary, "--db", str(db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=db.parent, env=environment)
        self.sizes: list[tuple[str, int, int]] = []
        self.last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "session", "version": "1"}}
        self.request("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any], name: str = "") -> Any:
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        assert self.process.stdout
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            answer = json.loads(line)
            if answer.get("id") == self.last:
                break
        result = answer.get("result", answer)
        shown = result.get("structuredContent", result)
        self.sizes.append((name or method, size(shown), len(line)))
        return shown

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply: dict[str, Any] = self.request("tools/call", {"name": tool, "arguments": arguments}, tool)
        return reply

    def sql(self, sql: str, params: Any = None, **options: Any) -> dict[str, Any]:
        return self.call("query_sql", sql=sql, params=params, options=options)

    def pages(self, tool: str, **arguments: Any) -> list[Any]:
        """Every row, requested page by page."""
        rows: list[Any] = []
        offset: int | None = 0
        while offset is not None:
            if tool == "query_sql":
                arguments["options"] = {"limit": 200, "offset": offset}
            else:
                arguments |= {"limit": 200, "offset": offset}
            reply = self.call(tool, **arguments)
            assert reply["ok"], reply
            rows += reply["rows"]
            following = reply.get("next_offset") if reply["truncated"] else None
            assert following is None or following > offset, "paging stands still"
            offset = following
        return rows

    def end(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def size(value: Any) -> int:
    """Bytes of compact JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def demo(binary: str, folder: Path) -> Path:
    """Creates a graph of the example question."""
    db = folder / "demo.db"
    subprocess.run([binary, "demo", "--db", str(db), "--corpus", str(ROOT / "examples" / "corpus")], check=True, cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return db


def typical(binary: str, db: Path) -> list[tuple[str, int, int]]:
    """The session that the server's instructions describe; sizes as `replay` gives them."""
    session = Session(binary, db)
    session.request("tools/list", {})
    task = session.sql("SELECT id FROM tasks")["rows"][0]["id"]
    for _ in range(8):
        session.call("get_status", task_id=task, wait=0)
    disputed = session.call("query_view", view_name="v_contradictions", task_id=task, limit=10)["rows"]
    session.call("query_view", view_name="v_claim_evidence_summary", task_id=task, limit=20)
    for view in ("v_source_impact", "v_evidence_timeline", "v_outdated_evidence", "v_unsupported_claims", "v_reference_candidates"):
        session.call("query_view", view_name=view, task_id=task, limit=10)
    for row in disputed:
        session.sql("SELECT relation, nli_edge_confidence, fragment_text, author_display, year, venue, doi FROM v_evidence_chain "
                    "WHERE claim_id = ? ORDER BY nli_edge_confidence DESC LIMIT 6", [row["claim_id"]])
    for query in ("saxagliptin and heart failure", "no difference from placebo", "patients with heart disease", "mechanism", "sitagliptin"):
        session.call("vector_search", query=query, task_id=task, min_similarity=0.3)
        session.call("vector_search", query=query, target="fragments", mode="hybrid", task_id=task, min_similarity=0.3, top_k=5)
    for sql in ("SELECT title, year, venue, doi FROM works ORDER BY year DESC LIMIT 30", "SELECT count(*) AS n FROM claims",
                "SELECT domain, count(*) AS n FROM pages GROUP BY domain ORDER BY n DESC LIMIT 10",
                "SELECT title, doi FROM works WHERE is_retracted = 1",
                "SELECT id, text_content FROM fragments WHERE rowid IN (SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH 'alogliptin') LIMIT 8"):
        assert session.sql(sql)["ok"]
    session.call("query_view", view_name="v_contradiction", task_id=task)
    session.call("stop_task", task_id=task)
    session.end()
    return session.sizes


def replay(binary: str, db: Path) -> list[tuple[str, int, int]]:
    """The greedy session; (request, bytes of its structured content, bytes of its line) for each call."""
    session = Session(binary, db)
    session.request("tools/list", {})
    session.request("resources/list", {})
    session.request("prompts/list", {})
    session.request("prompts/get", {"name": "research_session", "arguments": {"hypothesis": "Coffee keeps people awake"}})
    task = session.sql("SELECT id FROM tasks")["rows"][0]["id"]
    for uri in ("lyra://tasks", "lyra://schema", f"lyra://task/{task}"):
        session.request("resources/read", {"uri": uri}, "resources/read")
    for number in range(20):
        session.call("get_status", task_id=task, wait=0, detail="full" if number % 5 == 4 else "summary")
    ask_views(session, task)
    ask_sql(session, task)
    ask_by_meaning(session, task)
    make_mistakes(session, task)
    correct(session, task)
    session.end()
    return session.sizes


def ask_views(session: Session, task: str) -> None:
    """Every view: a few rows, as many as one reply may contain, and some to their last row."""
    views = [view["name"] for view in session.call("list_views")["views"]]
    for view in views:
        short = session.call("query_view", view_name=view, task_id=task, limit=10)
        assert short["ok"], short
        session.call("query_view", view_name=view, task_id=task, limit=200)
    for view in ("v_evidence_chain", "v_claim_origins"):
        rows = session.pages("query_view", view_name=view, task_id=task)
        keys = [json.dumps(row, sort_keys=True) for row in rows]
        assert len(keys) == len(set(keys)) > 50, f"{view}: {len(keys)} rows, {len(set(keys))} different"


def ask_sql(session: Session, task: str) -> None:
    """Forty query shapes, from a count to a whole table."""
    for sql in (
        "SELECT count(*) AS n FROM claims",
        "SELECT relation, count(*) AS n FROM edges GROUP BY relation",
        "SELECT title, year, doi FROM works ORDER BY year DESC",
        "SELECT domain, count(*) AS n FROM pages GROUP BY domain ORDER BY n DESC",
        "SELECT id, claim_text FROM claims ORDER BY llm_claim_confidence DESC",
        "SELECT id, claim_text, llm_claim_confidence FROM claims WHERE claim_text LIKE '%saxagliptin%'",
        "SELECT substr(text_content, 1, 120) AS start FROM fragments",
        "SELECT name, count(*) AS n FROM work_authors GROUP BY name ORDER BY n DESC",
        "SELECT heading_context, count(*) AS n FROM fragments GROUP BY heading_context",
        "SELECT fragment_type, avg(length(text_content)) AS length FROM fragments GROUP BY fragment_type",
        "SELECT c.claim_text, f.text_content, p.title FROM claims c JOIN edges e ON e.target_id = c.id JOIN fragments f "
        "ON f.id = e.source_id JOIN pages p ON p.id = f.page_id",
        "SELECT c.*, e.*, f.*, p.* FROM claims c JOIN edges e ON e.target_id = c.id JOIN fragments f ON f.id = e.source_id "
        "JOIN pages p ON p.id = f.page_id",
        "SELECT * FROM pages", "SELECT * FROM works", "SELECT * FROM edges", "SELECT * FROM claims",
        "SELECT * FROM v_claim_evidence_summary", "SELECT * FROM v_contradictions", "SELECT * FROM v_evidence_chain",
        "SELECT text FROM page_texts", "SELECT page_id, length(text) AS n FROM page_texts ORDER BY n DESC",
        "SELECT group_concat(claim_text, '; ') AS all_claims FROM claims",
        "SELECT json_group_array(json_object('c', claim_text)) AS all_claims FROM claims",
        "SELECT id, text_content FROM fragments WHERE rowid IN (SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH 'heart AND failure')",
        "SELECT snippet(fragments_fts, 0, '[', ']', '…', 12) AS hit FROM fragments_fts WHERE fragments_fts MATCH 'risk'",
        "WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) SELECT x, hex(randomblob(400)) AS wide FROM n",
        "SELECT hex(zeroblob(20000)) AS one_wide_row", "SELECT hex(zeroblob(40000)) AS a_row_too_wide",
        "SELECT printf('%.*c', 60000, 'x') AS wider_than_a_reply", "SELECT '日本語の長い文' AS t, 1.5 AS r, NULL AS nothing",
    ):
        session.sql(sql, limit=200)
    session.sql("SELECT claim_text FROM claims WHERE id = :id", {"id": "claim_none"})
    session.sql("SELECT claim_text FROM claims WHERE task_id = ? LIMIT 5", [task], include_schema=True)
    session.sql("SELECT 1", include_schema=True)
    texts = session.pages("query_sql", sql="SELECT id, text_content FROM fragments ORDER BY id")
    number = session.sql("SELECT count(*) AS n FROM fragments")["rows"][0]["n"]
    assert len({row["id"] for row in texts}) == len(texts) == number, "paging loses or repeats rows"


def ask_by_meaning(session: Session, task: str) -> None:
    for query in ("who is at risk, and why", "saxagliptin and heart failure", "no difference from placebo", "mechanism", "心不全"):
        for target in ("claims", "fragments"):
            for mode in ("semantic", "hybrid", "lexical"):
                wide = target == "fragments"
                reply = session.call("vector_search", query=query, target=target, mode=mode, task_id=task, min_similarity=0.1,
                                     top_k=50 if wide else 10, cutoff="kneedle" if mode == "hybrid" else "none")
                assert reply["ok"], (query, mode, reply)


def make_mistakes(session: Session, task: str) -> None:
    """Errors that occur in sessions; each gets a short answer."""
    before = len(session.sizes)
    wrong = [
        session.call("query_view", view_name="v_contradiction", task_id=task),
        session.call("query_view", view_name="v_reference_candidates"),
        session.call("get_status", task_id="task_00000000", wait=0),
        session.sql("SELEC 1"), session.sql("DELETE FROM claims"), session.sql("SELECT no_such_column FROM claims"),
        session.sql("SELECT 'unfinished"), session.sql("SELECT " + "x" * 20_000),
        session.sql("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n", timeout_ms=100),
        session.sql("SELECT json_extract('{}', (SELECT group_concat(text_content) FROM fragments))"),
        session.call("vector_search", query="", task_id=task), session.call("vector_search", query="x", top_k=500),
        session.call("feedback", action="edge_correct", edge_id="edge_none", correct_relation="neutral"),
        session.call("calibration_rollback", source="nobody", reason="a mistake"),
    ]
    for nth, reply in enumerate(wrong):
        assert not reply["ok"] and reply["error_code"] and reply["error"], f"mistake {nth} was accepted without an error"
    assert max(taken for _, taken, _ in session.sizes[before:]) <= 8 * 1024, session.sizes[before:]


def correct(session: Session, task: str) -> None:
    edge = session.sql("SELECT id FROM edges WHERE relation = 'supports' LIMIT 1")["rows"][0]["id"]
    claim = session.sql("SELECT id FROM claims LIMIT 1")["rows"][0]["id"]
    assert session.call("feedback", action="edge_correct", edge_id=edge, correct_relation="neutral", reason="reads otherwise")["ok"]
    assert session.call("feedback", action="claim_reject", claim_id=claim, reason="no claim")["ok"]
    session.call("queue_reference_candidates", task_id=task, dry_run=True, limit=200)
    session.call("get_auth_queue")
    session.call("calibration_metrics")
    assert session.call("stop_task", task_id=task)["ok"]


def everything(db: Path, binary: str) -> dict[str, int]:
    """The bytes of everything about the task in one reply."""
    lines = subprocess.run([binary, "export", "--format", "jsonl", "--db", str(db)], check=True, capture_output=True).stdout
    rows: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for line in lines.splitlines():
        row = json.loads(line)
        rows[row["type"]].append(row)
    parts = ("task", "claim", "fragment", "edge", "page", "work", "work_author", "task_page")
    known = {row["id"]: row for part in ("claim", "fragment", "page") for row in rows[part]}
    works = {row["canonical_id"]: row for row in rows["work"]}
    evidence = collections.defaultdict(list)
    for edge in rows["edge"]:
        if edge["target_type"] == "claim":
            fragment = known[edge["source_id"]]
            page = known[fragment["page_id"]]
            evidence[edge["target_id"]].append({"edge": edge, "fragment": fragment, "page": page, "work": works.get(page.get("canonical_id"))})
    bundle = [{"claim": claim, "evidence": evidence[claim["id"]]} for claim in rows["claim"]]
    graph = {part: rows[part] for part in parts}
    return {
        "claims with their evidence, each with its fragment, page and work": size(bundle),
        "claims, fragments, edges, pages, works, each once": size(graph),
        "the same with the page texts": size(graph) + size(rows["page_text"]),
        "the whole export, with vectors": len(lines),
    }


def show(title: str, sizes: list[tuple[str, int, int]]) -> None:
    by_name: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
    for name, structured, line in sizes:
        by_name[name].append((structured, line))
    print(f"{title:28} {'times':>5} {'bytes':>9} {'largest':>8} {'on the wire':>12}")
    for name, taken in sorted(by_name.items(), key=lambda item: -sum(size for size, _ in item[1])):
        print(f"{name:28} {len(taken):5} {sum(s for s, _ in taken):9} {max(s for s, _ in taken):8} {sum(n for _, n in taken):12}")
    replies = [s for name, s, _ in sizes if "/" not in name]
    total, wire = sum(replies), sum(n for *_, n in sizes)
    print(f"{len(sizes)} requests, {len(replies)} calls of tools: {total} bytes, about {total // 4} tokens; median "
          f"{sorted(replies)[len(replies) // 2]}, largest {max(replies)} of at most {BUDGET} bytes; on the wire {wire} bytes\n")


def main() -> None:
    """Replays the sessions and prints the figures."""
    binary = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        db = demo(binary, Path(folder))
        at_once = everything(db, binary)
        usual = typical(binary, db)
        greedy = replay(binary, db)
    show("typical session", usual)
    show("greedy session", greedy)
    for what, taken in at_once.items():
        print(f"at once: {what}: {taken} bytes, about {taken // 4} tokens")


if __name__ == "__main__":
    main()

"""The server, driven by the official Python MCP client.

Environment: LYRA_MCP_BIN names the binary; without it target/release and target/debug are tried.
The client checks every structured reply against the tool's outputSchema and raises where it does
not fit, so a session that ends is a session whose replies all fitted.
"""

import asyncio
import os
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "examples" / "corpus"
NO_TASK = "task_00000000"

TOOLS = [
    "create_task",
    "queue_targets",
    "queue_reference_candidates",
    "get_status",
    "stop_task",
    "query_sql",
    "vector_search",
    "query_view",
    "list_views",
    "get_auth_queue",
    "resolve_auth",
    "feedback",
    "calibration_metrics",
    "calibration_rollback",
]


def binary() -> str:
    named = os.environ.get("LYRA_MCP_BIN")
    candidates = [Path(named)] if named else [
        ROOT / "target" / profile / "lyra-mcp" for profile in ("release", "debug")
    ]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    pytest.fail(f"no server binary among {[str(c) for c in candidates]}; set LYRA_MCP_BIN")


@asynccontextmanager
async def session(db: Path):
    parameters = StdioServerParameters(
        command=binary(),
        args=["--db", str(db), "--corpus", str(CORPUS)],
        env={"XDG_CONFIG_HOME": str(db.parent / "no-config"), "PATH": os.environ["PATH"]},
        cwd=str(db.parent),
    )
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write) as client:
            await client.initialize()
            yield client


async def ok(client: ClientSession, tool: str, arguments: dict) -> dict:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.structured_content)
    assert result.structured_content["ok"] is True
    return result.structured_content


async def fails(client: ClientSession, tool: str, arguments: dict) -> dict:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result.structured_content)
    body = result.structured_content
    assert body["ok"] is False and body["error"]
    return body


def test_a_research_session_from_hypothesis_to_quotes(tmp_path):
    async def run():
        async with session(tmp_path / "graph.db") as client:
            await research(client)

    asyncio.run(run())


async def research(client: ClientSession):
    task = await ok(client, "create_task", {
        "hypothesis": "DPP-4 inhibitors increase the risk of hospitalization for heart failure.",
        "config": {"budget": {"max_pages": 60}},
    })
    task_id = task["task_id"]
    assert task["status"] == "created"
    assert task["config"]["budget"] == {"max_pages": 60, "max_seconds": 3600}

    queued = await ok(client, "queue_targets", {"task_id": task_id, "targets": [
        "saxagliptin heart failure hospitalization",
        {"kind": "query", "query": "sitagliptin linagliptin no increase in heart failure"},
        "DPP-4阻害薬 心不全",
    ]})
    assert queued["queued_count"] == 3 and len(queued["target_ids"]) == 3

    deadline = time.monotonic() + 180
    while True:
        status = await ok(client, "get_status", {"task_id": task_id, "wait": 20})
        if status["milestones"]["nli_verification_done"]:
            break
        assert time.monotonic() < deadline, status
    assert status["milestones"]["target_queue_drained"]
    assert status["progress"]["searches"]["total"] == 3
    assert status["metrics"]["total_pages"] >= 10
    assert status["evidence_summary"]["supporting_edges"] > 0
    assert status["evidence_summary"]["refuting_edges"] > 0
    assert status["_lyra_meta"]["models"]["builtin"] is True

    disputes = await ok(client, "query_view", {"view_name": "v_contradictions", "task_id": task_id})
    assert disputes["row_count"] >= 1
    for row in disputes["rows"]:
        assert row["support_count"] > 0 and row["refute_count"] > 0

    quotes = await ok(client, "query_sql", {
        "sql": """
            SELECT c.claim_text, w.doi, p.url,
              substr(t.text, e.quote_start + 1, e.quote_end - e.quote_start) AS quote,
              f.text_content
            FROM claims AS c
            JOIN edges AS e ON e.target_id = c.id AND e.relation = 'origin'
            JOIN fragments AS f ON f.id = e.source_id
            JOIN pages AS p ON p.id = f.page_id
            JOIN page_texts AS t ON t.page_id = f.page_id AND t.version = f.page_version
            LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
            WHERE c.task_id = :task ORDER BY c.id""",
        "params": {"task": task_id},
        "options": {"limit": 20},
    })
    assert quotes["row_count"] == 20
    for row in quotes["rows"]:
        assert row["quote"] and row["quote"] in row["text_content"]
    assert any(row["doi"] for row in quotes["rows"])

    found = await ok(client, "vector_search", {
        "query": "hospital admission because of heart failure", "task_id": task_id,
        "min_similarity": 0.3, "top_k": 5,
    })
    assert 1 <= len(found["results"]) <= 5
    similarities = [hit["similarity"] for hit in found["results"]]
    assert similarities == sorted(similarities, reverse=True) and similarities[-1] >= 0.3

    stopped = await ok(client, "stop_task", {"task_id": task_id})
    assert stopped["final_status"] == "paused"
    after = await ok(client, "get_status", {"task_id": task_id, "wait": 0})
    assert after["status"] == "paused"


def test_every_tool_is_listed_in_full(tmp_path):
    async def run():
        async with session(tmp_path / "graph.db") as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == TOOLS
            for tool in tools:
                assert tool.title and tool.description and tool.annotations
                assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
                assert {"error_code", "error", "hint"} <= set(tool.output_schema["properties"])

    asyncio.run(run())


ERRORS = [
    ("create_task", {"hypothesis": ""}, "INVALID_PARAMS"),
    ("queue_targets", {"task_id": NO_TASK, "targets": ["tea"]}, "TASK_NOT_FOUND"),
    ("queue_reference_candidates", {"task_id": NO_TASK}, "TASK_NOT_FOUND"),
    ("get_status", {"task_id": NO_TASK, "wait": 60}, "TASK_NOT_FOUND"),
    ("stop_task", {"task_id": NO_TASK}, "TASK_NOT_FOUND"),
    ("query_sql", {"sql": "DROP TABLE claims"}, "QUERY_REJECTED"),
    ("vector_search", {"query": "tea", "task_id": NO_TASK}, "TASK_NOT_FOUND"),
    ("query_view", {"view_name": "v_nothing"}, "RESOURCE_NOT_FOUND"),
    ("list_views", {"limit": 5}, "INVALID_PARAMS"),
    ("get_auth_queue", {"task_id": NO_TASK}, "TASK_NOT_FOUND"),
    ("resolve_auth", {"action": "complete"}, "INVALID_PARAMS"),
    ("feedback", {"action": "edge_correct"}, "INVALID_PARAMS"),
    ("calibration_metrics", {"action": "fit"}, "INVALID_PARAMS"),
    ("calibration_rollback", {"source": "judge"}, "INVALID_PARAMS"),
]


def test_an_error_of_every_tool_arrives(tmp_path):
    async def run():
        async with session(tmp_path / "graph.db") as client:
            assert [tool for tool, _, _ in ERRORS] == TOOLS
            for tool, arguments, code in ERRORS:
                began = time.monotonic()
                body = await fails(client, tool, arguments)
                assert body["error_code"] == code, (tool, body)
                assert time.monotonic() - began < 10, tool
            with pytest.raises(MCPError, match="did you mean query_sql"):
                await client.call_tool("query_sq", {})

    asyncio.run(run())


def test_resources_and_prompts(tmp_path):
    async def run():
        async with session(tmp_path / "graph.db") as client:
            task = await ok(client, "create_task", {"hypothesis": "Tea is good for you."})
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert f"lyra://task/{task['task_id']}" in uris
            contents = (await client.read_resource("lyra://schema")).contents
            assert '"claims"' in contents[0].text
            prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert prompts == ["research_session", "contradiction_review"]

    asyncio.run(run())

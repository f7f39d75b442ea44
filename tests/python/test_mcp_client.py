"""The server, driven by the official Python MCP client.

Environment: LYRA_MCP_BIN names the binary; without it target/release and target/debug are tried.
The client checks every structured reply of a call that succeeds against the tool's outputSchema
and raises where it does not fit; replies of calls that fail are checked here, and all of them
against the whole schema of the file, of which the server lists the top level.
"""

import asyncio
import json
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from raw_server import CORPUS, PATIENCE, ROOT, RawServer, binary, clean_environment
from scenarios import CASES, run_scenario

TOOLS = CASES["tools"]
# The handshake of the revisions up to 2025-11-25, and the revision that does without one.
MODES = ["legacy", "2026-07-28"]


@asynccontextmanager
async def connected(server: dict, mode: str):
    parameters = StdioServerParameters(**server)
    async with Client(parameters, mode=mode, read_timeout_seconds=PATIENCE) as client:
        yield client


@asynccontextmanager
async def session(folder: Path, mode: str = "legacy", arguments: tuple[str, ...] = ()):
    server = {
        "command": binary(),
        "args": ["--db", str(folder / "graph.db"), "--corpus", str(CORPUS), *arguments],
        "env": clean_environment(folder),
        "cwd": str(folder),
    }
    async with connected(server, mode) as client:
        yield client


def whole_schema(tool: str) -> dict:
    """The output schema that the server checks its replies against."""
    path = ROOT / "lyra-mcp" / "src" / "schemas" / f"{tool}.output.json"
    return json.loads(path.read_text(encoding="utf-8"))


async def ok(client: Client, tool: str, arguments: dict) -> dict:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.structured_content)
    assert result.structured_content["ok"] is True
    return result.structured_content


class Scenarios:
    """Every scenario in every mode, all begun at once because some of them mostly wait."""

    def __init__(self, folders):
        self.pool = ThreadPoolExecutor(max_workers=4)
        # The one that waits longest goes first.
        self.runs = {
            (scenario["name"], mode): self.pool.submit(
                self.run, scenario, mode, folders.mktemp("scenario")
            )
            for scenario in sorted(CASES["scenarios"], key=lambda s: "{silence}" not in str(s))
            for mode in MODES
        }

    def run(self, scenario: dict, mode: str, folder: Path):
        @asynccontextmanager
        async def connect(server):
            async with connected(server, mode) as client:
                tools = (await client.list_tools()).tools
                checks = {
                    t.name: [Draft202012Validator(s) for s in (t.output_schema, whole_schema(t.name))]
                    for t in tools
                }

                async def call(tool, arguments):
                    result = await client.call_tool(tool, arguments)
                    for check in checks[tool]:
                        check.validate(result.structured_content)
                    return result.is_error, result.structured_content

                yield call

        asyncio.run(run_scenario(scenario, folder, connect))


@pytest.fixture(scope="module", autouse=True)
def scenarios(tmp_path_factory):
    begun = Scenarios(tmp_path_factory)
    yield begun.runs
    begun.pool.shutdown(cancel_futures=True)


def test_the_scenarios_show_every_tool_on_success_and_on_each_of_its_errors():
    steps = [step for s in CASES["scenarios"] for step in s["steps"] if "tool" in step]
    shown = {(step["tool"], step["gives"]) for step in steps}
    assert shown == {(tool, outcome) for tool in TOOLS for outcome in ["ok", *CASES["codes"][tool]]}


def test_the_documented_errors_are_those_that_were_shown():
    documented = {
        line.split("`")[1]
        for line in (ROOT / "docs" / "errors.md").read_text("utf-8").splitlines()
        if line.startswith("| `") and line.split("`")[1].isupper()
    }
    shown = {code for codes in CASES["codes"].values() for code in codes}
    assert documented == shown | CASES["unreachable"].keys()


def test_a_research_session_from_hypothesis_to_quotes(tmp_path):
    async def run():
        async with session(tmp_path) as client:
            await research(client)

    asyncio.run(run())


async def research(client: Client):
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

    with anyio.fail_after(PATIENCE):
        while True:
            status = await ok(client, "get_status", {"task_id": task_id, "wait": 20})
            if status["milestones"]["nli_verification_done"]:
                break
    assert status["milestones"]["target_queue_drained"]
    assert status["progress"]["searches"]["total"] == 3
    assert status["metrics"]["total_pages"] >= 10
    assert status["evidence_summary"]["supporting_edges"] > 0
    assert status["evidence_summary"]["refuting_edges"] > 0

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
        async with session(tmp_path) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == TOOLS
            for tool in tools:
                assert tool.title and tool.description and tool.annotations
                assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
                assert "ok" in tool.output_schema["required"]
                assert {"error_code", "error", "hint"} <= set(whole_schema(tool.name)["properties"])

    asyncio.run(run())


@pytest.mark.parametrize(
    ("mode", "revision"),
    [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")],
)
def test_the_revision_is_agreed_on(mode, revision, tmp_path):
    async def run():
        async with session(tmp_path, mode) as client:
            assert client.protocol_version == revision
            assert len((await client.list_tools()).tools) == len(TOOLS)
            if mode != "2026-07-28":
                assert client.server_info.name == "lyra"
                assert "create_task" in client.instructions

    asyncio.run(run())


def test_the_documented_revisions_are_those_that_are_spoken(tmp_path):
    guide = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    sentence = re.search(r"speaks the protocol revisions ([^.]*)\.", guide)[1]
    documented = re.findall(r"\d{4}-\d\d-\d\d", sentence)
    with RawServer(tmp_path) as server:
        meta = {
            "io.modelcontextprotocol/protocolVersion": documented[-1],
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        discovered = server.request("server/discover", {"_meta": meta})["result"]
        assert discovered["supportedVersions"] == documented
    # The last one has no handshake; who asks for an unknown one gets the newest that has.
    for asked, agreed in [*((v, v) for v in documented[:-1]), ("1999-01-01", documented[-2])]:
        with RawServer(tmp_path) as server:
            result = server.request("initialize", {
                "protocolVersion": asked, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            })["result"]
            assert result["protocolVersion"] == agreed
            server.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert len(server.request("tools/list")["result"]["tools"]) == len(TOOLS)


def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path):
    async def run():
        async with session(tmp_path) as client:
            with pytest.raises(MCPError, match="did you mean query_sql"):
                await client.call_tool("query_sq", {})

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_resources_and_prompts(mode, tmp_path):
    async def run():
        async with session(tmp_path, mode) as client:
            task = await ok(client, "create_task", {"hypothesis": "Tea is good for you."})
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert f"lyra://task/{task['task_id']}" in uris
            for uri in uris:
                contents = (await client.read_resource(uri)).contents
                assert contents[0].text.startswith("<!doctype html>" if uri.startswith("ui:") else "{"), uri
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == [
                "lyra://task/{id}", "lyra://views/{name}", "lyra://tools/{name}", "ui://lyra/evidence/{task}",
            ]
            with pytest.raises(MCPError):
                await client.read_resource("lyra://views/v_none")
            prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert prompts == ["research_session", "contradiction_review"]
            prompt = await client.get_prompt("research_session", {"hypothesis": "Tea is good."})
            assert "Tea is good." in prompt.messages[0].content.text
            with pytest.raises(MCPError):
                await client.get_prompt("contradiction_review", {})

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_a_long_poll_tells_its_progress_blocks_nobody_and_can_be_cancelled(mode, tmp_path):
    async def run():
        with socket.create_server(("127.0.0.1", 0)) as silence:
            async with session(tmp_path, mode, ("--allow-private-hosts",)) as client:
                await poll(client, f"http://127.0.0.1:{silence.getsockname()[1]}/page.html")

    asyncio.run(run())


async def poll(client: Client, page: str):
    task = (await ok(client, "create_task", {"hypothesis": "Tea is good for you."}))["task_id"]
    # A page that never comes keeps the task busy.
    await ok(client, "queue_targets", {"task_id": task, "targets": [page]})
    with anyio.fail_after(PATIENCE):
        while True:
            status = await ok(client, "get_status", {"task_id": task, "wait": 0})
            if status["progress"]["queue"]["running"]:
                break
            await anyio.sleep(0.05)
    told: list[float] = []
    heard = anyio.Event()

    async def progress(done, total, message):
        assert total == 300 and "running" in message
        told.append(done)
        if len(told) == 2:
            heard.set()

    async with anyio.create_task_group() as group:
        async def wait():
            arguments = {"task_id": task, "wait": 300}
            await client.call_tool("get_status", arguments, progress_callback=progress)
            pytest.fail("nothing changed, yet the poll ended")

        group.start_soon(wait)
        with anyio.fail_after(PATIENCE):
            await heard.wait()
        assert told == sorted(told)
        assert (await ok(client, "query_sql", {"sql": "SELECT 1 AS one"}))["rows"] == [{"one": 1}]
        group.cancel_scope.cancel()
    # The server heard of it, and goes on.
    stopped = await ok(client, "stop_task", {"task_id": task, "mode": "immediate"})
    assert stopped["final_status"] == "paused"


@pytest.mark.parametrize("mode", MODES)
def test_a_connector_searches_and_fetches(mode, tmp_path):
    text = "Tea lowered blood pressure in 90 adults. " * 1500
    fragment = {"type": "fragment", "id": "frag_tea", "page_id": "page_tea", "page_version": 1,
                "text_content": text[:40], "char_start": 0, "char_end": 40}
    lines = [
        {"type": "page", "id": "page_tea", "url": "https://tea.example/", "title": "A trial of tea"},
        {"type": "page_text", "page_id": "page_tea", "version": 1, "text": text},
        fragment,
    ]
    file = tmp_path / "graph.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    command = [binary(), "import", str(file), "--db", str(tmp_path / "graph.db")]
    subprocess.run(command, check=True, env=clean_environment(tmp_path), cwd=tmp_path)

    async def run():
        async with session(tmp_path, mode, ("--tools", "connector")) as client:
            assert [t.name for t in (await client.list_tools()).tools] == ["search", "fetch"]

            async def call(tool, arguments):
                result = await client.call_tool(tool, arguments)
                [content] = result.content
                body = json.loads(content.text)
                if not result.is_error:
                    assert body == result.structured_content
                return body

            results = (await call("search", {"query": "tea blood pressure"}))["results"]
            assert results == [
                {"id": "page_tea", "title": "A trial of tea", "url": "https://tea.example/"}
            ]
            read, place = "", "page_tea"
            while place:
                page = await call("fetch", {"id": place})
                place = page["metadata"].get("next_id")
                read += page["text"].rpartition("\n\n[The text")[0] if place else page["text"]
            assert read == text
            assert (await call("fetch", {"id": "none"}))["error_code"] == "RESOURCE_NOT_FOUND"

    asyncio.run(run())


# Last, so that the other tests fill the time that these wait.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [scenario["name"] for scenario in CASES["scenarios"]])
def test_scenario(scenarios, name, mode):
    scenarios[name, mode].result()

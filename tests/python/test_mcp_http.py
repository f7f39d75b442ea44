"""The server over HTTP, driven by the official Python MCP client, which brings its HTTP library."""

import asyncio
import re
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from raw_server import CORPUS, PATIENCE, binary, clean_environment
from scenarios import CASES

# The handshake of the revisions up to 2025-11-25, and the revision that does without one.
MODES = ["legacy", "2026-07-28"]


class HttpServer:
    """A running server with one token."""

    def __init__(self, folder: Path, scope: str):
        tokens = str(folder / "tokens")
        common = {"env": clean_environment(folder), "cwd": folder, "text": True, "encoding": "utf-8"}
        add = [binary(), "token", "add", "python", "--scope", scope, "--tokens", tokens]
        self.token = subprocess.run(add, check=True, capture_output=True, **common).stdout.strip()
        serve = ["--db", str(folder / "graph.db"), "--corpus", str(CORPUS), "serve", "--http", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [binary(), *serve, "--tokens", tokens], stderr=subprocess.PIPE, **common
        )
        said = iter(self.process.stderr.readline, "")
        self.url = next(found[1] for line in said if (found := re.search(r"serving MCP on (\S+)", line)))

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0


@pytest.fixture
def server(tmp_path, request):
    running = HttpServer(tmp_path, getattr(request, "param", "write"))
    yield running
    running.end()


@asynccontextmanager
async def connected(server: HttpServer, mode: str, token: str | None = None):
    headers = {"Authorization": f"Bearer {token or server.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(server.url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield client


async def called(client: Client, tool: str, **arguments) -> dict:
    return (await client.call_tool(tool, arguments)).structured_content


@pytest.mark.parametrize("mode", MODES)
def test_tools_resources_and_waiting(server, mode):
    async def run():
        async with connected(server, mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == CASES["tools"]
            task = await called(client, "create_task", hypothesis="Tea is good for you.")
            read = await client.read_resource(f"lyra://task/{task['task_id']}")
            assert task["task_id"] in read.contents[0].text
            assert (await called(client, "get_status", task_id=task["task_id"], wait=0))["ok"]
            told = []

            async def progress(done, total, message):
                told.append((done, total, message))

            wait = {"task_id": task["task_id"], "wait": 7}
            await client.call_tool("get_status", wait, progress_callback=progress)
            assert len(told) >= 2 and told[0][1] == 7, told
            sql = "SELECT actor FROM event_log WHERE action = 'task_created'"
            assert (await called(client, "query_sql", sql=sql))["rows"] == [{"actor": "python"}]

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ["read"], indirect=True)
def test_a_token_that_reads_cannot_write(server, mode):
    async def run():
        async with connected(server, mode) as client:
            refused = await called(client, "create_task", hypothesis="Tea is good for you.")
            assert refused["error_code"] == "ACCESS_DENIED", refused
            assert (await called(client, "list_views"))["ok"]

    asyncio.run(run())


def test_a_wrong_token_gets_nowhere(server):
    async def run():
        async with connected(server, "legacy", token="lyra_00") as client:
            await client.list_tools()

    with pytest.raises(Exception):
        asyncio.run(run())
    refused = httpx2.post(server.url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert refused.status_code == 401 and refused.headers["www-authenticate"].startswith("Bearer")

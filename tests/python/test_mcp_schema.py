"""Messages of the server against the protocol's own JSON schemas, one revision at a time.

The schemas and the example messages are those of the protocol's repository, in
`../shared/data/mcp-schema`; without that folder these tests are skipped.
"""

import json
import socket
from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from raw_server import CORPUS, ROOT, RawServer

SCHEMAS = ROOT.parent / "shared" / "data" / "mcp-schema"
pytestmark = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"the protocol's schemas are not at {SCHEMAS}"
)

STATEFUL = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATELESS = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Revision:
    """The definitions of one revision, as validators."""

    def __init__(self, name: str):
        self.name = name
        self.schema = json.loads((SCHEMAS / name / "schema.json").read_text(encoding="utf-8"))
        self.place = "$defs" if "$defs" in self.schema else "definitions"
        self.kind = Draft202012Validator if self.place == "$defs" else Draft7Validator

    def has(self, definition: str) -> bool:
        return definition in self.schema[self.place]

    def check(self, definition: str, instance) -> None:
        assert self.has(definition), f"{self.name} has no {definition}"
        within = {self.place: self.schema[self.place], "$ref": f"#/{self.place}/{definition}"}
        breaches = [
            f"{error.json_path}: {error.message[:300]}"
            for error in self.kind(within).iter_errors(instance)
        ]
        assert not breaches, (self.name, definition, breaches, json.dumps(instance)[:600])

    def check_message(self, message: dict) -> None:
        """The envelope of a message, whatever it carries."""
        if "method" in message:
            self.check("JSONRPCNotification", message)
            self.check("ServerNotification", message)
        elif "error" in message:
            modern = self.has("JSONRPCErrorResponse")
            self.check("JSONRPCErrorResponse" if modern else "JSONRPCError", message)
        else:
            modern = self.has("JSONRPCResultResponse")
            self.check("JSONRPCResultResponse" if modern else "JSONRPCResponse", message)
            self.check("ServerResult", message["result"])


class Recording:
    """A server and the revision that it is spoken to in."""

    def __init__(self, server: RawServer, revision: Revision):
        self.server, self.revision = server, revision

    def params(self, given: dict) -> dict:
        if self.revision.name != STATELESS:
            return given
        return given | {"_meta": META | given.get("_meta", {})}

    def request(self, method: str, definition: str, given: dict | None = None) -> dict:
        """Sends a request, checks the result against its definition."""
        answer = self.server.request(method, self.params(given or {}))
        assert "result" in answer, answer
        self.revision.check(definition, answer["result"])
        return answer["result"]

    def refused(self, method: str, given: dict | None, code: int) -> dict:
        answer = self.server.request(method, self.params(given or {}))
        assert answer["error"]["code"] == code, answer
        return answer["error"]

    def tool(self, name: str, arguments: dict) -> dict:
        result = self.request("tools/call", "CallToolResult", {"name": name, "arguments": arguments})
        assert result["isError"] is (not result["structuredContent"]["ok"])
        return result["structuredContent"]


def begin(server: RawServer, revision: Revision) -> Recording:
    recording = Recording(server, revision)
    if revision.name == STATELESS:
        recording.request("server/discover", "DiscoverResult")
        return recording
    result = recording.request("initialize", "InitializeResult", {
        "protocolVersion": revision.name, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
    assert result["protocolVersion"] == revision.name
    server.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    recording.request("ping", "EmptyResult")
    return recording


@pytest.mark.parametrize("name", [*STATEFUL, STATELESS])
def test_what_the_server_sends_fits_the_revision(name, tmp_path):
    revision = Revision(name)
    silence = socket.create_server(("127.0.0.1", 0))
    with RawServer(tmp_path, "--corpus", str(CORPUS), "--allow-private-hosts") as server:
        recording = begin(server, revision)
        tools = recording.request("tools/list", "ListToolsResult")["tools"]
        assert len(tools) == 19
        task = recording.tool("create_task", {"hypothesis": "Tea is good for you."})["task_id"]
        assert recording.tool("query_sql", {"sql": "SELECT 1 AS one"})["rows"] == [{"one": 1}]
        assert recording.tool("query_sql", {"sql": "DROP TABLE claims"})["ok"] is False
        assert recording.tool("create_task", {})["ok"] is False

        listed = recording.request("resources/list", "ListResourcesResult")["resources"]
        for uri in [r["uri"] for r in listed if "views" not in r["uri"]] + [listed[-1]["uri"]]:
            recording.request("resources/read", "ReadResourceResult", {"uri": uri})
        recording.request("resources/templates/list", "ListResourceTemplatesResult")
        for prompt in recording.request("prompts/list", "ListPromptsResult")["prompts"]:
            arguments = {argument["name"]: "x" for argument in prompt["arguments"]}
            given = {"name": prompt["name"], "arguments": arguments}
            recording.request("prompts/get", "GetPromptResult", given)

        recording.refused("no/such", None, -32601)
        recording.refused("tools/list", {"cursor": "next"}, -32602)
        recording.refused("tools/call", {"name": "query_sq", "arguments": {}}, -32602)
        recording.refused("prompts/get", {"name": "none"}, -32602)
        missing = {"uri": "lyra://views/v_none"}
        recording.refused("resources/read", missing, -32602 if name == STATELESS else -32002)

        # A page that never comes keeps the task busy, so that a long poll reports progress.
        page = f"http://127.0.0.1:{silence.getsockname()[1]}/page.html"
        recording.tool("queue_targets", {"task_id": task, "targets": [page]})
        params = recording.params({
            "name": "get_status", "arguments": {"task_id": task, "wait": 300},
            "_meta": {"progressToken": "p1"},
        })
        poll = server.send("tools/call", params)
        while (message := server.message()).get("method") != "notifications/progress":
            # The job began, and so did the wait for the next change.
            poll = server.send("tools/call", params)
        revision.check("ProgressNotification", message)
        assert message["params"]["progressToken"] == "p1"
        server.say({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": poll}})
        recording.tool("stop_task", {"task_id": task, "mode": "immediate"})
    for message in server.messages:
        revision.check_message(message)
    silence.close()


# What the server says to each example request of the stateless revision: the definition of the
# result, or the code of the error. The examples name tools, prompts and documents of their own.
EXAMPLES = {
    "CallToolRequest": -32602,
    "CompleteRequest": -32601,
    "DiscoverRequest": "DiscoverResult",
    "GetPromptRequest": -32602,
    "ListPromptsRequest": "ListPromptsResult",
    "ListResourceTemplatesRequest": "ListResourceTemplatesResult",
    "ListResourcesRequest": "ListResourcesResult",
    "ListToolsRequest": "ListToolsResult",
    "ReadResourceRequest": -32602,
    "SubscriptionsListenRequest": -32601,
}
# What a server asks a client.
OF_SERVERS = {"CreateMessageRequest", "ElicitRequest", "ListRootsRequest"}


def test_the_example_requests_are_answered(tmp_path):
    revision = Revision(STATELESS)
    folders = (SCHEMAS / STATELESS / "examples").glob("*Request")
    assert {folder.name for folder in folders} == EXAMPLES.keys() | OF_SERVERS
    with RawServer(tmp_path) as server:
        for definition, expected in EXAMPLES.items():
            for path in sorted((SCHEMAS / STATELESS / "examples" / definition).glob("*.json")):
                request = json.loads(path.read_text(encoding="utf-8"))
                server.say(request)
                answer = server.answer(request["id"])
                revision.check_message(answer)
                if isinstance(expected, int):
                    assert answer["error"]["code"] == expected, (path.name, answer)
                else:
                    revision.check(expected, answer["result"])


def test_an_unknown_revision_is_refused_with_those_that_are_spoken(tmp_path):
    revision = Revision(STATELESS)
    with RawServer(tmp_path) as server:
        meta = META | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        answer = server.request("server/discover", {"_meta": meta})
        revision.check("UnsupportedProtocolVersionError", answer)
        assert STATELESS in answer["error"]["data"]["supported"]

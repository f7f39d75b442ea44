"""The plugin for Claude Code: its files have what the client needs, and its skill names what the server has."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib

import pytest
from jsonschema import Draft202012Validator
from raw_server import PATIENCE, ROOT, RawServer

SCHEMAS = ROOT / "lyra-mcp" / "src" / "schemas"
PLUGIN = ROOT / "examples" / "plugin"
SKILL = PLUGIN / "skills" / "research-with-lyra" / "SKILL.md"
TEXT = SKILL.read_text("utf-8")
# Every call that the skill shows, in order.
CALLS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]
# Backticks that name no tool, argument, field, value or view.
OTHER = {"changed: false", '"focus": "disputed"'}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "nurses.md").write_text(
        "# Sleep of nurses\n\nNight work shortened total sleep by 74 minutes a day in 412 nurses.\n", "utf-8")
    (papers / "guards.md").write_text(
        "# Sleep of guards\n\nIn 230 prison guards, night work did not shorten sleep.\n", "utf-8")
    with RawServer(folder, "--corpus", str(papers)) as started:
        started.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        started.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield started


@pytest.fixture(scope="module")
def tools(server) -> dict:
    return {tool["name"]: tool for tool in server.request("tools/list")["result"]["tools"]}


def call(server: RawServer, name: str, arguments: dict) -> dict:
    reply = server.request("tools/call", {"name": name, "arguments": arguments})["result"]["structuredContent"]
    assert reply["ok"] is True, (name, reply)
    return reply


def words_of(schema) -> set[str]:
    """The names of fields in a schema, and the values that they can have."""
    found = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {}))
        found |= {value for value in schema.get("enum", []) if isinstance(value, str)}
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        found |= words_of(inner)
    return found


def test_the_files_of_the_plugin_have_the_required_keys():
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    assert plugin["name"] == "lyra" and plugin["description"] and plugin["author"]["name"]
    assert plugin["version"] == version
    servers = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
    project = tomllib.loads((ROOT / "lyra-py" / "pyproject.toml").read_text("utf-8"))["project"]
    assert servers == {"lyra": {"command": "uvx", "args": [project["name"]]}}
    assert project["name"] in project["scripts"]


def test_the_skill_has_a_head_and_is_short():
    head = re.match(r"---\n(.*?)\n---\n", TEXT, re.DOTALL)[1]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == SKILL.parent.name
    assert 0 < len(fields["description"]) <= 1024
    assert len(TEXT.splitlines()) <= 120


def test_every_call_of_the_skill_fits_the_schema_of_its_tool(tools):
    shown = {one["name"] for one in CALLS}
    assert shown == {
        "create_task", "queue_targets", "get_status", "get_judgements", "submit_judgements", "query_view",
        "claim_standing", "check_report",
    }
    for one in CALLS:
        Draft202012Validator(tools[one["name"]]["inputSchema"]).validate(one["arguments"])


def test_every_name_of_the_skill_exists(server, tools):
    views = {view["name"] for view in call(server, "list_views", {})["views"]}
    known = views | set(tools)
    for tool in tools.values():
        # The listing has the top level of a reply; the file has all of it.
        whole = json.loads((SCHEMAS / f"{tool['name']}.output.json").read_text("utf-8"))
        known |= words_of(tool["inputSchema"]) | words_of(whole)
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    named = set(re.findall(r"`([^`]+)`", prose)) - OTHER
    assert len(named) > 40
    assert named <= known, f"the skill names {sorted(named - known)}, which no tool has"


def test_the_calls_of_the_skill_are_answered(server):
    by_name = {one["name"]: one["arguments"] for one in CALLS}
    task = call(server, "create_task", by_name["create_task"])["task_id"]

    def ask(name: str, **changes) -> dict:
        arguments = by_name[name] | changes
        return call(server, name, arguments | ({"task_id": task} if "task_id" in arguments else {}))

    queries = [target for target in by_name["queue_targets"]["targets"] if not target.startswith("10.")]
    ask("queue_targets", targets=queries)
    for _ in range(PATIENCE):
        if ask("get_status")["milestones"]["nli_verification_done"]:
            break
    else:
        pytest.fail("verification did not end")

    pairs = ask("get_judgements")["pairs"]
    assert pairs
    shown = by_name["submit_judgements"]["judgements"][0]
    verdict = shown | {"pair_id": pairs[0]["pair_id"], "quote": pairs[0]["passage"]}
    submitted = ask("submit_judgements", judgements=[verdict])
    assert (submitted["stored"], submitted["refused"]) == (1, [])
    for view in set(re.findall(r"\| `(v_\w+)` \|", TEXT)):
        ask("query_view", view_name=view)
    standing = ask("claim_standing")
    assert standing["independent_for"] + standing["independent_against"] >= 1
    ask("check_report", text="Night work shortened sleep by 74 minutes [1].\n\n## References\n\n1. Sleep of nurses\n")


def test_a_linter_of_plugins_and_skills_finds_nothing():
    if importlib.util.find_spec("skillsaw") is None:
        pytest.skip("skillsaw lints plugins and skills")
    command = [sys.executable, "-m", "skillsaw", "lint", "--strict", str(PLUGIN)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr

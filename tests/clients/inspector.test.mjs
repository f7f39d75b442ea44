// The server, driven by the Inspector's command line, set up as docs/mcp.md says for Claude
// Desktop and Cursor.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { CASES, CORPUS, HERE, PATIENCE, ROOT, binary, cleanEnvironment, temporary } from "./server.mjs";

const PACKAGE = join(HERE, "node_modules", "@modelcontextprotocol", "inspector");
const INSPECTOR = join(PACKAGE, JSON.parse(readFileSync(join(PACKAGE, "package.json"))).bin.inspector);
/** How the Inspector ends where a tool's reply says that the call failed. */
const TOOL_FAILED = 5;
const GUIDE = readFileSync(join(ROOT, "docs", "mcp.md"), "utf8");

/** The code blocks of the guide, by language. */
function snippets(language) {
  const blocks = GUIDE.matchAll(new RegExp("```" + language + "\\n(.*?)```", "gs"));
  return [...blocks].map((block) => block[1]);
}

function snippet(language, part) {
  const found = snippets(language).filter((text) => text.includes(part));
  assert.equal(found.length, 1, part);
  return found[0];
}

test("every client is told the same command", () => {
  const { lyra } = JSON.parse(snippet("json", '"mcpServers"')).mcpServers;
  const code = JSON.parse(snippet("json", '"servers"')).servers.lyra;
  assert.deepEqual(code, { type: "stdio", ...lyra });
  const words = snippet("sh", "claude mcp add").trim().split(/\s+/);
  const add = ["claude", "mcp", "add", "lyra", "--", lyra.command, ...lyra.args];
  assert.deepEqual(words, add);
});

suite("the Inspector's command line", { concurrency: 2 }, () => {
  const folder = temporary({ after });
  mkdirSync(join(folder, "home"));
  const config = snippet("json", '"mcpServers"')
    .replace("/path/to/lyra-mcp", binary())
    .replace("/path/to/papers", CORPUS);
  writeFileSync(join(folder, "config.json"), config);

  /** Runs the Inspector; what it printed, and how it ended. */
  function inspect(method, ...args) {
    const env = {
      ...cleanEnvironment(folder),
      HOME: join(folder, "home"),
      MCP_INSPECTOR_SECRET_STORE: "memory",
    };
    const common = ["--cli", "--config", join(folder, "config.json"), "--server", "lyra"];
    const command = [INSPECTOR, ...common, "--method", method, ...args];
    const options = { env, cwd: folder, timeout: PATIENCE, maxBuffer: 1 << 24 };
    return new Promise((done) => {
      execFile(process.execPath, command, options, (error, stdout, stderr) => {
        const code = error ? error.code : 0;
        done({ code, stderr, result: stdout.trim() ? JSON.parse(stdout) : undefined });
      });
    });
  }

  async function inspected(method, ...args) {
    const { code, result, stderr } = await inspect(method, ...args);
    assert.equal(code, 0, stderr);
    return result;
  }

  for (const era of ["legacy", "modern"]) {
    test(`tools/list, ${era}`, async () => {
      const { tools } = await inspected("tools/list", "--strict", "--protocol-era", era);
      assert.deepEqual(
        tools.map((tool) => tool.name),
        CASES.tools,
      );
    });
  }
  test("tools/call", async () => {
    const create = ["--tool-name", "create_task", "--tool-arg", "hypothesis=Tea is good for you."];
    const { structuredContent } = await inspected("tools/call", ...create);
    assert.equal(structuredContent.status, "created");
    // Another process on the same graph.
    const args = JSON.stringify({ task_id: structuredContent.task_id, wait: 0 });
    const status = ["--tool-name", "get_status", "--tool-args-json", args];
    assert.equal((await inspected("tools/call", ...status)).structuredContent.status, "created");
    const uri = `lyra://task/${structuredContent.task_id}`;
    const { contents } = await inspected("resources/read", "--uri", uri);
    assert.equal(JSON.parse(contents[0].text).status, "created");
  });
  test("a call that fails", async () => {
    const drop = ["--tool-name", "query_sql", "--tool-arg", "sql=DROP TABLE claims"];
    const { code, result } = await inspect("tools/call", ...drop);
    assert.equal(code, TOOL_FAILED);
    assert.equal(result.structuredContent.error_code, "QUERY_REJECTED");
  });
  test("resources", async () => {
    const { resources } = await inspected("resources/list");
    assert.ok(resources.some((resource) => resource.uri === "lyra://schema"));
    const { contents } = await inspected("resources/read", "--uri", "lyra://views/v_contradictions");
    assert.equal(JSON.parse(contents[0].text).name, "v_contradictions");
    const templates = await inspected("resources/templates/list");
    assert.equal(templates.resourceTemplates.length, 4);
  });
  test("prompts", async () => {
    const { prompts } = await inspected("prompts/list");
    assert.equal(prompts.length, 2);
    const given = ["--prompt-name", "research_session", "--prompt-args", "hypothesis=Tea is good."];
    const { messages } = await inspected("prompts/get", ...given);
    assert.match(messages[0].content.text, /Tea is good\./);
  });
});

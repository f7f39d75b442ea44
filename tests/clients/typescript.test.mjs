// The server, driven by the official TypeScript clients over standard input and output, and over HTTP.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CASES, CLIENTS, HTTP_CLIENTS, PATIENCE, connected, plainServer, temporary } from "./server.mjs";
import { needsSilence, runScenario } from "./scenarios.mjs";

test("the scenarios show every tool on success and on each of its errors", () => {
  const steps = CASES.scenarios.flatMap((scenario) => scenario.steps).filter((step) => step.tool);
  const shown = new Set(steps.map((step) => `${step.tool} ${step.gives}`));
  const wanted = CASES.tools.flatMap((tool) =>
    ["ok", ...CASES.codes[tool]].map((outcome) => `${tool} ${outcome}`),
  );
  assert.deepEqual([...shown].sort(), wanted.sort());
});

suite("the official clients", { concurrency: true }, () => {
  CLIENTS.forEach((kind) => withClient(kind, CASES.scenarios));
});

/** What takes minutes says little about the transport: one client over HTTP shows it. */
const LONG = ["a research session over real documents"];

suite("the official clients over HTTP", { concurrency: true }, () => {
  const short = CASES.scenarios.filter((s) => !needsSilence(s) && !LONG.includes(s.name));
  HTTP_CLIENTS.forEach((kind, nth) => withClient(kind, nth === 0 ? CASES.scenarios : short));
});

function withClient(kind, some) {
  suite(kind.name, { concurrency: 4 }, () => {
    const scenarios = [...some];
    // The one that waits longest goes first.
    scenarios.sort((a, b) => needsSilence(b) - needsSilence(a));
    for (const scenario of scenarios) {
      test(scenario.name, (t) => runScenario(scenario, temporary(t), kind));
    }
    test("the handshake", (t) => connected(kind, plainServer(temporary(t)), handshake(kind)));
    test("the listing", (t) => connected(kind, plainServer(temporary(t)), listing));
    test("an unknown tool", async (t) => {
      await connected(kind, plainServer(temporary(t)), async ({ client }) => {
        const call = kind.call(client, { name: "query_sq", arguments: {} });
        await assert.rejects(call, /did you mean query_sql/);
      });
    });
    test("resources and prompts", (t) =>
      connected(kind, plainServer(temporary(t)), ({ client }) => resourcesAndPrompts(kind, client)));
    test("a long poll", async (t) => {
      const silence = createServer(() => {});
      await new Promise((listening) => silence.listen(0, "127.0.0.1", listening));
      t.after(() => silence.close());
      const page = `http://127.0.0.1:${silence.address().port}/page.html`;
      const server = plainServer(temporary(t), "--allow-private-hosts");
      await connected(kind, server, ({ client }) => longPoll(kind, client, page));
    });
  });
}

function handshake(kind) {
  return ({ client }) => {
    assert.equal(kind.agreed(client), kind.revision);
    // Not every client shows the extensions.
    const { extensions, ...capabilities } = client.getServerCapabilities();
    assert.ok(extensions === undefined || extensions["io.modelcontextprotocol/ui"]);
    assert.deepEqual(Object.keys(capabilities).sort(), [
      "prompts",
      "resources",
      "tools",
    ]);
  };
}

function listing({ tools }) {
  assert.deepEqual(
    tools.map((tool) => tool.name),
    CASES.tools,
  );
  for (const tool of tools) {
    assert.ok(tool.title && tool.description, tool.name);
    assert.equal(tool.inputSchema.type, "object", tool.name);
    assert.equal(tool.outputSchema.type, "object", tool.name);
    for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]) {
      assert.equal(typeof tool.annotations[hint], "boolean", `${tool.name} ${hint}`);
    }
  }
}

async function done(kind, client, name, args) {
  const { structuredContent } = await kind.call(client, { name, arguments: args });
  assert.equal(structuredContent.ok, true, JSON.stringify(structuredContent));
  return structuredContent;
}

async function resourcesAndPrompts(kind, client) {
  const task = await done(kind, client, "create_task", { hypothesis: "Tea is good for you." });
  const { resources } = await client.listResources();
  const uris = resources.map((resource) => resource.uri);
  for (const uri of ["lyra://tasks", "lyra://schema", `lyra://task/${task.task_id}`]) {
    assert.ok(uris.includes(uri), uri);
  }
  for (const uri of uris) {
    const { contents } = await client.readResource({ uri });
    if (uri.startsWith("ui:")) assert.match(contents[0].text, /^<!doctype html>/);
    else assert.equal(typeof JSON.parse(contents[0].text), "object", uri);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    resourceTemplates.map((template) => template.uriTemplate),
    ["lyra://task/{id}", "lyra://views/{name}", "lyra://tools/{name}", "ui://lyra/evidence/{task}"],
  );
  const missing = client.readResource({ uri: "lyra://views/v_none" });
  await assert.rejects(missing, { code: kind.unknownResource });

  const { prompts } = await client.listPrompts();
  assert.deepEqual(
    prompts.map((prompt) => prompt.name),
    ["research_session", "contradiction_review"],
  );
  const given = { name: "research_session", arguments: { hypothesis: "Tea is good." } };
  const { messages } = await client.getPrompt(given);
  assert.match(messages[0].content.text, /Tea is good\./);
  await assert.rejects(client.getPrompt({ name: "contradiction_review" }), { code: -32602 });
}

/** A wait tells its progress, keeps no query from being answered, and can be cancelled. */
async function longPoll(kind, client, page) {
  const { task_id } = await done(kind, client, "create_task", { hypothesis: "Tea is good." });
  // A page that never comes keeps the task busy.
  await done(kind, client, "queue_targets", { task_id, targets: [page] });
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const status = await done(kind, client, "get_status", { task_id, wait: 0 });
    if (status.progress.queue.running > 0) break;
    assert.ok(Date.now() < deadline, JSON.stringify(status));
    await sleep(50);
  }
  const cancel = new AbortController();
  const told = [];
  let wait;
  await new Promise((heard, failed) => {
    const params = { name: "get_status", arguments: { task_id, wait: 300 } };
    wait = kind.call(client, params, {
      timeout: PATIENCE,
      resetTimeoutOnProgress: true,
      signal: cancel.signal,
      onprogress: (note) => {
        told.push(note);
        if (told.length === 2) heard();
      },
    });
    wait.catch(failed);
  });
  assert.ok(told[0].progress < told[1].progress);
  assert.equal(told[0].total, 300);
  assert.match(told[0].message, /running/);
  const answer = await done(kind, client, "query_sql", { sql: "SELECT 1 AS one" });
  assert.deepEqual(answer.rows, [{ one: 1 }]);
  cancel.abort("enough");
  await assert.rejects(wait, /enough|abort/i);
  // The server heard of it, and goes on.
  const stopped = await done(kind, client, "stop_task", { task_id, mode: "immediate" });
  assert.equal(stopped.final_status, "paused");
}

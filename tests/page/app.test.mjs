// The evidence page in a chat: the real server, the official host side, a headless Chromium.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { start, SCREENSHOTS } from "./browser.mjs";
import { BY, lyra, overHttp, overStdio, program, show, TOOL } from "./host.mjs";

const { browser, axe, missing: noBrowser } = await start();
const missing = noBrowser ?? (program() ? null : "the server is not built (cargo build -p lyra-mcp, or set LYRA_MCP_BIN)");
if (missing) console.log(`skipped: ${missing}`);
if (missing && process.env.LYRA_PAGE_TESTS === "required") throw new Error(missing);
const folder = mkdtempSync(join(tmpdir(), "lyra-app-"));
const db = join(folder, "graph.db");
const open = [];
const apps = [];
after(async () => {
  for (const { close } of open) await close();
  await browser?.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Shows the page until the end of the test: pages that stay open slow down those after them. */
async function shown(client, task, options) {
  const app = await show(browser, client, task, options);
  apps.push(app);
  await app.frame.waitForSelector("html[data-ready]", { timeout: 60000 });
  return app;
}

async function query(client, sql) {
  const reply = await client.callTool({ name: "query_sql", arguments: { sql } });
  return reply.structuredContent.rows;
}

/** Opens the first contradiction, and tells of a passage for it and its buttons. */
async function openPassage({ frame }) {
  await frame.locator("#contradictions-body .claim-link").first().click();
  await frame.waitForSelector("dialog[open]");
  const passage = frame.locator("dialog .column.supports .passage").first();
  return { edge: await passage.getAttribute("data-edge"), button: (relation) => passage.locator(`.verdict-button.${relation}`), passage };
}

describe("the evidence page in a chat", { skip: missing ?? false, timeout: 300_000 }, () => {
  let client;
  let task;
  before(async () => {
    lyra("--db", db, "demo", "--no-page");
    const opened = await overStdio("--db", db);
    open.push(opened);
    client = opened.client;
    [{ id: task }] = await query(client, "SELECT id FROM tasks");
  });

  afterEach(async () => {
    for (const { close } of apps.splice(0)) await close();
  });

  test("what the server declares is what the extension's schemas ask for", async () => {
    const require = createRequire(import.meta.url);
    const { McpUiToolMetaSchema, McpUiResourceMetaSchema } = await import("@modelcontextprotocol/ext-apps");
    assert.ok(require.resolve("@modelcontextprotocol/ext-apps"));
    const extension = client.getServerCapabilities().extensions["io.modelcontextprotocol/ui"];
    assert.deepEqual(extension, { mimeTypes: ["text/html;profile=mcp-app"] });
    const { tools } = await client.listTools();
    const withPages = tools.filter((tool) => tool._meta?.ui);
    assert.deepEqual(withPages.map((tool) => tool.name), [TOOL]);
    McpUiToolMetaSchema.parse(withPages[0]._meta.ui);
    const { resources } = await client.listResources();
    const listed = resources.find((resource) => resource.uri === withPages[0]._meta.ui.resourceUri);
    const { contents } = await client.readResource({ uri: listed.uri });
    for (const { mimeType, _meta } of [listed, contents[0]]) {
      assert.equal(mimeType, "text/html;profile=mcp-app");
      const meta = McpUiResourceMetaSchema.parse(_meta.ui);
      assert.deepEqual(Object.values(meta.csp).flat(), []);
    }
    assert.match(contents[0].text, /Content-Security-Policy" content="default-src 'none';/);
    assert.doesNotMatch(contents[0].text, /unsafe-eval/);
  });

  for (const theme of ["light", "dark"]) {
    test(`looks as it should: ${theme}`, async () => {
      const app = await shown(client, task, { context: { theme } });
      assert.match(await app.frame.locator("#hypothesis").textContent(), /\w/);
      assert.equal(await app.frame.locator("#theme").isVisible(), false);
      assert.ok(app.sizes.at(-1) > 300 && app.sizes.at(-1) <= 760, String(app.sizes));
      assert.equal(await app.frame.evaluate(() => document.documentElement.dataset.theme), theme);
      await app.page.screenshot({ path: join(SCREENSHOTS, `app-${theme}.png`) });
      await openPassage(app);
      await app.page.screenshot({ path: join(SCREENSHOTS, `app-${theme}-claim.png`) });
      await app.frame.evaluate(axe.source);
      const { violations } = await app.frame.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
      assert.deepEqual(serious.map((v) => [v.id, v.nodes[0].html]), []);
      assert.ok(await app.frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      assert.deepEqual(app.faults, []);
    });
  }

  test("holds the same counts as the exported page, in several pieces", async () => {
    const file = join(folder, "page.html");
    lyra("--db", db, "export", "--format", "html", "--task", task, "--out", file);
    const held = JSON.parse(/<script id="data"[^>]*>(.*?)<\/script>/s.exec(readFileSync(file, "utf8"))[1]);
    const app = await shown(client, task);
    const pieces = app.calls.filter((call) => call.name === TOOL);
    assert.ok(pieces.length > 1, String(pieces.length));
    const words = await app.frame.locator("#verdict").textContent();
    for (const count of [`${held.claims.length} claims`, `${held.sources.length} sources`, `${held.evidence.length} passages`])
      assert.ok(words.replaceAll(",", "").includes(count), `${count}: ${words}`);
    await app.frame.locator("#graph-frame").scrollIntoViewIfNeeded();
    await app.frame.waitForSelector('#graph-canvas[data-progress="1"]', { timeout: 120000 });
    assert.deepEqual(app.faults, []);
  });

  test("a verdict button changes the database and the page", async () => {
    const app = await shown(client, task);
    const { edge, button } = await openPassage(app);
    const claim = await app.frame.locator("dialog code").textContent();
    const tally = () => app.frame.locator("dialog .tally").first().textContent();
    const before = await tally();
    await button("refutes").click();
    const pressed = app.frame.locator(`dialog [data-edge="${edge}"] .verdict-button.refutes[aria-pressed="true"]`);
    await pressed.waitFor();
    const [row] = await query(client, `SELECT relation, edge_human_corrected FROM edges WHERE id = '${edge}'`);
    assert.deepEqual(row, { relation: "refutes", edge_human_corrected: 1 });
    const sent = app.calls.find((call) => call.name === "feedback");
    assert.deepEqual(sent.arguments, { action: "edge_correct", edge_id: edge, correct_relation: "refutes", by: "user" });
    const [logged] = await query(client, "SELECT actor FROM feedback_log ORDER BY rowid DESC LIMIT 1");
    assert.equal(logged.actor, "user");
    assert.notEqual(await tally(), before);
    assert.equal(await app.frame.locator("dialog code").textContent(), claim, "the same claim is open");
    assert.ok(await pressed.evaluate((node) => node === document.activeElement), "the focus stays with the passage");
    assert.match(await app.frame.locator(`dialog .column.refutes [data-edge="${edge}"]`).textContent(), /judged by a person/);
    assert.match(app.contexts.at(-1), new RegExp(`${claim}, passage ${edge}: supports → refutes`));
    await app.page.screenshot({ path: join(SCREENSHOTS, "app-corrected.png") });
    // Back again, on the page as it was drawn anew.
    await app.frame.locator(`dialog [data-edge="${edge}"] .verdict-button.supports`).click();
    await app.frame.locator(`dialog [data-edge="${edge}"] .verdict-button.supports[aria-pressed="true"]`).waitFor();
    assert.equal(await tally(), before);
    await app.frame.locator("#detail-close").click();
    await app.frame.waitForSelector("dialog:not([open])", { state: "attached" });
    assert.deepEqual(app.faults, []);
  });

  test("a call that fails is shown beside the button, and can be made again", async () => {
    let isRefused = true;
    const wrap = (call, { name }) => {
      if (name === "feedback" && isRefused) throw new Error("the user said no");
      return call();
    };
    const app = await shown(client, task, { wrap });
    const { edge, button, passage } = await openPassage(app);
    await button("neutral").click();
    await passage.locator(".verdict-buttons [role=status]", { hasText: "Not saved:" }).waitFor();
    assert.match(await passage.locator(".verdict-buttons [role=status]").textContent(), /the user said no/);
    isRefused = false;
    await button("neutral").click();
    await app.frame.locator(`[data-edge="${edge}"] .verdict-button.neutral[aria-pressed="true"]`).first().waitFor({ state: "attached" });
    const [row] = await query(client, `SELECT relation FROM edges WHERE id = '${edge}'`);
    assert.equal(row.relation, "neutral");
    assert.deepEqual(app.faults, []);
  });

  test("loading that fails says why, and begins again", async () => {
    let fails = 1;
    const wrap = (call, { name }) => {
      if (name === TOOL && fails-- > 0) return { isError: true, content: [{ type: "text", text: JSON.stringify({ ok: false, error_code: "TIMEOUT", error: "too slow", hint: "wait" }) }] };
      return call();
    };
    const app = await show(browser, client, task, { wrap });
    apps.push(app);
    await app.frame.locator("#app-status", { hasText: "too slow; wait" }).waitFor();
    await app.frame.locator("#app-again").click();
    await app.frame.waitForSelector("html[data-ready]");
    assert.deepEqual(app.faults, []);
  });

  test("a page that the server forgot half way is loaded from its beginning", async () => {
    let lost = 1;
    const wrap = (call, { name, arguments: given }) => {
      if (name === TOOL && given.cursor !== "0" && lost-- > 0) return client.callTool({ name: TOOL, arguments: { ...given, cursor: "999999@3" } });
      return call();
    };
    const app = await shown(client, task, { wrap });
    assert.equal(app.calls.filter((call) => call.arguments.cursor === "0").length, 2);
    assert.deepEqual(app.faults, []);
  });

  for (const [name, load] of Object.entries(BY))
    test(`links go through the chat, places of the page do not leave it: by ${name}`, async () => {
      const app = await shown(client, task, { load });
      await app.frame.locator('nav a[href="#sources"]').click();
      await app.frame.locator("#sources-body th a").first().click();
      await app.frame.waitForSelector("dialog[open]");
      const link = app.frame.locator("dialog a.out").first();
      const wanted = await link.getAttribute("href");
      await link.click();
      await app.frame.locator("#detail-close").click();
      await app.frame.waitForSelector("dialog:not([open])", { state: "attached" });
      assert.ok(await app.frame.evaluate(() => scrollY > 0), "the view stays where it was");
      assert.deepEqual(app.links, [wanted]);
      assert.equal(app.page.context().pages().length, 1);
      assert.deepEqual(app.faults, []);
    });

  test("the address of a task needs no tool result", async () => {
    const app = await shown(client, task, { uri: `ui://lyra/evidence/${task}` });
    assert.ok(app.calls.every((call) => call.arguments.task_id === task));
    assert.deepEqual(app.faults, []);
  });

  test("the theme follows the chat", async () => {
    const app = await shown(client, task, { context: { theme: "light" } });
    app.bridge.setHostContext({ theme: "dark" });
    await app.frame.waitForSelector('html[data-theme="dark"]');
    assert.deepEqual(app.faults, []);
  });

  for (const [name, connect] of [
    ["a token with scope read", () => overHttp(folder, "read", "--db", db)],
    ["a graph that is read-only", () => overStdio("--db", db, "--read-only")],
  ])
    test(`no verdict buttons with ${name}`, async () => {
      const opened = await connect();
      open.push(opened);
      const app = await shown(opened.client, task);
      assert.ok((await app.frame.locator(".passage").count()) > 0);
      assert.equal(await app.frame.locator(".verdict-button").count(), 0);
      assert.match(await app.frame.locator("#app-status").textContent(), /cannot be corrected/);
      assert.deepEqual(app.faults, []);
    });

  test("over HTTP a token with scope write corrects under its own name", async () => {
    const opened = await overHttp(folder, "write", "--db", db);
    open.push(opened);
    const app = await shown(opened.client, task);
    const { edge, button } = await openPassage(app);
    await button("supports").click();
    await app.frame.locator(`dialog [data-edge="${edge}"] .verdict-button.supports[aria-pressed="true"]`).waitFor();
    const [logged] = await query(client, "SELECT actor FROM feedback_log ORDER BY rowid DESC LIMIT 1");
    assert.equal(logged.actor, "reader");
    assert.deepEqual(app.faults, []);
  });

  test("a narrow chat needs no sideways scrolling", async () => {
    const app = await shown(client, task, { view: { viewport: { width: 360, height: 760 } } });
    assert.ok(await app.frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await app.page.screenshot({ path: join(SCREENSHOTS, "app-narrow.png") });
    assert.deepEqual(app.faults, []);
  });
});

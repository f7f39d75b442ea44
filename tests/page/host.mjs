// A chat that shows the evidence page: the host side of the MCP Apps SDK and an official MCP client in
// this process, a frame without an origin in the browser, and the real server behind them.

import { AppBridge, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const TOOL = "show_evidence";
const MIME = "text/html;profile=mcp-app";

/** What the extension asks hosts to enforce where a page names no domains. */
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; base-uri 'self';";

/** The server's program; null where it is not built. */
export function program() {
  if (process.env.LYRA_MCP_BIN) return resolve(process.env.LYRA_MCP_BIN);
  const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../target", import.meta.url));
  const built = ["release", "debug"].map((profile) => join(target, profile, "lyra-mcp")).filter((file) => existsSync(file));
  // The one that was built last is the one under test.
  return built.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0] ?? null;
}

/** The environment without what a developer may have set for the server. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LYRA_")));

export const lyra = (...args) => execFileSync(program(), args, { env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** A client that says that it shows apps. */
const appClient = () =>
  new Client({ name: "test-host", version: "1.0.0" }, { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [MIME] } } } });

/** A client of a server on standard input and output. */
export async function overStdio(...args) {
  const client = appClient();
  await client.connect(new StdioClientTransport({ command: program(), args, env: environment, stderr: "ignore" }));
  return { client, close: () => client.close() };
}

/** A client of a server over HTTP with a token of this scope. */
export async function overHttp(folder, scope, ...args) {
  const tokens = join(folder, "tokens-" + scope);
  const token = lyra("token", "add", "reader", "--scope", scope, "--tokens", tokens).trim();
  const child = spawn(program(), [...args, "serve", "--http", "127.0.0.1:0", "--tokens", tokens], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const url = await new Promise((told, failed) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      const address = /serving MCP on (http:\S+)/.exec(line);
      if (address) told(address[1]);
    });
    child.once("close", () => failed(new Error("the server ended")));
  });
  const client = appClient();
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  const close = async () => {
    await client.close();
    child.kill();
  };
  return { client, close };
}

/** The page around the frame: it passes messages between the frame and this process. */
const AROUND = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>chat</title>
<style>body { margin: 0; background: #888 } iframe { border: 0; width: 100%; display: block }</style>
<iframe id="app" sandbox="allow-scripts"></iframe>
<script>
  const app = () => document.getElementById("app").contentWindow;
  addEventListener("message", (event) => event.source === app() && fromApp(event.data));
  function toApp(message) { app().postMessage(message, "*") }
</script>`;

/** How hosts put a page into its frame. */
export const BY = {
  source: (html) => (document.getElementById("app").srcdoc = html),
  writing: (html) => {
    const frame = document.createElement("iframe");
    frame.id = "app";
    frame.sandbox = "allow-scripts allow-same-origin";
    document.getElementById("app").replaceWith(frame);
    frame.contentDocument.open();
    frame.contentDocument.write(html);
    frame.contentDocument.close();
  },
};

/**
 * Calls the tool and shows its page. `wrap` may stand between the page's calls and the server.
 * `faults` collects what must not happen.
 */
export async function show(browser, client, task, { context = {}, wrap = (call) => call(), uri, view = {}, load = BY.source } = {}) {
  const { tools } = await client.listTools();
  const tool = tools.find((tool) => tool.name === TOOL);
  const read = await client.readResource({ uri: uri ?? getToolUiResourceUri(tool) });
  const result = await client.callTool({ name: TOOL, arguments: { task_id: task } });
  const server = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html", "Content-Security-Policy": POLICY }).end(AROUND));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${server.address().port}/`;

  const page = await (await browser.newContext({ viewport: { width: 800, height: 900 }, ...view })).newPage();
  const seen = { faults: [], calls: [], links: [], contexts: [], sizes: [] };
  // A frame that is written into needs the host's origin, which the browser warns of.
  page.on("console", (message) => /can escape its sandboxing/.test(message.text()) || seen.faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => seen.faults.push(`error: ${error.message}`));
  page.on("request", (request) => request.url() !== address && !request.url().startsWith("data:") && seen.faults.push(`request: ${request.url()}`));

  let isOpen = true;
  // A call that is under way when the page is closed fails.
  const inPage = (run, value) => page.evaluate(run, value).catch((error) => isOpen && Promise.reject(error));
  const transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => inPage((message) => window.toApp(message), message),
  };
  await page.exposeFunction("fromApp", (message) => transport.onmessage?.(message));
  const capabilities = { openLinks: {}, serverTools: {}, updateModelContext: { text: {} } };
  const bridge = new AppBridge(null, { name: "test-host", version: "1.0.0" }, capabilities, { hostContext: context });
  bridge.oncalltool = (params) => {
    seen.calls.push(params);
    return wrap(() => client.callTool(params), params);
  };
  bridge.onopenlink = async ({ url }) => (seen.links.push(url), {});
  bridge.onupdatemodelcontext = async ({ content }) => (seen.contexts.push(content[0].text), {});
  bridge.onsizechange = ({ height }) => {
    seen.sizes.push(height);
    return inPage((height) => (document.getElementById("app").style.height = height + "px"), height);
  };
  const initialized = new Promise((told) => (bridge.oninitialized = told));
  await bridge.connect(transport);
  await page.goto(address);
  await page.evaluate(load, read.contents[0].text);
  await initialized;
  if (!uri) {
    await bridge.sendToolInput({ arguments: { task_id: task } });
    await bridge.sendToolResult(result);
  }
  const frame = page.frames().find((frame) => frame.parentFrame());
  const close = async () => {
    isOpen = false;
    await page.context().close();
    server.close();
  };
  return { page, frame, bridge, tool, read, result, ...seen, close };
}

// The server under test: where it is, what it is started with, and the clients that speak to it.

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Ajv2020 } from "ajv/dist/2020.js";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = resolve(HERE, "../..");
export const CORPUS = join(ROOT, "examples", "corpus");
export const CASES = JSON.parse(readFileSync(join(HERE, "cases.json"), "utf8"));

/** Milliseconds that an answer may take; machines that build at the same time are slow. */
export const PATIENCE = 900_000;

export function binary() {
  const named = process.env.LYRA_MCP_BIN;
  const candidates = named
    ? [resolve(named)]
    : ["release", "debug"].map((profile) => join(ROOT, "target", profile, "lyra-mcp"));
  const found = candidates.find((candidate) => existsSync(candidate));
  if (!found) throw new Error(`no server binary among ${candidates}; set LYRA_MCP_BIN`);
  return found;
}

/** The environment without what a developer may have set for the server. */
export function cleanEnvironment(folder) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("LYRA_"));
  return { ...Object.fromEntries(kept), XDG_CONFIG_HOME: join(folder, "no-config") };
}

/** A folder that is gone when the test has ended. */
export function temporary(test) {
  const folder = mkdtempSync(join(tmpdir(), "lyra-clients-"));
  test.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function plainServer(folder, ...args) {
  return {
    command: binary(),
    args: ["--db", join(folder, "graph.db"), "--corpus", CORPUS, ...args],
    env: cleanEnvironment(folder),
    cwd: folder,
  };
}

/** More requests than any test sends. */
const NO_LIMIT = { LYRA_HTTP_RATE: "1000", LYRA_HTTP_BURST: "100000" };

/** Starts the same server with `serve --http`; its address and its end. */
export async function openHttp({ command, args, env, cwd }, ...more) {
  const child = spawn(command, [...args, "serve", "--http", "127.0.0.1:0", ...more], {
    env: { ...env, ...NO_LIMIT },
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((told) => child.once("close", told));
  const said = [];
  const url = await new Promise((told, failed) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      const address = /serving MCP on (http:\S+)/.exec(line);
      if (address) told(address[1]);
    });
    ended.then(() => failed(new Error(said.join("\n"))));
  });
  return {
    url,
    close: async () => {
      child.kill();
      await ended;
    },
  };
}

const ABOUT = { name: "lyra-client-tests", version: "1.0.0" };

/** The clients, and how each begins. */
const SDK_1 = {
  name: "sdk 1, 2025-11-25",
  revision: "2025-11-25",
  unknownResource: -32002,
  client: () => new Client1(ABOUT),
  call: (client, params, options) => client.callTool(params, undefined, options),
};
const CLIENT_2 = {
  name: "client 2, 2025-11-25",
  revision: "2025-11-25",
  // The server says -32002; this client shows the code of the revision to come.
  unknownResource: -32602,
  client: () => new Client2(ABOUT),
  agreed: (client) => client.getNegotiatedProtocolVersion(),
  call: (client, params, options) => client.callTool(params, options),
};
const CLIENT_2_STATELESS = {
  ...CLIENT_2,
  name: "client 2, 2026-07-28",
  revision: "2026-07-28",
  client: () => new Client2(ABOUT, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
};

/**
 * The official clients over standard input and output: version 1 of the SDK, which most programs
 * have, and version 2 in both eras of the protocol. Each lists the tools at once, because a client
 * checks replies against the schemas that it has listed.
 */
export const CLIENTS = [
  {
    ...SDK_1,
    open: (server) => {
      const transport = new Stdio1(server);
      // The client tells the version that was agreed on to transports that want to know.
      transport.setProtocolVersion = (version) => (transport.agreed = version);
      return open(SDK_1.client(), transport);
    },
    agreed: (client) => client.transport.agreed,
  },
  { ...CLIENT_2, open: (server) => open(CLIENT_2.client(), new Stdio2(server)) },
  { ...CLIENT_2_STATELESS, open: (server) => open(CLIENT_2_STATELESS.client(), new Stdio2(server)) },
];

/** The output schema that the server checks its replies against; the listing has its top level. */
function wholeSchema(tool) {
  const path = join(ROOT, "lyra-mcp", "src", "schemas", `${tool}.output.json`);
  return JSON.parse(readFileSync(path, "utf8"));
}

/** The same clients over HTTP, each with a server and a token of its own. */
export const HTTP_CLIENTS = [
  { ...overHttp(SDK_1, Http1), agreed: (client) => client.transport.protocolVersion },
  overHttp(CLIENT_2, Http2),
  overHttp(CLIENT_2_STATELESS, Http2),
];

function overHttp(kind, Transport) {
  return {
    ...kind,
    name: `${kind.name}, HTTP`,
    open: async (server) => {
      const tokens = join(server.cwd, "tokens");
      const add = ["token", "add", ABOUT.name, "--scope", "write", "--tokens", tokens];
      const token = execFileSync(server.command, add, { ...server, stdio: "pipe" }).toString().trim();
      const running = await openHttp(server, "--tokens", tokens);
      const requestInit = { headers: { Authorization: `Bearer ${token}` } };
      try {
        const transport = new Transport(new URL(running.url), { requestInit });
        return { ...(await open(kind.client(), transport)), end: running.close };
      } catch (error) {
        await running.close();
        throw error;
      }
    },
  };
}

async function open(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const ajv = new Ajv2020({ strict: false });
  const checks = Object.fromEntries(
    tools.map((t) => {
      const both = [t.outputSchema, wholeSchema(t.name)].map((schema) => ajv.compile(schema));
      return [t.name, (reply) => both.flatMap((check) => (check(reply) ? [] : check.errors))];
    }),
  );
  return { client, transport, tools, checks };
}

/** Opens a client, hands it on, and closes it whatever happens. */
export async function connected(kind, server, use) {
  const session = await kind.open(server);
  try {
    return await use(session);
  } finally {
    await session.client.close();
    await session.end?.();
  }
}

// The scenarios of cases.json: calls of tools with what they must give. The Python client runs the
// same ones (tests/python/scenarios.py). README.md says what the fields mean.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CASES, CORPUS, HERE, PATIENCE, binary, cleanEnvironment, connected } from "./server.mjs";

const HEADER_BYTES = 4096;

/** The value with `{name}` replaced by the variable of that name; alone, it keeps its type. */
function filled(value, variables) {
  if (Array.isArray(value)) return value.map((item) => filled(item, variables));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, filled(v, variables)]));
  }
  if (typeof value !== "string") return value;
  const alone = /^\{(\w+)\}$/.exec(value);
  if (alone && alone[1] in variables) return variables[alone[1]];
  return value.replace(/\{(\w+)\}/g, (whole, name) => variables[name] ?? whole);
}

/** What is at `a.0.b`; a missing field is null. */
function at(body, path) {
  return path.split(".").reduce((value, part) => value?.[part] ?? null, body);
}

/** A web server on this machine that answers as CASES.site says. */
async function openSite() {
  let url;
  const server = createServer((request, response) => {
    request.resume();
    let page = CASES.site[request.url] ?? { status: 404, headers: {}, body: "" };
    const granted = (request.headers.cookie ?? "").includes("session=granted");
    if (page.with_cookie && granted) page = page.with_cookie;
    response.writeHead(page.status, page.headers).end(filled(page.body, { site: url }));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const NEVER_ACCEPTS = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, server.address().port + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** Whether a scenario waits for a connection that never comes about, which takes long. */
export function needsSilence(scenario) {
  return JSON.stringify(scenario).includes("{silence}");
}

/** A port whose queue of connections is full, so that no new one is ever answered. */
async function openSilence() {
  // Another process, because a loop that runs accepts what comes.
  const child = spawn(process.execPath, ["-e", NEVER_ACCEPTS], { stdio: ["ignore", "pipe", "inherit"] });
  const port = Number(await new Promise((told) => child.stdout.once("data", told)));
  const waiting = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  await new Promise((queued) => waiting[0].once("connect", queued));
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      waiting.forEach((connection) => connection.destroy());
      child.kill("SIGKILL");
    },
  };
}

/** Lays out what the scenario needs; what the server is started with. */
function prepared(scenario, folder, variables) {
  for (const [name, text] of Object.entries(scenario.files ?? {})) {
    writeFileSync(join(folder, name), text);
  }
  const env = { ...cleanEnvironment(folder), ...filled(scenario.env ?? {}, variables) };
  const db = join(folder, "graph.db");
  if (scenario.import) {
    const args = ["--db", db, "import", join(HERE, scenario.import)];
    execFileSync(binary(), args, { env, cwd: folder, stdio: "pipe" });
  }
  const args = ["--db", db, ...filled(scenario.args, variables)];
  return { command: binary(), args, env, cwd: folder };
}

/** What another program does to the database behind the server's back. */
function damage(step, path) {
  const db = new DatabaseSync(path);
  for (const sql of step.sql ?? ["PRAGMA wal_checkpoint(TRUNCATE)"]) db.exec(sql);
  db.close();
  if (step.overwrite) {
    const file = openSync(path, "r+");
    const rest = Buffer.alloc(fstatSync(file).size - HEADER_BYTES, 0xff);
    writeSync(file, rest, 0, rest.length, HEADER_BYTES);
    closeSync(file);
  }
}

async function runStep(step, call, variables) {
  for (const each of step.each ?? [{}]) {
    const args = filled(step.arguments, { ...variables, ...each });
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const { isError, structuredContent: body } = await call(step.tool, args);
      const label = `${step.tool} ${JSON.stringify(args)}: ${JSON.stringify(body)}`;
      const given = isError ? body.error_code : "ok";
      assert.equal(given, step.gives, label);
      assert.equal(body.ok, !isError, label);
      assert.ok(!isError || body.error, label);
      const open = Object.entries(step.until ?? {}).filter(([p, v]) => at(body, p) !== v);
      if (open.length === 0) {
        for (const [path, value] of Object.entries(step.holds ?? {})) {
          assert.equal(at(body, path), value, `${path}: ${label}`);
        }
        for (const [name, path] of Object.entries(step.save ?? {})) variables[name] = at(body, path);
        break;
      }
      assert.ok(Date.now() < deadline, label);
    }
  }
}

/** Runs a scenario with a client. */
export async function runScenario(scenario, folder, kind) {
  const site = await openSite();
  const silence = needsSilence(scenario) ? await openSilence() : undefined;
  try {
    const variables = { corpus: CORPUS, folder, site: site.url, silence: silence?.url };
    const server = prepared(scenario, folder, variables);
    await connected(kind, server, async ({ client, checks }) => {
      const call = async (tool, args) => {
        const result = await kind.call(client, { name: tool, arguments: args }, { timeout: PATIENCE });
        // Clients leave the replies of failed calls unchecked.
        assert.deepEqual(checks[tool](result.structuredContent), []);
        assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
        return result;
      };
      for (const step of scenario.steps) {
        if (step.tool) await runStep(step, call, variables);
        else damage(step, join(folder, "graph.db"));
      }
    });
  } finally {
    site.close();
    silence?.close();
  }
}

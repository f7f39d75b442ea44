// The official conformance suite against the server, through a bridge, with a result for each
// scenario. conformance.json says which scenarios apply, and what is known to fail in them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { openBridge } from "./bridge.mjs";
import { HERE, PATIENCE, plainServer, temporary } from "./server.mjs";

const PACKAGE = join(HERE, "node_modules", "@modelcontextprotocol", "conformance");
const KNOWN = JSON.parse(readFileSync(join(HERE, "conformance.json"), "utf8"));
const WIRE = "wire-schema-valid";

/** Why a scenario does not apply; undefined where it does. */
function excuse(scenario) {
  return Object.entries(KNOWN.does_not_apply).find(([, names]) => names.includes(scenario))?.[0];
}

/** Runs the suite; the checks by scenario. */
async function conformance(revision, folder) {
  const data = join(folder, "data");
  mkdirSync(data);
  const bridge = await openBridge(() => plainServer(data));
  try {
    const results = join(folder, "results");
    const script = join(PACKAGE, "dist", "index.js");
    const common = [script, "server", "--url", bridge.url, "--output-dir", results];
    const command = [...common, "--timeout", String(PATIENCE), ...KNOWN.revisions[revision]];
    // How it ends says no more than its files do.
    const run = spawn(process.execPath, command, { stdio: "ignore", cwd: folder });
    await new Promise((ended) => run.once("close", ended));
    return readResults(results);
  } finally {
    await bridge.close();
  }
}

function readResults(folder) {
  const scenarios = {};
  for (const name of readdirSync(folder)) {
    const scenario = /^server-(.*?)-\d{4}-\d\d-\d\dT.*$/.exec(name)[1];
    scenarios[scenario] = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8"));
  }
  return scenarios;
}

/** Which checks fail that should not. */
function failures(scenario, checks) {
  const failed = checks.filter((check) => check.status === "FAILURE");
  // What is said on the way must fit the protocol in any case.
  if (excuse(scenario)) return failed.filter((check) => check.id === WIRE);
  const known = KNOWN.known_failures[scenario] ?? {};
  return failed.filter((check) => !(check.id in known));
}

function inWords(scenario, good, failed) {
  if (excuse(scenario)) return "does not apply";
  if (failed.length > 0) return "FAIL";
  const known = Object.keys(KNOWN.known_failures[scenario] ?? {}).length;
  return known ? `${good} checks pass, ${known} are known not to` : `pass (${good} checks)`;
}

suite("the conformance suite", { concurrency: true }, () => {
  const folder = temporary({ after });
  for (const [revision, expected] of Object.entries(KNOWN.passes)) {
    test(revision, async (t) => {
      const own = join(folder, revision);
      mkdirSync(own);
      const scenarios = await conformance(revision, own);
      const applying = Object.keys(scenarios).filter((scenario) => !excuse(scenario));
      assert.deepEqual(applying.sort(), Object.keys(expected).sort());
      const worse = [];
      for (const [scenario, checks] of Object.entries(scenarios)) {
        const failed = failures(scenario, checks);
        const good = checks.filter((check) => check.status === "SUCCESS").length;
        t.diagnostic(`${revision} ${scenario}: ${inWords(scenario, good, failed)}`);
        worse.push(...failed.map(({ id, errorMessage }) => `${scenario} ${id}: ${errorMessage}`));
        const least = expected[scenario] ?? 0;
        if (good < least) worse.push(`${scenario}: ${good} checks pass, ${least} did before`);
      }
      assert.deepEqual(worse, []);
    });
  }
});

/** The table that README.md shows. */
function table() {
  const revisions = Object.keys(KNOWN.passes);
  const names = [...new Set(Object.values(KNOWN.passes).flatMap(Object.keys))];
  const cell = (revision, name) => {
    const checks = KNOWN.passes[revision][name];
    if (checks === undefined) return "–";
    const failing = Object.keys(KNOWN.known_failures[name] ?? {}).length;
    return failing ? `${checks} of ${checks + failing}, see below` : `pass (${checks})`;
  };
  const rows = [
    ["scenario", ...revisions],
    revisions.map(() => "---").concat("---"),
    ...names.map((name) => [`\`${name}\``, ...revisions.map((revision) => cell(revision, name))]),
  ];
  const excuses = Object.entries(KNOWN.does_not_apply).map(([why, scenarios]) => [
    why,
    scenarios.map((name) => `\`${name}\``).join(", "),
  ]);
  const failing = Object.entries(KNOWN.known_failures).flatMap(([name, checks]) =>
    Object.entries(checks).map(([id, why]) => [`\`${name}\``, `\`${id}\``, why]),
  );
  const show = (lines) => lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  return [
    show(rows),
    show([["does not apply because", "scenarios"], ["---", "---"], ...excuses]),
    show([["scenario", "check that fails or cannot be made", "why"], ["---", "---", "---"], ...failing]),
  ].join("\n\n");
}

test("README.md shows the results", () => {
  const readme = readFileSync(join(HERE, "README.md"), "utf8");
  assert.ok(readme.includes(table()), `README.md should hold:\n\n${table()}\n`);
});

// The official conformance suite against the server, over HTTP and, through a bridge, over standard
// input and output, with a result for each scenario. conformance.json says which scenarios apply, and
// what is known to fail in them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { openBridge } from "./bridge.mjs";
import { HERE, PATIENCE, openHttp, plainServer, temporary } from "./server.mjs";

const PACKAGE = join(HERE, "node_modules", "@modelcontextprotocol", "conformance");
const KNOWN = JSON.parse(readFileSync(join(HERE, "conformance.json"), "utf8"));
const WIRE = "wire-schema-valid";

/** How each way to the server is opened. */
const OPEN = {
  HTTP: (data) => openHttp(plainServer(data)),
  stdio: (data) => openBridge(() => plainServer(data)),
};

/** Why scenarios do not apply to a way. */
function excuses(way) {
  return Object.entries({ ...KNOWN.does_not_apply, ...KNOWN.ways[way].does_not_apply });
}

/** Why a scenario does not apply; undefined where it does. */
function excuse(way, scenario) {
  return excuses(way).find(([, names]) => names.includes(scenario))?.[0];
}

/** The checks that are known to fail. */
function knownFailures(way, scenario) {
  return { ...KNOWN.known_failures[scenario], ...KNOWN.ways[way].known_failures[scenario] };
}

/** Runs the suite; the checks by scenario. */
async function conformance(way, revision, folder) {
  const data = join(folder, "data");
  mkdirSync(data);
  const server = await OPEN[way](data);
  try {
    const results = join(folder, "results");
    const script = join(PACKAGE, "dist", "index.js");
    const common = [script, "server", "--url", server.url, "--output-dir", results];
    const command = [...common, "--timeout", String(PATIENCE), ...KNOWN.revisions[revision]];
    // How it ends says no more than its files do.
    const run = spawn(process.execPath, command, { stdio: "ignore", cwd: folder });
    await new Promise((ended) => run.once("close", ended));
    return readResults(results);
  } finally {
    await server.close();
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
function failures(way, scenario, checks) {
  const failed = checks.filter((check) => check.status === "FAILURE");
  // What is said on the way must fit the protocol in any case.
  if (excuse(way, scenario)) return failed.filter((check) => check.id === WIRE);
  const known = knownFailures(way, scenario);
  return failed.filter((check) => !(check.id in known));
}

function inWords(way, scenario, good, failed) {
  if (excuse(way, scenario)) return "does not apply";
  if (failed.length > 0) return "FAIL";
  const known = Object.keys(knownFailures(way, scenario)).length;
  return known ? `${good} checks pass, ${known} are known not to` : `pass (${good} checks)`;
}

suite("the conformance suite", { concurrency: true }, () => {
  const folder = temporary({ after });
  for (const [way, { passes }] of Object.entries(KNOWN.ways)) {
    for (const [revision, expected] of Object.entries(passes)) {
      test(`${way}, ${revision}`, async (t) => {
        const own = join(folder, `${way}-${revision}`);
        mkdirSync(own);
        compare(t, way, await conformance(way, revision, own), expected);
      });
    }
  }
});

/** Fails where a scenario is worse than it was. */
function compare(t, way, scenarios, expected) {
  const applying = Object.keys(scenarios).filter((scenario) => !excuse(way, scenario));
  assert.deepEqual(applying.sort(), Object.keys(expected).sort());
  const worse = [];
  for (const [scenario, checks] of Object.entries(scenarios)) {
    const failed = failures(way, scenario, checks);
    const good = checks.filter((check) => check.status === "SUCCESS").length;
    t.diagnostic(`${scenario}: ${inWords(way, scenario, good, failed)}`);
    worse.push(...failed.map(({ id, errorMessage }) => `${scenario} ${id}: ${errorMessage}`));
    const least = expected[scenario] ?? 0;
    if (good < least) worse.push(`${scenario}: ${good} checks pass, ${least} did before`);
  }
  assert.deepEqual(worse, []);
}

/** The results of one way, as README.md shows them. */
function table(way) {
  const { passes } = KNOWN.ways[way];
  const revisions = Object.keys(passes);
  const names = [...new Set(Object.values(passes).flatMap(Object.keys))];
  const cell = (revision, name) => {
    const checks = passes[revision][name];
    if (checks === undefined) return "–";
    const failing = Object.keys(knownFailures(way, name)).length;
    return failing ? `${checks} of ${checks + failing}, see below` : `pass (${checks})`;
  };
  return show([
    [`scenario, ${way}`, ...revisions],
    revisions.map(() => "---").concat("---"),
    ...names.map((name) => [`\`${name}\``, ...revisions.map((revision) => cell(revision, name))]),
  ]);
}

const show = (lines) => lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Everything that README.md shows. */
function tables() {
  const both = [["both", KNOWN]].concat(Object.entries(KNOWN.ways));
  const why = both.flatMap(([way, { does_not_apply }]) =>
    Object.entries(does_not_apply).map(([reason, scenarios]) => [
      way,
      reason,
      scenarios.map((name) => `\`${name}\``).join(", "),
    ]),
  );
  const failing = both.flatMap(([way, { known_failures }]) =>
    Object.entries(known_failures).flatMap(([name, checks]) =>
      Object.entries(checks).map(([id, reason]) => [way, `\`${name}\``, `\`${id}\``, reason]),
    ),
  );
  const line = (count) => Array(count).fill("---");
  return [
    ...Object.keys(KNOWN.ways).map(table),
    show([["over", "does not apply because", "scenarios"], line(3), ...why]),
    show([["over", "scenario", "check that fails or cannot be made", "why"], line(4), ...failing]),
  ].join("\n\n");
}

test("README.md shows the results", () => {
  const readme = readFileSync(join(HERE, "README.md"), "utf8");
  assert.ok(readme.includes(tables()), `README.md should hold:\n\n${tables()}\n`);
});

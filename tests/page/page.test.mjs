// The evidence page in a headless Chromium. Skips, saying so, where there is no browser.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { fileOf, open, SCREENSHOTS, settled, start } from "./browser.mjs";
import { graph, hostile, HOSTILE, page as pageOf, TEMPLATE } from "./generate.mjs";

const data = graph({ claims: 140, sources: 40, evidence: 2500 });
const address = process.env.LYRA_PAGE ? new URL(process.env.LYRA_PAGE, "file:").href : fileOf(pageOf(data));
const { browser, axe, missing } = await start();
if (missing) console.log(`skipped: ${missing}`);
after(() => browser?.close());
const skip = missing ?? false;

const VIEWS = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  narrow: { colorScheme: "light", viewport: { width: 390, height: 844 } },
  "narrow-dark": { colorScheme: "dark", viewport: { width: 320, height: 700 }, reducedMotion: "reduce" },
};

/** Numbers in a text, in order. */
const numbersIn = (text) => (text.match(/\d[\d,]*/g) ?? []).map((n) => Number(n.replaceAll(",", "")));

/** What the graph should count, worked out from the data alone. */
function expected(keepEvidence, keepCitation = () => true) {
  const edges = new Set();
  const claims = new Set();
  const sources = new Set();
  for (const e of data.evidence.filter(keepEvidence)) {
    edges.add(`${e.source} ${e.claim} ${e.relation}`);
    claims.add(e.claim);
    sources.add(e.source);
  }
  const citations = data.citations.filter(keepCitation);
  citations.flat().forEach((source) => sources.add(source));
  return [claims.size, data.claims.length, sources.size, data.sources.length, edges.size + citations.length];
}

const status = (page) => page.locator("#graph-status").textContent();

/** Reads until it is as wanted: what follows an event may take a moment, on a busy machine a long one. */
async function becomes(read, wanted, message) {
  const end = Date.now() + 15_000;
  let seen = await read();
  while (!isDeepStrictEqual(seen, wanted) && Date.now() < end) {
    await new Promise((next) => setTimeout(next, 50));
    seen = await read();
  }
  assert.deepEqual(seen, wanted, message);
}

/** Waits until the graph's counts are these. */
const counts = (page, wanted) => becomes(async () => numbersIn(await status(page)), wanted);

/** Which element has the focus. */
const focused = (page) => () => page.evaluate(() => document.activeElement.id);

describe("the file", () => {
  test("is built from its sources", (t) => {
    const build = fileURLToPath(new URL("../../scripts/build_page.py", import.meta.url));
    const run = spawnSync("python3", [build, "--check"], { encoding: "utf8" });
    if (run.error) return t.skip("there is no python3");
    assert.equal(run.status, 0, run.stdout + run.stderr);
  });

  test("is small, has one place for data and names no other file", () => {
    const text = readFileSync(TEMPLATE, "utf8");
    assert.ok(statSync(TEMPLATE).size < 400_000);
    assert.equal(text.split("{{DATA}}").length, 2);
    assert.doesNotMatch(text, /<(script|link|img|iframe|source)\b[^>]*\s(src|href)\s*=\s*(?!\s*["']?data:)/i, "no element loads a file");
    const own = text.slice(text.lastIndexOf("<script>"));
    assert.doesNotMatch(own, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/);
  });
});

describe("every view", { skip }, () => {
  for (const [name, options] of Object.entries(VIEWS)) {
    test(`${name}: no error, no request, nothing serious for axe, nothing too wide`, async (t) => {
      const { page, faults } = await open(browser, address, { ...options, init: axe.source });
      await settled(page);
      await page.waitForTimeout(800);
      await page.evaluate(() => scrollTo(0, 0));
      for (const part of ["claims", "contradictions", "graph", "timeline", "sources"]) {
        await page.evaluate((id) => document.getElementById(id).scrollIntoView({ behavior: "instant" }), part);
        await page.waitForTimeout(150);
        await page.screenshot({ path: join(SCREENSHOTS, `${name}-${part}.png`) });
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, "the page scrolls sideways");
      await page.evaluate(() => document.querySelectorAll("main details").forEach((part) => (part.open = true)));
      await page.locator("#query").fill("risk");
      await page.waitForFunction(() => /found/.test(document.getElementById("search-status").textContent));
      await clean(page, t, `${name}, the page`);
      await page.locator("#contradictions .claim-link").first().click();
      await page.evaluate(() => document.querySelectorAll("dialog details").forEach((part) => (part.open = true)));
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-claim.png`) });
      await clean(page, t, `${name}, a claim`);
      assert.deepEqual(faults, []);
      await page.context().close();
    });
  }
});

/** Runs axe, and asserts that it finds nothing serious or critical. */
async function clean(page, t, where) {
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  t.diagnostic(`axe, ${where}: ${passes.length} rules pass, ${violations.length} do not${violations.map((v) => ` [${v.impact} ${v.id}]`).join("")}`);
  const bad = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
  assert.deepEqual(bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`), []);
}

describe("a reader", { skip: skip || (process.env.LYRA_PAGE ? "counts belong to the generated graph" : false) }, () => {
  test("filters the graph by stance, year, source and confidence", async () => {
    const { page, faults } = await open(browser, address);
    const form = page.locator("#graph-filters");
    await counts(page, expected((e) => e.relation !== "neutral"));
    await form.getByLabel("neutral").check();
    await counts(page, expected(() => true));
    for (const relation of ["origin", "cites", "neutral", "refutes"]) await form.getByLabel(relation).uncheck();
    await counts(page, expected((e) => e.relation === "supports", () => false));
    await form.locator("[name=from]").fill("1990");
    await form.locator("[name=to]").fill("1999");
    await form.getByLabel("undated too").uncheck();
    const nineties = (e) => e.relation === "supports" && data.sources[e.source].year >= 1990 && data.sources[e.source].year <= 1999;
    await counts(page, expected(nineties, () => false));
    await form.getByRole("button", { name: "Reset" }).click();
    await form.getByLabel("confidence at least").fill("0.9");
    await counts(page, expected((e) => e.relation === "origin" || (e.relation !== "neutral" && e.confidence >= 0.9)));
    await form.getByRole("button", { name: "Reset" }).click();
    await form.locator("[name=source]").selectOption("3");
    await counts(page, expected((e) => e.relation !== "neutral" && e.source === 3, ([a, b]) => a === 3 || b === 3));
    await page.locator("#graph-table > summary").click();
    const rows = () => page.locator("#graph-table tbody tr").count();
    await becomes(rows, Math.min(20, numbersIn(await status(page))[4]));
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("searches claims, quotes and sources, and opens a quote", async () => {
    const { page, faults } = await open(browser, address);
    await page.getByRole("searchbox").fill("Claim 17");
    const said = page.locator("#search-status");
    await page.waitForFunction(() => /found/.test(document.getElementById("search-status").textContent));
    const claims = data.claims.filter((claim) => /claim/i.test(claim.text) && claim.text.includes("17")).length;
    assert.equal(numbersIn(await said.textContent())[0], claims);
    const phrase = data.evidence[0].quote.trim().split(" ").slice(0, 4).join(" ");
    await page.getByRole("searchbox").fill(`${phrase}`);
    const words = phrase.toLowerCase().split(" ");
    const quotes = data.evidence.filter((e) => words.every((word) => e.quote.toLowerCase().includes(word))).length;
    const found = async () => numbersIn(/(\S+) quotes?,/.exec(await said.textContent())?.[1] ?? "")[0];
    await becomes(found, quotes);
    const first = page.locator("#results .passage").first();
    assert.ok((await first.locator("mark").textContent()).length > 0);
    await first.locator(".claim-link").click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assert.ok((await dialog.locator("mark").count()) > 0);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await becomes(() => new URL(page.url()).hash, "");
    assert.ok(await first.locator(".claim-link").evaluate((link) => link === document.activeElement), "the focus returns to the link");
    await page.getByRole("searchbox").fill("");
    await page.locator("#results").waitFor({ state: "hidden" });
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("is told who found the claims and who judged them", async () => {
    const { page } = await open(browser, address);
    assert.equal(await page.locator("#made-by").textContent(), data.made_by.join(" "));
    await page.context().close();
  });

  test("reads quote and context exactly as they stand in the data", async () => {
    const { page } = await open(browser, address, { hash: `#${data.claims[5].id}` });
    const shown = await page.locator("#detail .column.supports blockquote").first();
    const best = data.evidence.filter((e) => e.claim === 5 && e.relation === "supports").sort((a, b) => b.confidence - a.confidence)[0];
    assert.equal(await shown.textContent(), best.before + best.quote + best.after);
    assert.equal(await shown.locator("mark").textContent(), best.quote);
    assert.equal(await page.locator("#detail-title").textContent(), data.claims[5].text);
    await page.context().close();
  });

  test("follows an address to a claim or a source, and back", async () => {
    const { page, faults } = await open(browser, address, { hash: "#source-2" });
    assert.equal(await page.locator("#detail-title").textContent(), data.sources[1].title);
    await page.locator("#detail .claim-link").first().click();
    const kind = () => page.locator("#detail-kind").textContent();
    await becomes(kind, "Claim");
    await page.goBack();
    await becomes(kind, "Source");
    // The dialog's event of closing comes after the change of address.
    await page.evaluate(() => {
      document.getElementById("detail").close();
      location.hash = "#source-3";
    });
    await becomes(() => page.locator("#detail-title").textContent(), data.sources[2].title);
    assert.ok(await page.locator("#detail").isVisible());
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator("#detail").waitFor({ state: "hidden" });
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("sorts the sources", async () => {
    const { page } = await open(browser, address);
    const years = async () => (await page.locator("#sources tbody td:nth-child(2)").allTextContents()).filter((y) => y !== "–").map(Number);
    const year = page.locator("#sources thead").getByRole("button", { name: "Year" });
    await year.click();
    const down = await years();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    assert.equal(await page.locator("#sources th[aria-sort=descending]").textContent(), "Year ▼");
    await year.click();
    const up = await years();
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    assert.notDeepEqual(up, down);
    await page.locator("#sources thead").getByRole("button", { name: "Retracted" }).click();
    const withdrawn = data.sources.filter((source) => source.is_retracted).length;
    assert.equal(await page.locator("#sources tr.withdrawn").count(), Math.min(25, withdrawn));
    await page.context().close();
  });

  test("gets by with the keyboard alone", async () => {
    const { page, faults } = await open(browser, address, { reducedMotion: "reduce" });
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    const seen = [];
    for (let i = 0; i < 14; i += 1) {
      await page.keyboard.press("Tab");
      seen.push(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)));
    }
    assert.deepEqual(seen.slice(0, 8), ["theme", "Claims", "Contradictions", "Graph", "Timeline", "Sources", "query", "claims-rank"]);
    await settled(page);
    await page.locator("#graph-canvas").focus();
    await page.keyboard.press("n");
    const chosen = page.locator("#graph-selection");
    const first = await chosen.textContent();
    await page.keyboard.press("n");
    assert.notEqual(await chosen.textContent(), first);
    await page.keyboard.press("p");
    assert.equal(await chosen.textContent(), first);
    await page.keyboard.press("+");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await becomes(focused(page), "detail-title");
    await page.keyboard.press("Escape");
    await becomes(focused(page), "graph-canvas");
    await page.keyboard.press("Escape");
    assert.equal(await chosen.textContent(), "");
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("turns pages of claims, and chooses a theme that lasts", async () => {
    const { page } = await open(browser, address);
    const list = page.locator("#claims-supports");
    const before = await list.locator("li").first().textContent();
    await list.getByRole("button", { name: "Next" }).click();
    assert.notEqual(await list.locator("li").first().textContent(), before);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "OL");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.locator("#theme").click();
    await page.locator("#theme").click();
    assert.notEqual(await ground(), light);
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    assert.equal(await page.locator("#theme").textContent(), "Theme: dark");
    await page.context().close();
  });

  test("points, selects, pans and zooms with the mouse", async () => {
    const { page, faults } = await open(browser, address, { reducedMotion: "reduce" });
    await settled(page);
    await page.locator("#graph-canvas").focus();
    await page.keyboard.press("n");
    const chosen = page.locator("#graph-selection a");
    const name = await chosen.textContent();
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.getElementById("graph-frame").scrollIntoView({ block: "center", behavior: "instant" }));
    const box = await page.locator("#graph-canvas").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const tip = page.locator("#graph-tip");
    await page.mouse.move(x, y);
    await tip.waitFor();
    assert.ok(name.startsWith((await tip.textContent()).replace("…", "")));
    await page.mouse.click(x, y);
    assert.equal(await chosen.textContent(), name);
    await page.mouse.down();
    await page.mouse.move(x + 60, y + 40);
    await page.mouse.move(x + 120, y + 80);
    await page.mouse.up();
    // d3-drag swallows every click until a timeout of the page, which a busy page reaches late.
    await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
    await page.keyboard.press("Escape");
    await page.mouse.click(x + 120, y + 80);
    assert.equal(await chosen.textContent(), name, "the node went with the mouse");
    await page.keyboard.press("Escape");
    await page.mouse.wheel(0, -400);
    await page.waitForTimeout(200);
    await page.mouse.click(x + 120, y + 80);
    assert.equal(await chosen.textContent(), name, "the wheel zooms around the mouse");
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("is told the same numbers by head, columns, contradictions and timeline", async () => {
    const { page } = await open(browser, address);
    const of = (stance) => data.claims.filter((claim) => claim.stance === stance).length;
    // Each side with how many of its claims are possible only.
    const possible = (stance) => data.claims.filter((claim) => claim.stance === stance && claim.stance_confidence < 0.7).length;
    const sides = [of("supports"), possible("supports"), of("neutral"), of(null), of("refutes"), possible("refutes")];
    assert.deepEqual(numbersIn(await page.locator("#verdict ul").textContent()), sides);
    assert.deepEqual(numbersIn(await page.locator("#claims-supports h3 .small").textContent()), [of("supports")]);
    const contested = data.claims.filter((claim) => claim.contradiction_confidence !== null);
    assert.deepEqual(numbersIn(await page.locator("#contradictions-body > p").textContent()), [contested.length]);
    const first = page.locator(".contradiction").first();
    const surest = Math.max(...contested.map((claim) => claim.contradiction_confidence));
    const id = decodeURIComponent((await first.locator(".claim-link").getAttribute("href")).slice(1));
    const claim = data.claims.find((one) => one.id === id);
    assert.equal(claim.contradiction_confidence, surest, "the surest comes first");
    const [supports, refutes] = (await first.locator("h4 .small").allTextContents()).map((text) => numbersIn(text)[0]);
    assert.deepEqual([supports, refutes], [claim.supports, claim.refutes]);
    await first.locator(".supports").getByRole("button", { name: "Show more" }).click();
    assert.equal(await first.locator(".column.supports li").count(), Math.min(supports, 12));
    await page.locator("#timeline-table > summary").click();
    const row = page.locator("#timeline-table tbody tr").first();
    const year = Number(await row.locator("th").textContent());
    const inYear = (relation) => data.evidence.filter((e) => e.relation === relation && data.sources[e.source].year === year).length;
    const cells = (await row.locator("td.number").allTextContents()).map((text) => Number(text.replaceAll(",", "")));
    assert.deepEqual(cells.slice(1), ["supports", "refutes", "neutral"].map(inYear));
    await row.getByRole("button").click();
    const dated = (at) => data.sources[at].year === year;
    await counts(page, expected((e) => e.relation !== "neutral" && dated(e.source), ([a, b]) => dated(a) && dated(b)));
    await page.context().close();
  });

  test("lays out the graph where workers are not to be had", async () => {
    const { page, faults } = await open(browser, address, { init: "delete window.Worker" });
    await settled(page);
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("prints without controls", async () => {
    const { page } = await open(browser, address, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    for (const part of [".bar-row", "#theme", "#graph-filters"]) assert.ok(await page.locator(part).isHidden(), part);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await page.context().close();
  });
});

describe("hostile texts", { skip }, () => {
  test("stay texts, and links lead only to the web", async () => {
    const { page, faults } = await open(browser, fileOf(pageOf(hostile())), { viewport: { width: 390, height: 800 } });
    await settled(page);
    await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
    const look = async () => {
      const found = await page.evaluate(() => ({
        broken: window.broken,
        made: document.querySelectorAll("body img, body iframe, svg[onload], [onerror], b").length,
        scripts: document.scripts.length,
        links: [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")).filter((href) => !href.startsWith("#")),
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      }));
      assert.equal(found.broken, undefined);
      assert.equal(found.made, 0);
      assert.equal(found.scripts, 5);
      assert.equal(found.wide, 0);
      for (const href of found.links) assert.match(href, /^https?:\/\//);
    };
    await look();
    assert.equal(await page.locator("h1").textContent(), HOSTILE.join(" "));
    await page.locator(".claim-link").first().click();
    await page.getByRole("dialog").waitFor();
    await look();
    await page.keyboard.press("Escape");
    for (let i = 1; i <= 7; i += 1) {
      await page.evaluate((hash) => (location.hash = hash), `#source-${i}`);
      await page.getByRole("dialog").waitFor();
      await look();
    }
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox").fill("onerror");
    await page.waitForFunction(() => /found/.test(document.getElementById("search-status").textContent));
    await look();
    await page.evaluate((hash) => (location.hash = hash), "#" + encodeURIComponent('"><img src=x onerror=window.broken=1>'));
    await page.getByRole("dialog").waitFor();
    await look();
    await page.screenshot({ path: join(SCREENSHOTS, "hostile.png") });
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("a script that got in would not run", async () => {
    const { page, faults } = await open(browser, address);
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.broken = 1";
      document.body.append(script);
    });
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.ok(faults.some((fault) => /Content Security Policy/.test(fault)));
    await page.context().close();
  });

  test("data that cannot be read are said to be so", async () => {
    const html = readFileSync(TEMPLATE, "utf8");
    const page = await (await browser.newContext()).newPage();
    await page.goto(fileOf(html));
    assert.match(await page.getByRole("alert").textContent(), /no data that can be read/);
    await page.context().close();
  });
});

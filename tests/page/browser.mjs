// Starts the browser, or says why there is none.

import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const folder = mkdtempSync(join(tmpdir(), "lyra-page-"));
let written = 0;

/** Where screenshots go. */
export const SCREENSHOTS = process.env.LYRA_SCREENSHOTS ?? folder;

/** {browser, axe} or {missing: why the tests cannot run}. */
export async function start() {
  if (!existsSync(CHROMIUM)) return { missing: `there is no ${CHROMIUM} (set CHROMIUM)` };
  try {
    const { chromium } = await import("playwright-core");
    const axe = (await import("axe-core")).default;
    return { browser: await chromium.launch({ executablePath: CHROMIUM, args: FLAGS }), axe };
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND") return { missing: "the node modules are not installed (npm ci)" };
    throw error;
  }
}

/** The address of a page written to a file. */
export function fileOf(html) {
  const file = join(folder, `page-${(written += 1)}.html`);
  writeFileSync(file, html);
  return pathToFileURL(file).href;
}

/**
 * Opens an address, and waits until the page is ready. `faults` collects what must not happen:
 * errors, anything on the console, dialogs, and requests other than for the page itself.
 */
export async function open(browser, address, options = {}) {
  const { init, ...context } = options;
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context })).newPage();
  const faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.split("#")[0] === address) return route.continue();
    faults.push(`request: ${url}`);
    return route.abort();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (url.split("#")[0] !== address && !/^(blob|data):/.test(url)) faults.push(`request: ${url}`);
  });
  if (init) await page.addInitScript(init);
  await page.goto(options.hash ? address + options.hash : address);
  await page.waitForSelector("html[data-ready]", { timeout: 60000 });
  return { page, faults };
}

/** Brings the graph into view, and waits until its layout has ended. */
export async function settled(page) {
  await page.locator("#graph-frame").scrollIntoViewIfNeeded();
  await page.waitForSelector('#graph-canvas[data-progress="1"]', { timeout: 120000 });
}

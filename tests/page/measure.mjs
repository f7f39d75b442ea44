// Measures the page with many claims: time to load, long tasks, and the time between frames while a
// reader pans, zooms, points, scrolls, filters and searches. Prints figures, asserts none.
//
// node measure.mjs [claims sources evidence]      (5000 1000 60000 where nothing is said)

import { loadavg } from "node:os";
import { fileOf, open, settled, start } from "./browser.mjs";
import { graph, page as pageOf } from "./generate.mjs";

const [claims, sources, evidence] = process.argv.slice(2).map(Number);
const { browser, missing } = await start();
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(0);
}
const address = fileOf(pageOf(graph({ claims, sources, evidence })));
const began = Date.now();
const { page, faults } = await open(browser, address, {
  init: "window.longTasks = []; new PerformanceObserver((list) => list.getEntries().forEach((entry) => longTasks.push(entry.duration))).observe({ type: 'longtask', buffered: true });",
});
const loads = () => loadavg()[0].toFixed(1);
const longTasks = () => page.evaluate(() => longTasks.splice(0));
const most = (list) => (list.length ? `${list.length} long tasks, the longest ${Math.round(Math.max(...list))} ms` : "no long task");
await page.waitForTimeout(300);
console.log(`ready after ${Date.now() - began - 300} ms; ${most(await longTasks())}; load average ${loads()}`);

const laid = Date.now();
await settled(page);
console.log(`graph laid out after ${Date.now() - laid} ms; ${most(await longTasks())}; load average ${loads()}`);
await page.waitForTimeout(3000);
await longTasks();
console.log(await page.locator("#graph-status").textContent());
await page.evaluate(() => document.getElementById("graph-frame").scrollIntoView({ block: "center", behavior: "instant" }));
const box = await page.locator("#graph-canvas").boundingBox();
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];

/** Times between frames, in milliseconds, while something is done. */
async function frames(name, act) {
  await longTasks();
  await page.evaluate(() => {
    window.times = [];
    window.timing = true;
    let last = performance.now();
    const note = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      if (timing) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  await act();
  const times = await page.evaluate(() => ((window.timing = false), times.slice(1).sort((a, b) => a - b)));
  const at = (part) => times[Math.min(times.length - 1, Math.floor(part * times.length))].toFixed(1);
  console.log(`${name}: p50 ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)} ms over ${times.length} frames; ${most(await longTasks())}; load average ${loads()}`);
}

await frames("nothing", () => page.waitForTimeout(2000));
await frames("pan", async () => {
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 0; i < 250; i += 1) {
    await page.mouse.move(x + 150 * Math.sin(i / 12), y + 80 * Math.sin(i / 7));
    await page.waitForTimeout(8);
  }
  await page.mouse.up();
});
await frames("repainting", () => page.waitForTimeout(2500));
await frames("zoom", async () => {
  await page.locator("#graph-canvas").focus();
  for (let i = 0; i < 60; i += 1) {
    await page.mouse.wheel(0, i < 30 ? -30 : 30);
    await page.waitForTimeout(16);
  }
});
await page.waitForTimeout(2000);
await frames("hover", async () => {
  for (let i = 0; i < 150; i += 1) {
    await page.mouse.move(x + 200 * Math.sin(i / 15), y + 100 * Math.sin(i / 9));
    await page.waitForTimeout(12);
  }
});
await frames("scroll", async () => {
  await page.mouse.move(5, 400);
  for (let i = 0; i < 100; i += 1) {
    await page.mouse.wheel(0, i < 50 ? -120 : 120);
    await page.waitForTimeout(12);
  }
});
await frames("filter", async () => {
  await page.locator("#graph-filters [value=neutral]").check();
  await page.waitForTimeout(3000);
});
const asked = Date.now();
await frames("search", async () => {
  await page.locator("#query").fill("placebo heart");
  await page.waitForFunction(() => /found/.test(document.getElementById("search-status").textContent), null, { timeout: 60000 });
  console.log(`search: ${await page.locator("#search-status").textContent()} after ${Date.now() - asked} ms`);
  await page.waitForTimeout(300);
});
if (faults.length) console.log(faults);
await browser.close();

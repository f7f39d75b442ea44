// Makes data for the page: many claims, or hostile texts. The same seed makes the same data.
//
// node generate.mjs [claims sources evidence] > page.html

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const TEMPLATE = fileURLToPath(new URL("../../lyra-core/src/export/page/page.html", import.meta.url));

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS = "treatment risk patients heart failure trial placebo cohort hazard ratio interval confidence glucose dose outcome baseline adverse events reduced increased similar significant analysis follow-up population renal 心不全 入院 試験 リスク".split(" ");

/** A graph of the size asked for, with the proportions of a real one. */
export function graph({ claims = 5000, sources = 1000, evidence = 60000, seed = 7 } = {}) {
  const random = randomNumbers(seed);
  const whole = (n) => Math.floor(random() * n);
  const words = (n) => Array.from({ length: n }, () => WORDS[whole(WORDS.length)]).join(" ");
  const sentence = (n) => `${words(n)}.`;
  const pick = (pairs) => {
    let rest = random();
    for (const [value, share] of pairs) if ((rest -= share) < 0) return value;
    return pairs[0][0];
  };
  const made = {
    task_id: "task_generated",
    made_by: ["Claims found by reader-1: 30.", "Passages judged by judge-1: 90."],
    hypothesis: "A generated hypothesis about hospitalisation and treatment.",
    claims: Array.from({ length: claims }, (_, i) => ({
      id: `claim_${String(i).padStart(16, "0")}`,
      text: `Claim ${i}: ${sentence(14 + whole(20))}`,
      stance: pick([["supports", 0.35], ["refutes", 0.35], ["neutral", 0.2], [null, 0.1]]),
      stance_confidence: null,
      supports: 0, refutes: 0, neutral: 0, mean: 0.5, sd: 0.29,
    })),
    sources: Array.from({ length: sources }, (_, i) => ({
      title: `Source ${i}: ${words(9)}`,
      authors: ["Doe, Jane", "Okafor, Chi", "山田, 花子", "Lopez, Ana"].slice(0, 1 + whole(4)),
      year: random() < 0.05 ? null : 1975 + whole(50),
      venue: `Journal ${whole(40)}`,
      doi: random() < 0.8 ? `10.1234/made.${i}` : null,
      url: random() < 0.5 ? `https://example.org/${i}` : `file:///corpus/${i}.md`,
      is_publication: random() < 0.8,
      is_retracted: random() < 0.03,
      accessed: null,
    })),
    evidence: [],
    citations: Array.from({ length: 3 * sources }, () => [whole(sources), whole(sources)]).filter(([a, b]) => a !== b),
  };
  const weights = made.claims.map(() => [1, 1]);
  const surest = made.claims.map(() => ({ supports: 0, refutes: 0 }));
  for (let i = 0; i < evidence; i += 1) {
    const claim = i < claims ? i : whole(claims);
    const relation = i < claims ? "origin" : pick([["neutral", 0.4], ["refutes", 0.32], ["supports", 0.28]]);
    const confidence = relation === "origin" ? null : 0.5 + 0.5 * random();
    made.evidence.push({
      claim, source: Math.floor(sources * random() ** 2), relation, confidence, by_human: random() < 0.01,
      heading: "Results", before: sentence(12), quote: ` ${sentence(18)} `, after: sentence(12),
    });
    if (relation === "origin") continue;
    made.claims[claim][relation] += 1;
    if (relation !== "neutral") surest[claim][relation] = Math.max(surest[claim][relation], confidence);
    if (relation === "supports") weights[claim][0] += confidence;
    if (relation === "refutes") weights[claim][1] += confidence;
  }
  made.claims.forEach((claim, i) => {
    const [a, b] = weights[i];
    claim.mean = a / (a + b);
    claim.sd = Math.sqrt((a * b) / ((a + b) ** 2 * (a + b + 1)));
    if (claim.stance) claim.stance_confidence = 0.5 + 0.5 * random();
    const sure = Math.min(surest[i].supports, surest[i].refutes);
    claim.contradiction_confidence = sure > 0 && (claim.stance ?? "neutral") !== "neutral" ? sure : null;
  });
  return made;
}

/** Texts that try to break out of a page. */
export const HOSTILE = [
  '</script><img src=x onerror="window.broken=1">',
  '<script>window.broken=1</script>',
  '"><svg onload=window.broken=1>',
  "{{DATA}} ${window.broken=1} <!-- <script>",
  "\u202eتجربة\u202c مؤشر القلب \u2067right to left\u2069",
  "W".repeat(10000),
  "\u0000\u0007 control \u2028 line",
];

/** A small graph in which every text is hostile. */
export function hostile() {
  const made = graph({ claims: 14, sources: 7, evidence: 200, seed: 3 });
  const text = (i) => HOSTILE[i % HOSTILE.length];
  made.hypothesis = HOSTILE.join(" ");
  made.task_id = text(0);
  made.made_by = [text(1)];
  made.claims.forEach((claim, i) => {
    claim.text = text(i);
    claim.id = i === 0 ? '"><img src=x onerror=window.broken=1>' : claim.id;
    if (i === 1) claim.stance = "<b>unknown</b>";
  });
  const addresses = ["javascript:window.broken=1", "data:text/html,<script>1</script>", "file:///etc/passwd", "https://example.org/a\"b", "vbscript:x", " jAvAsCrIpT:alert(1)", "//example.org/x"];
  made.sources.forEach((source, i) => Object.assign(source, {
    title: text(i), authors: [text(i + 1)], venue: text(i + 2), url: addresses[i], doi: ["javascript:alert(1)", text(0), '10.1234/"><script>', null, null, null, "10.5/x"][i],
  }));
  made.evidence.forEach((e, i) => Object.assign(e, { before: text(i), quote: text(i + 1), after: text(i + 2), heading: text(i + 3) }));
  return made;
}

/** The page with data in it, written as the exporter writes it. */
export function page(data) {
  const [before, after] = readFileSync(TEMPLATE, "utf8").split("{{DATA}}");
  return before + JSON.stringify(data).replaceAll("<", "\\u003c") + after;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [claims, sources, evidence] = process.argv.slice(2).map(Number);
  process.stdout.write(page(graph({ claims, sources, evidence })));
}

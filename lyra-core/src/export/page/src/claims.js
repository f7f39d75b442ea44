// The claims by their stance to the hypothesis.

function startClaims() {
  const columns = [
    ["supports", "Supports the hypothesis", (claim) => claim.stance === "supports"],
    ["refutes", "Refutes the hypothesis", (claim) => claim.stance === "refutes"],
    ["neutral", "Neutral, or not judged", (claim) => claim.stance !== "supports" && claim.stance !== "refutes"],
  ].map(([name, title, keep]) => claimColumn(name, title, keep));
  const redraw = () => columns.forEach((column) => column(byId("claims-rank").value));
  byId("claims-rank").addEventListener("change", redraw);
  redraw();
}

/** One column; returns what draws it for a rank. */
function claimColumn(name, title, keep) {
  const host = byId("claims-" + name);
  const total = count(data.claims.filter(keep).length, "claim");
  const words = [el("span", { "aria-hidden": "true" }, SIGNS[name] + " "), `${title} `, el("span", { class: "small" }, total)];
  if (name === "neutral") byId("claims-other").querySelector("summary").append(...words);
  else host.append(el("h3", {}, words));
  const list = new Paged(host, { size: 10, label: `claims: ${title.toLowerCase()}`, draw: claimItem });
  list.list.setAttribute("aria-label", title);
  return (rank) => list.show(rankedClaims(rank, keep));
}

/** A claim in a list. */
function claimItem(at) {
  const claim = data.claims[at];
  const link = foreign("a", claimText(claim, 420), { href: claimLink(at), class: "claim-link" });
  return el("li", { class: "claim" }, link, sureness(claim), readIn(at), tally(claim), balance(claim));
}

/** How sure the judge is of the side that a claim takes. */
function sureness(claim) {
  if (!takesSide(claim) || claim.stance_confidence === null) return null;
  return el("p", { class: "small" }, `${isPossible(claim) ? "Possible: the" : "The"} judge is ${twoDigits(claim.stance_confidence)} sure.`);
}

/** Where a claim was taken from, with what speaks against the source. */
function readIn(at) {
  const origins = evidenceOf(at, "origin");
  if (!origins.length) return null;
  const e = data.evidence[origins[0]];
  const others = origins.length > 1 ? ` and ${count(origins.length - 1, "other place")}` : null;
  return el("p", { class: "small" }, "Read in ", sourceLine(e.source), others, outdated(e));
}

/** A side that the judge is less sure of is called possible; confidence::POSSIBLE_BELOW of the library. */
const POSSIBLE_BELOW = 0.7;

const takesSide = (claim) => claim.stance === "supports" || claim.stance === "refutes";

const isPossible = (claim) => takesSide(claim) && (claim.stance_confidence ?? 1) < POSSIBLE_BELOW;

/** A confidence, in digits on the same side of POSSIBLE_BELOW. */
function twoDigits(confidence) {
  const rounded = Math.round(confidence * 100) / 100;
  return (confidence < POSSIBLE_BELOW && rounded >= POSSIBLE_BELOW ? POSSIBLE_BELOW - 0.01 : rounded).toFixed(2);
}

/** Stance of a claim to the hypothesis, in words. */
function stanceBadge(claim) {
  const stance = RELATIONS.includes(claim.stance) ? claim.stance : "unjudged";
  const words = { supports: "supports the hypothesis", refutes: "refutes the hypothesis", neutral: "neutral to the hypothesis" };
  const sure = claim.stance_confidence === null ? "" : ` (confidence ${twoDigits(claim.stance_confidence)})`;
  const possibly = isPossible(claim) ? "possibly " : "";
  return badge(stance, possibly + (words[stance] ?? "stance not judged") + sure);
}

/** How many claims stand on which side, as a bar and in words. */
function startVerdict() {
  const of = (stance) => data.claims.filter((claim) => (claim.stance ?? "unjudged") === stance);
  const parts = [
    ["supports", "support it"],
    ["neutral", "neutral"],
    ["unjudged", "not judged"],
    ["refutes", "refute it"],
  ].map(([stance, words]) => {
    const possible = of(stance).filter(isPossible).length;
    const some = possible ? ` (${number.format(possible)} possibly)` : "";
    return { stance, words: words + some, n: of(stance).length };
  });
  const shown = parts.filter((part) => part.n > 0);
  const total = Math.max(1, data.claims.length);
  let x = 0;
  const bars = shown.map((part) => {
    const width = (100 * part.n) / total;
    const bar = svg("rect", { x, y: 0, width: Math.max(0, width - 0.3), height: 10, class: part.stance });
    x += width;
    return bar;
  });
  byId("verdict").append(
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "verdict-bar", "aria-hidden": "true" }, bars),
    el("ul", { class: "verdict", "aria-label": "Claims by stance" }, shown.map((part) => el("li", {}, badge(part.stance, `${number.format(part.n)} ${part.words}`)))),
    el("p", { class: "small" }, scope()),
  );
}

/** What the page holds, in one sentence. */
function scope() {
  const withdrawn = data.sources.filter((source) => source.is_retracted).length;
  const held = `${count(data.claims.length, "claim")}, ${count(data.sources.length, "source")}, ${count(data.evidence.length, "passage")}, ${count(data.citations.length, "citation")}`;
  const lost = data.left_out;
  const rest = lost ? ` The task is large: ${count(lost.claims, "claim")} and ${count(lost.passages, "passage")} more are not shown here.` : "";
  return `${held}; ${withdrawn === 0 ? "no source is marked as retracted" : count(withdrawn, "source") + " marked as retracted"}.${rest}`;
}

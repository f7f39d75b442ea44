// Claims with passages on both sides, the two sides beside one another.

/** Passages of a side that are shown before the reader asks for more. */
const SIDE = 2;

function startContradictions() {
  const contested = contradictedClaims();
  const host = byId("contradictions-body");
  host.append(el("p", { class: "small" }, `${count(contested.length, "claim")} that take${contested.length === 1 ? "s" : ""} a side, with passages for and against.`));
  const list = new Paged(host, { size: 5, label: "contradictions", draw: contradiction });
  list.list.setAttribute("aria-label", "Contradictions");
  list.show(contested);
}

function contradiction(at) {
  const claim = data.claims[at];
  const title = el("h3", {}, foreign("a", claimText(claim, 420), { href: claimLink(at), class: "claim-link" }));
  const confidence = claim.contradiction_confidence;
  const possible = confidence < POSSIBLE_BELOW ? el("span", { class: "small" }, `Possible: confidence ${twoDigits(confidence)}`) : null;
  const facts = el("div", { class: "facts" }, possible, stanceBadge(claim), balance(claim));
  // Without a passage for it, the source that states the claim is the other side.
  const own = evidenceOf(at, "supports").length ? "supports" : "origin";
  return el("li", { class: "contradiction" }, el("article", {}, title, facts, sides(at, SIDE, "h4", own)));
}

/** Supporting passages left, refuting ones right. */
function sides(at, limit, level = "h4", own = "supports") {
  return el("div", { class: "columns" }, side(at, own, own === "origin" ? "Stated" : "For", limit, level), side(at, "refutes", "Against", limit, level));
}

function side(at, relation, word, limit, level) {
  const places = evidenceOf(at, relation);
  const list = el("ul", { class: "plain", "aria-label": `Passages: ${word.toLowerCase()}` });
  list.append(...places.slice(0, limit).map((place) => el("li", {}, passage(place))));
  const heading = el(level, {}, el("span", { "aria-hidden": "true" }, SIGNS[relation] + " "), `${word} `, el("span", { class: "small" }, count(places.length, "passage")));
  const host = el("div", { class: "column " + relation }, heading, list);
  if (places.length > limit) host.append(moreButton(list, places, limit));
  return host;
}

/** Adds the next passages to a list, and moves the focus to the first of them. */
function moreButton(list, places, limit) {
  let shown = limit;
  const button = el("button", { type: "button", class: "quiet" });
  const label = () => (button.textContent = `Show more (${number.format(places.length - shown)} left)`);
  button.addEventListener("click", () => {
    const next = places.slice(shown, shown + 10).map((place) => el("li", { tabindex: "-1" }, passage(place)));
    list.append(...next);
    shown += next.length;
    next[0].focus();
    if (shown >= places.length) button.remove();
    else label();
  });
  label();
  return button;
}

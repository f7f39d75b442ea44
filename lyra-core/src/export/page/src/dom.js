// Making elements. Texts of the data go in as text nodes only, never as markup.

/** Characters of a passage that are shown before the reader asks for the rest. */
const PASSAGE_LIMIT = 1500;

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const count = (n, one, many = one + "s") => `${number.format(n)} ${n === 1 ? one : many}`;

/** An element with attributes; children are nodes or texts, and null ones are left out. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  return filled(node, attributes, children);
}

/** The same for a picture's elements. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** A text of the data: its direction is its own, its language is not known. */
function foreign(tag, text, attributes = {}) {
  return el(tag, { dir: "auto", lang: "", ...attributes }, text);
}

/** The text, cut at a number of characters without splitting one. */
function short(text, limit) {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text[limit - 1]) ? limit - 1 : limit;
  return text.slice(0, end) + "…";
}

/** A link out of the page. */
function outLink(address, text) {
  const hint = el("span", { class: "hidden" }, " (opens in a new tab)");
  return foreign("a", text, { href: address, rel: "noreferrer noopener", target: "_blank", class: "out" }).appendChild(hint)
    .parentNode;
}

/** The sign, and the word, of a relation or stance. Never the colour alone. */
const SIGNS = { supports: "▲", refutes: "▼", neutral: "●", origin: "◇", cites: "→", unjudged: "○" };
function badge(relation, word = relation) {
  const sign = el("span", { "aria-hidden": "true" }, SIGNS[relation] + " ");
  return el("span", { class: "badge " + relation }, sign, word);
}

/** Goes to a place of the page. */
const follow = (link) => (app ? app.go(link) : (location.hash = link));

/** A list in pages. `draw` makes the element of one item. */
class Paged {
  constructor(host, { size, label, draw, wrap }) {
    Object.assign(this, { size, label, draw, page: 0, items: [] });
    this.list = wrap ? wrap.list : el("ol", { class: "plain" });
    this.focusable = wrap ? wrap.focusable : this.list;
    this.focusable.setAttribute("tabindex", wrap ? "0" : "-1");
    this.status = el("p", { class: "small", role: "status" });
    this.before = this.button("Previous", -1);
    this.after = this.button("Next", 1);
    this.nav = el("div", { class: "pager", role: "group", "aria-label": "Pages of " + label }, this.before, this.status, this.after);
    host.append(wrap ? wrap.root : this.list, this.nav);
  }

  button(word, step) {
    const turn = () => {
      this.page += step;
      this.redraw();
      this.focusable.focus();
    };
    return el("button", { type: "button", onclick: turn }, word, el("span", { class: "hidden" }, ` page of ${this.label}`));
  }

  show(items) {
    this.items = items;
    this.page = Math.min(app?.pageOf(this.label) ?? 0, Math.floor(Math.max(0, items.length - 1) / this.size));
    this.redraw();
  }

  redraw() {
    app?.pages.set(this.label, this.page);
    const from = this.page * this.size;
    const to = Math.min(from + this.size, this.items.length);
    this.list.replaceChildren(...this.items.slice(from, to).map((item, i) => this.draw(item, from + i)));
    if (this.list.tagName === "OL") this.list.setAttribute("start", from + 1);
    this.before.disabled = this.page === 0;
    this.after.disabled = to >= this.items.length;
    this.before.hidden = this.after.hidden = this.items.length <= this.size;
    const span = this.items.length ? `${number.format(from + 1)}–${number.format(to)} of ${number.format(this.items.length)}` : "None";
    this.status.textContent = this.items.length > this.size ? span : this.items.length ? "" : "None";
  }
}

/** A table whose rows come in pages, in a region that scrolls by itself on a narrow screen. */
function pagedTable(host, { caption, columns, size, label, draw }) {
  const list = el("tbody");
  const head = columns.map((column) => (column instanceof Node ? column : el("th", { scope: "col" }, column)));
  const table = el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), list);
  const root = el("div", { class: "scroller", role: "region", "aria-label": caption }, table);
  host.append(el("p", { class: "small narrow" }, "The table goes on to the right."));
  return new Paged(host, { size, label, draw, wrap: { list, focusable: root, root } });
}

/** The number of passages for and against, in words and signs. */
function tally(claim) {
  return el(
    "p",
    { class: "tally" },
    badge("supports", `${number.format(claim.supports)} for`),
    badge("refutes", `${number.format(claim.refutes)} against`),
    badge("neutral", `${number.format(claim.neutral)} neutral`),
  );
}

/** The balance of a claim: mean and one standard deviation on a line from 0 to 1. */
function balance(claim) {
  const at = (value) => 100 * Math.min(1, Math.max(0, value));
  const [low, mean, high] = [at(claim.mean - claim.sd), at(claim.mean), at(claim.mean + claim.sd)];
  const picture = svg(
    "svg",
    { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "balance", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 4, width: 50, height: 2, class: "against" }),
    svg("rect", { x: 50, y: 4, width: 50, height: 2, class: "for" }),
    svg("rect", { x: low, y: 1.5, width: Math.max(0.5, high - low), height: 7, class: "band" }),
    svg("rect", { x: 49.75, y: 0, width: 0.5, height: 10, class: "middle" }),
    svg("rect", { x: Math.min(99, Math.max(0, mean - 0.5)), y: 0, width: 1, height: 10, class: "mean" }),
  );
  const words = `Balance ${claim.mean.toFixed(2)} ± ${claim.sd.toFixed(2)}`;
  const end = (sign, relation) => el("span", { class: "sign " + relation, "aria-hidden": "true" }, sign);
  return el("div", { class: "balance-row" }, end("▼", "refutes"), picture, end("▲", "supports"), el("span", { class: "small" }, words));
}

/** The sign of a source that was retracted, or that something else took the place of. */
function retracted(source) {
  if (source.is_retracted) return el("strong", { class: "retracted" }, "✕ retracted");
  if (!source.superseded_by) return null;
  return el("strong", { class: "retracted", title: `replaced by ${source.superseded_by}` }, "⚠ superseded");
}

/** The sign of a passage whose source has a newer text. */
const outdated = (e) => (e.is_outdated ? el("strong", { class: "retracted" }, " ⚠ in an older text of the source") : null);

/** A source's title, year and retraction, linked to its details. */
function sourceLine(at) {
  const source = data.sources[at];
  const title = foreign("a", short(source.title || "Untitled source", 160), { href: sourceLink(at) });
  return el("span", { class: "source-line" }, title, source.year === null ? " (undated) " : ` (${source.year}) `, retracted(source));
}

/** A quoted passage in its context, with where it stands and how sure its relation is. */
function passage(at, { claim = false } = {}) {
  const e = data.evidence[at];
  const quote = el("blockquote", { dir: "auto", lang: "" });
  fillQuote(quote, e, e.before.length + e.quote.length + e.after.length <= PASSAGE_LIMIT);
  const unsure = e.relation === "origin" ? null : "confidence not stated";
  const sure = e.confidence === null ? unsure : `confidence ${e.confidence.toFixed(2)}`;
  const facts = el("p", { class: "small facts" }, badge(e.relation), sure && el("span", {}, sure), outdated(e), e.by_human ? el("span", { class: "human" }, "✓ judged by a person") : null);
  return el(
    "figure",
    { class: "passage " + e.relation, "data-edge": e.id },
    claim ? foreign("a", short(data.claims[e.claim].text, 300), { href: claimLink(e.claim), class: "claim-link" }) : null,
    e.heading ? foreign("p", short(e.heading, 200), { class: "small where" }) : null,
    quote,
    el("figcaption", {}, claim ? null : sourceLine(e.source), facts, app ? verdictButtons(e) : null),
  );
}

function fillQuote(quote, e, whole) {
  const [before, quoted, after] = whole
    ? [e.before, e.quote, e.after]
    : [e.before.slice(-400), short(e.quote, PASSAGE_LIMIT - 800), short(e.after, 400)];
  quote.replaceChildren(before, el("mark", {}, quoted), after);
  if (whole) return;
  const length = number.format(e.before.length + e.quote.length + e.after.length);
  const unfold = () => {
    fillQuote(quote, e, true);
    quote.setAttribute("tabindex", "-1");
    quote.focus();
  };
  quote.append(el("button", { type: "button", class: "unfold", lang: "en", onclick: unfold }, `Show the whole passage (${length} characters)`));
}

// One claim or one source, in a dialog that an address (#claim-id, #source-3) opens.

function startDetails() {
  const dialog = byId("detail");
  const close = () => dialog.close();
  byId("detail-close").addEventListener("click", close);
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  dialog.addEventListener("close", forgetAddress);
  addEventListener("hashchange", followAddress, { signal: app?.signal });
  followAddress();
}

/** An address that no element has: going there leaves the view where it is. */
const NOWHERE = "#-";

/** The address that the open dialog shows. */
let shownAddress = null;

/** What the address names: a claim, a source, or nothing of ours. */
function addressed() {
  let name;
  try {
    name = decodeURIComponent(location.hash.slice(1));
  } catch {
    return null;
  }
  if (index.claimPlace.has(name)) return { kind: "claim", at: index.claimPlace.get(name) };
  const source = /^source-(\d+)$/.exec(name);
  if (source && Number(source[1]) >= 1 && Number(source[1]) <= data.sources.length) return { kind: "source", at: Number(source[1]) - 1 };
  return null;
}

function followAddress() {
  const dialog = byId("detail");
  const named = addressed();
  if (!named) {
    if (dialog.open) dialog.close();
    return;
  }
  shownAddress = location.hash;
  byId("detail-kind").textContent = named.kind === "claim" ? "Claim" : "Source";
  const parts = named.kind === "claim" ? claimDetail(named.at) : sourceDetail(named.at);
  byId("detail-body").replaceChildren(...parts.filter((part) => part !== null));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  byId("detail-title").focus();
}

/**
 * After closing, the address names nothing, so that the same link works again. The event of closing arrives
 * late: an address that changed since is the next one to open, and stays.
 */
function forgetAddress() {
  if (location.hash !== shownAddress || !addressed()) return;
  if (app) return app.go(NOWHERE);
  try {
    history.replaceState(null, "", location.pathname + location.search);
  } catch {
    location.hash = "main";
  }
}

const detailTitle = (text) => foreign("h2", text, { id: "detail-title", tabindex: "-1" });

function claimDetail(at) {
  const claim = data.claims[at];
  const showNode = el("button", { type: "button", class: "quiet", onclick: () => showInGraph(at) }, "Show in the graph");
  return [
    detailTitle(claimText(claim, Infinity)),
    el("p", {}, stanceBadge(claim)),
    tally(claim),
    balance(claim),
    el("p", { class: "actions" }, showNode, el("code", { class: "small" }, claim.id)),
    sides(at, 10, "h3"),
    passageGroup("Where the claim was taken from", evidenceOf(at, "origin"), true),
    passageGroup("Neutral passages", evidenceOf(at, "neutral"), false),
  ];
}

function passageGroup(title, places, open, draw = passage) {
  if (!places.length) return null;
  const host = el("details", { open, class: "group", "data-group": title }, el("summary", {}, el("h3", {}, `${title} (${number.format(places.length)})`)));
  new Paged(host, { size: 10, label: title.toLowerCase(), draw: (place) => el("li", {}, draw(place)) }).show(places);
  return host;
}

function sourceDetail(at) {
  const source = data.sources[at];
  const places = index.bySource[at];
  const show = el("button", { type: "button", class: "quiet", onclick: () => showInGraph(data.claims.length + at) }, "Show in the graph");
  return [
    detailTitle(source.title || "Untitled source"),
    el("p", {}, retracted(source)),
    sourceFacts(source),
    el("p", { class: "actions" }, show),
    passageGroup("Passages", places, true, (place) => passage(place, { claim: true })),
    passageGroup("Cites", index.cites[at], false, sourceLine),
    passageGroup("Cited by", index.citedBy[at], false, sourceLine),
  ];
}

/** What is known of a source, as pairs. */
function sourceFacts(source) {
  const facts = [
    ["Authors", source.authors.length ? foreign("span", source.authors.join("; ")) : null],
    ["Year", source.year === null ? null : String(source.year)],
    ["Venue", source.venue && foreign("span", source.venue)],
    ["DOI", source.doi && doiNode(source.doi)],
    ["Address", source.url && addressNode(source.url)],
    ["File", source.file && foreign("span", source.file)],
    ["Replaced by", source.superseded_by && foreign("span", source.superseded_by)],
    ["Kind", source.is_publication ? "publication" : "web page or file"],
    ["Read on", source.accessed],
  ].filter(([, value]) => value);
  return el("dl", { class: "source-facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function doiNode(doi) {
  const address = doiAddress(doi);
  return address ? outLink(address, doi) : foreign("span", doi);
}

/** A web address as a link; any other as plain text. */
function addressNode(url) {
  const address = webAddress(url);
  return address ? outLink(address, short(url, 120)) : foreign("span", short(url, 300), { class: "path" });
}

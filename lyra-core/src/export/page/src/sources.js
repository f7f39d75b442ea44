// The table of the sources.

const SOURCE_COLUMNS = [
  { name: "Source", key: (at) => data.sources[at].title.toLowerCase(), text: true },
  { name: "Year", key: (at) => data.sources[at].year },
  { name: "Claims", key: (at) => index.claimsOf[at] },
  { name: "For", key: (at) => relationCount(at, "supports") },
  { name: "Against", key: (at) => relationCount(at, "refutes") },
  { name: "Cited by", key: (at) => index.citedBy[at].length },
  { name: "Cites", key: (at) => index.cites[at].length },
  { name: "Retracted", key: (at) => Number(data.sources[at].is_retracted) },
];

const relationCount = (source, relation) => index.bySource[source].filter((at) => data.evidence[at].relation === relation).length;

function startSources() {
  const sorted = { column: 2, down: true };
  const heads = SOURCE_COLUMNS.map((column, i) => {
    const button = el("button", { type: "button", class: "sort" }, column.name, el("span", { "aria-hidden": "true", class: "arrow" }));
    button.addEventListener("click", () => {
      sorted.down = sorted.column === i ? !sorted.down : !column.text;
      sorted.column = i;
      resort();
    });
    return el("th", { scope: "col", class: i > 0 && i < SOURCE_COLUMNS.length - 1 ? "number" : null }, button);
  });
  const table = pagedTable(byId("sources-body"), { caption: "Sources; a column's button sorts by it", columns: heads, size: 25, label: "sources", draw: sourceRow });
  const resort = () => {
    heads.forEach((head, i) => {
      const here = i === sorted.column;
      if (here) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = here ? (sorted.down ? " ▼" : " ▲") : "";
    });
    table.show(sortedSources(SOURCE_COLUMNS[sorted.column], sorted.down));
  };
  resort();
}

/** Places of the sources in order; those without a value come last either way. */
function sortedSources(column, down) {
  const keys = data.sources.map((_, at) => column.key(at));
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return keys
    .map((_, at) => at)
    .sort((a, b) => {
      if (keys[a] === null || keys[b] === null) return (keys[a] === null) - (keys[b] === null) || a - b;
      return (down ? -1 : 1) * compare(keys[a], keys[b]) || a - b;
    });
}

function sourceRow(at) {
  const source = data.sources[at];
  const names = source.authors.length > 3 ? source.authors.slice(0, 3).join("; ") + " et al." : source.authors.join("; ");
  const title = el(
    "th",
    { scope: "row", class: "source" },
    foreign("a", short(source.title || "Untitled source", 240), { href: sourceLink(at) }),
    " ",
    retracted(source),
    names || source.venue ? foreign("div", short([names, source.venue].filter(Boolean).join(" · "), 240), { class: "small" }) : null,
    el("div", { class: "small" }, source.doi ? doiNode(source.doi) : source.url ? addressNode(source.url) : source.file && foreign("span", source.file)),
  );
  const cells = SOURCE_COLUMNS.slice(1, -1).map((column) => {
    const value = column.key(at);
    return el("td", { class: "number" }, value === null ? "–" : column.name === "Year" ? String(value) : number.format(value));
  });
  return el("tr", source.is_retracted ? { class: "withdrawn" } : {}, title, cells, el("td", {}, source.is_retracted ? "yes" : "no"));
}

// Evidence by the year of its source: what supports above a line, what refutes below it.

function startTimeline() {
  const years = yearCounts();
  const dated = years.filter((row) => row.year !== null);
  const host = byId("timeline-chart");
  if (dated.length) new ResizeObserver(() => host.replaceChildren(timelineChart(dated, host.clientWidth))).observe(host);
  else host.append(el("p", {}, "No source has a year."));
  const table = pagedTable(byId("timeline-table-body"), {
    caption: "Passages by year of their source",
    columns: ["Year", "Sources", "For", "Against", "Neutral", "Graph"],
    size: 50,
    label: "years",
    draw: yearRow,
  });
  table.show(years);
}

/** One row for each year, and one for the sources without a year where there are any. */
function yearCounts() {
  const rows = new Map();
  data.sources.forEach((source, at) => {
    const row = rows.get(source.year) ?? { year: source.year, sources: 0, supports: 0, refutes: 0, neutral: 0, origin: 0 };
    rows.set(source.year, row);
    row.sources += 1;
    for (const place of index.bySource[at]) row[data.evidence[place].relation] += 1;
  });
  return [...rows.values()].sort((a, b) => (a.year ?? Infinity) - (b.year ?? Infinity));
}

function yearRow(row) {
  const cells = [row.sources, row.supports, row.refutes, row.neutral].map((n) => el("td", { class: "number" }, number.format(n)));
  const show = () => chooseYear(row.year);
  const button = el("button", { type: "button", class: "quiet", onclick: show }, "Show", el("span", { class: "hidden" }, ` ${row.year ?? "undated sources"} in the graph`));
  return el("tr", {}, el("th", { scope: "row" }, row.year === null ? "undated" : String(row.year)), cells, el("td", {}, button));
}

/** Narrows the graph to one year. */
function chooseYear(year) {
  const form = byId("graph-filters");
  form.elements.from.value = form.elements.to.value = year ?? 9999;
  form.elements.undated.checked = year === null;
  form.dispatchEvent(new Event("input"));
  byId("graph").scrollIntoView();
  form.elements.from.focus({ preventScroll: true });
}

function timelineChart(rows, width) {
  const height = 230;
  const [left, right, top, bottom] = [44, 8, 18, 34];
  const [first, last] = [rows[0].year, rows.at(-1).year];
  const span = last - first < 200 ? last - first + 1 : rows.length;
  const place = (row, i) => (last - first < 200 ? row.year - first : i);
  const step = (width - left - right) / span;
  const most = Math.max(1, ...rows.map((row) => row.supports)) + Math.max(1, ...rows.map((row) => row.refutes));
  const unit = (height - top - bottom) / most;
  const zero = top + unit * Math.max(1, ...rows.map((row) => row.supports));
  const every = Math.max(1, Math.ceil(44 / step));
  const bars = rows.flatMap((row, i) => {
    const x = left + step * place(row, i) + step * 0.14;
    const bar = (kind, y, n) => svg("rect", { x, y, width: Math.max(1, Math.min(60, step * 0.72)), height: unit * n, class: kind });
    const title = svg("title", {}, `${row.year}: ${row.supports} for, ${row.refutes} against`);
    const group = svg("g", {}, title, bar("supports", zero - unit * row.supports, row.supports), bar("refutes", zero, row.refutes));
    const named = place(row, i) % every === 0 ? svg("text", { x: x + Math.min(60, step * 0.72) / 2, y: height - 10, class: "tick" }, String(row.year)) : null;
    return [group, named].filter(Boolean);
  });
  const marks = [
    svg("text", { x: left - 6, y: top + 5, class: "tick end" }, `▲ ${Math.max(...rows.map((row) => row.supports))}`),
    svg("text", { x: left - 6, y: height - bottom + 2, class: "tick end" }, `▼ ${Math.max(...rows.map((row) => row.refutes))}`),
    svg("line", { x1: left, x2: width - right, y1: zero, y2: zero, class: "axis" }),
  ];
  const words = `Passages by year, ${first} to ${last}; the table below holds the numbers.`;
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, class: "chart" }, bars, marks);
}

// The graph on the page: its filters, its table, and how a reader moves in it.

/** Set by startGraph: shows a node, by its number. */
let showInGraph = () => {};

function startGraph() {
  const form = byId("graph-filters");
  const edges = graphEdges();
  const view = new GraphView(edges);
  const table = edgeTable();
  fillFilterFields(form);
  const refilter = () => {
    const filters = readFilters(form);
    form.elements["confidence-shown"].value = filters.confidence.toFixed(2);
    const kept = keptEdges(edges, filters);
    view.filter(kept);
    table.show(kept);
    byId("graph-status").textContent = graphWords(kept, view);
  };
  form.addEventListener("input", soon(refilter, 60));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(refilter));
  showInGraph = (at) => {
    byId("detail").close();
    if (!view.visible.has(at)) form.reset();
    setTimeout(() => {
      byId("graph-frame").scrollIntoView({ block: "center" });
      byId("graph-canvas").focus({ preventScroll: true });
      view.select(at, true);
    }, 20);
  };
  refilter();
  legend();
  whenNear(byId("graph"), () => view.lay());
}

function graphWords(kept, view) {
  const claims = view.nodes.filter((node) => node.at < data.claims.length).length;
  const sources = view.nodes.length - claims;
  return `Showing ${number.format(claims)} of ${count(data.claims.length, "claim")}, ${number.format(sources)} of ${count(data.sources.length, "source")} and ${count(kept.length, "edge")}.`;
}

/** Calls back once calls have paused. */
function soon(action, pause) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, pause);
  };
}

/** Runs once the element comes near the view. */
function whenNear(element, action) {
  const watcher = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      action();
    },
    { rootMargin: "800px" },
  );
  watcher.observe(element);
}

function fillFilterFields(form) {
  const [first, last] = [index.years[0], index.years.at(-1)];
  for (const [name, value] of [["from", first], ["to", last]]) {
    form.elements[name].placeholder = value ?? "";
    form.elements[name].min = first ?? 0;
    form.elements[name].max = last ?? 9999;
  }
  const order = data.sources.map((_, at) => at).sort((a, b) => data.sources[a].title.localeCompare(data.sources[b].title));
  form.elements.source.append(...order.map((at) => el("option", { value: at }, short(data.sources[at].title || "Untitled source", 70))));
}

function edgeTable() {
  return pagedTable(byId("graph-table-body"), {
    caption: "Edges of the graph, as filtered",
    columns: ["Source", "Relation", "Claim, or source cited", "Passages", "Confidence"],
    size: 20,
    label: "edges",
    draw: (edge) => {
      const claims = data.claims.length;
      const target = edge.to < claims ? foreign("a", short(data.claims[edge.to].text, 160), { href: claimLink(edge.to) }) : sourceLine(edge.to - claims);
      return el(
        "tr",
        {},
        el("td", {}, sourceLine(edge.from - claims)),
        el("td", {}, badge(edge.relation)),
        el("td", {}, target),
        el("td", { class: "number" }, edge.relation === "cites" ? "–" : number.format(edge.passages)),
        el("td", { class: "number" }, edge.confidence === null ? "–" : edge.confidence.toFixed(2)),
      );
    },
  });
}

/** What shapes and lines mean. */
function legend() {
  const nodes = [
    ["supports", "▲", "claim that supports"],
    ["refutes", "▼", "claim that refutes"],
    ["neutral", "●", "neutral or unjudged claim"],
    ["source", "■", "source"],
    ["retracted", "✕", "retracted source"],
  ].map(([kind, sign, words]) => el("li", {}, el("span", { class: "sign " + kind, "aria-hidden": "true" }, sign + " "), words));
  const lines = Object.entries(DASHES).map(([relation, dash]) => {
    const line = svg("line", { x1: 0, y1: 4, x2: 30, y2: 4, class: relation, "stroke-dasharray": dash.join(" ") || null });
    return el("li", {}, svg("svg", { width: 30, height: 8, "aria-hidden": "true" }, line), " " + relation);
  });
  byId("graph-legend").append(...nodes, ...lines);
}

/** The canvas: layout, zoom, hover, selection and keys. */
class GraphView {
  constructor(edges) {
    this.all = edges;
    this.canvas = byId("graph-canvas");
    this.painter = new Painter(this.canvas);
    this.everyNode = Array.from({ length: data.claims.length + data.sources.length }, (_, at) => nodeOf(at));
    this.nodes = [];
    this.visible = new Set();
    this.selected = null;
    this.hovered = null;
    this.pointer();
    this.keys();
    onTheme(() => {
      this.painter.readColours();
      this.painter.renew();
    });
    new ResizeObserver(() => {
      this.painter.resize();
      if (this.painter.positions && !this.touched) this.fit(false);
    }).observe(this.canvas);
  }

  filter(edges) {
    this.edges = edges;
    this.visible = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
    this.nodes = this.everyNode.filter((node) => this.visible.has(node.at));
    this.degree = new Map();
    for (const edge of edges) for (const end of [edge.from, edge.to]) this.degree.set(end, (this.degree.get(end) ?? 0) + 1);
    this.around = null;
    this.tour = null;
    this.tree = null;
    Object.assign(this.painter, { edges, nodes: this.nodes });
    if (this.selected !== null && !this.visible.has(this.selected)) this.select(null);
    else this.point();
    this.painter.renew();
  }

  /** Starts the layout, and shows it as it settles, or at its end where motion is not wanted. */
  lay() {
    const progressLine = byId("graph-progress");
    startLayout(layoutGraph(this.all), (positions, progress) => {
      progressLine.textContent = progress < 1 ? `Laying out the graph: ${Math.round(100 * progress)} %` : "";
      this.canvas.dataset.progress = progress;
      if (progress < 1 && calm()) return;
      this.painter.positions = positions;
      this.painter.draft = progress < 1;
      this.tree = null;
      if (!this.touched) this.fit(false);
      this.painter.renew();
    });
  }

  pointer() {
    const accepts = (event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === this.canvas;
      if (event.type.startsWith("touch")) return event.touches.length > 1;
      return !event.button && !event.ctrlKey;
    };
    this.zoom = d3.zoom().scaleExtent([0.02, 12]).filter(accepts);
    this.zoom.on("start", (event) => (this.painter.held = event.sourceEvent?.type === "mousedown"));
    this.zoom.on("end", () => (this.painter.held = false));
    this.zoom.on("zoom", (event) => {
      if (event.sourceEvent) this.touched = true;
      this.painter.move({ k: event.transform.k, x: event.transform.x, y: event.transform.y });
    });
    this.target = d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("mousemove", (event) => event.buttons === 0 && this.hover(event));
    this.canvas.addEventListener("mouseleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.select(this.nodeAt(event)));
    this.canvas.addEventListener("dblclick", () => this.selected !== null && follow(this.everyNode[this.selected].link));
    byId("zoom-in").addEventListener("click", () => this.scaleBy(1.5));
    byId("zoom-out").addEventListener("click", () => this.scaleBy(1 / 1.5));
    byId("zoom-fit").addEventListener("click", () => this.fit(true));
  }

  /** The node near a pointer, or null. */
  nodeAt(event) {
    if (!this.painter.positions || !this.nodes.length) return null;
    const p = this.painter.positions;
    this.tree ??= d3.quadtree(this.nodes, (node) => p[2 * node.at], (node) => p[2 * node.at + 1]);
    const { k, x, y } = this.painter.transform;
    const found = this.tree.find((event.offsetX - x) / k, (event.offsetY - y) / k, 14 / k);
    return found ? found.at : null;
  }

  hover(event) {
    const at = event && this.nodeAt(event);
    const tip = byId("graph-tip");
    if (event && at !== null) tip.style.transform = `translate(${Math.min(event.offsetX + 14, this.painter.width - 270)}px, ${event.offsetY + 14}px)`;
    if (at === this.hovered) return;
    this.hovered = at;
    tip.hidden = at === null;
    if (at !== null) tip.replaceChildren(foreign("span", short(this.everyNode[at].text, 180)));
    this.point();
  }

  /** Tells the painter what is pointed at: the hovered node, else the selected one. */
  point() {
    const at = this.hovered ?? this.selected;
    this.painter.focus = null;
    if (at !== null) {
      const edges = this.edgesOf(at);
      const ends = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
      ends.delete(at);
      this.painter.focus = { node: this.everyNode[at], edges, neighbours: [...ends].map((end) => this.everyNode[end]) };
    }
    this.painter.ask();
  }

  /** The visible edges of a node. */
  edgesOf(at) {
    if (!this.around) {
      this.around = new Map();
      for (const edge of this.edges)
        for (const end of [edge.from, edge.to]) {
          if (this.around.has(end)) this.around.get(end).push(edge);
          else this.around.set(end, [edge]);
        }
    }
    return this.around.get(at) ?? [];
  }

  select(at, center = false) {
    this.selected = at;
    this.point();
    const host = byId("graph-selection");
    host.replaceChildren();
    if (at === null) return;
    const node = this.everyNode[at];
    const kind = at < data.claims.length ? "Claim" : "Source";
    const edges = count(this.degree.get(at) ?? 0, "edge");
    host.append(el("span", { class: "small" }, `${kind} selected, ${edges}: `), foreign("a", short(node.text, 300), { href: node.link }));
    if (center && this.painter.positions) {
      const p = this.painter.positions;
      this.touched = true;
      this.moving().call(this.zoom.translateTo, p[2 * at], p[2 * at + 1]);
    }
  }

  /** The canvas, or a transition of it where motion is wanted. */
  moving() {
    return calm() ? this.target : this.target.transition().duration(200);
  }

  scaleBy(factor) {
    this.touched = true;
    this.moving().call(this.zoom.scaleBy, factor);
  }

  /** Shows all nodes. */
  fit(smooth) {
    const p = this.painter.positions;
    if (!p || !this.painter.width || !this.nodes.length) return;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { at } of this.nodes) {
      left = Math.min(left, p[2 * at]);
      right = Math.max(right, p[2 * at]);
      top = Math.min(top, p[2 * at + 1]);
      bottom = Math.max(bottom, p[2 * at + 1]);
    }
    const { width, height } = this.painter;
    const k = Math.min(3, (width - 50) / (right - left + 1), (height - 60) / (bottom - top + 1));
    const to = d3.zoomIdentity.translate(width / 2 - (k * (left + right)) / 2, height / 2 - (k * (top + bottom)) / 2).scale(k);
    (smooth ? this.moving() : this.target).call(this.zoom.transform, to);
  }

  /** The next or previous node, those with the most edges first. */
  step(by) {
    this.tour ??= this.nodes.map((node) => node.at).sort((a, b) => this.degree.get(b) - this.degree.get(a));
    if (!this.tour.length) return;
    const now = this.tour.indexOf(this.selected);
    const next = now < 0 ? (by > 0 ? 0 : this.tour.length - 1) : (now + by + this.tour.length) % this.tour.length;
    this.select(this.tour[next], true);
  }

  keys() {
    const pan = (x, y) => () => {
      this.touched = true;
      this.target.call(this.zoom.translateBy, x / this.painter.transform.k, y / this.painter.transform.k);
    };
    const actions = {
      ArrowLeft: pan(50, 0), ArrowRight: pan(-50, 0), ArrowUp: pan(0, 50), ArrowDown: pan(0, -50),
      "+": () => this.scaleBy(1.4), "=": () => this.scaleBy(1.4), "-": () => this.scaleBy(1 / 1.4), 0: () => this.fit(true),
      n: () => this.step(1), p: () => this.step(-1),
      Enter: () => this.selected !== null && follow(this.everyNode[this.selected].link),
      Escape: () => this.select(null),
    };
    this.canvas.addEventListener("keydown", (event) => {
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    });
  }
}

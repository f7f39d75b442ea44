// Painting the graph. The whole picture is painted bit by bit, over several frames, onto a canvas of
// its own that is larger than the view; panning and zooming move that picture at once, and a fresh
// one is painted when the view rests. What the reader points at is painted on top in each frame.

/** How far the painted picture reaches beyond the view on each side, in parts of the view. */
const MARGIN = 0.35;
/** Milliseconds that the view must rest before it is painted anew. */
const REST = 90;
/** Above this number of edges lines are not dashed: dashes cost too much. */
const DASHED = 4000;
/** The same for the edges of the node in focus, which are painted in each frame. */
const DASHED_FOCUS = 60;
/** Edges that are painted while the layout still moves. */
const DRAFT = 1500;
const DASHES = { supports: [], refutes: [6, 4], neutral: [1, 4], origin: [2, 3], cites: [8, 3, 2, 3] };

class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.transform = { k: 1, x: 0, y: 0 };
    this.edges = [];
    this.nodes = [];
    this.positions = null;
    this.picture = null;
    this.focus = null;
    this.batch = 800;
    this.moved = 0;
    this.held = false;
    this.draft = false;
    this.readColours();
  }

  readColours() {
    const names = ["supports", "refutes", "neutral", "origin", "cites", "source", "retracted", "ink", "ground"];
    this.colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
  }

  /** Fits the canvas to its place on the page. */
  resize() {
    const scale = Math.min(2, devicePixelRatio || 1);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.scale = scale;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.renew();
  }

  /** The picture is out of date: paint another. */
  renew() {
    this.work = null;
    this.stale = true;
    this.ask();
  }

  /** The view has moved. */
  move(transform) {
    this.transform = transform;
    this.moved = performance.now();
    this.stale = true;
    this.work = null;
    this.ask();
  }

  /** Asks for a frame. */
  ask() {
    if (this.asked || !this.width || !this.positions) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      this.frame(now);
    });
  }

  frame(now) {
    const rests = (!this.held && performance.now() - this.moved > REST) || !this.covers();
    if (this.stale && (rests || !this.picture)) {
      this.work = this.begin();
      this.stale = false;
    }
    if (this.work && rests) this.proceed(now);
    this.show();
    if (this.work || this.stale) this.ask();
  }

  /** Whether the last picture, where the view now is, reaches over all of it. */
  covers() {
    if (!this.picture) return false;
    const [x, y, ratio] = this.placed(this.picture);
    const { width, height } = this.picture.canvas;
    return x <= 0 && y <= 0 && x + ratio * width >= this.canvas.width && y + ratio * height >= this.canvas.height;
  }

  /** Where a picture lies in the view, in the canvas's own pixels, and how much larger it is. */
  placed(picture) {
    const ratio = this.transform.k / picture.transform.k;
    const x = this.transform.x - ratio * (picture.transform.x + picture.margin[0]);
    const y = this.transform.y - ratio * (picture.transform.y + picture.margin[1]);
    return [this.scale * x, this.scale * y, ratio];
  }

  /** A canvas for a new picture: one of two, the one that is not shown. */
  spare(width, height) {
    this.spares ??= [document.createElement("canvas"), document.createElement("canvas")];
    const canvas = this.spares.find((one) => one !== this.picture?.canvas);
    canvas.width = width;
    canvas.height = height;
    return canvas;
  }

  /** A new picture of the view and its margin. */
  begin() {
    const { k, x, y } = this.transform;
    const [mx, my] = [this.width * MARGIN, this.height * MARGIN];
    const canvas = this.spare(Math.round((this.width + 2 * mx) * this.scale), Math.round((this.height + 2 * my) * this.scale));
    const context = canvas.getContext("2d");
    context.scale(this.scale, this.scale);
    context.translate(mx + x, my + y);
    context.scale(k, k);
    const box = [(-mx - x) / k, (-my - y) / k, (this.width + mx - x) / k, (this.height + my - y) / k];
    return { canvas, context, box, transform: this.transform, margin: [mx, my], edge: 0, node: 0, last: 0 };
  }

  /** Paints the next lines or nodes, as many as the last frames had time for. */
  proceed(now) {
    const work = this.work;
    if (work.last) {
      const late = now - work.last > 20;
      this.batch = Math.max(150, Math.min(2500, this.batch * (late ? 0.6 : 1.1)));
    }
    work.last = now;
    const edges = this.draft ? Math.min(DRAFT, this.edges.length) : this.edges.length;
    if (work.edge < edges) work.edge = this.lines(work, work.edge, work.edge + Math.round(this.batch));
    else if (work.node < this.nodes.length) {
      const end = Math.min(this.nodes.length, work.node + Math.round(this.batch / 2));
      for (; work.node < end; work.node += 1) this.shape(work.context, this.nodes[work.node], work.transform.k);
    } else {
      this.picture = work;
      this.work = null;
    }
  }

  /** Paints edges from one place to another, those of one relation in one stroke. */
  lines(work, start, end) {
    const { context, box, transform } = work;
    const paths = {};
    const p = this.positions;
    const to = Math.min(end, this.edges.length);
    for (let i = start; i < to; i += 1) {
      const edge = this.edges[i];
      const [ax, ay, bx, by] = [p[2 * edge.from], p[2 * edge.from + 1], p[2 * edge.to], p[2 * edge.to + 1]];
      if ((ax < box[0] && bx < box[0]) || (ay < box[1] && by < box[1]) || (ax > box[2] && bx > box[2]) || (ay > box[3] && by > box[3])) continue;
      const path = (paths[edge.relation] ??= new Path2D());
      path.moveTo(ax, ay);
      path.lineTo(bx, by);
    }
    const n = this.edges.length;
    context.globalAlpha = n < 600 ? 0.6 : n < 3000 ? 0.32 : n < 12000 ? 0.16 : 0.1;
    for (const [relation, path] of Object.entries(paths)) {
      context.strokeStyle = this.colours[relation];
      context.lineWidth = 1 / transform.k;
      context.setLineDash(n <= DASHED ? DASHES[relation].map((part) => part / transform.k) : []);
      context.stroke(path);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    return to;
  }

  /** A node: claims are triangles up or down, or circles; sources are squares, retracted ones crossed. */
  shape(context, node, k, grown = 1) {
    const [x, y] = [this.positions[2 * node.at], this.positions[2 * node.at + 1]];
    const r = (node.radius * grown * Math.min(2.2, Math.max(0.55, Math.sqrt(k)))) / k;
    context.beginPath();
    if (node.kind === "supports" || node.kind === "refutes") {
      const up = node.kind === "supports" ? -1 : 1;
      context.moveTo(x, y + up * r * 1.15);
      context.lineTo(x + r, y - up * r * 0.75);
      context.lineTo(x - r, y - up * r * 0.75);
      context.closePath();
    } else if (node.kind === "neutral") context.arc(x, y, r * 0.85, 0, 2 * Math.PI);
    else context.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7);
    context.fillStyle = this.colours[node.kind];
    context.strokeStyle = this.colours.ground;
    context.lineWidth = 1 / k;
    context.fill();
    context.stroke();
    if (node.kind !== "retracted") return;
    context.beginPath();
    for (const side of [-1, 1]) {
      context.moveTo(x - r * 1.4, y - side * r * 1.4);
      context.lineTo(x + r * 1.4, y + side * r * 1.4);
    }
    context.strokeStyle = this.colours.retracted;
    context.lineWidth = 2 / k;
    context.stroke();
  }

  /** Shows the last picture where the view now is, and what is pointed at on top. */
  show() {
    const { context, scale } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.globalAlpha = this.focus ? 0.28 : 1;
    const picture = this.picture ?? this.work;
    if (picture) this.lay(picture);
    context.globalAlpha = 1;
    if (this.focus) {
      const { k, x, y } = this.transform;
      context.setTransform(scale * k, 0, 0, scale * k, scale * x, scale * y);
      this.spotlight(k);
    }
  }

  lay(picture) {
    const [x, y, ratio] = this.placed(picture);
    this.context.setTransform(ratio, 0, 0, ratio, x, y);
    this.context.drawImage(picture.canvas, 0, 0);
  }

  /** The node in focus with its edges and neighbours, and the names of some of them. */
  spotlight(k) {
    const { context, positions: p } = this;
    const dashed = this.focus.edges.length <= DASHED_FOCUS;
    context.lineWidth = (dashed ? 1.6 : 1) / k;
    // One stroke for each line: many lines in one path cost far more, for the lines all meet.
    for (const edge of this.focus.edges) {
      context.strokeStyle = this.colours[edge.relation];
      context.setLineDash(dashed ? DASHES[edge.relation].map((part) => part / k) : []);
      context.beginPath();
      context.moveTo(p[2 * edge.from], p[2 * edge.from + 1]);
      context.lineTo(p[2 * edge.to], p[2 * edge.to + 1]);
      context.stroke();
    }
    context.setLineDash([]);
    this.focus.neighbours.forEach((node) => this.shape(context, node, k));
    this.shape(context, this.focus.node, k, 1.6);
    const label = { at: this.focus.node.at, text: short(this.focus.node.text.slice(0, 200), 60) };
    this.label(label, k, this.focus.node.radius);
  }

  /** A node's name beside it, on a ground that keeps it readable. */
  label({ at, text }, k, radius) {
    const { context } = this;
    const size = 13 / k;
    context.font = `600 ${size}px system-ui, sans-serif`;
    const width = context.measureText(text).width;
    const view = [-this.transform.x / k, (this.width - this.transform.x) / k];
    const x = Math.max(view[0] + size / 2, Math.min(view[1] - width - size / 2, this.positions[2 * at] - width / 2));
    const y = this.positions[2 * at + 1] - (radius * 2 + 6) / k;
    context.fillStyle = this.colours.ground;
    context.globalAlpha = 0.9;
    context.fillRect(x - size / 3, y - size, width + size / 1.5, size * 1.4);
    context.globalAlpha = 1;
    context.fillStyle = this.colours.ink;
    context.fillText(text, x, y);
  }
}

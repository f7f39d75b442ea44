// The graph's nodes and edges, and which of them the filters keep. Nodes are numbered: the claims
// first, the sources after them.

/**
 * Edges, the most confident first: passages of one source about one claim with one relation are one
 * edge; a citation goes from source to source.
 */
function graphEdges() {
  const found = new Map();
  const claims = data.claims.length;
  for (const e of data.evidence) {
    const kind = RELATIONS.indexOf(e.relation);
    if (kind < 0) continue;
    const key = (e.source * claims + e.claim) * RELATIONS.length + kind;
    const edge = found.get(key);
    if (!edge) found.set(key, { from: claims + e.source, to: e.claim, relation: e.relation, passages: 1, confidence: e.confidence });
    else {
      edge.passages += 1;
      if (e.confidence !== null) edge.confidence = Math.max(edge.confidence ?? 0, e.confidence);
    }
  }
  const edges = [...found.values()].sort((a, b) => (b.confidence ?? -1) - (a.confidence ?? -1));
  for (const [from, to] of data.citations) edges.push({ from: claims + from, to: claims + to, relation: "cites", passages: 0, confidence: null });
  return edges;
}

/** The filters as the form has them. */
function readFilters(form) {
  const fields = new FormData(form);
  const year = (name, without) => (fields.get(name) === "" || fields.get(name) === null ? without : Number(fields.get(name)));
  return {
    relations: new Set(fields.getAll("relation")),
    from: year("from", -Infinity),
    to: year("to", Infinity),
    undated: fields.has("undated"),
    source: Number(fields.get("source")),
    confidence: Number(fields.get("confidence")),
  };
}

/** The edges that pass. A confidence is asked of evidence only: an origin or a citation has none. */
function keptEdges(edges, filters) {
  const claims = data.claims.length;
  const inYears = data.sources.map(({ year }) => (year === null ? filters.undated : year >= filters.from && year <= filters.to));
  const chosen = filters.source < 0 ? null : claims + filters.source;
  return edges.filter((edge) => {
    if (!filters.relations.has(edge.relation) || !inYears[edge.from - claims]) return false;
    const cites = edge.relation === "cites";
    if (cites && !inYears[edge.to - claims]) return false;
    if (chosen !== null && edge.from !== chosen && edge.to !== chosen) return false;
    return cites || edge.relation === "origin" || (edge.confidence ?? 0) >= filters.confidence;
  });
}

/** What the layout needs. Neutral edges say nothing of where a claim belongs, so they do not pull. */
function layoutGraph(edges) {
  const pulling = edges.filter((edge) => edge.relation !== "neutral");
  const pull = new Float32Array(data.claims.length + data.sources.length);
  data.claims.forEach((claim, at) => (pull[at] = claim.stance === "supports" ? -1 : claim.stance === "refutes" ? 1 : 0));
  return {
    count: pull.length,
    pull,
    from: Int32Array.from(pulling, (edge) => edge.from),
    to: Int32Array.from(pulling, (edge) => edge.to),
  };
}

/** What a node is, for its picture and its words. */
function nodeOf(at) {
  const claim = data.claims[at];
  if (claim) {
    const kind = claim.stance === "supports" || claim.stance === "refutes" ? claim.stance : "neutral";
    const radius = Math.min(9, 3.2 + 0.5 * Math.sqrt(claim.supports + claim.refutes));
    return { at, kind, radius, text: claim.text, link: claimLink(at) };
  }
  const source = at - data.claims.length;
  const found = data.sources[source];
  const kind = found.is_retracted ? "retracted" : "source";
  const radius = Math.min(11, 4 + 0.4 * Math.sqrt(index.claimsOf[source]));
  return { at, kind, radius, text: found.title || "Untitled source", link: sourceLink(source) };
}

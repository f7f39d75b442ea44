// The page's data, and what is counted from them once.

/** The relations of evidence, in the order in which they are shown. */
const RELATIONS = ["supports", "refutes", "neutral", "origin"];

/** Whether a DOI has the shape that doi.org resolves. */
const DOI = /^10\.\d{4,9}\/\S+$/;

/**
 * Places in data.evidence by claim and by source, the distinct claims and the citations of every
 * source. Evidence of an unknown relation is left out.
 */
function indexOf(data) {
  const lists = (n) => Array.from({ length: n }, () => []);
  const index = {
    byClaim: lists(data.claims.length),
    bySource: lists(data.sources.length),
    cites: lists(data.sources.length),
    citedBy: lists(data.sources.length),
    claimPlace: new Map(data.claims.map((claim, at) => [claim.id, at])),
    years: [],
  };
  data.evidence.forEach((e, at) => {
    if (!RELATIONS.includes(e.relation)) return;
    index.byClaim[e.claim].push(at);
    index.bySource[e.source].push(at);
  });
  for (const [from, to] of data.citations) {
    index.cites[from].push(to);
    index.citedBy[to].push(from);
  }
  index.claimsOf = index.bySource.map((list) => new Set(list.map((at) => data.evidence[at].claim)).size);
  const years = data.sources.map((source) => source.year).filter((year) => year !== null);
  index.years = [...new Set(years)].sort((a, b) => a - b);
  return index;
}

const index = data && indexOf(data);

/** Evidence of a claim with one relation, the most confident first. */
function evidenceOf(claim, relation) {
  return index.byClaim[claim]
    .filter((at) => data.evidence[at].relation === relation)
    .sort((a, b) => (data.evidence[b].confidence ?? -1) - (data.evidence[a].confidence ?? -1) || a - b);
}

/** The text of a claim, shortened; if it refers back, after the previous sentence in brackets. */
function claimText(claim, length) {
  const before = claim.preceded_by ? `[${short(claim.preceded_by, 200)}] ` : "";
  return before + short(claim.text, length);
}

/** Places of the claims on which sources contradict each other, the surest first. */
function contradictedClaims() {
  const certainty = (at) => data.claims[at].contradiction_confidence ?? null;
  return data.claims
    .map((claim, at) => at)
    .filter((at) => certainty(at) !== null)
    .sort((a, b) => certainty(b) - certainty(a) || a - b);
}

/** What ranks a claim: bigger comes first. */
const RANKS = {
  cautious: (claim) => claim.mean - claim.sd,
  supports: (claim) => claim.supports,
  refutes: (claim) => claim.refutes,
  stance: (claim) => claim.stance_confidence ?? -1,
  contested: (claim) => Math.min(claim.supports, claim.refutes) + (claim.supports + claim.refutes) / 1e6,
};

/** Places of the claims that a test keeps, ranked; ties stay in the order of the data. */
function rankedClaims(rank, keep) {
  const value = RANKS[rank];
  return data.claims
    .map((claim, at) => at)
    .filter((at) => keep(data.claims[at]))
    .sort((a, b) => value(data.claims[b]) - value(data.claims[a]) || a - b);
}

/** The address of an open resource; null for a scheme that a reader must not be led to. */
function webAddress(url) {
  try {
    const parsed = new URL(url);
    return parsed.protocol === "http:" || parsed.protocol === "https:" ? parsed.href : null;
  } catch {
    return null;
  }
}

/** The resolver's address of a DOI; null where it has not the shape of one. */
function doiAddress(doi) {
  return DOI.test(doi) ? "https://doi.org/" + doi.split("/").map(encodeURIComponent).join("/") : null;
}

/** A link within the page to a claim or a source. */
const claimLink = (at) => "#" + encodeURIComponent(data.claims[at].id);
const sourceLink = (at) => "#source-" + (at + 1);

// Searching claims, quotes and sources. Every word must be found; where a script has no spaces, the
// whole text is one word. A search runs in slices, and a newer one ends it.

const SEARCH_SLICE = 8;

const folded = (text) => text.normalize("NFKC").toLowerCase();

function startSearch() {
  const input = byId("query");
  const groups = [
    { name: "Claims", one: "claim", size: data.claims.length, text: (at) => `${data.claims[at].text} ${data.claims[at].id}`, draw: claimItem },
    { name: "Quotes", one: "quote", size: data.evidence.length, text: (at) => data.evidence[at].quote, draw: (at) => el("li", {}, passage(at, { claim: true }), el("p", { class: "small" }, sourceLine(data.evidence[at].source))) },
    { name: "Sources", one: "source", size: data.sources.length, text: sourceText, draw: (at) => el("li", {}, sourceLine(at)) },
  ];
  groups.forEach((group) => (group.folded = new Array(group.size)));
  let run = 0;
  const search = async () => {
    const words = folded(input.value).split(/\s+/).filter(Boolean);
    const mine = ++run;
    byId("results").hidden = words.length === 0;
    if (!words.length) return;
    byId("search-status").textContent = "Searching …";
    const found = await findAll(groups, words, () => mine === run);
    if (found) showResults(groups, found, words);
  };
  input.addEventListener("input", soon(search, 180));
  const clear = () => {
    input.value = "";
    search();
    input.focus();
  };
  input.addEventListener("keydown", (event) => event.key === "Escape" && clear());
  byId("search-clear").addEventListener("click", clear);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    byId("results").scrollIntoView();
  });
}

function sourceText(at) {
  const source = data.sources[at];
  return [source.title, ...source.authors, source.venue, source.doi && "doi:" + source.doi, source.url, source.file, source.year].filter(Boolean).join(" ");
}

/** Places of what was found in each group; null where `wanted` says that nobody waits any more. */
async function findAll(groups, words, wanted) {
  const found = [];
  let end = performance.now() + SEARCH_SLICE;
  for (const group of groups) {
    const places = [];
    for (let at = 0; at < group.size; at += 1) {
      group.folded[at] ??= folded(group.text(at));
      if (words.every((word) => group.folded[at].includes(word))) places.push(at);
      if (performance.now() < end) continue;
      await new Promise((next) => setTimeout(next));
      if (!wanted()) return null;
      end = performance.now() + SEARCH_SLICE;
    }
    found.push(places);
  }
  return found;
}

function showResults(groups, found, words) {
  const counts = groups.map((group, i) => count(found[i].length, group.one));
  byId("search-status").textContent = `${counts.join(", ")} found.`;
  const host = byId("results-body");
  host.replaceChildren();
  groups.forEach((group, i) => {
    if (!found[i].length) return;
    host.append(el("h3", {}, `${group.name} `, el("span", { class: "small" }, number.format(found[i].length))));
    const draw = (at) => marked(group.draw(at), words);
    const list = new Paged(host, { size: 5, label: `found ${group.name.toLowerCase()}`, draw });
    list.list.setAttribute("aria-label", group.name);
    list.show(found[i]);
  });
}

/** Marks the words that were searched for in an element's texts. */
function marked(node, words) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    if (!text.parentNode.closest("[lang='']")) continue;
    const cuts = wordSpans(text.data, words);
    if (cuts.length) text.replaceWith(...pieces(text.data, cuts));
  }
  return node;
}

/** Where the words stand in a text; nothing where folding changes lengths, for then places differ. */
function wordSpans(text, words) {
  const plain = folded(text);
  if (plain.length !== text.length) return [];
  const spans = [];
  for (const word of words)
    for (let at = plain.indexOf(word); at >= 0; at = plain.indexOf(word, at + word.length)) spans.push([at, at + word.length]);
  spans.sort((a, b) => a[0] - b[0]);
  return spans.filter(([start], i) => i === 0 || start >= spans[i - 1][1]);
}

function pieces(text, spans) {
  const parts = [];
  let from = 0;
  for (const [start, end] of spans) {
    if (start < from) continue;
    parts.push(text.slice(from, start), el("span", { class: "hit" }, text.slice(start, end)));
    from = end;
  }
  return [...parts, text.slice(from)];
}

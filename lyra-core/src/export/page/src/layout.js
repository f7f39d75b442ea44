// Where the nodes of the graph stand. d3-force works it out: in a worker, or, where a worker cannot
// be made, in short slices between the frames.

/**
 * Runs the layout and reports positions (x, y, x, y, …) as it goes. Stands alone: a worker is made
 * from its text.
 *
 * graph: {count, pull (target of each node, -1 left to 1 right), from, to (ends of each link)}.
 * report(positions, progress from 0 to 1); later(next) runs the next slice, of `slice` milliseconds.
 */
function runLayout(graph, slice, report, later) {
  const spread = 27 * Math.sqrt(graph.count) + 60;
  const nodes = Array.from({ length: graph.count }, (_, i) => {
    const angle = i * 2.399963;
    const radius = 7 * Math.sqrt(i + 1);
    return { x: graph.pull[i] * spread + radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const links = Array.from(graph.from, (source, i) => ({ source, target: graph.to[i] }));
  const big = graph.count > 1500;
  const ticks = big ? 120 : 300;
  const simulation = d3
    .forceSimulation(nodes)
    .alphaDecay(1 - Math.pow(0.001, 1 / ticks))
    .force("charge", d3.forceManyBody().strength(big ? -24 : -70).theta(big ? 1.3 : 0.9).distanceMax(big ? 500 : 900))
    .force("link", d3.forceLink(links).distance(big ? 30 : 55))
    .force("x", d3.forceX((_, i) => graph.pull[i] * spread).strength((_, i) => (graph.pull[i] ? 0.3 : 0.05)))
    .force("y", d3.forceY(0).strength(0.09))
    .stop();
  if (!big) simulation.force("collide", d3.forceCollide(9));
  let done = 0;
  function work() {
    const end = Date.now() + slice;
    do {
      simulation.tick();
      done += 1;
    } while (done < ticks && Date.now() < end);
    const positions = new Float32Array(2 * nodes.length);
    nodes.forEach((node, i) => positions.set([node.x, node.y], 2 * i));
    report(positions, done / ticks);
    if (done < ticks) later(work);
  }
  later(work);
}

/** Starts the layout; `report` hears of positions until progress reaches 1. */
function startLayout(graph, report) {
  const inSlices = () => runLayout(graph, 10, report, (next) => setTimeout(next, 16));
  // A host's policy allows no worker, and each attempt would count as a breach of it.
  if (app) return inSlices();
  try {
    const text =
      byId("layout-libraries").textContent +
      `\nonmessage = (event) => (${runLayout})(event.data, 400, (positions, progress) => postMessage({ positions, progress }, [positions.buffer]), (next) => setTimeout(next, 0));`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    let heard = false;
    worker.onmessage = (event) => {
      heard = true;
      report(event.data.positions, event.data.progress);
      if (event.data.progress < 1) return;
      worker.terminate();
      URL.revokeObjectURL(address);
    };
    worker.onerror = () => {
      worker.terminate();
      if (!heard) inSlices();
    };
    worker.postMessage(graph);
  } catch {
    inSlices();
  }
}

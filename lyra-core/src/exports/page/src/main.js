// Puts the page together.

function start() {
  startTheme();
  if (!data) return;
  const title = byId("hypothesis");
  title.textContent = data.hypothesis;
  title.setAttribute("lang", "");
  document.title = `Evidence: ${short(data.hypothesis, 120)}`;
  byId("about").append("Written by Lyra for task ", foreign("code", data.task_id), ". The page holds all of its data and asks no server for anything.");
  startVerdict();
  startClaims();
  startContradictions();
  startGraph();
  startTimeline();
  startSources();
  startSearch();
  startDetails();
  document.documentElement.dataset.ready = "true";
}

start();

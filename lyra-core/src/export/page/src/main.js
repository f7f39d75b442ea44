// Puts the page together.

/** Each part in a task of its own, so that the page answers between them. */
async function start() {
  startTheme();
  if (!data) return;
  heading();
  for (const part of [startVerdict, startClaims, startContradictions, startDetails, startSources, startTimeline, startSearch, startGraph]) {
    part();
    await new Promise((next) => setTimeout(next));
  }
  document.documentElement.dataset.ready = "true";
}

function heading() {
  const title = byId("hypothesis");
  title.textContent = data.hypothesis;
  title.setAttribute("lang", "");
  document.title = `Evidence: ${short(data.hypothesis, 120)}`;
  byId("made-by").append(foreign("span", data.made_by.join(" ")));
  byId("about").append("Written by Lyra for task ", foreign("code", data.task_id), ". The page holds all of its data and asks no server for anything.");
}

start();

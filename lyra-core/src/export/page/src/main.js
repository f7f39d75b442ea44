// Puts the page together.

/** Each part in a task of its own, so that the page answers between them. */
async function start() {
  startTheme();
  if (!data) return;
  heading();
  const parts = [startVerdict, startClaims, startContradictions, startDetails, startSources, startTimeline, startSearch, startGraph];
  for (const part of parts) {
    part();
    // A page that is drawn again must not be seen half done.
    if (!app?.isAgain) await new Promise((next) => setTimeout(next));
  }
  document.documentElement.dataset.ready = "true";
}

function heading() {
  const title = byId("hypothesis");
  title.textContent = data.hypothesis;
  title.setAttribute("lang", "");
  document.title = `Evidence: ${short(data.hypothesis, 120)}`;
  byId("made-by").append(foreign("span", data.made_by.join(" ")));
  const from = app ? "Its data come through the chat." : "The page holds all of its data and asks no server for anything.";
  byId("about").append("Written by Lyra for task ", foreign("code", data.task_id), ". " + from);
}

return start();

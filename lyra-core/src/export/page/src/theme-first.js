
// Runs before the first paint, so that a chosen theme does not flash.
try {
  var chosen = localStorage.getItem("lyra-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch (e) { /* A page from a file may have no storage. */ }

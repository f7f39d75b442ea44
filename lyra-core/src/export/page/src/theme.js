// Light and dark: the reader's system decides, until the reader does.

const THEMES = ["auto", "light", "dark"];
const themeListeners = [];

/** Calls back when colours have changed. */
const onTheme = (listener) => themeListeners.push(listener);

function startTheme() {
  if (app) {
    byId("theme").hidden = true;
    app.recolour = () => themeListeners.forEach((listener) => listener());
    return;
  }
  const button = byId("theme");
  const root = document.documentElement;
  const current = () => root.dataset.theme ?? "auto";
  const apply = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
    themeListeners.forEach((listener) => listener());
  };
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    apply(theme);
    try {
      localStorage.setItem("lyra-theme", theme);
    } catch {
      // A page from a file may have no storage: the choice then lasts as long as the page.
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(current()));
  apply(current());
}

/** A colour of the style sheet, as the canvas needs it. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

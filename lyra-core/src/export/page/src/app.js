// The page in a chat, as an MCP App. A host shows it in a frame and passes its calls on to the server;
// both speak JSON-RPC in messages. The evidence comes in pieces, by the tool show_evidence.

const PROTOCOL = "2026-01-26";

/** Pixels of height that the page asks for at most; it scrolls in them. */
const HEIGHT = 760;

/** Milliseconds until the host has answered. A call may wait for the user's consent. */
const HELLO_LIMIT = 20000;
const CALL_LIMIT = 300000;

/** Times that loading begins again where the server has forgotten a page half way. */
const ATTEMPTS = 3;

/** What a reader sees of the loading, and of what went wrong. */
function tell(text, again = null) {
  document.getElementById("app-bar").hidden = text === "";
  document.getElementById("app-status").textContent = text;
  const button = document.getElementById("app-again");
  button.hidden = again === null;
  button.onclick = again;
}

/** Messages to and from the frame around this one. `hear` has a function for each notification. */
function bridge(hear) {
  const waiting = new Map();
  let last = 0;
  // The host's origin is not known beforehand; nobody but the frame around this one gets the message.
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", ({ source, data: message }) => {
    if (source !== parent || message?.jsonrpc !== "2.0") return;
    const { id, method } = message;
    if (method === undefined) {
      waiting.get(id)?.(message);
      waiting.delete(id);
    } else if (id === undefined) hear[method]?.(message.params ?? {});
    else if (method === "ping" || method === "ui/resource-teardown") send({ id, result: {} });
    else send({ id, error: { code: -32601, message: "the evidence page has no method " + method } });
  });
  const request = (method, params, limit = CALL_LIMIT) =>
    new Promise((resolve, reject) => {
      const id = (last += 1);
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error(`the chat did not answer ${method} within ${limit / 1000} seconds`));
      }, limit);
      waiting.set(id, ({ result, error }) => {
        clearTimeout(timer);
        if (error) reject(new Error(error.message ?? "the chat refused " + method));
        else resolve(result ?? {});
      });
      send({ id, method, params });
    });
  return { request, notify: (method, params = {}) => send({ method, params }) };
}

/** Runs the page: asks the host for a task, loads its evidence and draws it. */
function startApp(ownTask) {
  const pristine = drawnElements().map((node) => node.cloneNode(true));
  const corrections = [];
  let context = {};
  let hostCan = {};
  let task = null;
  let drawn = null;

  const host = bridge({
    "ui/notifications/tool-input": ({ arguments: given }) => show(given?.task_id),
    "ui/notifications/tool-result": (result) => {
      if (result.isError && task === null) tell("There is no evidence to show: " + failure(result).message);
      else show(result.structuredContent?.task_id);
    },
    "ui/notifications/tool-cancelled": () => task === null && tell("The call was cancelled."),
    "ui/notifications/host-context-changed": (changed) => adapt(changed),
  });

  function adapt(changed) {
    context = { ...context, ...changed };
    const root = document.documentElement;
    if (context.theme === "light" || context.theme === "dark") root.dataset.theme = context.theme;
    const font = context.styles?.variables?.["--font-sans"];
    if (font) root.style.setProperty("--font-sans", font);
    offerFullScreen();
    drawn?.recolour?.();
    reportSize();
  }

  function offerFullScreen() {
    const button = document.getElementById("wide");
    const isWide = context.displayMode === "fullscreen";
    button.hidden = isWide || !context.availableDisplayModes?.includes("fullscreen");
    button.onclick = () => host.request("ui/request-display-mode", { mode: "fullscreen" }).then(({ mode }) => adapt({ displayMode: mode }), (error) => tell(error.message));
  }

  let reported = 0;
  function reportSize() {
    const limit = context.containerDimensions?.maxHeight ?? HEIGHT;
    const height = Math.ceil(Math.min(document.body.getBoundingClientRect().height, limit));
    if (height === reported || context.displayMode === "fullscreen") return;
    reported = height;
    host.notify("ui/notifications/size-changed", { height });
  }

  async function call(name, given) {
    const result = await host.request("tools/call", { name, arguments: given });
    const reply = contentOf(result);
    if (result.isError || reply?.ok !== true) throw failure(result);
    return reply;
  }

  async function show(wanted) {
    if (typeof wanted !== "string" || wanted === task) return;
    task = wanted;
    try {
      await draw(null);
    } catch (error) {
      tell("The evidence could not be loaded: " + error.message, () => {
        task = null;
        show(wanted);
      });
    }
  }

  async function load() {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await pieces();
      } catch (error) {
        if (error.code !== "RESOURCE_NOT_FOUND" || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async function pieces() {
    const page = { claims: [], sources: [], evidence: [], citations: [] };
    let reply = { next_cursor: "0" };
    while (reply.next_cursor) {
      reply = await call("show_evidence", { task_id: task, cursor: reply.next_cursor });
      for (const [name, value] of Object.entries(reply.page)) {
        if (name in page && Array.isArray(value)) page[name].push(...value);
        else page[name] = value;
      }
      if (!drawn && reply.next_cursor) tell(`Loading the evidence: ${reply.done} of ${reply.total} …`);
    }
    return { page, canCorrect: reply.can_correct };
  }

  /** Loads and draws; a page that stood there keeps its place. `focus` is the passage to go back to. */
  async function draw(focus) {
    if (!drawn) tell("Loading the evidence …");
    const { page, canCorrect } = await load();
    const before = drawn && keptPlace();
    drawn?.end();
    if (drawn) drawnElements().forEach((node, at) => node.replaceWith(pristine[at].cloneNode(true)));
    drawn = appOf(canCorrect, before);
    tell(canCorrect ? "" : "Verdicts cannot be corrected here: this connection only reads, or is limited to some tasks.");
    await drawPage(page, drawn);
    offerFullScreen();
    if (before) restorePlace(before, focus);
    reportSize();
  }

  /** What the parts of the page ask of the chat. */
  function appOf(canCorrect, before) {
    const life = new AbortController();
    return {
      canCorrect,
      isAgain: before !== null,
      signal: life.signal,
      end: () => life.abort(),
      pages: new Map(),
      pageOf: (label) => {
        const page = before?.pages.get(label);
        before?.pages.delete(label);
        return page;
      },
      go,
      correct,
    };
  }

  async function correct(e, relation, claim) {
    const reply = await call("feedback", { action: "edge_correct", edge_id: e.id, correct_relation: relation, by: "user" });
    corrections.push(`claim ${claim}, passage ${e.id}: ${reply.previous} → ${reply.current}`);
    if (hostCan.updateModelContext) {
      const text = `The user corrected verdicts on the evidence page of task ${task}:\n${corrections.join("\n")}`;
      host.request("ui/update-model-context", { content: [{ type: "text", text }] }).catch(() => {});
    }
    try {
      await draw(e.id);
    } catch (error) {
      throw new Error(`the verdict is saved, but the page could not be loaded again: ${error.message}`);
    }
    tell(`Saved: the passage ${relation === "neutral" ? "leaves the claim open" : relation + " the claim"}.`);
  }

  function keptPlace() {
    const dialog = document.getElementById("detail");
    const open = [...document.querySelectorAll("details[open]")].map(groupName);
    return { top: scrollY, inside: dialog.scrollTop, open, pages: drawn.pages, query: document.getElementById("query").value, rank: document.getElementById("claims-rank").value };
  }

  function restorePlace({ top, inside, open, query, rank }, focus) {
    const set = (id, value, event) => {
      const field = document.getElementById(id);
      if (field.value === value) return;
      field.value = value;
      field.dispatchEvent(new Event(event));
    };
    set("claims-rank", rank, "change");
    set("query", query, "input");
    for (const details of document.querySelectorAll("details")) details.open ||= open.includes(groupName(details));
    scrollTo({ top, behavior: "instant" });
    const dialog = document.getElementById("detail");
    dialog.scrollTop = inside;
    const within = dialog.open ? dialog : document;
    within.querySelector(`[data-edge="${CSS.escape(focus)}"] [aria-pressed="true"]`)?.focus();
  }

  // A frame may have the address of another document, so that a link within the page would lead away from it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link) return;
    event.preventDefault();
    const address = link.getAttribute("href");
    if (address.startsWith("#")) go(address);
    else host.request("ui/open-link", { url: address }).then(
      ({ isError }) => isError && tell("The chat did not open " + address),
      (error) => tell(`The chat did not open ${address}: ${error.message}`),
    );
  });

  new ResizeObserver(reportSize).observe(document.body);
  document.documentElement.classList.add("app");
  document.getElementById("theme").hidden = true;
  tell("Waiting for the chat …");
  const hello = { appInfo: { name: "lyra-evidence", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] }, protocolVersion: PROTOCOL };
  host.request("ui/initialize", hello, HELLO_LIMIT).then(
    ({ hostContext, hostCapabilities }) => {
      hostCan = hostCapabilities ?? {};
      adapt(hostContext ?? {});
      host.notify("ui/notifications/initialized");
      if (ownTask) show(ownTask);
    },
    (error) => tell("This page shows evidence inside a chat, and there is none around it: " + error.message),
  );
}

/** Goes to a place of the page without a step back that would leave the chat. */
function go(place) {
  location.replace(location.href.split("#")[0] + place);
}

const groupName = (details) => details.id || details.dataset.group || details.className;

/** The elements that are drawn anew. */
function drawnElements() {
  return [...document.querySelectorAll("body > header, body > .bar-row, body > main, body > footer, body > dialog")];
}

/** What a tool answered: the structure, or the same as text. */
function contentOf({ structuredContent, content }) {
  if (structuredContent) return structuredContent;
  try {
    return JSON.parse(content[0].text);
  } catch {
    return null;
  }
}

/** A failed call as an error. */
function failure(result) {
  const reply = contentOf(result);
  const words = reply?.error ? [reply.error, reply.hint].filter(Boolean).join("; ") : result.content?.[0]?.text;
  return Object.assign(new Error(words || "the call failed"), { code: reply?.error_code });
}

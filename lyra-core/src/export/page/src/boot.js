// Shows the evidence that the file holds; a file without evidence asks the chat around it.

const held = readData();
if (held === null || (held && !held.claims)) startApp(held?.task_id);
else drawPage(held ?? null, null);

/** The parsed data; undefined, with a notice on the page, where they cannot be read. */
function readData() {
  try {
    return JSON.parse(document.getElementById("data").textContent);
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.setAttribute("role", "alert");
    notice.textContent = "This page holds no data that can be read: " + error.message;
    document.getElementById("main").prepend(notice);
    return undefined;
  }
}

// Buttons by which a reader in a chat corrects the verdict of a passage.

const VERDICTS = ["supports", "refutes", "neutral"];

/** The buttons of a passage; none where verdicts cannot be corrected. */
function verdictButtons(e) {
  if (!app.canCorrect || !VERDICTS.includes(e.relation)) return null;
  const said = el("span", { class: "small", role: "status" });
  const buttons = VERDICTS.map((relation) => {
    const isMine = e.by_human && e.relation === relation;
    const sign = el("span", { "aria-hidden": "true" }, SIGNS[relation] + " ");
    const press = async () => {
      if (isMine) return;
      buttons.forEach((button) => (button.disabled = true));
      said.textContent = "Saving …";
      try {
        await app.correct(e, relation, data.claims[e.claim].id);
      } catch (error) {
        buttons.forEach((button) => (button.disabled = false));
        said.textContent = "Not saved: " + error.message;
      }
    };
    return el("button", { type: "button", class: "verdict-button " + relation, "aria-pressed": String(isMine), onclick: press }, sign, relation);
  });
  return el("div", { class: "verdict-buttons", role: "group", "aria-label": "Your verdict: the passage and the claim" }, el("span", { class: "small", "aria-hidden": "true" }, "Your verdict:"), buttons, said);
}

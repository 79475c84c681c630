// The page with the rules of a game: words and pictures that the game itself states.
import { html } from "./ui.js";
import { get, getInfo } from "./api.js";
import { Board } from "./board.js";
import { Die } from "./die.js";
import { t } from "./language.js";
import { GuideSwitch } from "./guide.js";
import { NotHere, useAccess } from "./access.js";
import { PlainPosition, useLoaded } from "./components.js";
import { fromServer } from "./format.js";

/** @typedef {import("./types.js").RulesBlock} RulesBlock */

/** @param {{query: URLSearchParams}} props */
export function Rules({ query }) {
  const named = query.get("game");
  const { value: rules, error } = useLoaded(async () => get("/api/rules", { game: named ?? (await getInfo()).default_game }), [named]);
  const may = useAccess();
  if (error) return html`<${NotHere} text=${error.message} />`;
  if (!rules) return null;
  return html`<article class="page narrow rules">
    <h1>${fromServer(rules.title)}</h1>
    ${rules.blocks.map((/** @type {RulesBlock} */ block) => html`<${Block} block=${block} />`)}
    <${GuideSwitch} game=${rules.game} />
    <div class="buttons"><a class="button primary" href="#/play">${may("play") ? t("New game") : t("Play")}</a>
      ${history.length > 1 && html`<button type="button" class="quiet" onClick=${() => history.back()}>${t("Back")}</button>`}</div>
  </article>`;
}

/** @param {{block: RulesBlock}} props */
function Block({ block }) {
  const lines = block.lines.map(fromServer);
  switch (block.kind) {
    case "heading":
      return html`<h2>${lines[0]}</h2>`;
    case "list":
      return html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
    case "picture":
      return html`<${Picture} block=${block} caption=${lines[0] ?? ""} />`;
    default:
      return html`<p>${lines[0]}</p>`;
  }
}

/** @param {{block: RulesBlock, caption: string}} props */
function Picture({ block, caption }) {
  const { view, paths } = block;
  const arrows = paths.flat().map(([from, to]) => ({ from, to, kind: "hint", label: "" }));
  return html`<figure>
    ${view ? html`<${Board} view=${view} arrows=${arrows} label=${caption || t("Start position")} />` : html`<${PlainPosition} text=${block.position} />`}
    <figcaption>${view && view.dice.length > 0 && html`<${Die} roll=${{ text: "", dice: view.dice }} throw="still" rolls=${[]} />`}<span>${caption}</span></figcaption>
  </figure>`;
}

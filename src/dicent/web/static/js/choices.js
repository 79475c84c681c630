// Buttons for actions that are not on the board, and for all actions if a turn can take several hops.
import { html, useMemo, useState } from "./ui.js";
import { fromServer } from "./format.js";
import { t } from "./language.js";

/** @typedef {import("./types.js").Action} Action */

const FEW = 12; // more are listed in a box that scrolls, with a field to search

/**
 * @param {{actions: Action[], board: boolean, long: boolean, complete: Action[], begun: boolean, onAction: (text: string) => void}} props
 * `actions` are those that the hops made so far leave, `complete` those made in full; `begun` says that there are hops, `long` that turns can take several hops.
 */
export function Choices({ actions, complete, board, long, begun, onAction }) {
  const loose = useMemo(() => (begun ? complete : board ? notOnBoard(actions) : actions), [actions, complete, board, begun]);
  const only = actions.length === 1 && (long || loose.length > 0);
  return html`<div class="choices">
    ${only
      ? html`<div class="action-buttons"><button type="button" onClick=${() => onAction(actions[0].text)}>${fromServer(actions[0].text)}</button></div>`
      : html`<${Buttons} actions=${loose} onAction=${onAction} />
          ${long && loose.length < actions.length && html`<details class="all-moves"><summary>${t("{n} moves as text", { n: actions.length })}</summary>
            <${Search} actions=${actions} onAction=${onAction} /></details>`}`}
  </div>`;
}

/** Return the actions without a way on the board, and those that share theirs with another action. @param {Action[]} actions */
function notOnBoard(actions) {
  /** @type {Map<string, number>} */
  const count = new Map();
  for (const { paths } of actions) count.set(String(paths[0]), (count.get(String(paths[0])) ?? 0) + 1);
  return actions.filter(({ paths }) => !paths.length || (count.get(String(paths[0])) ?? 0) > 1);
}

/** @param {{actions: Action[], onAction: (text: string) => void}} props */
function Buttons({ actions, onAction }) {
  if (!actions.length) return null;
  if (actions.length > FEW) return html`<${Search} actions=${actions} onAction=${onAction} />`;
  return html`<div class="action-buttons" role="group" aria-label=${t("Moves")}>
    ${actions.map(({ text }) => html`<button type="button" key=${text} onClick=${() => onAction(text)}>${fromServer(text)}</button>`)}
  </div>`;
}

/** @param {{actions: Action[], onAction: (text: string) => void}} props */
function Search({ actions, onAction }) {
  const [words, setWords] = useState("");
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = actions.filter(({ text }) => wanted.every((word) => `${text} ${fromServer(text)}`.toLowerCase().includes(word)));
  return html`<div class="search-moves">
    ${actions.length > FEW && html`<input type="search" aria-label=${t("Search moves")} placeholder=${t("Search")} value=${words}
      onInput=${(/** @type {any} */ e) => setWords(e.currentTarget.value)} />`}
    <ul class="found-moves" aria-label=${t("Moves")}>
      ${found.map(({ text }) => html`<li key=${text}><button type="button" class="move" onClick=${() => onAction(text)}>${fromServer(text)}</button></li>`)}
      ${!found.length && html`<li class="soft">${t("No such move.")}</li>`}
    </ul>
  </div>`;
}

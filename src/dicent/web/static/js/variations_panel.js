// The card with the variations of an analysis: the moves that were tried, and a note.
import { html, useState } from "./ui.js";
import { Confirm, Stepper } from "./components.js";
import { t } from "./language.js";
import { COLOUR, fromServer } from "./format.js";
import { isBare, LONGEST_NOTE, nodeAt } from "./variations.js";

/** @typedef {import("./variations.js").Node} Node */
/** @typedef {import("./variations.js").Path} Path */
/** @typedef {ReturnType<typeof import("./use_variations.js").useVariations>} Variations */

/** @param {{variations: Variations}} props */
export function VariationsPanel({ variations }) {
  const { tree, path, end } = variations;
  const [asking, setAsking] = useState(false);
  const node = tree && nodeAt(tree, path);
  if (!tree || !node) return null;
  const remove = () => (isBare(node) ? variations.remove() : setAsking(true));
  return html`<section class="card variations" aria-label=${t("Variations")}>
    <h2>${t("Variations")}</h2>
    ${tree.children.length === 0
      ? html`<p class="soft">${t("Moves that you try appear here.")}</p>`
      : html`<div class="tree">
          <button type="button" class="node" aria-current=${path.length ? undefined : "step"} onClick=${() => variations.go([])}>${t("Start")}</button>
          ${tree.note && html`<span class="node-note">${tree.note}</span>`}
          <${Continuation} node=${tree} path=${[]} here=${path} onGo=${variations.go} /></div>`}
    <label class="field-label" for="note">${t("Note")}<textarea id="note" rows="2" maxlength=${LONGEST_NOTE} key=${path.join()} value=${node.note}
      placeholder=${t("About this position")} onInput=${(/** @type {any} */ e) => variations.note(e.currentTarget.value)}></textarea></label>
    <div class="buttons between">
      <${Stepper} at=${path.length} most=${end.length} onGo=${(/** @type {number} */ to) => variations.go(end.slice(0, to))} />
      <button type="button" class="quiet" disabled=${!path.length} onClick=${remove}>${t("Delete move")}</button>
    </div>
    ${asking && html`<${Confirm} question=${t("Delete this move with all that follows?")} yes=${t("Delete")} onNo=${() => setAsking(false)}
      onYes=${() => { setAsking(false); variations.remove(); }} />`}
  </section>`;
}

/**
 * What follows a node: the first move, the others in lists of their own, then what follows the first.
 * @param {{node: Node, path: Path, here: Path, onGo: (path: Path) => void}} props
 */
function Continuation({ node, path, here, onGo }) {
  const parts = [];
  while (node.children.length) {
    const [first, ...others] = node.children;
    const from = path;
    path = [...from, 0];
    parts.push(html`<${Move} key=${path.join()} node=${first} path=${path} here=${here} onGo=${onGo} />`);
    if (others.length) {
      parts.push(html`<ul key=${`${path.join()}+`} class="branches">${others.map((other, i) => html`<li key=${other.step}>
        <${Move} node=${other} path=${[...from, i + 1]} here=${here} onGo=${onGo} />
        <${Continuation} node=${other} path=${[...from, i + 1]} here=${here} onGo=${onGo} /></li>`)}</ul>`);
    }
    node = first;
  }
  return parts;
}

/** @param {{node: Node, path: Path, here: Path, onGo: (path: Path) => void}} props */
function Move({ node, path, here, onGo }) {
  const text = node.player === "CHANCE" ? `[${fromServer(node.step)}]` : fromServer(node.step);
  return html`<button type="button" class="node ${node.player}" aria-current=${here.join() === path.join() ? "step" : undefined} onClick=${() => onGo(path)}>
      <span class="hidden">${COLOUR[node.player] ?? ""} </span>${text}</button>
    ${node.note && html`<span class="node-note">${node.note}</span>`}`;
}

// Pieces that are still to be placed. Where several could go to one cell, one is taken in hand first.
import { html, useEffect, useState } from "./ui.js";
import { useLoaded } from "./components.js";
import { t } from "./language.js";
import { afterStep } from "./positions.js";

/** @typedef {import("./types.js").Position} Position */
/** @typedef {import("./types.js").Action} Action */
/** @typedef {{key: string, label: string, owner: string|null, actions: Action[]}} InHand */

/** Return the place of an action that only puts a piece on the board, else null. @param {Action} action */
const placedAt = ({ paths }) => (paths.length === 1 && paths[0].length === 1 && paths[0][0][0] === null ? paths[0][0][1] : null);

/** Return the part of an action's text that names the piece. @param {Position} position @param {Action} action */
function pieceKey(position, action) {
  const to = placedAt(action);
  return position.view && to !== null ? action.text.replace(position.view.places[to].name, "") : null;
}

/**
 * The pieces that can be placed, if there is a choice among them.
 * @param {Position} position @returns {Promise<InHand[]>}
 */
async function findHands(position) {
  /** @type {Map<string, Action[]>} */
  const groups = new Map();
  for (const action of position.actions) {
    const key = pieceKey(position, action);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), action]);
  }
  const cells = new Set(position.actions.map((action) => String(placedAt(action))));
  if (groups.size < 2 || cells.size === position.actions.length) return [];
  return Promise.all(
    [...groups].map(async ([key, actions]) => {
      const after = await afterStep(position.game, position.position, actions[0].text);
      const piece = after.view?.stacks.find((stack) => stack.place === placedAt(actions[0]));
      return { key, label: piece?.label ?? key, owner: piece?.owner ?? null, actions };
    }),
  );
}

/**
 * The actions that the board offers, and the tray to choose from where there is one.
 * @param {Position|null} position @returns {{actions: Action[], tray: any}}
 */
export function useTray(position) {
  const key = position ? `${position.game} ${position.position}` : "";
  const { value } = useLoaded(async () => ({ key, hands: position ? await findHands(position) : [] }), [key]);
  const [held, setHeld] = useState("");
  useEffect(() => setHeld(""), [key]);
  const hands = value?.key === key ? value.hands : [];
  if (!position) return { actions: [], tray: null };
  if (!hands.length) return { actions: position.actions, tray: null };
  const hand = hands.find((one) => one.key === held) ?? hands[0];
  const tray = html`<div class="palette tray" role="group" aria-label=${t("Piece to place")}>
    ${hands.map((one) => html`<button type="button" key=${one.key} class="palette-piece" aria-pressed=${String(one === hand)}
      aria-label=${t("Piece {label}", { label: one.label })} onClick=${() => setHeld(one.key)}><span class="piece ${one.owner ?? "nobody"}">${one.label}</span></button>`)}
  </div>`;
  return { actions: hand.actions, tray };
}

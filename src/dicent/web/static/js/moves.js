// The list of a game's moves: a line for each action, with its roll.
import { html, useEffect, useMemo, useRef } from "./ui.js";
import { Roll } from "./die.js";
import { Dot } from "./components.js";
import { t } from "./language.js";
import { ADJECTIVE, amount, capital, COLOUR, fromServer } from "./format.js";

/** @typedef {import("./types.js").Past} Past */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").Captured} Captured */
/** @typedef {{number: number, at: number, roll: import("./die.js").Rolled|null, rollAt: number, step: string|null, player: string, captures: Captured[]}} MoveRow */

/** @param {Past[]} history @returns {MoveRow[]} */
export function rowsOf(history) {
  /** @type {MoveRow[]} */
  const lines = [];
  /** @type {import("./die.js").Rolled|null} */
  let roll = null;
  let rollAt = 0;
  history.forEach((past, i) => {
    if (past.player === "CHANCE") {
      [roll, rollAt] = [{ text: past.step, dice: past.dice }, i + 1];
    } else {
      lines.push({ number: lines.length + 1, at: i + 1, roll, rollAt, step: past.step, player: past.player, captures: past.captures });
      [roll, rollAt] = [null, 0];
    }
  });
  if (roll !== null) lines.push({ number: lines.length + 1, at: rollAt, roll, rollAt, step: null, player: "", captures: [] });
  return lines;
}

/**
 * @param {{game: {history: Past[]}, at: number, onGo: (at: number) => void, review?: Review|null}} props
 * `at` is the number of steps before the position on the board.
 */
export function MoveList({ game, at, onGo, review = null }) {
  const lines = useMemo(() => rowsOf(game.history), [game.history]);
  const list = useRef(/** @type {HTMLElement|null} */ (null));
  useEffect(() => {
    const box = list.current;
    const here = /** @type {HTMLElement|null} */ (box?.querySelector("[aria-current]") ?? null);
    if (!box) return;
    if (!here) box.scrollTop = at === 0 ? 0 : box.scrollHeight;
    else if (here.offsetTop < box.scrollTop || here.offsetTop + here.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = here.offsetTop - box.clientHeight / 2;
    }
  }, [at, lines]);
  if (!lines.length) return html`<ol class="moves" ref=${list}><li class="soft none">${t("No moves yet.")}</li></ol>`;
  return html`<ol class="moves" ref=${list} tabindex="0" aria-label=${t("Moves")}>
    ${lines.map((line) => {
      const here = at === line.at || (at === line.rollAt && line.rollAt > 0);
      const lost = review && line.step !== null ? lossOfChances(review, line.at - 1) : 0;
      return html`<li key=${line.number}>
        <button type="button" class="move" aria-current=${here ? "step" : undefined} onClick=${() => onGo(line.at)}>
          <span class="move-number">${line.number}</span><${Dot} side=${line.player} />
          <span class="hidden">${COLOUR[line.player] ?? ""}${line.roll ? ` ${t("die {roll}", { roll: fromServer(line.roll.text) })}` : ""}</span>
          ${line.roll ? html`<${Roll} roll=${line.roll} size="tiny" />` : html`<span class="face tiny none"></span>`}
          <span class="move-text">${fromServer(line.step ?? "…")}</span>${line.captures.map((taken) => html`<${Taken} taken=${taken} />`)}
          ${review && lost >= WORTH_SHOWING && html`<span class="loss ${grade(review, line.at - 1)}" title=${capital(fromServer(grade(review, line.at - 1)))}>${amount(-(review.moments[line.at - 1].loss ?? 0), inPoints(review))}</span>`}
        </button>
      </li>`;
    })}
  </ol>`;
}

export const WORTH_SHOWING = 0.005; // the smallest loss of winning chances on the pages

/** Return whether luck and losses are points of the game. @param {Review|null} review */
export const inPoints = (review) => review?.unit === "points";

/** Return the loss of a step in winning chances; a win is worth two points more than a loss. @param {Review} review @param {number} i */
export const lossOfChances = (review, i) => (review.moments[i]?.loss ?? 0) / (inPoints(review) ? 2 : 1);

/** Return the server's word for a step: good, inaccuracy, mistake or blunder. @param {Review} review @param {number} i */
export const grade = (review, i) => review.moments[i]?.grade ?? "good";

/** Show what a move captured. @param {{taken: Captured}} props */
const Taken = ({ taken }) => {
  const what = [taken.count > 1 ? String(taken.count) : "", ADJECTIVE[taken.owner ?? ""] ?? "", taken.label].filter(Boolean).join(" ");
  return html`<span class="captured"><span class="hidden">, ${t("captures {pieces}", { pieces: what })}</span><span aria-hidden="true">×</span><span class="captured-piece ${taken.owner ?? ""}" aria-hidden="true">${taken.label}</span></span>`;
};

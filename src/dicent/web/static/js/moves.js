// The list of a game's moves: a line for each action, with its roll.
import { html, useEffect, useMemo, useRef } from "./ui.js";
import { Face } from "./die.js";
import { Dot } from "./parts.js";
import { COLOUR, points } from "./words.js";

/** @typedef {import("./types.js").Past} Past */
/** @typedef {{number: number, at: number, roll: string|null, rollAt: number, step: string|null, player: string}} Line */

/** @param {Past[]} history @returns {Line[]} */
export function linesOf(history) {
  /** @type {Line[]} */
  const lines = [];
  /** @type {string|null} */
  let roll = null;
  let rollAt = 0;
  history.forEach((past, i) => {
    if (past.player === "CHANCE") {
      [roll, rollAt] = [past.step, i + 1];
    } else {
      lines.push({ number: lines.length + 1, at: i + 1, roll, rollAt, step: past.step, player: past.player });
      [roll, rollAt] = [null, 0];
    }
  });
  if (roll !== null) lines.push({ number: lines.length + 1, at: rollAt, roll, rollAt, step: null, player: "" });
  return lines;
}

/**
 * @param {{game: {history: Past[]}, at: number, onGo: (at: number) => void, moments?: import("./types.js").Moment[]|null}} props
 * `at` is the number of steps before the position on the board.
 */
export function MoveList({ game, at, onGo, moments = null }) {
  const lines = useMemo(() => linesOf(game.history), [game.history]);
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
  if (!lines.length) return html`<ol class="moves" ref=${list}><li class="soft none">No moves yet.</li></ol>`;
  return html`<ol class="moves" ref=${list} tabindex="0" aria-label="Moves">
    ${lines.map((line) => {
      const here = at === line.at || (at === line.rollAt && line.rollAt > 0);
      const loss = line.step !== null ? moments?.[line.at - 1]?.loss : null;
      return html`<li key=${line.number}>
        <button type="button" class="move" aria-current=${here ? "step" : undefined} onClick=${() => onGo(line.at)}>
          <span class="move-number">${line.number}</span><${Dot} side=${line.player} />
          <span class="hidden">${COLOUR[line.player] ?? ""}${line.roll ? ` die ${line.roll}` : ""}</span>
          ${line.roll ? html`<${Face} value=${line.roll} size="tiny" />` : html`<span class="face tiny none"></span>`}
          <span class="move-text">${line.step ?? "…"}</span>
          ${loss !== null && loss !== undefined && loss >= 0.005 && html`<span class="loss ${grade(loss)}">${points(-loss)}</span>`}
        </button>
      </li>`;
    })}
  </ol>`;
}

/** Grade a loss of winning chances. @param {number} loss */
export const grade = (loss) => (loss >= 0.1 ? "blunder" : loss >= 0.03 ? "mistake" : "slip");

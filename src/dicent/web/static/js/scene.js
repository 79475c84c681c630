// The board at one step of a game that is looked at again.
import { html } from "./ui.js";
import { Board } from "./board.js";
import { useLastAction } from "./game.js";
import { analyseLink } from "./links.js";
import { Dot, PlainPosition, Stepper, useLoaded, WinBar } from "./parts.js";
import { arrowsOf, findAction, getPosition } from "./positions.js";
import { COLOUR, percent, playerName, points, sidesOf } from "./words.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").Moment} Moment */
/** @typedef {import("./types.js").Side} Side */

export const WORTH_SHOWING = 0.005; // of winning chances

/** The board at one step, with what was played and what was better. @param {{game: Game, review: Review|null, at: number, onGo: (at: number) => void, small?: boolean}} props */
export function Scene({ game, review, at, onGo, small = false }) {
  const text = at === 0 ? game.start : game.history[at - 1].position;
  const { value } = useLoaded(() => getPosition(game.game, text), [game.game, text]);
  const last = useLastAction(game, at);
  const moment = review?.moments[at] ?? null;
  const position = value;
  const here = position?.position === text ? position : null;
  const arrows = here && moment ? comparison(here, moment) : [];
  const [above, below] = sidesOf(position?.view);
  const win = review ? (at > 0 ? review.moments[at - 1]?.win.MAX : review.start_win?.MAX) : null;
  return html`<div class="board-side ${small ? "small" : ""}">
    <${SideLine} game=${game} side=${above} review=${review} />
    ${position?.view
      ? html`<${Board} view=${position.view} last=${last} arrows=${arrows} label=${`Board after ${at} steps`} />`
      : html`<${PlainPosition} text=${text} />`}
    <${SideLine} game=${game} side=${below} review=${review} />
    ${review && html`<${WinBar} win=${win ?? null} />`}
    <div class="under-board steps">
      <${Stepper} at=${at} most=${game.steps.length} onGo=${onGo} />
      <a class="button quiet" href=${analyseLink(game.game, text)}>Analyse</a>
    </div>
    <p class="caption" aria-live="polite">${caption(game, review, at)}</p>
  </div>`;
}

/** @param {import("./types.js").Position} position @param {Moment} moment */
function comparison(position, moment) {
  if ((moment.loss ?? 0) < WORTH_SHOWING || !moment.best || moment.best === moment.step) return [];
  return [
    ...arrowsOf(findAction(position, moment.step), "played"),
    ...arrowsOf(findAction(position, moment.best), "better"),
  ];
}

/** @param {Game} game @param {Review|null} review @param {number} at */
function caption(game, review, at) {
  const next = review?.moments[at];
  if (next && (next.loss ?? 0) >= WORTH_SHOWING && next.best && next.best !== next.step) {
    const share = next.player === "MIN" ? 1 - (next.best_win ?? NaN) : next.best_win ?? NaN; // best_win is the first side's
    const best = Number.isFinite(share) ? ` (wins ${percent(share, 1)})` : "";
    return `${COLOUR[next.player]} played ${next.step} and lost ${(100 * (next.loss ?? 0)).toFixed(1)} points. Better: ${next.best}${best}.`;
  }
  const past = at > 0 ? game.history[at - 1] : null;
  if (!past) return "Start position.";
  const moment = review?.moments[at - 1];
  if (past.player === "CHANCE") {
    const luck = moment?.luck;
    return `Rolled ${past.step}${luck !== null && luck !== undefined ? `: ${points(luck)} for ${COLOUR.MAX}` : ""}.`;
  }
  return `${COLOUR[past.player]} played ${past.step}.`;
}

/** @param {{game: Game, side: Side, review: Review|null}} props */
const SideLine = ({ game, side, review }) => html`<div class="player-line">
  <${Dot} side=${side} /><strong>${COLOUR[side]}</strong><span class="soft">${playerName(game.players[side])}</span>
  <span class="player-state">${review ? `luck ${points(review.luck[side])} · lost ${(100 * review.loss[side]).toFixed(1)}` : ""}</span>
</div>`;

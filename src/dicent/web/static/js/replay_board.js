// The board at one step of a game that is looked at again.
import { html } from "./ui.js";
import { Board } from "./board.js";
import { useLastAction } from "./game.js";
import { t } from "./language.js";
import { analyseLink } from "./links.js";
import { nameOf } from "./names.js";
import { inPoints, lossOfChances, WORTH_SHOWING } from "./moves.js";
import { Dot, EquityLine, PlainPosition, Stepper, useLoaded, WinBar } from "./components.js";
import { arrowsOf, findAction, getPosition } from "./positions.js";
import { amount, COLOUR, equity, fromServer, percent, sidesOf } from "./format.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").Moment} Moment */
/** @typedef {import("./types.js").Side} Side */

/** The board at one step, with what was played and what was better. @param {{game: Game, review: Review|null, at: number, onGo: (at: number) => void, small?: boolean}} props */
export function ReplayBoard({ game, review, at, onGo, small = false }) {
  const text = at === 0 ? game.start : game.history[at - 1].position;
  const { value } = useLoaded(() => getPosition(game.game, text), [game.game, text]);
  const last = useLastAction(game, at);
  const position = value;
  const here = position?.position === text ? position : null;
  const arrows = here && review ? comparison(here, review, at) : [];
  const [above, below] = sidesOf(position?.view);
  return html`<div class="board-side ${small ? "small" : ""}">
    <${SideLine} game=${game} side=${above} review=${review} />
    ${position?.view
      ? html`<${Board} view=${position.view} last=${last} arrows=${arrows} label=${t("Board after {n} steps", { n: at })} />`
      : html`<${PlainPosition} text=${text} />`}
    <${SideLine} game=${game} side=${below} review=${review} />
    ${review && html`<${Standing} review=${review} at=${at} />`}
    <div class="under-board steps">
      <${Stepper} at=${at} most=${game.steps.length} onGo=${onGo} />
      <a class="button quiet" href=${analyseLink(game.game, text)}>${t("Analyse")}</a>
    </div>
    <p class="caption" aria-live="polite">${caption(game, review, at)}</p>
  </div>`;
}

/** The points or winning chances at one step. @param {{review: Review, at: number}} props */
function Standing({ review, at }) {
  const moment = at > 0 ? review.moments[at - 1] : null;
  if (inPoints(review)) return html`<${EquityLine} points=${(moment ? moment.equity : review.start_equity) ?? NaN} />`;
  return html`<${WinBar} win=${(moment ? moment.win : review.start_win)?.MAX ?? null} />`;
}

/** Return the next step if a better one is worth showing. @param {Review|null} review @param {number} at @returns {Moment|null} */
function mistakeAt(review, at) {
  const next = review?.moments[at];
  if (!review || !next?.best || next.best === next.step) return null;
  return lossOfChances(review, at) >= WORTH_SHOWING ? next : null;
}

/** @param {import("./types.js").Position} position @param {Review} review @param {number} at */
function comparison(position, review, at) {
  const moment = mistakeAt(review, at);
  if (!moment?.best) return [];
  return [
    ...arrowsOf(findAction(position, moment.step), "played"),
    ...arrowsOf(findAction(position, moment.best), "better"),
  ];
}

/** @param {Game} game @param {Review|null} review @param {number} at */
function caption(game, review, at) {
  const next = mistakeAt(review, at);
  if (next) {
    const values = { who: COLOUR[next.player], move: fromServer(next.step), lost: size(next.loss ?? 0, inPoints(review)) };
    const played = inPoints(review)
      ? t("{who} played {move} and lost {lost} points.", values)
      : t("{who} played {move} and lost {lost} percentage points.", values);
    return `${played} ${betterText(next, inPoints(review))}`;
  }
  const past = at > 0 ? game.history[at - 1] : null;
  if (!past) return t("Start position.");
  const moment = review?.moments[at - 1];
  if (past.player === "CHANCE") {
    const [luck, roll] = [moment?.luck ?? null, fromServer(past.step)];
    return luck === null ? t("Rolled {roll}.", { roll }) : t("Rolled {roll}: {luck} for {who}.", { roll, luck: amount(luck, inPoints(review)), who: COLOUR.MAX });
  }
  return t("{who} played {move}.", { who: COLOUR[past.player], move: fromServer(past.step) });
}

/** Format a loss without a sign. @param {number} loss @param {boolean} points */
const size = (loss, points) => amount(loss, points).replace("+", "");

/** Name the best move, with its worth for its player. @param {Moment} moment @param {boolean} points */
function betterText(moment, points) {
  const move = fromServer(moment.best);
  const first = (points ? moment.best_equity : moment.best_win) ?? NaN; // the first side's
  if (!Number.isFinite(first)) return t("Better: {move}.", { move });
  const second = moment.player === "MIN";
  return points
    ? t("Better: {move} ({n} points).", { move, n: equity(second ? -first : first) })
    : t("Better: {move} (wins {share}).", { move, share: percent(second ? 1 - first : first, 1) });
}

/** @param {{game: Game, side: Side, review: Review|null}} props */
const SideLine = ({ game, side, review }) => html`<div class="player-line">
  <${Dot} side=${side} /><strong>${COLOUR[side]}</strong><span class="soft">${nameOf(game, side)}</span>
  <span class="player-state">${review ? t("luck {luck} · lost {lost}", { luck: amount(review.luck[side], inPoints(review)), lost: size(review.loss[side], inPoints(review)) }) : ""}</span>
</div>`;

// The tables of an analysis: the best moves, and what each roll would bring.
import { html, useMemo, useState } from "./ui.js";
import { OutcomeBars } from "./charts.js";
import { VARIATIONS } from "./engine.js";
import { useLoaded } from "./parts.js";
import { afterStep } from "./positions.js";
import { amount, COLOUR, equity, inColours, percent } from "./words.js";

/** @typedef {import("./types.js").Analysis} Analysis */
/** @typedef {import("./types.js").Move} Move */
/** @typedef {import("./types.js").Position} Position */

/**
 * The moves with their values, the best ones first.
 * @param {{here: Position|null, analysis: Analysis|null, pointed: string|null, onPoint: (action: string|null) => void,
 *   onStep: (action: string) => void, onAdd: (line: import("./types.js").Line) => void}} props
 */
export function MoveTable({ here, analysis, pointed, onPoint, onStep, onAdd }) {
  const [all, setAll] = useState(false);
  const moves = analysis?.moves ?? [];
  if (here?.result !== null && here?.result !== undefined) return html`<p class="soft">The game is over.</p>`;
  if (here?.to_play === "CHANCE") return html`<p class="soft">Choose a roll below the board to continue.</p>`;
  const inPoints = known(analysis?.equity);
  const worth = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity : move.win) ?? NaN;
  const lost = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity_loss : move.loss) ?? NaN;
  const rows = moves.length ? moves : (here?.actions ?? []).map((action) => /** @type {Partial<Move>} */ ({ action: action.text }));
  const shown = all ? rows : rows.slice(0, VARIATIONS);
  return html`<div class="table-scroll"><table class="moves-table">
    <thead><tr><th scope="col">Move</th><th scope="col" class="number">${inPoints ? "Points" : "Win"}</th><th scope="col" class="number">Loss</th><th scope="col">Best line</th></tr></thead>
    <tbody onPointerLeave=${() => onPoint(null)}>
      ${shown.map((move, i) => html`<tr key=${move.action} class=${pointed === move.action ? "pointed" : ""} onPointerEnter=${() => onPoint(move.action ?? null)}>
        <td><button type="button" class="link" onFocus=${() => onPoint(move.action ?? null)} onBlur=${() => onPoint(null)} onClick=${() => onStep(move.action ?? "")}>${move.action}</button></td>
        <td class="number">${inPoints ? equity(worth(move)) : percent(worth(move), 1)}${move.proved && html`<abbr class="exact" title="Proved: the exact value"> exact</abbr>`}</td>
        <td class="number ${i === 0 ? "soft" : ""}">${known(lost(move)) ? (i === 0 ? "best" : amount(-lost(move), inPoints)) : "–"}</td>
        <td class="pv">${(move.variation?.length ?? 0) > 1
          ? html`<button type="button" class="link" title="Add this line to the variations" aria-label=${`Add the line ${lineOf(move)} to the variations`} onClick=${() => onAdd(move.variation ?? [])}>${lineOf(move)}</button>`
          : lineOf(move)}</td>
      </tr>`)}
    </tbody>
  </table></div>
  ${rows.length > VARIATIONS && html`<button type="button" class="link more" onClick=${() => setAll(!all)}>${all ? `Show the best ${VARIATIONS}` : `Show all ${rows.length} moves`}</button>`}`;
}

/** The likely continuation. @param {Partial<Move>} move */
const lineOf = (move) => inColours((move.pv ?? []).slice(1, 8).join(" "));

/** @param {number|null|undefined} number */
const known = (number) => number !== null && number !== undefined && Number.isFinite(number);

/** @param {{here: Position|null, analysis: Analysis|null, chosen: Move|null}} props */
export function Rolls({ here, analysis, chosen }) {
  const shown = chosen ?? analysis?.moves[0] ?? null;
  const byOutcome = here?.to_play === "CHANCE" ? analysis?.by_outcome : shown?.by_outcome;
  const inPoints = known(analysis?.equity);
  const action = here?.to_play === "CHANCE" ? null : shown?.action; // the dice are those of the position after it
  const { value: rolled } = useLoaded(async () => (here && action ? afterStep(here.game, here.position, action) : here), [here, action]);
  const first = (/** @type {number} */ value) => (analysis?.player !== "MIN" ? value : inPoints ? -value : 1 - value);
  const rolls = useMemo(() => (byOutcome ?? []).map((one) => ({
    ...one, value: first((inPoints ? one.equity : one.win) ?? NaN),
    dice: rolled?.outcomes.find((outcome) => outcome.text === one.outcome)?.dice,
  })), [byOutcome, analysis?.player, inPoints, rolled]);
  if (!rolls.length) return null;
  const after = here?.to_play === "CHANCE" ? "" : ` after ${shown?.action}`;
  const expected = rolls.every((roll) => Number.isFinite(roll.value)) ? rolls.reduce((sum, roll) => sum + roll.p * roll.value, 0) : null;
  const average = expected === null ? "" : inPoints ? `has ${equity(expected)} points` : `wins ${percent(expected, 1)}`;
  return html`<section class="card" aria-label="By roll">
    <h2>Rolls${after}</h2>
    <p class="help">${expected === null ? "" : html`On average ${COLOUR.MAX} ${average}. Bars to the right are good for ${COLOUR.MAX}, to the left for ${COLOUR.MIN}.`}</p>
    <${OutcomeBars} rolls=${rolls} expected=${expected} inPoints=${inPoints} />
  </section>`;
}

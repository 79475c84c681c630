// The tables of an analysis: the best moves, and what each roll would bring.
import { html, useMemo, useState } from "./ui.js";
import { OutcomeBars } from "./charts.js";
import { VARIATIONS } from "./engine.js";
import { t } from "./language.js";
import { useLoaded } from "./components.js";
import { afterStep } from "./positions.js";
import { amount, COLOUR, equity, fromServer, percent } from "./format.js";

/** @typedef {import("./types.js").Analysis} Analysis */
/** @typedef {import("./types.js").Move} Move */
/** @typedef {import("./types.js").Position} Position */

/**
 * The moves with their values, the best ones first.
 * @param {{here: Position|null, analysis: Analysis|null, pointed: string|null, onPoint: (action: string|null) => void,
 *   onStep: (action: string) => void, onAdd: (line: import("./types.js").Variation) => void}} props
 */
export function MoveTable({ here, analysis, pointed, onPoint, onStep, onAdd }) {
  const [all, setAll] = useState(false);
  const moves = analysis?.moves ?? [];
  if (here?.result !== null && here?.result !== undefined) return html`<p class="soft">${t("The game is over.")}</p>`;
  if (here?.to_play === "CHANCE") return html`<p class="soft">${t("Choose a roll below the board to continue.")}</p>`;
  const inPoints = known(analysis?.equity);
  const worth = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity : move.win) ?? NaN;
  const lost = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity_loss : move.loss) ?? NaN;
  const rows = moves.length ? moves : (here?.actions ?? []).map((action) => /** @type {Partial<Move>} */ ({ action: action.text }));
  const shown = all ? rows : rows.slice(0, VARIATIONS);
  return html`<div class="table-scroll"><table class="moves-table">
    <thead><tr><th scope="col">${t("Move")}</th><th scope="col" class="number">${inPoints ? t("Points") : t("Win")}</th><th scope="col" class="number">${t("Loss")}</th><th scope="col">${t("Best line")}</th></tr></thead>
    <tbody onPointerLeave=${() => onPoint(null)}>
      ${shown.map((move, i) => html`<tr key=${move.action} class=${pointed === move.action ? "pointed" : ""} onPointerEnter=${() => onPoint(move.action ?? null)}>
        <td><button type="button" class="link" onFocus=${() => onPoint(move.action ?? null)} onBlur=${() => onPoint(null)} onClick=${() => onStep(move.action ?? "")}>${move.action}</button></td>
        <td class="number">${inPoints ? equity(worth(move)) : percent(worth(move), 1)}${move.proved && html`<abbr class="exact" title=${t("Proved: the exact value")}> ${t("exact")}</abbr>`}</td>
        <td class="number ${i === 0 ? "soft" : ""}">${known(lost(move)) ? (i === 0 ? t("best") : amount(-lost(move), inPoints)) : "–"}</td>
        <td class="pv">${(move.variation?.length ?? 0) > 1
          ? html`<button type="button" class="link" title=${t("Add this line to the variations")} aria-label=${t("Add the line {moves} to the variations", { moves: lineOf(move) })} onClick=${() => onAdd(move.variation ?? [])}>${lineOf(move)}</button>`
          : lineOf(move)}</td>
      </tr>`)}
    </tbody>
  </table></div>
  ${rows.length > VARIATIONS && html`<button type="button" class="link more" onClick=${() => setAll(!all)}>${all ? t("Show the best {n}", { n: VARIATIONS }) : t("Show all {n} moves", { n: rows.length })}</button>`}`;
}

/** @param {number} expected @param {boolean} inPoints */
function averageText(expected, inPoints) {
  const [first, second] = [COLOUR.MAX, COLOUR.MIN];
  const average = inPoints
    ? t("On average {first} has {n} points.", { first, n: equity(expected) })
    : t("On average {first} wins {share}.", { first, share: percent(expected, 1) });
  return `${average} ${t("Bars to the right are good for {first}, to the left for {second}.", { first, second })}`;
}

/** The likely continuation. @param {Partial<Move>} move */
const lineOf = (move) => fromServer((move.pv ?? []).slice(1, 8).join(" "));

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
  const expected = rolls.every((roll) => Number.isFinite(roll.value)) ? rolls.reduce((sum, roll) => sum + roll.p * roll.value, 0) : null;
  return html`<section class="card" aria-label=${t("By roll")}>
    <h2>${action ? t("Rolls after {move}", { move: action }) : t("Rolls")}</h2>
    <p class="help">${expected === null ? "" : averageText(expected, inPoints)}</p>
    <${OutcomeBars} rolls=${rolls} expected=${expected} inPoints=${inPoints} />
  </section>`;
}

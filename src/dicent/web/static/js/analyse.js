// The page for analysing a position: pasted, set up by hand, or reached by moves on the board.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { getInfo } from "./api.js";
import { Board } from "./board.js";
import { OutcomeBars } from "./charts.js";
import { Faces } from "./die.js";
import { firstEquity, firstWin, useAnalysis } from "./engine.js";
import { useKept } from "./preferences.js";
import { analyseLink } from "./links.js";
import { EquityLine, Icon, Message, PlainPosition, useLoaded, WinBar } from "./parts.js";
import { afterStep, getArrows, getPosition, getStart } from "./positions.js";
import { SetUp } from "./setup_panel.js";
import { useTurn } from "./turn.js";
import { amount, COLOUR, count, equity, percent, resultText } from "./words.js";

/** @typedef {import("./types.js").Analysis} Analysis */
/** @typedef {import("./types.js").Move} Move */
/** @typedef {import("./types.js").Position} Position */

const TIME = 30; // seconds until an analysis stops and "Continue" is offered
/** @type {import("./types.js").Action[]} */
const NONE = [];

/** @param {{query: URLSearchParams}} props */
export function Analyse({ query }) {
  const game = query.get("game") ?? "ewn";
  const text = query.get("position") ?? "";
  const { value: info } = useLoaded(getInfo, []);
  const [typed, setTyped] = useState(text);
  const touched = useRef(false); // true while the user types: the text field is not overwritten
  const [position, setPosition] = useState(/** @type {Position|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [running, setRunning] = useState(true);
  const [player, setPlayer] = useKept("analyst", "");
  const [pointed, setPointed] = useState(/** @type {string|null} */ (null));
  const [editing, setEditing] = useState(false);
  const [arrows, setArrows] = useState(/** @type {import("./types.js").Arrow[]} */ ([]));

  useEffect(() => {
    let alive = true;
    if (!touched.current) setTyped(text);
    setPointed(null);
    if (!text) {
      getStart(game).then((start) => alive && !touched.current && location.replace(analyseLink(game, start.position)), (error) => alive && setProblem(error.message));
    } else {
      getPosition(game, text).then(
        (found) => alive && (setPosition(found), setProblem(null)),
        (error) => alive && (setPosition(null), setProblem(error.message)),
      );
    }
    return () => void (alive = false);
  }, [game, text]);

  const here = position && position.position === text ? position : null;
  const open = here !== null && here.result === null && !editing;
  const analyst = info?.strengths.some((one) => one.name === player) ? player : "";
  const { analysis, error, done, resume } = useAnalysis({ game, position: open ? text : null, player: analyst || undefined, time: TIME, running });
  const chosen = analysis?.moves.find((move) => move.action === pointed) ?? null;
  useEffect(() => {
    let alive = true;
    const shown = chosen ?? analysis?.moves[0] ?? null;
    if (!here || !shown) return setArrows([]);
    const pv = shown.pv.length ? shown.pv : [shown.action];
    getArrows(game, text, chosen ? pv.slice(0, 7) : pv.slice(0, 1)).then(
      (found) => alive && setArrows(found.map((arrow) => ({ ...arrow, kind: chosen ? `pv ${arrow.kind}` : "best", label: chosen && found.some((one) => one.label !== "1") ? arrow.label : "" }))),
      () => {},
    );
    return () => void (alive = false);
  }, [here, chosen?.action, (chosen?.pv ?? []).slice(0, 7).join(" "), analysis?.moves[0]?.action]);

  function go(/** @type {string} */ to) {
    touched.current = false;
    location.hash = analyseLink(game, to);
  }
  async function step(/** @type {string} */ action) {
    try {
      go((await afterStep(game, text, action)).position);
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
    }
  }
  const turn = useTurn(here, here?.actions ?? NONE, step);
  function submit(/** @type {Event} */ event) {
    event.preventDefault();
    setEditing(false);
    if (typed.trim() === text) setPosition((before) => before && { ...before });
    else go(typed.trim());
  }
  if (editing && (here ?? position)) {
    return html`<${SetUp} game=${game} position=${here ?? position} onCancel=${() => setEditing(false)}
      onDone=${(/** @type {string} */ to) => { setEditing(false); go(to); }} />`;
  }

  const win = here?.result !== null && here?.result !== undefined ? (here.result + 1) / 2 : firstWin(analysis);
  const worth = firstEquity(analysis);
  return html`<div class="page two analyse">
    <div class="board-side">
      ${here?.view
        ? html`<${Board} view=${turn.view ?? here.view} moves=${turn.moves} onMove=${turn.move} undo=${turn.undo} arrows=${turn.undo ? [] : arrows}
            label=${`Board, ${turnText(here)}`} />`
        : here ? html`<${PlainPosition} text=${here.position} />` : html`<div class="no-board"></div>`}
      ${worth === null
        ? html`<${WinBar} win=${win} exact=${analysis?.proved || here?.result !== null} />`
        : html`<${EquityLine} points=${worth} exact=${analysis?.proved} />`}
      <div class="under-board">
        <p class="status">${here ? turnText(here) : "No position"}</p>
        ${turn.undo && html`<button type="button" class="quiet" onClick=${turn.undo}>Undo</button>`}
        ${here && here.outcomes.length > 0 && html`<${Faces} rolls=${here.outcomes} onChoose=${step} label="Roll" />`}
      </div>
    </div>
    <div class="side">
      <h1 class="hidden">Analyse</h1>
      <form class="position-form" onSubmit=${submit}>
        <label class="field-label" for="analyse-game">Game
          <select id="analyse-game" value=${game} onChange=${(/** @type {any} */ e) => (location.hash = `#/analyse?game=${encodeURIComponent(e.currentTarget.value)}`)}>
            ${gameNames(info, game).map((name) => html`<option value=${name}>${name}</option>`)}
          </select>
        </label>
        <label class="field-label wide" for="position">Position
          <input id="position" class="mono" value=${typed} spellcheck=${false} autocomplete="off" autocapitalize="off"
            onBlur=${() => (touched.current = false)} onInput=${(/** @type {any} */ e) => { touched.current = true; setTyped(e.currentTarget.value); }} />
        </label>
        <div class="buttons">
          <button class="quiet">Show</button>
          <button type="button" class="quiet" disabled=${!position?.view?.grid} onClick=${() => setEditing(true)}>Set up board</button>
          <a class="button quiet" href=${`#/analyse?game=${encodeURIComponent(game)}`} onClick=${(/** @type {Event} */ e) => { e.preventDefault(); getStart(game).then((start) => go(start.position)); }}>Start position</a>
        </div>
      </form>
      <${Message} text=${problem ?? error} />
      <section class="card" aria-label="Analysis">
        <div class="engine-line">
          <button type="button" class="quiet with-icon" disabled=${!open || (running && done && analysis?.full)} onClick=${() => (running && done ? resume() : setRunning(!running))}>
            <${Icon} name=${running && !done ? "stop" : "play"} />${running && !done ? "Stop" : "Continue"}
          </button>
          <select class="analyst" aria-label="Engine strength" value=${analyst} onChange=${(/** @type {any} */ e) => setPlayer(e.currentTarget.value)}>
            <option value="">Strongest</option>
            ${(info?.strengths ?? []).map((one) => html`<option value=${one.name}>${one.title || one.name}</option>`)}
          </select>
        </div>
        <p class="engine-status">${facts(analysis, open, running && !error)}</p>
        <${MoveTable} here=${here} analysis=${analysis} pointed=${pointed} onPoint=${setPointed} onStep=${step} />
      </section>
      <${Rolls} here=${here} analysis=${analysis} chosen=${chosen} />
    </div>
  </div>`;
}

/** @param {import("./types.js").Info|null} info @param {string} game */
function gameNames(info, game) {
  const names = (info?.games ?? []).map((one) => one.name);
  return names.includes(game) ? names : [game, ...names];
}

/** @param {Position} position */
function turnText(position) {
  if (position.result !== null) return resultText(position.result, null, position.score);
  if (position.to_play === "CHANCE") return `${COLOUR[position.roller ?? "CHANCE"]} to roll`;
  return `${COLOUR[position.to_play ?? ""]} to move${position.view?.dice.length ? `, ${position.view.dice.length > 1 ? "dice" : "die"} ${position.view.dice.join(" ")}` : ""}`;
}

/** @param {Analysis|null} analysis @param {boolean} open @param {boolean} running */
function facts(analysis, open, running) {
  if (!open) return "";
  if (!analysis) return running ? "Preparing this game. The first analysis takes longer." : "";
  const parts = [];
  if (analysis.proved) parts.push(analysis.source === "tablebase" ? "exact, from the tablebase" : "exact");
  else if (analysis.full) parts.push("memory limit reached");
  if (analysis.depth) parts.push(`depth ${analysis.depth}`);
  parts.push(`${count(analysis.nodes)} nodes`, `${analysis.time.toFixed(1)} s`);
  return parts.join(" · ");
}

/** @param {{here: Position|null, analysis: Analysis|null, pointed: string|null, onPoint: (action: string|null) => void, onStep: (action: string) => void}} props */
function MoveTable({ here, analysis, pointed, onPoint, onStep }) {
  const moves = analysis?.moves ?? [];
  if (here?.result !== null && here?.result !== undefined) return html`<p class="soft">The game is over.</p>`;
  if (here?.to_play === "CHANCE") return html`<p class="soft">Choose a roll below the board to continue.</p>`;
  const inPoints = known(analysis?.equity);
  const worth = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity : move.win) ?? NaN;
  const lost = (/** @type {Partial<Move>} */ move) => (inPoints ? move.equity_loss : move.loss) ?? NaN;
  const rows = moves.length ? moves : (here?.actions ?? []).map((action) => /** @type {Partial<Move>} */ ({ action: action.text }));
  return html`<div class="table-scroll"><table class="moves-table">
    <thead><tr><th scope="col">Move</th><th scope="col" class="number">${inPoints ? "Points" : "Win"}</th><th scope="col" class="number">Loss</th><th scope="col">Best line</th></tr></thead>
    <tbody onPointerLeave=${() => onPoint(null)}>
      ${rows.map((move, i) => html`<tr key=${move.action} class=${pointed === move.action ? "pointed" : ""} onPointerEnter=${() => onPoint(move.action ?? null)}>
        <td><button type="button" class="link" onFocus=${() => onPoint(move.action ?? null)} onBlur=${() => onPoint(null)} onClick=${() => onStep(move.action ?? "")}>${move.action}</button></td>
        <td class="number">${inPoints ? equity(worth(move)) : percent(worth(move), 1)}${move.proved && html`<abbr class="exact" title="Proved: the exact value"> exact</abbr>`}</td>
        <td class="number ${i === 0 ? "soft" : ""}">${known(lost(move)) ? (i === 0 ? "best" : amount(-lost(move), inPoints)) : "–"}</td>
        <td class="pv">${(move.pv ?? []).slice(1, 8).join(" ")}</td>
      </tr>`)}
    </tbody>
  </table></div>`;
}

/** @param {number|null|undefined} number */
const known = (number) => number !== null && number !== undefined && Number.isFinite(number);

/** @param {{here: Position|null, analysis: Analysis|null, chosen: Move|null}} props */
function Rolls({ here, analysis, chosen }) {
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

// The page for analysing a position: pasted, set up by hand, or reached by moves on the board.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { MoveTable, Rolls } from "./analysis_tables.js";
import { getInfo } from "./api.js";
import { Board } from "./board.js";
import { copy } from "./clipboard.js";
import { Faces } from "./die.js";
import { firstEquity, firstWin, useAnalysis } from "./engine.js";
import { canFlip, flipped } from "./flip.js";
import { usePreference } from "./preferences.js";
import { decimal, t } from "./language.js";
import { analyseLink, treeLink } from "./links.js";
import { EquityLine, Icon, Message, PlainPosition, useLoaded, WinBar } from "./components.js";
import { PlayFrom } from "./play_from.js";
import { afterStep, arrowsOf, findAction, getPosition, getStart } from "./positions.js";
import { SetUp } from "./setup_panel.js";
import { titleOf } from "./titles.js";
import { useTurn } from "./turn.js";
import { useVariations } from "./use_variations.js";
import { written } from "./variations.js";
import { VariationsPanel } from "./variations_panel.js";
import { COLOUR, count, fromServer, resultText } from "./format.js";

/** @typedef {import("./types.js").Analysis} Analysis */
/** @typedef {import("./types.js").Move} Move */
/** @typedef {import("./types.js").Position} Position */

const TIME = 30; // seconds until an analysis stops and "Continue" is offered
/** @type {import("./types.js").Action[]} */
const NONE = [];

/** @param {{query: URLSearchParams}} props */
export function Analyse({ query }) {
  const { value: info } = useLoaded(getInfo, []);
  const game = query.get("game") ?? info?.default_game;
  return game ? html`<${AnalysePosition} game=${game} query=${query} info=${info} />` : null;
}

/** @param {{game: string, query: URLSearchParams, info: import("./types.js").Info|null}} props */
function AnalysePosition({ game, query, info }) {
  const text = query.get("position") ?? "";
  const [typed, setTyped] = useState(text);
  const touched = useRef(false); // true while the user types: the text field is not overwritten
  const [position, setPosition] = useState(/** @type {Position|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const [running, setRunning] = useState(true);
  const [player, setPlayer] = usePreference("analyst", "");
  const [pointed, setPointed] = useState(/** @type {string|null} */ (null));
  const [editing, setEditing] = useState(false);
  const [note, setNote] = useState(/** @type {string|null} */ (null));
  const [flip, setFlip] = usePreference("flip", false);
  const [starting, setStarting] = useState(false);

  useEffect(() => {
    let alive = true;
    if (!touched.current) setTyped(text);
    setPointed(null);
    setNote(null);
    if (!text) {
      getStart(game).then((start) => alive && !touched.current && location.replace(analyseLink(game, start.position)), (error) => alive && setProblem(error.message));
    } else {
      getPosition(game, text).then(
        (found) => {
          if (!alive) return;
          if (found.position !== text) location.replace(analyseLink(game, found.position)); // it was in another notation
          else {
            setPosition(found);
            setProblem(null);
          }
        },
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
  const variations = useVariations({ game, position: text, root: query.get("root") ?? "", link: query.get("tree") ?? "" });
  const arrows = useMemo(() => (here ? arrowsFor(here, analysis, chosen) : []), [here, analysis, chosen]);

  function go(/** @type {string} */ to) {
    touched.current = false;
    location.hash = analyseLink(game, to);
  }
  async function step(/** @type {string} */ action) {
    try {
      touched.current = false;
      variations.play({ step: action, player: here?.to_play ?? null, position: (await afterStep(game, text, action)).position });
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
  const view = turn.view ?? here?.view ?? null;
  async function copyLink() {
    const { tree } = variations;
    const moves = tree ? written(tree) : "";
    const link = treeLink(game, text, tree?.position ?? text, moves ?? "");
    const copied = await copy(`${location.origin}${location.pathname}${link}`);
    const done = moves === null ? t("Link copied. It has the position only: the variations are too long for a link.") : t("Link copied.");
    setNote(copied ? done : t("The link cannot be copied here."));
  }
  return html`<div class="page two analyse">
    <div class="board-side">
      ${here && view
        ? html`<${Board} view=${flip && canFlip(view) ? flipped(view) : view} moves=${turn.moves} onMove=${turn.move} undo=${turn.undo} arrows=${turn.undo ? [] : arrows}
            label=${t("Board, {state}", { state: turnText(here) })} />`
        : here ? html`<${PlainPosition} text=${here.position} />` : html`<div class="no-board"></div>`}
      ${worth === null
        ? html`<${WinBar} win=${win} exact=${analysis?.proved || here?.result !== null} />`
        : html`<${EquityLine} points=${worth} exact=${analysis?.proved} />`}
      <div class="under-board">
        <p class="status">${here ? turnText(here) : t("No position")}</p>
        ${turn.undo && html`<button type="button" class="quiet" onClick=${turn.undo}>${t("Undo")}</button>`}
        ${here && here.outcomes.length > 0 && html`<${Faces} rolls=${here.outcomes} onChoose=${step} label=${t("Roll")} />`}
      </div>
      <div class="buttons board-buttons">
        <button type="button" class="quiet" disabled=${!here || here.result !== null || !info} onClick=${() => setStarting(true)}>${t("Play from here")}</button>
        <button type="button" class="quiet" disabled=${!here} onClick=${copyLink}>${t("Copy link")}</button>
        ${here && Object.entries(here.formats).map(([name, written]) => html`<button type="button" class="quiet" title=${written}
          onClick=${async () => setNote((await copy(written)) ? t("Position copied.") : written)}>${t("Copy {format}", { format: name.toUpperCase() })}</button>`)}
        ${canFlip(here?.view) && html`<button type="button" class="quiet" aria-pressed=${flip} onClick=${() => setFlip(!flip)}>${t("Flip board")}</button>`}
      </div>
      <${Message} text=${note} kind="note" onClose=${() => setNote(null)} />
    </div>
    <div class="side">
      <h1 class="hidden">${t("Analyse")}</h1>
      <form class="position-form" onSubmit=${submit}>
        <label class="field-label" for="analyse-game">${t("Game")}
          <select id="analyse-game" value=${game} onChange=${(/** @type {any} */ e) => (location.hash = `#/analyse?game=${encodeURIComponent(e.currentTarget.value)}`)}>
            ${gameChoices(info, game).map(([name, title]) => html`<option value=${name}>${title}</option>`)}
          </select>
        </label>
        <label class="field-label wide" for="position">${t("Position")}
          <input id="position" class="mono" value=${typed} spellcheck=${false} autocomplete="off" autocapitalize="off"
            onBlur=${() => (touched.current = false)} onInput=${(/** @type {any} */ e) => { touched.current = true; setTyped(e.currentTarget.value); }} />
        </label>
        <div class="buttons">
          <button class="quiet">${t("Show")}</button>
          <button type="button" class="quiet" disabled=${!position?.view?.grid} onClick=${() => setEditing(true)}>${t("Set up board")}</button>
          <a class="button quiet" href=${`#/analyse?game=${encodeURIComponent(game)}`} onClick=${(/** @type {Event} */ e) => { e.preventDefault(); getStart(game).then((start) => go(start.position)); }}>${t("Start position")}</a>
        </div>
      </form>
      <${Message} text=${problem ?? error} />
      <section class="card" aria-label=${t("Analysis")}>
        <div class="engine-line">
          <button type="button" class="quiet with-icon" disabled=${!open || (running && done && analysis?.full)} onClick=${() => (running && done ? resume() : setRunning(!running))}>
            <${Icon} name=${running && !done ? "stop" : "play"} />${running && !done ? t("Stop") : t("Continue")}
          </button>
          <select class="analyst" aria-label=${t("Engine strength")} value=${analyst} onChange=${(/** @type {any} */ e) => setPlayer(e.currentTarget.value)}>
            <option value="">${t("Strongest")}</option>
            ${(info?.strengths ?? []).map((one) => html`<option value=${one.name}>${fromServer(one.title) || one.name}</option>`)}
          </select>
        </div>
        <p class="engine-status">${searchSummary(analysis, open, running && !error)}</p>
        <${MoveTable} here=${here} analysis=${analysis} pointed=${pointed} onPoint=${setPointed} onStep=${step} onAdd=${variations.add} />
      </section>
      <${VariationsPanel} variations=${variations} />
      <${Rolls} here=${here} analysis=${analysis} chosen=${chosen} />
    </div>
    ${starting && here && info && html`<${PlayFrom} game=${game} position=${text} side=${here.roller ?? here.to_play ?? "MAX"} info=${info} onClose=${() => setStarting(false)} />`}
  </div>`;
}

/**
 * Return the arrows of the move that is pointed at, with its line, or of the best one.
 * @param {Position} here @param {Analysis|null} analysis @param {Move|null} chosen @returns {import("./types.js").Arrow[]}
 */
function arrowsFor(here, analysis, chosen) {
  const shown = chosen ?? analysis?.moves[0] ?? null;
  if (!shown) return [];
  if (!chosen?.variation) return arrowsOf(findAction(here, shown.action), "best");
  const moves = chosen.variation.filter((step) => step.path.length);
  return moves.flatMap((step, i) => step.path.map(([from, to]) => ({ from, to, kind: `pv ${step.player}`, label: moves.length > 1 ? String(i + 1) : "" })));
}

/** Return names and titles; a game with options comes before those without. @param {import("./types.js").Info|null} info @param {string} game @returns {[string, string][]} */
function gameChoices(info, game) {
  const games = info?.games ?? [];
  const titles = games.map((one) => /** @type {[string, string]} */ ([one.name, titleOf(one, games)]));
  if (titles.some(([name]) => name === game)) return titles;
  const [base, options = ""] = game.split(/:(.*)/s);
  const title = titles.find(([name]) => name === base)?.[1] ?? base;
  return [[game, options ? `${title}: ${options}` : title], ...titles];
}

/** @param {Position} position */
function turnText(position) {
  if (position.result !== null) return resultText(position.result, null, position.score);
  if (position.to_play === "CHANCE") return t("{who} to roll", { who: COLOUR[position.roller ?? "CHANCE"] });
  const who = COLOUR[position.to_play ?? ""];
  const dice = position.view?.dice ?? [];
  if (!dice.length) return t("{who} to move", { who });
  const values = { who, dice: dice.join(" ") };
  return dice.length > 1 ? t("{who} to move, dice {dice}", values) : t("{who} to move, die {dice}", values);
}

/** @param {Analysis|null} analysis @param {boolean} open @param {boolean} running */
function searchSummary(analysis, open, running) {
  if (!open) return "";
  if (!analysis) return running ? t("Preparing this game. The first analysis takes longer.") : "";
  const parts = [];
  if (analysis.proved) parts.push(analysis.source === "tablebase" ? t("exact, from the tablebase") : t("exact"));
  else if (analysis.full) parts.push(t("memory limit reached"));
  if (analysis.depth) parts.push(t("depth {n}", { n: analysis.depth }));
  parts.push(t("{n} nodes", { n: count(analysis.nodes) }), t("{n} s", { n: decimal(analysis.time, 1) }));
  return parts.join(" · ");
}

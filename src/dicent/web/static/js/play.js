// The page of a game in play: the board, the die, the turn, and the user's actions.
import { html, useEffect, useRef, useState } from "./ui.js";
import { NotHere, OwnGame, useAccess } from "./access.js";
import { Board } from "./board.js";
import { Die, Faces } from "./die.js";
import { getInfo, post } from "./api.js";
import { analyseLink, rulesLink } from "./links.js";
import { t } from "./language.js";
import { firstEquity, firstWin, useAnalysis } from "./engine.js";
import { useGame, useLastAction } from "./game.js";
import { GuideCard, useGuide } from "./guide.js";
import { usePending, waitText } from "./pending.js";
import { usePreference } from "./preferences.js";
import { rememberChosen, wasChosen } from "./play_from.js";
import { MoveList } from "./moves.js";
import { nameOf } from "./names.js";
import { Confirm, Dot, EquityLine, Message, PlainPosition, Stepper, Toggle, useLoaded, WinBar } from "./components.js";
import { Sound } from "./sound.js";
import { arrowsOf, findAction, getPosition } from "./positions.js";
import { announce, announceStep } from "./announce.js";
import { Choices } from "./choices.js";
import { titleFor } from "./titles.js";
import { useTray } from "./tray.js";
import { useTurn } from "./turn.js";
import { Warning } from "./tutor.js";
import { isHuman, isMine, isOver } from "./game_state.js";
import { COLOUR, endText, equity, fromServer, percent } from "./format.js";
import { ClockTime, facing, Invitation, isOffered, Rematch, rematchText, sidesFacing, useRematch } from "./seats.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Side} Side */
/** @typedef {import("./types.js").Arrow} Arrow */

/** @param {{id: string}} props */
export function Play({ id }) {
  const [rollForMe, setRollForMe] = usePreference("roll-for-me", false);
  const [showWin, setShowWin] = usePreference("win-bar", false);
  const [tutored, setTutored] = usePreference("tutor", false);
  const [playForced, setPlayForced] = usePreference("forced-moves", false);
  const { game, roller, busy, problem, setProblem, act, tutor } = useGame(id, { rollForMe, tutored });
  const pending = usePending(game && !game.yours ? id : null);
  const { value: info } = useLoaded(getInfo, []);
  const may = useAccess();
  const guide = useGuide(game, rollForMe);
  const [seen, setSeen] = useState(/** @type {number|null} */ (null)); // the earlier step on the board, or null for the current one
  const [hint, setHint] = useState(/** @type {{at: number, arrows: Arrow[], text: string}|null} */ (null));
  const [asking, setAsking] = useState(false);
  const [resigns, setResigns] = useState(/** @type {Side|null} */ (null)); // who resigns once the computer has moved
  useEffect(() => {
    if (resigns === null || busy) return;
    setResigns(null);
    if (game && !isOver(game)) act("resign", { side: resigns });
  }, [resigns, busy]);
  const steps = game?.steps.length ?? 0;
  useEffect(() => setSeen(null), [steps, id]);
  useEffect(() => announceStep(game), [game]);
  useRematch(game);
  const byDie = useRef(false); // the user pressed the die, which loses the focus once rolled
  useEffect(() => {
    if (byDie.current && catchFocus()) byDie.current = false;
  }, [game, busy]);
  useForced(game, playForced && seen === null && !busy, act);
  const at = seen ?? steps;
  const past = useLoaded(() => pastPosition(game, seen), [game, seen]).value;
  const lastSeen = useLastAction(game, at);
  const evaluates = showWin && !game?.yours;
  const analysis = useAnalysis({
    game: game?.game ?? "", position: game && !isOver(game) ? game.position.position : null, time: 1.5, running: evaluates,
  });
  const { actions, tray } = useTray(game && !isOver(game) ? game.position : null);
  const send = (/** @type {string} */ step) => act("steps", { step });
  const turn = useTurn(game?.position ?? null, actions, send);
  if (!game) return problem ? html`<${info?.guest_of && info.guest_of !== id ? OwnGame : NotHere} text=${problem} />` : null;

  const position = seen !== null && past ? past : game.position;
  const live = at === steps && !isOver(game);
  const toPlay = game.position.to_play;
  const mine = live && !tutor.waits && toPlay !== "CHANCE" && isMine(game, /** @type {Side} */ (toPlay));
  const humans = /** @type {Side[]} */ (["MAX", "MIN"]).filter((side) => isMine(game, side));
  const rival = game.players[/** @type {Side} */ (toPlay)] ?? ""; // who is to move
  const arrows = hint && hint.at === steps && live && !turn.undo ? hint.arrows : [];

  async function askHint() {
    const answer = await act("hint");
    if (!answer?.action || !game) return;
    const action = findAction(game.position, answer.action);
    const text = hintText(answer);
    setHint({ at: steps, arrows: arrowsOf(action, "hint"), text });
    announce(text);
  }

  async function rematch() {
    if (!game) return;
    try {
      const { id } = await post("/api/games", again(game), { patient: false });
      if (wasChosen(game.id)) rememberChosen(id);
      location.hash = `#/play/${id}`;
    } catch (/** @type {any} */ error) {
      setProblem(error.message);
    }
  }

  const over = isOver(game);
  const undo = mine && !busy ? turn.undo : null; // the last hop of an unfinished turn
  const view = facing((live && turn.view) || position.view, game.yours);
  const [above, below] = sidesFacing(position.view, game.yours);
  const toRoll = live && !tutor.waits && toPlay === "CHANCE" && game.dice === "rolled" && isMine(game, roller) && !busy;
  function press() {
    byDie.current = true;
    act("roll");
  }
  const win = over && game.result !== null ? (game.result + 1) / 2 : firstWin(analysis.analysis);
  const worth = over ? null : firstEquity(analysis.analysis);
  return html`<div class="page two">
    <div class="board-side">
      <h1 class="hidden">${titleFor(game)}</h1>
      <${PlayerLine} game=${game} side=${above} busy=${busy} roller=${roller} />
      ${view
        ? html`<${Board} view=${view} moves=${turn.moves} last=${lastSeen} arrows=${arrows}
            onEnter=${toRoll ? () => act("roll") : null}
            onMove=${mine && !busy ? turn.move : undefined} undo=${undo}
            label=${t("Board, {state}", { state: over || !toPlay ? t("the game is over") : t("{who} to play", { who: COLOUR[roller ?? toPlay] }) })} />`
        : html`<${PlainPosition} text=${position.position} />`}
      <${PlayerLine} game=${game} side=${below} busy=${busy} roller=${roller} />
      ${evaluates && (worth !== null
        ? html`<${EquityLine} points=${worth} exact=${analysis.analysis?.proved} />`
        : html`<${WinBar} win=${win} exact=${over || (analysis.analysis?.proved ?? false)} />`)}
      ${evaluates && pending.includes("analysis") && html`<p class="help">${t("The evaluation is still being prepared.")}</p>`}
    </div>
    <div class="side">
      <${Invitation} game=${game} />
      <section class="card turn" aria-label=${t("Turn")}>
        <${TurnDie} game=${game} position=${position} live=${live} roller=${roller} onRoll=${toRoll ? press : null} />
        <div class="turn-words">
          <p class="status">${live ? (tutor.checks ? t("Checking your move") : statusText(game, roller, busy)) : over && at === steps ? endText(game) : t("After step {n}", { n: at })}</p>
          <p class="status-more">${!live ? (over && at === steps ? rematchText(game) : t("Earlier position")) : waitText(busy, pending, rival) || (hint?.at === steps ? hint.text : [noteText(game), helpText(game, roller, mine, rollForMe)].filter(Boolean).join(" "))}</p>
        </div>
        ${game.dice === "hand" && !over && html`<${Faces} rolls=${rollsOf(game)} enabled=${live && toPlay === "CHANCE" && !busy} onChoose=${send} label=${t("Number on the die")} />`}
      </section>
      <${Warning} warning=${live ? tutor.warning : null} onKeep=${tutor.keep} onTakeBack=${() => act("take-back")} />
      ${tray && html`<div class=${mine ? "" : "unseen"}>${tray}</div>`}
      ${mine && !tray && html`<${Choices} actions=${turn.actions} complete=${turn.complete} board=${Boolean(position.view)} long=${turn.long} begun=${turn.undo !== null} onAction=${send} />`}
      <${GuideCard} ...${guide} />
      <${Message} text=${problem} onClose=${() => setProblem(null)} />
      <div class="buttons">
        ${over
          ? html`${may("review") && html`<a class=${isOffered(game) ? "button quiet" : "button primary"} href=${`#/review/${game.id}`}>${t("Review")}</a>`}
              ${!game.yours && canRepeat(game, info) && html`<button type="button" class="quiet" disabled=${Boolean(busy)} onClick=${rematch}>${t("Rematch")}</button>`}
              <${Rematch} game=${game} busy=${Boolean(busy)} onRematch=${() => act("rematch")} />
              ${may("play") && html`<a class="button quiet" href="#/play">${t("New game")}</a>`}
              ${!game.yours && humans.length > 0 && html`<button type="button" class="quiet" disabled=${Boolean(busy)} onClick=${() => act("take-back")}>${t("Take back")}</button>`}`
          : html`
              ${!game.yours && html`<button type="button" class="quiet" disabled=${!mine || Boolean(busy)} onClick=${askHint}>${t("Hint")}</button>`}
              <button type="button" class="quiet" disabled=${Boolean(busy) || !humans.length || !(undo || (!game.yours && canTakeBack(game)))} onClick=${() => (undo ? undo() : act("take-back"))}>${t("Take back")}</button>
              <button type="button" class="quiet" disabled=${Boolean(busy) || !humans.length} onClick=${() => setAsking(true)}>${t("Resign")}</button>`}
        ${(over ? may("analyse") : !game.yours) && html`<a class="button quiet" href=${analyseLink(game.game, position.position)}>${t("Analyse")}</a>`}
        <a class="button quiet" href=${rulesLink(game.game)}>${t("Rules")}</a>
      </div>
      ${!over && humans.length > 0 && html`<${TypedStep} game=${game} onStep=${send} enabled=${live && (mine || (toPlay === "CHANCE" && game.dice === "hand")) && !busy} />`}
      <section class="card moves-card" aria-label=${t("Moves")}>
        <${MoveList} game=${game} at=${at} onGo=${(/** @type {number} */ to) => setSeen(to === steps ? null : to)} />
        <${Stepper} at=${at} most=${steps} onGo=${(/** @type {number} */ to) => setSeen(to === steps ? null : to)} />
      </section>
      <div class="toggles">
        ${!game.yours && html`<${Toggle} label=${t("Evaluation")} checked=${showWin} onChange=${setShowWin} />`}<${Sound} game=${game} />
        ${game.dice === "rolled" && humans.length > 0 && usesDice(game) && html`<${Toggle} label=${t("Roll for me")} checked=${rollForMe} onChange=${setRollForMe} />`}
        ${!over && humans.length > 0 && html`<${Toggle} label=${t("Play forced moves")} checked=${playForced} onChange=${setPlayForced} />`}
        ${!over && !game.yours && humans.length === 1 && html`<${Toggle} label=${t("Warn me about mistakes")} checked=${tutored} onChange=${setTutored} />`}
      </div>
    </div>
    ${asking && html`<${Confirm} question=${t("Resign this game?")} yes=${t("Resign")} onNo=${() => setAsking(false)}
      onYes=${() => { setAsking(false); setResigns(resigner(game, roller, humans)); }} />`}
  </div>`;
}

const FORCED_WAIT = 700; // milliseconds in which the user sees the roll of a forced move

/**
 * Play the only legal action of a person. A move that was taken back is not played again.
 * @param {Game|null} game @param {boolean} enabled @param {(what: string, body: object) => unknown} act
 */
function useForced(game, enabled, act) {
  const last = useRef({ id: "", step: -1 });
  const [step, turn] = [game?.steps.length ?? 0, game?.position.to_play];
  const forced = game && enabled && !isOver(game) && turn && turn !== "CHANCE" && isMine(game, turn) && game.position.actions.length === 1
    ? game.position.actions[0].text : null;
  useEffect(() => {
    if (!game || forced === null || (last.current.id === game.id && step <= last.current.step)) return;
    const timer = setTimeout(() => {
      last.current = { id: game.id, step };
      act("steps", { step: forced });
    }, FORCED_WAIT);
    return () => clearTimeout(timer);
  }, [game?.id, step, forced]);
}

/** Focus a movable piece or a target if nothing has the focus; return whether there is one. */
function catchFocus() {
  const cell = /** @type {HTMLElement|null} */ (document.querySelector(".cell.movable, .cell.target"));
  if (cell && document.activeElement === document.body) cell.focus({ preventScroll: true });
  return cell !== null;
}

/** @param {Game|null} game @param {number|null} seen */
const pastPosition = (game, seen) =>
  game && seen !== null
    ? getPosition(game.game, seen === 0 ? game.start : game.history[seen - 1].position)
    : Promise.resolve(null);

/** Return the side that resigns; if both are human, the side to play. @param {Game} game @param {Side|null} roller @param {Side[]} humans @returns {Side} */
function resigner(game, roller, humans) {
  const turn = /** @type {Side} */ (roller ?? game.position.to_play);
  return humans.includes(turn) ? turn : humans[0];
}

/**
 * Return whether both players can play again: people, or strengths of the computer. Imported games have others.
 * @param {Game} game @param {import("./types.js").Info|null} info
 */
const canRepeat = (game, info) =>
  game.ended !== null && Object.values(game.players).every((name) => name === "human" || info?.strengths.some((one) => one.name === name));

/** Return the request for a rematch, with the sides swapped; from the same position if that was chosen. @param {Game} game */
const again = (game) => ({
  game: game.game, position: wasChosen(game.id) ? game.start : "", players: { MAX: game.players.MIN, MIN: game.players.MAX },
  names: { MAX: game.names.MIN, MIN: game.names.MAX }, dice: game.dice,
});

/** @param {{action: string, win: number|null, equity: number|null, quick: boolean}} answer */
function hintText({ action, win, equity: worth, quick }) {
  const move = fromServer(action);
  let text = t("Hint: {move}.", { move });
  if (Number.isFinite(win)) text = t("Hint: {move} (wins {share}).", { move, share: percent(Number(win), 1) });
  else if (Number.isFinite(worth)) text = t("Hint: {move} ({n} points).", { move, n: equity(Number(worth)) });
  return quick ? `${text} ${t("Only a quick look: the full search is still being prepared.")}` : text;
}

/** Say what the game itself has to say about this position. @param {Game} game */
const noteText = (game) => (game.position.note ? `${fromServer(game.position.note)}.` : "");

/** @param {Game} game */
const canTakeBack = (game) =>
  game.history.some((past) => (past.player === "CHANCE" ? game.dice === "hand" : isHuman(game, past.player)));

/** @param {Game} game */
const usesDice = (game) =>
  game.position.outcomes.length > 0 || Boolean(game.position.view?.dice.length) || game.history.some((past) => past.player === "CHANCE");

/** @param {Game} game @param {Side|null} roller @param {string|null} busy */
function statusText(game, roller, busy) {
  const turn = /** @type {Side|"CHANCE"|null} */ (game.position.to_play);
  const side = turn === "CHANCE" ? roller : turn;
  if (side === null) return "";
  const alone = ["MAX", "MIN"].filter((one) => isMine(game, /** @type {Side} */ (one))).length === 1;
  const [who, yours] = [COLOUR[side], isMine(game, side) && alone];
  if (turn === "CHANCE") return yours ? t("Your roll") : t("{who} rolls", { who });
  if (busy === "reply") return t("{who} is thinking", { who });
  return yours ? t("Your move") : t("{who} moves", { who });
}

/** @param {Game} game @param {Side|null} roller @param {boolean} mine @param {boolean} rollForMe */
function helpText(game, roller, mine, rollForMe) {
  if (game.position.to_play === "CHANCE") {
    if (game.dice === "hand") return t("Roll your die, then choose the number.");
    if (!isMine(game, roller) || rollForMe) return "";
    if (matchMedia("(hover: none)").matches) return t("Tap the die.");
    return game.position.view ? t("Click the die, or press Enter on the board.") : t("Click the die.");
  }
  if (!mine) return "";
  const hops = game.position.actions.flatMap((action) => action.paths[0] ?? []);
  if (hops.some(([from]) => from !== null)) return t("Choose a piece with a ring, then where it goes.");
  return hops.length ? t("Choose a square with a dot.") : t("Choose a move below.");
}

/** @param {{game: Game, side: Side, busy: string|null, roller: Side|null}} props */
function PlayerLine({ game, side, busy, roller }) {
  const turn = game.position.to_play === "CHANCE" ? roller : game.position.to_play;
  const active = !isOver(game) && turn === side;
  const name = nameOf(game, side);
  const won = isOver(game) && game.result === (side === "MAX" ? 1 : -1);
  return html`<div class="player-line ${active ? "active" : ""}">
    <${Dot} side=${side} /><strong>${COLOUR[side]}</strong><span class="soft">${name}</span>
    <span class="player-state">${won ? t("won") : active && busy === "reply" ? t("thinking…") : active ? t("to play") : ""}</span>
    <${ClockTime} game=${game} side=${side} />
  </div>`;
}

/** Return the possible rolls, as far as this game has listed them. @param {Game} game */
function rollsOf(game) {
  const now = game.position.outcomes;
  if (now.length) rolls.set(game.id, now);
  return rolls.get(game.id) ?? ["1", "2", "3", "4", "5", "6"].map((text) => ({ text }));
}
/** @type {Map<string, import("./die.js").Rolled[]>} */
const rolls = new Map();

/** Show the dice; they can be rolled if `onRoll` is given. @param {any} props */
function TurnDie({ game, position, live, roller, onRoll }) {
  if (!usesDice(game) || (isOver(game) && position === game.position)) return null;
  const shown = position.view?.dice.length ? { text: "", dice: position.view.dice } : lastRoll(game, position);
  const lastIsRoll = game.history.at(-1)?.player === "CHANCE";
  return html`<${Die} roll=${shown} rolls=${rollsOf(game)} owner=${live ? roller ?? position.to_play : null}
    throw=${live && lastIsRoll ? game.history.length : "still"} onRoll=${onRoll} />`;
}

/** Return the last roll, for positions that do not show the dice. @param {Game} game @param {any} position */
function lastRoll(game, position) {
  const past = game.history.at(-1);
  return { text: past?.player === "CHANCE" && past.position === position.position ? past.step : "" };
}

/** @param {{game: Game, onStep: (text: string) => Promise<any>, enabled: boolean}} props */
function TypedStep({ game, onStep, enabled }) {
  const [text, setText] = useState("");
  const rolls = game.position.to_play === "CHANCE" && game.dice === "hand";
  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    if (text.trim() && (await onStep(text.trim()))) setText("");
  }
  const example = rolls ? game.position.outcomes[0]?.text : game.position.actions[0]?.text;
  return html`<form class="typed" onSubmit=${submit}>
    <label for="typed">${rolls ? t("Type a roll") : t("Type a move")}</label>
    <input id="typed" value=${text} autocomplete="off" autocapitalize="off" spellcheck=${false}
      placeholder=${enabled && example ? t("e.g. {example}", { example }) : ""} onInput=${(/** @type {any} */ e) => setText(e.currentTarget.value)} />
    <button class="quiet" disabled=${!enabled || !text.trim()}>${rolls ? t("Enter") : t("Move")}</button>
  </form>`;
}

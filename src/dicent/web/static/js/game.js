// The state of a game in play, and the requests that advance it when the computer or chance is to play.
import { useEffect, useRef, useState } from "./ui.js";
import { get, post, wait } from "./api.js";
import { calmMotion, ROLL_TIME } from "./die.js";
import { getAction } from "./positions.js";
import { useNews } from "./seats.js";
import { useTutor } from "./tutor.js";
import { isHuman, isMine, isOver } from "./game_state.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Side} Side */

const THINKING = 350; // milliseconds before a reply, so that the user notices it

/**
 * @param {string} id
 * @param {{rollForMe: boolean, tutored: boolean}} settings
 */
export function useGame(id, { rollForMe, tutored }) {
  const [game, setGame] = useState(/** @type {Game|null} */ (null));
  /** Show an answer unless a later one has arrived. @param {Game} next */
  const show = (next) => setGame((shown) => (shown?.id === next.id && shown.version > next.version ? shown : next));
  const [busy, setBusy] = useState(/** @type {string|null} */ (null));
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  const roller = game && !isOver(game) ? game.position.roller : null;
  const current = useRef(/** @type {Game|null} */ (null));
  current.current = game;

  useEffect(() => {
    const stop = new AbortController();
    setGame(null);
    setProblem(null);
    get(`/api/games/${encodeURIComponent(id)}`, {}, { signal: stop.signal })
      .then(show)
      .catch((error) => stop.signal.aborted || setProblem(error.message));
    return () => stop.abort();
  }, [id]);

  /** @param {string} what @param {object} [body] */
  async function act(what, body = {}) {
    const before = current.current;
    if (!before || busy) return null;
    setBusy(what);
    setProblem(null);
    try {
      const next = await post(`/api/games/${encodeURIComponent(id)}/${what}`, { at: before.steps.length, ...body });
      if (next.steps) show(next);
      return next;
    } catch (/** @type {any} */ error) {
      if (error.status === 409 && error.body.game) show(error.body.game);
      else setProblem(error.message);
      return null;
    } finally {
      setBusy(null);
    }
  }

  useNews(game, show, setProblem);
  const tutor = useTutor(game, tutored);
  useEffect(() => {
    if (!game || isOver(game) || busy || problem || tutor.waits) return;
    const next = duty(game, roller, rollForMe);
    if (!next) return;
    let alive = true;
    wait(pause(game)).then(() => alive && act(next));
    return () => void (alive = false);
  }, [game, roller, rollForMe, busy, problem, tutor.waits]);

  return { game, roller, busy, problem, setProblem, act, tutor };
}

/** Return the request that advances the game, or null if a person is to act. @param {Game} game @param {Side|null} roller @param {boolean} rollForMe */
function duty(game, roller, rollForMe) {
  const { to_play: turn } = game.position;
  if (turn === "CHANCE") {
    if (game.dice === "hand") return null;
    return !isHuman(game, roller) || (rollForMe && isMine(game, roller)) ? "roll" : null;
  }
  return turn !== null && !isHuman(game, turn) ? "reply" : null;
}

/** Return the delay in which the user can see the last step. @param {Game} game */
function pause(game) {
  if (calmMotion()) return THINKING / 2;
  return THINKING + (game.history.at(-1)?.player === "CHANCE" ? ROLL_TIME : 0);
}

/** Return the last action of a game, with its cells. @param {Game|null} game @param {number} [upTo] */
export function useLastAction(game, upTo) {
  const [last, setLast] = useState(/** @type {import("./types.js").Action|null} */ (null));
  const steps = upTo ?? game?.history.length ?? 0;
  useEffect(() => {
    let alive = true;
    const i = game ? game.history.slice(0, steps).findLastIndex((past) => past.player !== "CHANCE") : -1;
    if (!game || i < 0) {
      setLast(null);
      return;
    }
    const before = i === 0 ? game.start : game.history[i - 1].position;
    getAction(game.game, before, game.history[i].step).then((action) => alive && setLast(action), () => {});
    return () => void (alive = false);
  }, [game, steps]);
  return last;
}

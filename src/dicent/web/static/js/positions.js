// A cache of positions by their text, for history, review and variations.
import { get, post } from "./api.js";

/** @typedef {import("./types.js").Position} Position */
/** @typedef {import("./types.js").Arrow} Arrow */

const MOST = 500;
/** @type {Map<string, Promise<Position>>} */
const known = new Map();

/** @param {string} key @param {() => Promise<Position>} ask */
function once(key, ask) {
  const found = known.get(key);
  if (found) return found;
  if (known.size >= MOST) known.delete(/** @type {string} */ (known.keys().next().value));
  const answer = ask();
  known.set(key, answer);
  answer.catch(() => known.delete(key));
  return answer;
}

/** @param {string} game @param {string} position @returns {Promise<Position>} */
export const getPosition = (game, position) =>
  once(`${game}\n${position}`, () => get("/api/position", { game, position }));

/** Return a start position of the game; a random one if the game deals its start. @param {string} game @param {number} [seed] */
export const getStart = (game, seed) => get("/api/position", { game, seed });

/** @param {string} game @param {string} position @param {string} step @returns {Promise<Position>} */
export const afterStep = (game, position, step) =>
  once(`${game}\n${position}\n${step}`, () => post("/api/position", { game, position, step }));

/** Find a legal action by its text. @param {Position} position @param {string} text */
export const findAction = (position, text) => position.actions.find((action) => action.text === text) ?? null;

/**
 * Return an action as arrows, one for each hop.
 * @param {import("./types.js").Action|null} action @param {string} kind @returns {Arrow[]}
 */
export const arrowsOf = (action, kind) => (action?.paths[0] ?? []).map(([from, to]) => ({ from, to, kind, label: "" }));

/**
 * Return an action with its places, in a position given as text.
 * @param {string} game @param {string} position @param {string} text
 */
export async function getAction(game, position, text) {
  return findAction(await getPosition(game, position), text);
}

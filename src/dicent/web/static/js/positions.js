// A cache of positions by their text, for history, review and variations.
import { get, post } from "./api.js";

/** @typedef {import("./types.js").Position} Position */
/** @typedef {import("./types.js").Cell} Cell */

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
 * Return an action with its cells, in a position given as text.
 * @param {string} game @param {string} position @param {string} text
 */
export async function getAction(game, position, text) {
  return findAction(await getPosition(game, position), text);
}

/**
 * Return the actions of a variation as arrows, first to last.
 * @param {string} game @param {string} position @param {string[]} steps
 * @returns {Promise<import("./types.js").Arrow[]>}
 */
export async function getArrows(game, position, steps) {
  const arrows = [];
  let here = await getPosition(game, position);
  for (const text of steps) {
    const step = text.replace(/^\[(.*)\]$/, "$1"); // outcomes are written in brackets
    const action = findAction(here, step);
    if (action?.to) arrows.push({ from: action.from, to: action.to, kind: here.to_play ?? "", label: "" });
    if (here.to_play === null) break;
    here = await afterStep(game, here.position, step);
  }
  return arrows;
}

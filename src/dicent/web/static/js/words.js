// Texts on the screen: sides are named by colour, win probabilities are percentages, scores are points.

/** @typedef {import("./types.js").Side} Side */

/** @type {Record<string, string>} */
export const COLOUR = { MAX: "Red", MIN: "Blue", CHANCE: "Chance" };

/** Replace MAX and MIN in a text of the server by colours. @param {string|null|undefined} text */
export const inColours = (text) =>
  (text ?? "").replace(/\bMAX\b/g, COLOUR.MAX).replace(/\bMIN\b/g, COLOUR.MIN);

/** @param {Side} side @returns {Side} */
export const other = (side) => (side === "MAX" ? "MIN" : "MAX");

/** Return the sides above and below a board. @param {import("./types.js").View|null|undefined} view @returns {[Side, Side]} */
export const sidesOf = (view) => (view?.bottom === "MAX" ? ["MIN", "MAX"] : ["MAX", "MIN"]);

/** @param {number} share @param {number} [digits] */
export const percent = (share, digits = 0) => {
  if (!Number.isFinite(share)) return "–";
  const text = (100 * share).toFixed(digits);
  return `${Number(text) === 0 ? text.replace("-", "") : text}%`;
};

/** Format a change of winning chances, in percentage points with a sign. @param {number} share */
export const points = (share) => {
  const text = Math.abs(100 * share).toFixed(1);
  if (Number(text) === 0) return "0.0";
  return (share < 0 ? "−" : "+") + text;
};

/** Points of the game, with their sign. @param {number} n */
export const equity = (n) => {
  if (!Number.isFinite(n)) return "–";
  const text = Math.abs(n).toFixed(3);
  return (Number(text) === 0 ? "" : n < 0 ? "−" : "+") + text;
};

/** A change of points, or of winning chances. @param {number} change @param {boolean} inPoints */
export const amount = (change, inPoints) => (inPoints ? equity(change) : points(change));

/** @param {number} n */
export const count = (n) => {
  if (!Number.isFinite(n)) return "–";
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  return n >= 1e4 ? `${Math.round(n / 1e3)} k` : Math.round(n).toLocaleString("en");
};

/** @param {string|number|null|undefined} time a time as text, or in seconds since 1970 */
export const when = (time) => {
  if (time === null || time === undefined || time === "") return "";
  const isDay = typeof time === "string" && time.length === 10; // without a clock
  const date = new Date(typeof time === "number" ? 1000 * time : isDay ? `${time}T12:00` : time);
  if (Number.isNaN(date.getTime())) return String(time);
  const today = new Date().toDateString() === date.toDateString();
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return isDay ? day : today ? `Today, ${clock}` : `${day}, ${clock}`;
};

/** @param {number|null} result @param {string|null} [ended] @param {number|null} [score] the first side's points */
export const resultText = (result, ended, score) => {
  if (result === null) return "Not finished";
  if (result === 0) return "Draw";
  const winner = result > 0 ? COLOUR.MAX : COLOUR.MIN;
  const loser = result > 0 ? COLOUR.MIN : COLOUR.MAX;
  if (ended === "resigned") return `${winner} wins, ${loser} resigned`;
  if (ended === "time") return `${winner} wins on time`;
  const won = Math.abs(score ?? 0);
  return won ? `${winner} wins ${won} point${won === 1 ? "" : "s"}` : `${winner} wins`;
};

/**
 * Say how a game ended for the people who played it: "You lost: Blue reached a5".
 * @param {import("./types.js").Game} game
 */
export function endText(game) {
  const { result, ended, position } = game;
  if (result === null) return resultText(null);
  const why = ended === "resigned" ? `${COLOUR[result > 0 ? "MIN" : "MAX"]} resigned` : inColours(position.ending);
  const people = /** @type {Side[]} */ (["MAX", "MIN"]).filter((side) => game.players[side] === "human");
  if (result === 0 || people.length !== 1) {
    return ended === "resigned" || !why ? resultText(result, ended, position.score) : `${resultText(result, ended, position.score)}: ${why}`;
  }
  const won = (result > 0 ? "MAX" : "MIN") === people[0];
  if (ended === "resigned") return won ? `You won: ${why}` : "You lost: you resigned";
  const scored = Math.abs(position.score ?? 0);
  const much = scored ? ` ${scored} point${scored === 1 ? "" : "s"}` : "";
  return `You ${won ? "won" : "lost"}${much}${why ? `: ${why}` : ""}`;
}

/** Capitalise the first letter. @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {string} name of a player: "human", a strength, or a name from an imported game */
export const playerName = (name) => (/^[a-z]+$/.test(name) ? capital(name) : name);

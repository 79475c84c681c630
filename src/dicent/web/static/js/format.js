// Texts on the screen: sides are named by colour, win probabilities are percentages, scores are points.
import { isMine } from "./game_state.js";
import { decimal, language, plainNumber, t, translated } from "./language.js";

/** @typedef {import("./types.js").Side} Side */

/** @type {Record<string, string>} */
export const COLOUR = { MAX: t("Red"), MIN: t("Blue"), CHANCE: t("Chance") };
/** The colours before a piece. @type {Record<string, string>} */
export const ADJECTIVE = { MAX: t("red"), MIN: t("blue") };

/** Translate a text of the server, and name the sides by their colours. @param {string|null|undefined} text */
export const fromServer = (text) => translated(text).replace(/\bMAX\b/g, COLOUR.MAX).replace(/\bMIN\b/g, COLOUR.MIN);

/** @param {Side} side @returns {Side} */
export const other = (side) => (side === "MAX" ? "MIN" : "MAX");

/** Return the sides above and below a board. @param {import("./types.js").View|null|undefined} view @returns {[Side, Side]} */
export const sidesOf = (view) => (view?.bottom === "MAX" ? ["MIN", "MAX"] : ["MAX", "MIN"]);

/** @param {number} share @param {number} [digits] */
export const percent = (share, digits = 0) => {
  if (!Number.isFinite(share)) return "–";
  const rounded = Number((100 * share).toFixed(digits));
  return t("{n}%", { n: decimal(rounded === 0 ? 0 : rounded, digits) });
};

/** Format a change of winning chances, in percentage points with a sign. @param {number} share */
export const points = (share) => signed(100 * share, 1);

/** Points of the game, with their sign. @param {number} n */
export const equity = (n) => (Number.isFinite(n) ? signed(n, 3) : "–");

/** @param {number} n @param {number} digits */
function signed(n, digits) {
  const rounded = Number(Math.abs(n).toFixed(digits));
  return (rounded === 0 ? "" : n < 0 ? "−" : "+") + decimal(rounded, digits);
}

/** A change of points, or of winning chances. @param {number} change @param {boolean} inPoints */
export const amount = (change, inPoints) => (inPoints ? equity(change) : points(change));

/** @param {number} n */
export const count = (n) => {
  if (!Number.isFinite(n)) return "–";
  if (n >= 1e6) return t("{n} M", { n: decimal(n / 1e6, 1) });
  return n >= 1e4 ? t("{n} k", { n: Math.round(n / 1e3) }) : plainNumber(Math.round(n));
};

/** @param {string|number|null|undefined} time a time as text, or in seconds since 1970 */
export const when = (time) => {
  if (time === null || time === undefined || time === "") return "";
  const isDay = typeof time === "string" && time.length === 10; // without a clock
  const date = new Date(typeof time === "number" ? 1000 * time : isDay ? `${time}T12:00` : time);
  if (Number.isNaN(date.getTime())) return String(time);
  const today = new Date().toDateString() === date.toDateString();
  const clock = date.toLocaleTimeString(language(), { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = date.toLocaleDateString(language() === "en" ? "en-GB" : language(), { day: "numeric", month: "short", year: "numeric" });
  return isDay ? day : `${today ? t("Today") : day}, ${clock}`;
};

/** @param {number|null} result @param {string|null} [ended] @param {number|null} [score] the first side's points */
export const resultText = (result, ended, score) => {
  if (result === null) return t("Not finished");
  if (result === 0) return t("Draw");
  const winner = result > 0 ? COLOUR.MAX : COLOUR.MIN;
  const loser = result > 0 ? COLOUR.MIN : COLOUR.MAX;
  if (ended === "resigned") return t("{winner} wins, {loser} resigned", { winner, loser });
  if (ended === "time") return t("{winner} wins, {loser} lost on time", { winner, loser });
  const n = Math.abs(score ?? 0);
  if (!n) return t("{winner} wins", { winner });
  return n === 1 ? t("{winner} wins 1 point", { winner }) : t("{winner} wins {n} points", { winner, n });
};

/**
 * Say how a game ended for the people who played it: "You lost: Blue reached a5".
 * @param {import("./types.js").Game} game
 */
export function endText(game) {
  const { result, ended, position } = game;
  if (result === null) return resultText(null);
  const people = /** @type {Side[]} */ (["MAX", "MIN"]).filter((side) => isMine(game, side));
  const byBoard = ended !== "resigned" && ended !== "time";
  const how = byBoard ? fromServer(position.ending) : "";
  if (result === 0 || people.length !== 1) {
    const text = resultText(result, ended, position.score);
    return how ? `${text}: ${how}` : text;
  }
  const won = (result > 0 ? "MAX" : "MIN") === people[0];
  if (!byBoard) return notOnBoard(ended, won, COLOUR[other(people[0])]);
  const text = scoreText(won, Math.abs(position.score ?? 0));
  return how ? `${text}: ${how}` : text;
}

/** Say how a game ended that was not played to its end. @param {string|null} ended @param {boolean} won @param {string} rival */
function notOnBoard(ended, won, rival) {
  if (ended === "time") return won ? t("You won: {rival} lost on time", { rival }) : t("You lost on time");
  return won ? t("You won: {rival} resigned", { rival }) : t("You lost: you resigned");
}

/** @param {boolean} won @param {number} n points */
function scoreText(won, n) {
  if (!n) return won ? t("You won") : t("You lost");
  if (n === 1) return won ? t("You won 1 point") : t("You lost 1 point");
  return won ? t("You won {n} points", { n }) : t("You lost {n} points", { n });
}

/** Capitalise the first letter. @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {string} name of a player: "human", a strength, or a name from an imported game */
export const playerName = (name) => {
  const known = translated(name);
  return /^[a-z]+$/.test(known) ? capital(known) : known;
};

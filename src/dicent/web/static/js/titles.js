// The titles of games. The names of games in texts, such as `ewn:size=4`, are for programs.
import { fromServer } from "./format.js";
import { t } from "./language.js";

/** @typedef {import("./types.js").GameInfo} GameInfo */

/** Return the title of what was played, or of what was learned. @param {{title?: string, game: string}} one */
export const titleFor = ({ title, game }) => fromServer(title || game);

/** Return a title that no other game has: with the options that differ from the first of this title. @param {GameInfo} game @param {GameInfo[]} games */
export function titleOf(game, games) {
  const title = fromServer(game.title);
  const first = games.find((one) => one.title === game.title) ?? game;
  if (first === game) return title;
  const changed = game.options.filter((option, i) => option.default !== first.options[i]?.default && !option.hidden);
  return `${title} (${changed.map((option) => `${fromServer(option.name)}: ${valueText(option, String(option.default))}`).join(", ") || game.name})`;
}

/** Say what a value of an option means. @param {import("./types.js").Option} option @param {string} value */
export const valueText = (option, value) =>
  option.labels[value] ? fromServer(option.labels[value]) : value === "true" ? t("yes") : value === "false" ? t("no") : fromServer(value);

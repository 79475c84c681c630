// The names of players, and the fields in which people give theirs.
import { html } from "./ui.js";
import { readPreference, usePreference } from "./preferences.js";
import { COLOUR, playerName } from "./format.js";
import { t } from "./language.js";

/** @typedef {import("./types.js").Side} Side */
/** @typedef {{players: Record<string, string>, names?: Record<string, string>}} Named */

const LONGEST = 40; // letters of a name

/** Return what a player is called. @param {Named} game @param {string} side */
export const nameOf = (game, side) => game.names?.[side] || playerName(game.players[side]);

/**
 * Return the names for a new game, as the fields below keep them.
 * @param {{MAX: string, MIN: string}} players @returns {Record<string, string>}
 */
export function namesFor(players) {
  const { mine = "", other = "" } = readPreference("names", {});
  const people = Object.entries(players).filter(([, player]) => player === "human").map(([side]) => side);
  return Object.fromEntries(people.map((side, i) => [side, i === 0 ? mine : other]));
}

/** Ask the people who play for their names. @param {{sides: string}} props `sides` is MAX, MIN, both or none */
export function NameFields({ sides }) {
  const [kept, setKept] = usePreference("names", { mine: "", other: "" });
  if (sides === "none") return null;
  const field = (/** @type {"mine"|"other"} */ key, /** @type {string} */ label) => html`<label class="field-label" for=${`name-${key}`}>${label}
    <input id=${`name-${key}`} maxlength=${LONGEST} placeholder=${t("Optional")} autocomplete="off" spellcheck=${false} value=${kept[key]}
      onInput=${(/** @type {any} */ e) => setKept({ ...kept, [key]: e.currentTarget.value })} />
  </label>`;
  if (sides !== "both") return field("mine", t("Your name"));
  return html`${field("mine", t("{who}'s name", { who: COLOUR.MAX }))}${field("other", t("{who}'s name", { who: COLOUR.MIN }))}`;
}

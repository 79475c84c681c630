// Announce moves, rolls and results to screen readers.
import { t } from "./language.js";
import { COLOUR, endText, fromServer } from "./format.js";

/** @param {string} text */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}

let told = "";

/** @param {import("./types.js").Game|null} game */
export function announceStep(game) {
  const past = game?.history.at(-1);
  if (!game || (!past && !game.ended)) return; // a player may resign before the first step
  const key = `${game.id} ${game.history.length} ${game.ended}`;
  if (told === key) return;
  told = key;
  const parts = !past ? [] : [past.player === "CHANCE" ? t("The die shows {roll}.", { roll: fromServer(past.step) }) : t("{who} played {move}.", { who: COLOUR[past.player], move: fromServer(past.step) })];
  if (game.ended) parts.push(`${endText(game)}.`);
  else if (game.position.note) parts.push(`${fromServer(game.position.note)}.`);
  announce(parts.join(" "));
}

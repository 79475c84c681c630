// The tutor grades a person's move before the game goes on, and warns of a large loss.
import { html, useEffect, useState } from "./ui.js";
import { post } from "./api.js";
import { isHuman, isOver } from "./game_state.js";
import { t } from "./language.js";
import { amount, capital, fromServer, percent } from "./format.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").GradedMove} GradedMove */

/** Return whether a person who plays against the computer has just moved, also if the same person is next. @param {Game} game */
function isDue(game) {
  const last = game.history.at(-1)?.player ?? "CHANCE";
  const people = Object.values(game.players).filter((player) => player === "human").length;
  return !isOver(game) && last !== "CHANCE" && isHuman(game, last) && people === 1;
}

/**
 * Grade the last move if the tutor is on. While it `waits`, the game stands still.
 * @param {Game|null} game @param {boolean} on
 */
export function useTutor(game, on) {
  const [state, setState] = useState(/** @type {{of: string, warning: GradedMove|null}} */ ({ of: "", warning: null }));
  const of = game && on && isDue(game) ? `${game.id} ${game.steps.length} ${game.position.position}` : "";
  useEffect(() => {
    if (!game || !of) return;
    let alive = true;
    setState({ of: "", warning: null });
    post(`/api/games/${encodeURIComponent(game.id)}/grade`, { at: game.steps.length }).then(
      (graded) => alive && setState({ of, warning: graded.large ? graded : null }),
      () => alive && setState({ of, warning: null }), // the game goes on without a grade
    );
    return () => void (alive = false);
  }, [of]);
  const graded = state.of === of;
  const warning = of && graded ? state.warning : null;
  return { checks: of !== "" && !graded, waits: of !== "" && (!graded || warning !== null), warning, keep: () => setState({ of, warning: null }) };
}

/** @param {{warning: GradedMove|null, onTakeBack: () => void, onKeep: () => void}} props */
export const Warning = ({ warning, onTakeBack, onKeep }) => html`<div role="alert" class="guide-place">
  ${warning && html`<section class="card guide warning" aria-label=${t("Warning")}>
    <p><strong>${capital(fromServer(warning.grade))}.</strong> ${lossText(warning)} ${t("Take it back?")}</p>
    <div class="buttons"><button type="button" class="primary" onClick=${onTakeBack}>${t("Take back")}</button>
      <button type="button" class="quiet" onClick=${onKeep}>${t("Keep")}</button></div>
  </section>`}
</div>`;

/** @param {GradedMove} graded */
function lossText({ step, loss, unit, win, best_win }) {
  const move = fromServer(step);
  if (unit === "points") return t("{move} loses {n} points.", { move, n: amount(loss, true).replace("+", "") });
  const lost = percent(loss);
  if (win === null || best_win === null) return t("{move} loses {lost} of your winning chances.", { move, lost });
  return t("{move} loses {lost} of your winning chances, from {before} to {after}.", { move, lost, before: percent(best_win), after: percent(win) });
}

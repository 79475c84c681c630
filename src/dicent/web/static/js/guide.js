// The guide of a first game: each first is explained once, where it happens, in the game's own sentences.
import { html, useEffect, useRef, useState } from "./ui.js";
import { get } from "./api.js";
import { t } from "./language.js";
import { Toggle, useLoaded } from "./components.js";
import { savePreference, readPreference } from "./preferences.js";
import { isMine, isOver, turnOf } from "./game_state.js";
import { fromServer } from "./format.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {{on: boolean, seen: Record<string, string[]>}} Stored `seen` has the events by game, without its options */

const NAME = "guide";

/** @returns {Stored} */
const stored = () => ({ on: true, seen: {}, ...readPreference(NAME, {}) });

/** @param {string} game */
const base = (game) => game.split(":")[0];

/** @param {string} game @param {string[]} events */
function remember(game, events) {
  const { on, seen } = stored();
  savePreference(NAME, { on, seen: { ...seen, [base(game)]: [...new Set([...(seen[base(game)] ?? []), ...events])] } });
}

/** Return what happens for the first time, perhaps, in a position of a game. @param {Game} game @param {boolean} rollForMe @returns {Record<string, boolean>} */
function eventsOf(game, rollForMe) {
  const { position, history } = game;
  const rolls = position.to_play === "CHANCE";
  const turn = turnOf(game);
  const mine = !isOver(game) && isMine(game, turn);
  const moves = mine && !rolls;
  const last = history.findLast((past) => past.player !== "CHANCE");
  const ends = position.actions.flatMap((action) => action.paths.map((way) => way.at(-1)?.[1] ?? -1));
  return {
    start: !isOver(game),
    roll: mine && rolls && (game.dice === "hand" || !rollForMe),
    move: moves,
    note: moves && position.note !== "",
    marked: moves && ends.some((place) => position.view?.places[place]?.marked),
    capture: (history.at(-1)?.captures.length ?? 0) > 0,
    again: mine && last?.player === turn,
    end: isOver(game),
  };
}

/**
 * Collect the sentences for what is new, until the person acts or dismisses them.
 * @param {Game|null} game @param {boolean} rollForMe
 */
export function useGuide(game, rollForMe) {
  const [on, setOn] = useState(() => stored().on);
  const [shown, setShown] = useState(/** @type {string[]} */ ([]));
  const before = useRef(/** @type {Game|null} */ (null));
  const watched = Boolean(game && on && Object.values(game.players).includes("human"));
  const ask = () => (game && watched ? get("/api/guide", { game: game.game }) : Promise.resolve(null));
  const sentences = useLoaded(ask, [game?.game, watched]).value?.sentences ?? null;
  useEffect(() => {
    if (!game || !watched || !sentences) return;
    const acted = before.current !== null && before.current.steps.length < game.steps.length && isMine(before.current, turnOf(before.current));
    before.current = game;
    if (acted) remember(game.game, shown);
    const seen = stored().seen[base(game.game)] ?? [];
    const happens = eventsOf(game, rollForMe);
    const now = Object.keys(sentences).filter((event) => happens[event] && !seen.includes(event));
    setShown((shown) => (acted ? now : [...shown, ...now.filter((event) => !shown.includes(event))]));
  }, [game, rollForMe, watched, sentences]);

  function dismiss() {
    if (game) remember(game.game, shown);
    setShown([]);
  }
  function stop() {
    savePreference(NAME, { ...stored(), on: false });
    setOn(false);
  }
  const texts = watched && sentences ? shown.map((event) => fromServer(sentences[event])) : [];
  return { texts, dismiss, stop };
}

/** @param {ReturnType<typeof useGuide>} props */
export const GuideCard = ({ texts, dismiss, stop }) => html`<div role="status" class="guide-place">
  ${texts.length > 0 && html`<section class="card guide" aria-label=${t("Guide")}>
    ${texts.map((text) => html`<p key=${text}>${text}</p>`)}
    <div class="buttons between"><button type="button" class="quiet" onClick=${dismiss}>${t("Got it")}</button>
      <button type="button" class="link" onClick=${stop}>${t("Stop explaining")}</button></div>
  </section>`}
</div>`;

/** Switch the guide on or off, or start it again. @param {{game: string}} props */
export function GuideSwitch({ game }) {
  const [{ on, seen }, setState] = useState(stored);
  /** @param {Partial<Stored>} change */
  function change(change) {
    savePreference(NAME, { ...stored(), ...change });
    setState(stored());
  }
  const again = () => change({ seen: { ...stored().seen, [base(game)]: [] } });
  return html`<div class="guide-switch">
    <${Toggle} label=${t("Explain the game as I play")} checked=${on} onChange=${(/** @type {boolean} */ on) => change({ on })} />
    ${on && (seen[base(game)] ?? []).length > 0 && html`<button type="button" class="link" onClick=${again}>${t("Explain all of it again")}</button>`}
  </div>`;
}

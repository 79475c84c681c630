// Games of two devices: the link for the other one, the clocks, rematches, and news of what the other one did.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { openOwnGame } from "./access.js";
import { announce } from "./announce.js";
import { forgetInfo, get, wait } from "./api.js";
import { copy } from "./clipboard.js";
import { Message } from "./components.js";
import { canFlip, flipped } from "./flip.js";
import { COLOUR, other, sidesOf } from "./format.js";
import { isOver } from "./game_state.js";
import { t } from "./language.js";
import { readPreference, savePreference } from "./preferences.js";

/** @typedef {import("./types.js").Game} Game */
/** @typedef {import("./types.js").Side} Side */
/** @typedef {import("./types.js").View} View */

export const LINK = "link"; // the opponent on another device
export const CLOCKS = ["1+0", "3+2", "5+3", "10+5", "15+10", "30+20"]; // minutes and seconds per move
const LINKS = 10; // that the browser keeps
const TICK = 200; // milliseconds
const BUSY = 503; // the status of a server that has too much to do
const RETRY = 2000; // milliseconds until it is asked again
const REFUSED = 403; // the status for a guest whose link leads to another game

/** Keep the link of a new game, which the server tells only once. @param {string} id @param {string} link */
export function keepLink(id, link) {
  const kept = Object.entries(readPreference("links", {})).filter(([one]) => one !== id);
  savePreference("links", Object.fromEntries([...kept, [id, link]].slice(-LINKS)));
}

/** Show the link until the other device has joined. @param {{game: Game}} props */
export function Invitation({ game }) {
  const [note, setNote] = useState("");
  if (!game.waiting || isOver(game)) return null;
  const link = readPreference("links", {})[game.id] ?? "";
  const copyLink = async () => setNote((await copy(link)) ? t("Link copied.") : t("The link cannot be copied here."));
  return html`<section class="card invitation" aria-label=${t("Another device")}>
    <p>${link ? t("Open this link on the other device. Anyone who has it can play.") : t("The other device has not joined yet.")}</p>
    ${link && html`<input readonly aria-label=${t("Link")} value=${link} onFocus=${(/** @type {any} */ e) => e.currentTarget.select()} />
      <div class="buttons"><button type="button" class="primary" onClick=${copyLink}>${t("Copy link")}</button></div>`}
    <${Message} text=${note} kind="note" />
  </section>`;
}

/** Choose the clock of a new game. @param {{value: string, onChange: (clock: string) => void}} props */
export const ClockChoice = ({ value, onChange }) => html`<label class="field-label" for="clock">${t("Clock")}
  <select id="clock" value=${value} onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.value)}>
    <option value="">${t("No clock")}</option>
    ${CLOCKS.map((clock) => {
      const [minutes, seconds] = clock.split("+");
      return html`<option value=${clock}>${seconds === "0" ? t("{n} min", { n: minutes }) : t("{n} min, {seconds} s per move", { n: minutes, seconds })}</option>`;
    })}
  </select>
</label>`;

/** Show what a side has left; the page counts down between two answers of the server. @param {{game: Game, side: Side}} props */
export function ClockTime({ game, side }) {
  const since = useMemo(() => performance.now(), [game]);
  const [, tick] = useState(0);
  const runs = game.clock?.running === side;
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => tick((n) => n + 1), TICK);
    return () => clearInterval(timer);
  }, [runs]);
  if (!game.clock) return null;
  const time = timeText(game.clock.left[side] - (runs ? (performance.now() - since) / 1000 : 0));
  return html`<span class="clock ${runs ? "runs" : ""}" role="timer" aria-label=${t("{who}'s time", { who: COLOUR[side] })}>${time}</span>`;
}

/** Write seconds as minutes and seconds, as in 4:59. @param {number} left */
export function timeText(left) {
  const seconds = Math.ceil(Math.max(0, left));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Return a view with the own side at the bottom, if the board may be turned. @param {View|null} view @param {Side|null} yours */
export const facing = (view, yours) => (view && yours && canFlip(view) && view.bottom !== yours ? flipped(view) : view);

/** Return the sides above and below a board. @param {View|null} view @param {Side|null} yours @returns {[Side, Side]} */
export const sidesFacing = (view, yours) => (yours ? [other(yours), yours] : sidesOf(view));

/** Say who offers a rematch. @param {Game} game */
export function rematchText(game) {
  if (!game.yours || !game.rematch_offer || game.rematch) return "";
  const who = COLOUR[other(game.yours)];
  return isOffered(game) ? t("{who} offers a rematch.", { who }) : t("Waiting for {who} to accept the rematch.", { who });
}

/** Return whether the other device offers a rematch. @param {Game} game */
export const isOffered = (game) => Boolean(game.yours && game.rematch_offer === other(game.yours) && !game.rematch);

/** Offer a rematch at the end, or accept it. @param {{game: Game, busy: boolean, onRematch: () => void}} props */
export function Rematch({ game, busy, onRematch }) {
  if (!game.yours || game.waiting) return null;
  if (game.rematch) return html`<a class="button quiet" href=${`#/play/${game.rematch}`}>${t("Next game")}</a>`;
  const [offered, waits] = [isOffered(game), game.rematch_offer === game.yours];
  return html`<button type="button" class=${offered ? "primary" : "quiet"} disabled=${busy || waits} onClick=${onRematch}>
    ${waits ? t("Rematch offered") : offered ? t("Accept rematch") : t("Rematch")}</button>`;
}

/** Announce an offer of the other device, and open the rematch when it begins. @param {Game|null} game */
export function useRematch(game) {
  const seen = useRef(""); // the game that was shown before its rematch began
  useEffect(() => {
    if (!game?.yours) return;
    if (!game.rematch) {
      seen.current = game.id;
      if (game.rematch_offer) announce(rematchText(game));
    } else if (seen.current === game.id) {
      const link = readPreference("links", {})[game.id];
      if (link) keepLink(game.rematch, link);
      forgetInfo(); // it names the only game of a guest
      location.hash = `#/play/${encodeURIComponent(game.rematch)}`;
    }
  }, [game?.id, game?.rematch_offer, game?.rematch]);
}

/**
 * Ask the server for what the other device does, until a rematch has begun.
 * @param {Game|null} game @param {(game: Game) => void} onChange @param {(problem: string) => void} onProblem
 */
export function useNews(game, onChange, onProblem) {
  const follows = Boolean(game?.yours && !game.rematch);
  useEffect(() => {
    if (!game || !follows) return;
    const { id, version } = game;
    const stop = new AbortController();
    const ask = () => get(`/api/games/${encodeURIComponent(id)}`, { after: version }, { signal: stop.signal });
    async function follow() {
      for (;;) {
        const next = await ask().catch((error) => {
          if (error.status !== BUSY) throw error;
          return null;
        });
        if (stop.signal.aborted) return;
        if (next && next.version !== version) return onChange(next);
        if (!next) await wait(RETRY);
      }
    }
    follow()
      .catch((error) => (game.guest && error.status === REFUSED ? openOwnGame() : Promise.reject(error)))
      .catch((error) => stop.signal.aborted || onProblem(error.message));
    return () => stop.abort();
  }, [game?.id, game?.version, follows]);
}

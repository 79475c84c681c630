// Start a game from a position.
import { html, useEffect, useRef, useState } from "./ui.js";
import { post } from "./api.js";
import { t } from "./language.js";
import { namesFor } from "./names.js";
import { Choice, Dot, Message } from "./components.js";
import { readPreference, savePreference } from "./preferences.js";
import { capital, COLOUR, fromServer } from "./format.js";

const GAMES = 100; // whose chosen positions are remembered, for rematches

/** Return whether a game began at a position that the player chose. @param {string} id @returns {boolean} */
export const wasChosen = (id) => readPreference("chosen-positions", []).includes(id);

/** @param {string} id of a game that began at a chosen position */
export const rememberChosen = (id) => savePreference("chosen-positions", [id, ...readPreference("chosen-positions", [])].slice(0, GAMES));

/** @param {{game: string, position: string, side: string, info: import("./types.js").Info, onClose: () => void}} props `side` is to play */
export function PlayFrom({ game, position, side, info, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  const kept = readPreference("new-game", {});
  const names = info.strengths.map((one) => one.name);
  const [sides, setSides] = useState(side);
  const [rival, setRival] = useState(names.includes(kept.strength) ? kept.strength : names[Math.floor(names.length / 2)]);
  const [problem, setProblem] = useState(/** @type {string|null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  async function start(/** @type {Event} */ event) {
    event.preventDefault();
    const players = { MAX: sides === "MIN" ? rival : "human", MIN: sides === "MAX" ? rival : "human" };
    try {
      const made = await post("/api/games", { game, position, players, names: namesFor(players) }, { patient: false });
      rememberChosen(made.id);
      location.hash = `#/play/${made.id}`;
    } catch (/** @type {any} */ e) {
      setProblem(e.message);
    }
  }
  return html`<dialog ref=${dialog} class="play-from" aria-label=${t("Play from here")} onCancel=${onClose}>
    <form class="form" onSubmit=${start}>
      <h2>${t("Play from here")}</h2>
      <${Choice} legend=${t("You play")} name="from-sides" value=${sides} onChange=${setSides} choices=${[
        ["MAX", html`<${Dot} side="MAX" />${COLOUR.MAX}`], ["MIN", html`<${Dot} side="MIN" />${COLOUR.MIN}`], ["both", t("Both")],
      ]} />
      ${sides !== "both" && html`<label class="field-label" for="from-rival">${t("Opponent")}
        <select id="from-rival" value=${rival} onChange=${(/** @type {any} */ e) => setRival(e.currentTarget.value)}>
          ${info.strengths.map((one) => html`<option value=${one.name}>${fromServer(one.title) || capital(one.name)}</option>`)}
        </select></label>`}
      <${Message} text=${problem} />
      <div class="buttons end"><button type="button" class="quiet" onClick=${onClose}>${t("Cancel")}</button><button class="primary">${t("Start game")}</button></div>
    </form>
  </dialog>`;
}

// Small components shared by all pages.
import { html, useEffect, useRef, useState } from "./ui.js";
import { t } from "./language.js";
import { capital, COLOUR, equity, fromServer, percent } from "./format.js";

/** Show a message; `kind` is "problem" or "note". @param {{text: string|null|undefined, kind?: string, onClose?: () => void}} props */
export function Message({ text, kind = "problem", onClose }) {
  return html`<div class="message-place" role=${kind === "problem" ? "alert" : "status"}>
    ${text &&
    html`<div class="message ${kind}"><span>${capital(fromServer(text))}</span>
      ${onClose && html`<button type="button" class="plain" aria-label=${t("Close message")} onClick=${onClose}>×</button>`}
    </div>`}
  </div>`;
}

/** Show the position as text, for games without a board. @param {{text: string}} props */
export const PlainPosition = ({ text }) => html`<div class="no-board"><p><span class="soft">${t("Position")}</span><br /><span class="big-text">${text}</span></p></div>`;

/**
 * Show the winning chances of both sides. `win` is the first side's, or null while unknown.
 * @param {{win: number|null, exact?: boolean}} props
 */
export function WinBar({ win, exact = false }) {
  const known = win !== null && Number.isFinite(win);
  const first = known ? /** @type {number} */ (win) : 0.5;
  const values = { first: `${COLOUR.MAX} ${percent(first, 1)}`, second: `${COLOUR.MIN} ${percent(1 - first, 1)}` };
  const text = !known ? t("Winning chances unknown")
    : exact ? t("Winning chances: {first}, {second}, exact", values) : t("Winning chances: {first}, {second}", values);
  return html`<div class="win-bar ${known ? "" : "unknown"}" role="img" aria-label=${text}>
    <span class="win-text MAX">${known ? percent(first, 1) : "–"}</span>
    <div class="win-track"><div class="win-part" style=${{ transform: `scaleX(${first})` }}></div></div>
    <span class="win-text MIN">${known ? percent(1 - first, 1) : "–"}</span>
  </div>`;
}

/** The first side's points, in place of chances. @param {{points: number, exact?: boolean}} props */
export const EquityLine = ({ points, exact = false }) =>
  html`<p class="equity-line">${exact ? t("{who} {n} points, exact", { who: COLOUR.MAX, n: equity(points) }) : t("{who} {n} points", { who: COLOUR.MAX, n: equity(points) })}</p>`;

/** @param {{side: string|null}} props */
export const Dot = ({ side }) => html`<span class="dot ${side ?? ""}" aria-hidden="true"></span>`;

/** @param {{name: string}} props one of the icons below */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

/** @type {Record<string, string>} */
const ICONS = {
  first: "M6 5v14M19 5l-9 7 9 7z",
  back: "M16 5l-9 7 9 7z",
  next: "M8 5l9 7-9 7z",
  last: "M18 5v14M5 5l9 7-9 7z",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  moon: "M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z",
  play: "M8 5l11 7-11 7z",
  stop: "M6 6h12v12H6z",
};

/**
 * Step through a game by buttons, or by the arrow keys outside of fields and the board.
 * @param {{at: number, most: number, onGo: (at: number) => void}} props
 */
export function Stepper({ at, most, onGo }) {
  const go = (/** @type {number} */ to) => onGo(Math.max(0, Math.min(most, to)));
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, [role=grid]")) return;
      if (document.querySelector("dialog[open]")) return;
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: most }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
  const button = (/** @type {string} */ icon, /** @type {string} */ label, /** @type {number} */ to) =>
    html`<button type="button" class="quiet square" aria-label=${label} disabled=${to < 0 || to > most || at === to} onClick=${() => go(to)}>
      <${Icon} name=${icon} />
    </button>`;
  return html`<div class="stepper" role="group" aria-label=${t("Steps of the game")}>
    ${button("first", t("Go to the start"), 0)} ${button("back", t("One step back"), at - 1)}
    <span class="step-count">${at} / ${most}</span>
    ${button("next", t("One step forward"), at + 1)} ${button("last", t("Go to the end"), most)}
  </div>`;
}

/** Ask for confirmation before something is lost. @param {{question: string, yes: string, onYes: () => void, onNo: () => void}} props */
export function Confirm({ question, yes, onYes, onNo }) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} class="confirm" aria-label=${question} onCancel=${onNo}>
    <p>${question}</p>
    <div class="buttons end">
      <button type="button" class="quiet" onClick=${onNo}>${t("Cancel")}</button>
      <button type="button" class="danger" onClick=${onYes}>${yes}</button>
    </div>
  </dialog>`;
}

/** @param {{label: string, checked: boolean, onChange: (on: boolean) => void}} props */
export const Toggle = ({ label, checked, onChange }) => html`<label class="toggle">
  <input type="checkbox" role="switch" checked=${checked} onChange=${(/** @type {any} */ e) => onChange(e.currentTarget.checked)} />
  <span class="toggle-track" aria-hidden="true"></span><span>${label}</span>
</label>`;

/**
 * A row of radio buttons.
 * @param {{legend: string, name: string, value: string, choices: [string, any][], onChange: (value: string) => void}} props
 */
export const Choice = ({ legend, name, value, choices, onChange }) => html`<fieldset class="choice">
  <legend>${legend}</legend>
  <div class="choice-row">
    ${choices.map(
      ([key, text]) => html`<label key=${key}>
        <input type="radio" name=${name} value=${key} checked=${key === value} onChange=${() => onChange(key)} />
        <span>${text}</span>
      </label>`,
    )}
  </div>
</fieldset>`;

/** Load a value whenever the inputs change; discard results of outdated requests. @template T @param {() => Promise<T>} load @param {any[]} inputs */
export function useLoaded(load, inputs) {
  const [state, setState] = useState(/** @type {{value: T|null, error: Error|null}} */ ({ value: null, error: null }));
  useEffect(() => {
    let alive = true;
    load().then(
      (value) => alive && setState({ value, error: null }),
      (error) => alive && setState((before) => ({ value: before.value, error })),
    );
    return () => void (alive = false);
  }, inputs);
  return state;
}

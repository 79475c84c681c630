// The dice: pips up to six, a numeral beyond. They tumble for a moment when they are rolled.
import { html, useEffect, useRef, useState } from "./ui.js";
import { wait } from "./api.js";
import { t } from "./language.js";
import { fromServer } from "./format.js";

/** @typedef {{text: string, dice?: string[]}} Rolled an outcome, with what each die shows if the game has said so */

export const ROLL_TIME = 620;
const FLICKER = 75;

/** @type {Record<string, [number, number][]>} */
const PIPS = {
  1: [[50, 50]],
  2: [[28, 28], [72, 72]],
  3: [[28, 28], [50, 50], [72, 72]],
  4: [[28, 28], [72, 28], [28, 72], [72, 72]],
  5: [[28, 28], [72, 28], [50, 50], [28, 72], [72, 72]],
  6: [[28, 26], [72, 26], [28, 50], [72, 50], [28, 74], [72, 74]],
};

export const calmMotion = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Draw one die with pips, a numeral, or words. @param {{value: string, size?: string}} props */
export function Face({ value, size = "" }) {
  if (value.length > 2) return html`<span class="face-words ${size}" aria-hidden="true">${fromServer(value)}</span>`;
  const pips = PIPS[value];
  return html`<svg class="face ${size}" viewBox="0 0 100 100" aria-hidden="true">
    <rect class="face-body" x="3" y="3" width="94" height="94" rx="20" />
    ${pips
      ? pips.map(([x, y]) => html`<circle class="pip" cx=${x} cy=${y} r="9" />`)
      : html`<text class="numeral" x="50" y="68" text-anchor="middle">${value}</text>`}
  </svg>`;
}

/** Return the faces of an outcome: its dice, or its text. @param {Rolled} outcome */
export const facesOf = ({ text, dice }) => (dice?.length ? dice : text ? [text] : []);

/** Draw all dice of a roll side by side. @param {{roll: Rolled, size?: string}} props */
export const Roll = ({ roll, size = "" }) => html`<span class="roll">${facesOf(roll).map((face) => html`<${Face} value=${face} size=${size} />`)}</span>`;

/**
 * The dice of a turn.
 * @param {{roll: Rolled, throw: number|string, rolls: Rolled[], onRoll?: (() => void)|null, owner?: string|null}} props
 * `throw` changes with each roll that is to be seen; `rolls` are those that can come.
 */
export function Die({ roll, throw: thrown, rolls, onRoll = null, owner = null }) {
  const [shown, setShown] = useState(/** @type {Rolled|null} */ (null));
  const before = useRef(thrown);
  const faces = facesOf(roll);
  useEffect(() => {
    if (before.current === thrown) return;
    before.current = thrown;
    const fitting = rolls.filter((one) => facesOf(one).length === faces.length);
    if (!faces.length || fitting.length < 2 || calmMotion()) return;
    let alive = true;
    (async () => {
      for (let t = 0; t < ROLL_TIME && alive; t += FLICKER) {
        setShown((now) => {
          const others = fitting.filter((one) => one !== now);
          return others[Math.floor(Math.random() * others.length)];
        });
        await wait(FLICKER);
      }
      if (alive) setShown(null);
    })();
    return () => {
      alive = false;
      setShown(null);
    };
  }, [thrown]);
  const now = shown ? facesOf(shown) : faces;
  const classes = `die ${owner ?? ""} ${shown ? "tumbling" : ""} ${now.length ? "" : "blank"} ${now.length > 1 ? "many" : ""}`;
  if (onRoll) {
    return html`<button type="button" class="${classes} to-roll" onClick=${onRoll}>
      <${Face} value="?" /><span class="die-word">${t("Roll")}</span>
    </button>`;
  }
  const words = faces.length > 1 ? t("The dice show {dice}", { dice: faces.join(t(" and ")) }) : t("The die shows {roll}", { roll: fromServer(faces[0]) });
  return html`<div class=${classes} role="img" aria-label=${faces.length ? words : t("No roll yet")}>
    ${(now.length ? now : [""]).map((face) => html`<${Face} value=${face} />`)}</div>`;
}

/** Offer rolls to choose from, for dice rolled by hand. @param {{rolls: Rolled[], onChoose: (text: string) => void, chosen?: string|null, label: string, enabled?: boolean}} props */
export function Faces({ rolls, onChoose, chosen = null, label, enabled = true }) {
  return html`<div class="faces" role="group" aria-label=${label}>
    ${rolls.map(
      (roll) => html`<button
        type="button" key=${roll.text} class="face-button" disabled=${!enabled} aria-label=${t("Die: {roll}", { roll: fromServer(roll.text) })}
        aria-pressed=${chosen === null ? undefined : String(chosen === roll.text)} onClick=${() => onChoose(roll.text)}
      ><${Roll} roll=${roll.text.length > 2 ? { text: roll.text } : roll} size="small" /></button>`,
    )}
  </div>`;
}

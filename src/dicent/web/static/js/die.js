// The die: pips up to six, a numeral beyond. It tumbles for a moment when it is rolled.
import { html, useEffect, useRef, useState } from "./ui.js";
import { wait } from "./api.js";

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

/** @param {{value: string, size?: string}} props */
export function Face({ value, size = "" }) {
  const pips = PIPS[value];
  return html`<svg class="face ${size}" viewBox="0 0 100 100" aria-hidden="true">
    <rect class="face-body" x="3" y="3" width="94" height="94" rx="20" />
    ${pips
      ? pips.map(([x, y]) => html`<circle class="pip" cx=${x} cy=${y} r="9" />`)
      : html`<text class="numeral" x="50" y="68" text-anchor="middle">${value}</text>`}
  </svg>`;
}

/**
 * @param {{value: string, throw: number|string, faces: string[], onRoll?: (() => void)|null, owner?: string|null}} props
 * `throw` changes with each roll that is to be seen.
 */
export function Die({ value, throw: thrown, faces, onRoll = null, owner = null }) {
  const [shown, setShown] = useState(/** @type {string|null} */ (null));
  const before = useRef(thrown);
  useEffect(() => {
    if (before.current === thrown) return;
    before.current = thrown;
    if (!value || faces.length < 2 || calmMotion()) return;
    let alive = true;
    (async () => {
      for (let t = 0; t < ROLL_TIME && alive; t += FLICKER) {
        setShown((face) => {
          const others = faces.filter((text) => text !== face);
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
  const face = html`<${Face} value=${shown ?? value} />`;
  const classes = `die ${owner ?? ""} ${shown ? "tumbling" : ""} ${value || shown ? "" : "blank"}`;
  if (onRoll) {
    return html`<button type="button" class="${classes} to-roll" onClick=${onRoll}>
      <${Face} value="?" /><span class="die-word">Roll</span>
    </button>`;
  }
  return html`<div class=${classes} role="img" aria-label=${value ? `The die shows ${value}` : "No roll yet"}>${face}</div>`;
}

/** Faces to choose from, for dice that are rolled on a table. @param {{faces: string[], onChoose: (face: string) => void, chosen?: string|null, label: string, enabled?: boolean}} props */
export function Faces({ faces, onChoose, chosen = null, label, enabled = true }) {
  return html`<div class="faces" role="group" aria-label=${label}>
    ${faces.map(
      (face) => html`<button
        type="button" key=${face} class="face-button" disabled=${!enabled} aria-label=${`Die: ${face}`}
        aria-pressed=${chosen === null ? undefined : String(chosen === face)} onClick=${() => onChoose(face)}
      ><${Face} value=${face} size="small" /></button>`,
    )}
  </div>`;
}

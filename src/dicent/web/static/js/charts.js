// Charts, drawn in device-independent pixels instead of scaled, so that labels stay readable on a phone.
import { html, useEffect, useRef, useState } from "./ui.js";
import { Roll } from "./die.js";
import { decimal, plainNumber, t } from "./language.js";
import { amount, COLOUR, equity, fromServer, percent } from "./format.js";

/** @typedef {import("./types.js").Moment} Moment */

/** Measure the width of an element. @returns {[{current: HTMLElement|null}, number]} */
export function useWidth() {
  const place = useRef(/** @type {HTMLElement|null} */ (null));
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!place.current) return;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  return [place, width];
}

const LEFT = 40;
const RIGHT = 10;

/**
 * Draw the winning chances or points over a game, with the luck of each roll below.
 * @param {{moments: Moment[], start: number|null, at: number, onGo: (at: number) => void, mistakes: number[], inPoints?: boolean}} props
 */
export function WinCurve({ moments, start, at, onGo, mistakes, inPoints = false }) {
  const [place, width] = useWidth();
  const height = 170;
  const [top, bottom] = [10, 12];
  const inner = Math.max(1, width - LEFT - RIGHT);
  const x = (/** @type {number} */ step) => LEFT + (inner * step) / Math.max(1, moments.length);
  const worth = (/** @type {Moment|undefined} */ moment) => (inPoints ? moment?.equity : moment?.win.MAX) ?? null;
  const values = [start ?? worth(moments[0]) ?? (inPoints ? 0 : 0.5), ...moments.map((moment) => worth(moment) ?? 0)];
  const high = inPoints ? Math.max(1, ...values.map(Math.abs)) : 1;
  const low = inPoints ? -high : 0;
  const y = (/** @type {number} */ value) => top + ((height - top - bottom) * (high - value)) / (high - low);
  const line = values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)},${y(value).toFixed(1)}`).join("");
  const area = (/** @type {number} */ base) => `${line}L${x(values.length - 1).toFixed(1)},${y(base)}L${x(0)},${y(base)}Z`;
  const say = inPoints ? (/** @type {number} */ value) => equity(value) : (/** @type {number} */ value) => percent(value);
  const range = { who: COLOUR.MAX, first: say(values[0]), last: say(values[values.length - 1]), n: moments.length };
  const text = inPoints ? t("Points of {who}: from {first} to {last} in {n} steps", range) : t("Winning chances of {who}: from {first} to {last} in {n} steps", range);

  /** @param {PointerEvent} event */
  function point(event) {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const box = /** @type {SVGElement} */ (event.currentTarget).getBoundingClientRect();
    const step = Math.round(((event.clientX - box.left - LEFT) / inner) * moments.length);
    onGo(Math.max(0, Math.min(moments.length, step)));
  }
  return html`<div class="chart" ref=${place} style=${{ minHeight: `${height + 74}px` }}>
    ${width > 0 &&
    html`<svg class="curve" width=${width} height=${height} role="img" aria-label=${text} onPointerDown=${point} onPointerMove=${point}>
      <path class="area MAX" d=${area(low)} /><path class="area MIN" d=${area(high)} />
      ${[low, (low + high) / 2, high].map((tick, i) => html`<g key=${i}>
        <line class="grid ${i === 1 ? "middle" : ""}" x1=${LEFT} x2=${width - RIGHT} y1=${y(tick)} y2=${y(tick)} />
        <text x=${LEFT - 7} y=${y(tick) + 4} text-anchor="end">${inPoints ? decimal(tick, 1) : percent(tick)}</text>
      </g>`)}
      <line class="here" x1=${x(at)} x2=${x(at)} y1=${top} y2=${height - bottom} />
      <path class="line" d=${line} />
      ${mistakes.map((i) => html`<circle key=${i} class="mistake-dot" cx=${x(i + 1)} cy=${y(values[i + 1])} r="4.5" />`)}
      <circle class="here-dot" cx=${x(at)} cy=${y(values[Math.min(at, values.length - 1)])} r="5" />
    </svg>
    <${LuckBars} moments=${moments} width=${width} x=${x} at=${at} inPoints=${inPoints} />`}
  </div>`;
}

/** @param {{moments: Moment[], width: number, x: (step: number) => number, at: number, inPoints: boolean}} props */
function LuckBars({ moments, width, x, at, inPoints }) {
  const height = 74;
  const middle = 38;
  const lucks = moments.map((moment) => moment.luck ?? 0);
  const most = Math.max(0.1, ...lucks.map(Math.abs));
  const bar = Math.max(2, Math.min(14, ((width - LEFT - RIGHT) / Math.max(1, moments.length)) * 0.9));
  const sum = lucks.reduce((total, luck) => total + luck, 0);
  return html`<svg class="luck" width=${width} height=${height} role="img"
    aria-label=${t("Luck of each roll; total {luck} for {who}", { luck: amount(sum, inPoints), who: COLOUR.MAX })}>
    <line class="grid" x1=${LEFT} x2=${width - RIGHT} y1=${middle} y2=${middle} />
    <text x=${LEFT - 7} y=${middle + 4} text-anchor="end">${t("luck")}</text>
    <line class="here" x1=${x(at)} x2=${x(at)} y1="4" y2=${height - 4} />
    ${lucks.map((luck, i) => {
      const length = (Math.abs(luck) / most) * (middle - 6);
      return luck !== 0 && html`<rect key=${i} class="luck-bar ${luck > 0 ? "MAX" : "MIN"}" x=${x(i + 1) - bar / 2} width=${bar}
        y=${luck > 0 ? middle - length : middle} height=${Math.max(1, length)} rx="1.5"><title>${t("{roll}: {luck} for {who}", { roll: moments[i].step, luck: amount(luck, inPoints), who: COLOUR.MAX })}</title></rect>`;
    })}
  </svg>`;
}

const SCALE = 0.05; // the smallest change that may fill the chart

/**
 * Draw a bar for each roll: to the right if it helps the first side, to the left if the second.
 * @param {{rolls: {outcome: string, p: number, value: number, dice?: string[]}[], expected: number|null, inPoints?: boolean}} props
 *   `value` is the first side's winning chances or points
 */
export function OutcomeBars({ rolls, expected, inPoints = false }) {
  const changes = rolls.map((roll) => (expected !== null && Number.isFinite(roll.value) ? roll.value - expected : 0));
  const say = (/** @type {number} */ value) => (inPoints ? equity(value) : percent(value, 1));
  const most = Math.max(SCALE, ...changes.map(Math.abs));
  return html`<ul class="rolls">
    ${rolls.map((roll, i) => {
      const length = (50 * Math.abs(changes[i])) / most;
      const side = changes[i] > 0 ? "MAX" : "MIN";
      return html`<li key=${roll.outcome}>
        <${Roll} roll=${{ text: roll.outcome, dice: roll.dice }} size="tiny" />
        <span class="hidden">${inPoints
          ? t("Roll {roll}: {who} has {n} points", { roll: roll.outcome, who: COLOUR.MAX, n: say(roll.value) })
          : t("Roll {roll}: {who} wins {share}", { roll: roll.outcome, who: COLOUR.MAX, share: say(roll.value) })}</span>
        <span class="roll-track" aria-hidden="true">
          <span class="roll-part ${side}" style=${{ left: `${side === "MAX" ? 50 : 50 - length}%`, width: `${length}%` }}></span>
        </span>
        <span class="roll-change ${Math.abs(changes[i]) < 0.0005 ? "" : side}" aria-hidden="true">${amount(changes[i], inPoints)}</span>
        <span class="roll-win" aria-hidden="true">${say(roll.value)}</span>
      </li>`;
    })}
  </ul>`;
}

/** @param {number} low @param {number} high @param {number} [about] how many @param {number} [least] between two of them */
export function ticks(low, high, about = 4, least = 0) {
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const raw = Math.max(least, (high - low) / about);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw;
  const found = [];
  for (let tick = Math.floor(low / step) * step; tick < high + step * 0.999; tick += step) found.push(Number(tick.toPrecision(12)));
  return found;
}

/**
 * Draw curves over a common axis.
 * @param {{curves: {name: string, x: number[], y: number[]}[], xLabel: string, label: string, percent?: boolean}} props
 */
export function LineChart({ curves, xLabel, label, percent: shares = false }) {
  const [place, width] = useWidth();
  const height = 200;
  const drawn = curves.map((curve) => ({
    name: curve.name,
    dots: curve.x.map((x, i) => [x, curve.y[i]]).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y)),
  })).filter((curve) => curve.dots.length);
  const all = drawn.flatMap((curve) => curve.dots);
  const counts = all.every(([x]) => Number.isInteger(x));
  const xs = ticks(Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x)), width < 400 ? 4 : 6, counts ? 1 : 0);
  const ys = ticks(Math.min(...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y)));
  const left = 52;
  const px = (/** @type {number} */ x) => left + ((width - left - RIGHT) * (x - xs[0])) / (xs[xs.length - 1] - xs[0]);
  const py = (/** @type {number} */ y) => 10 + (height - 46) * (1 - (y - ys[0]) / (ys[ys.length - 1] - ys[0]));
  const number = (/** @type {number} */ n) => plainNumber(Number(n.toPrecision(6)), 6);
  return html`<figure class="chart" ref=${place} style=${{ minHeight: `${height}px` }}>
    ${width > 0 && all.length > 0 &&
    html`<svg class="lines" width=${width} height=${height} role="img" aria-label=${t("{quantity}, by {axis}", { quantity: label, axis: xLabel })}>
      ${ys.map((tick) => html`<g key=${tick}><line class="grid" x1=${left} x2=${width - RIGHT} y1=${py(tick)} y2=${py(tick)} />
        <text x=${left - 7} y=${py(tick) + 4} text-anchor="end">${shares ? percent(tick) : number(tick)}</text></g>`)}
      ${xs.map((tick) => html`<text key=${tick} x=${px(tick)} y=${height - 18} text-anchor="middle">${number(tick)}</text>`)}
      <text x=${width - RIGHT} y=${height - 3} text-anchor="end">${xLabel}</text>
      ${drawn.map((curve, i) => html`<g class="series s${i % 6}" key=${curve.name}>
        <path d=${curve.dots.map(([x, y], j) => `${j ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("")} />
        ${curve.dots.length < 25 && curve.dots.map(([x, y]) => html`<circle cx=${px(x)} cy=${py(y)} r="3" />`)}
      </g>`)}
    </svg>`}
    ${drawn.length > 1 && html`<figcaption class="legend">${drawn.map((curve, i) => html`<span class="series s${i % 6}"><i></i>${fromServer(curve.name)}</span>`)}</figcaption>`}
    ${all.length === 0 && html`<p class="soft">${t("No measurements yet.")}</p>`}
  </figure>`;
}

// Arrows over the board, for hints, better moves and variations.
import { html } from "./ui.js";
import { centre } from "./layout.js";

/** @typedef {import("./types.js").Arrow} Arrow */
/** @typedef {import("./types.js").View} View */

/** @param {{view: View, arrows: Arrow[]}} props */
export function Arrows({ view, arrows }) {
  return html`<svg class="arrows" viewBox="0 0 ${view.width} ${view.height}" aria-hidden="true">
    ${arrows.map((arrow, i) => (arrow.from !== null ? line(view, arrow, i) : ring(view, arrow, i)))}
  </svg>`;
}

/** @param {View} view @param {Arrow} arrow @param {number} i */
function line(view, arrow, i) {
  const [fromX, fromY] = centre(view.places[/** @type {number} */ (arrow.from)]);
  const [toX, toY] = centre(view.places[arrow.to]);
  const [dx, dy] = [toX - fromX, toY - fromY];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const x = (/** @type {number} */ along, /** @type {number} */ aside) =>
    (fromX + ux * along - uy * aside).toFixed(3);
  const y = (/** @type {number} */ along, /** @type {number} */ aside) =>
    (fromY + uy * along + ux * aside).toFixed(3);
  const tip = length - 0.12;
  const tail = arrow.label ? 0.36 : 0.3; // hidden behind the label
  const corners = [
    [tail, 0.065], [tip - 0.26, 0.065], [tip - 0.26, 0.19], [tip, 0], [tip - 0.26, -0.19], [tip - 0.26, -0.065],
    [tail, -0.065],
  ];
  return html`<g class="arrow ${arrow.kind}" key=${i}>
    <polygon points=${corners.map(([a, b]) => `${x(a, b)},${y(a, b)}`).join(" ")} />
    ${arrow.label && mark(Number(x(0.42, 0)), Number(y(0.42, 0)), arrow.label)}
  </g>`;
}

/** Mark the target of an action without an origin, such as placing a piece. @param {View} view @param {Arrow} arrow @param {number} i */
function ring(view, arrow, i) {
  const [x, y] = centre(view.places[arrow.to]);
  return html`<g class="arrow ${arrow.kind}" key=${i}>
    <circle class="ring" cx=${x} cy=${y} r="0.36" />
    ${arrow.label && mark(x, y, arrow.label)}
  </g>`;
}

/** @param {number} x @param {number} y @param {string} text */
function mark(x, y, text) {
  return html`<circle class="mark" cx=${x} cy=${y} r="0.13" />
    <text x=${x} y=${y + 0.062} text-anchor="middle">${text}</text>`;
}

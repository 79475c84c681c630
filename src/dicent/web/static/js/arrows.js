// Arrows over the board, for hints, better moves and variations.
import { html } from "./ui.js";

/** @typedef {import("./types.js").Arrow} Arrow */

/** @param {{view: import("./types.js").View, arrows: Arrow[]}} props */
export function Arrows({ view, arrows }) {
  return html`<svg class="arrows" viewBox="0 0 ${view.columns} ${view.rows}" aria-hidden="true">
    ${arrows.map((arrow, i) => (arrow.from ? line(arrow, i) : ring(arrow, i)))}
  </svg>`;
}

/** @param {Arrow} arrow @param {number} i */
function line(arrow, i) {
  const [fromRow, fromColumn] = /** @type {[number, number]} */ (arrow.from);
  const [toRow, toColumn] = arrow.to;
  const [dx, dy] = [toColumn - fromColumn, toRow - fromRow];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const x = (/** @type {number} */ along, /** @type {number} */ aside) =>
    (fromColumn + 0.5 + ux * along - uy * aside).toFixed(3);
  const y = (/** @type {number} */ along, /** @type {number} */ aside) =>
    (fromRow + 0.5 + uy * along + ux * aside).toFixed(3);
  const tip = length - 0.12;
  const corners = [
    [0.3, 0.065], [tip - 0.26, 0.065], [tip - 0.26, 0.19], [tip, 0], [tip - 0.26, -0.19], [tip - 0.26, -0.065],
    [0.3, -0.065],
  ];
  return html`<g class="arrow ${arrow.kind}" key=${i}>
    <polygon points=${corners.map(([a, b]) => `${x(a, b)},${y(a, b)}`).join(" ")} />
    ${arrow.label && mark(Number(x(0.42, 0)), Number(y(0.42, 0)), arrow.label)}
  </g>`;
}

/** Mark the target of an action without an origin, such as placing a piece. @param {Arrow} arrow @param {number} i */
function ring(arrow, i) {
  const [row, column] = arrow.to;
  return html`<g class="arrow ${arrow.kind}" key=${i}>
    <circle class="ring" cx=${column + 0.5} cy=${row + 0.5} r="0.36" />
    ${arrow.label && mark(column + 0.5, row + 0.5, arrow.label)}
  </g>`;
}

/** @param {number} x @param {number} y @param {string} text */
function mark(x, y, text) {
  return html`<circle class="mark" cx=${x} cy=${y} r="0.13" />
    <text x=${x} y=${y + 0.062} text-anchor="middle">${text}</text>`;
}

// The same board seen from the other side.
import { other } from "./format.js";

/** @typedef {import("./types.js").View} View */

/** @type {Record<string, string>} */
const TURNED = { "point-up": "point-down", "point-down": "point-up" };

/** Return whether a board may be turned: one whose players sit at opposite sides of it. @param {View|null|undefined} view */
export const canFlip = (view) => Boolean(view?.bottom);

/** Turn a view by half a circle. Places keep their index, so moves and arrows fit it, too. @param {View} view @returns {View} */
export const flipped = (view) => ({
  ...view,
  places: view.places.map((place) => ({
    ...place, x: view.width - place.x - place.width, y: view.height - place.y - place.height, shape: TURNED[place.shape] ?? place.shape,
  })),
  grid: view.grid && { ...view.grid, row_names: [...view.grid.row_names].reverse(), column_names: [...view.grid.column_names].reverse() },
  bottom: view.bottom && other(view.bottom),
});

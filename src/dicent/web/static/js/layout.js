// The positions of pieces on a board, in units. `draw/layout.py` computes the same for other drawings.

/** @typedef {import("./types.js").View} View */
/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").Stack} Stack */
/** @typedef {{stack: Stack, number: number, last: boolean, x: number, y: number, size: number, label: string}} Spot */

/** Return the pieces to draw. A stack with more pieces than fit has its count on the last one. @param {View} view @returns {Spot[]} */
export function spots(view) {
  return view.places.flatMap((place, i) => {
    const stacks = view.stacks.filter((stack) => stack.place === i && stack.count > 0);
    return stacks.length && place.shape !== "track" && place.shape !== "label" ? onPlace(place, stacks) : [];
  });
}

/** @param {Place} place @param {Stack[]} stacks @returns {Spot[]} */
function onPlace(place, stacks) {
  const [size, length] = [place.width, place.height].sort((a, b) => a - b);
  let room = Math.max(1, Math.floor(length / size + 0.01));
  if (stacks.reduce((sum, stack) => sum + stack.count, 0) > room) room = Math.max(1, Math.floor(room / stacks.length));
  const drawn = stacks.map((stack) => Math.min(stack.count, room));
  const centred = ["cell", "bowl", "bar"].includes(place.shape);
  let at = centred ? (length - size * drawn.reduce((a, b) => a + b)) / 2 : 0;
  return stacks.flatMap((stack, i) =>
    Array.from({ length: drawn[i] }, (_, number) => {
      const middle = place.shape === "point-up" ? length - at - size / 2 : at + size / 2;
      at += size;
      const last = number === drawn[i] - 1;
      const label = last && stack.count > drawn[i] ? String(stack.count) : stack.label;
      const upright = place.height > place.width;
      const x = upright ? place.x + place.width / 2 : place.x + middle;
      const y = upright ? place.y + middle : place.y + place.height / 2;
      return { stack, number, last, x, y, size, label };
    }),
  );
}

/**
 * Return the filled parts of a track, as shares of its width.
 * @param {View} view @param {number} index @returns {{owner: Stack["owner"], from: number, to: number}[]}
 */
export function segments(view, index) {
  const { capacity } = view.places[index];
  let filled = 0;
  return view.stacks.filter((stack) => stack.place === index).map((stack) => {
    const from = filled;
    filled = Math.min(capacity, filled + stack.count);
    return { owner: stack.owner, from: from / capacity, to: filled / capacity };
  });
}

const SIDEWAYS = 3; // the cost of a unit aside, against one ahead

/**
 * Return the nearest place in a direction, or the same place if there is none.
 * @param {View} view @param {number} index @param {[number, number]} direction right and down
 */
export function neighbour(view, index, [dx, dy]) {
  const [x, y] = centre(view.places[index]);
  let [best, least] = [index, Infinity];
  view.places.forEach((place, i) => {
    const [px, py] = centre(place);
    const ahead = (px - x) * dx + (py - y) * dy;
    const cost = ahead + SIDEWAYS * Math.abs((px - x) * dy - (py - y) * dx);
    if (place.shape !== "label" && ahead > 0.1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}

/** @param {Place} place @returns {[number, number]} */
export const centre = (place) => [place.x + place.width / 2, place.y + place.height / 2];

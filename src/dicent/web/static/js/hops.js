// An action is played on the board by hops from place to place, in any order. It may have several ways.
// The hops made so far narrow the actions that are left.

/** @typedef {import("./types.js").Hop} Hop */
/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").View} View */
/** @typedef {{from: number|null, to: number, hops: Hop[]}} Move one or more hops of the same piece */
/** @typedef {{action: Action, rests: Hop[][]}} Candidate what is left of each way to play an action */

/** Return the hops of a way that are left, or null if the way lacks a hop that was made. @param {Hop[]} way @param {Hop[]} made */
export function rest(way, made) {
  const left = [...way];
  for (const [from, to] of made) {
    const i = left.findIndex((hop) => hop[0] === from && hop[1] === to);
    if (i < 0) return null;
    left.splice(i, 1);
  }
  return left;
}

/** Return the actions that contain the hops made so far. @param {Action[]} actions @param {Hop[]} made @returns {Candidate[]} */
export function narrow(actions, made) {
  if (!made.length) return actions.map((action) => ({ action, rests: action.paths }));
  return actions.flatMap((action) => {
    const rests = action.paths.map((way) => rest(way, made)).filter((left) => left !== null);
    return rests.length ? [{ action, rests }] : [];
  });
}

/** Return whether one of the ways is made in full. @param {Candidate} candidate */
export const isComplete = (candidate) => candidate.rests.some((left) => !left.length);

/**
 * Return the moves that are possible next, each pair of places once: the next hop of a way, or a later hop
 * whose piece is there already. A move may join several hops of a piece, unless two such moves between the
 * same places lead to different actions.
 * @param {Candidate[]} candidates @param {(place: number) => boolean} isThere does a piece stand there that may move?
 * @returns {Move[]}
 */
export function nextMoves(candidates, isThere) {
  /** @type {Map<string, Move & {actions: Set<Action>, ways: Set<string>}>} */
  const found = new Map();
  /** @param {Action} action @param {Hop[]} hops */
  const add = (action, hops) => {
    const [from, to] = [hops[0][0], hops[hops.length - 1][1]];
    const key = `${from}>${to}`;
    const known = found.get(key);
    const way = hops.join(" ");
    if (!known || hops.length < known.hops.length) found.set(key, { from, to, hops, actions: new Set([action]), ways: new Set([way]) });
    else if (hops.length === known.hops.length) {
      known.actions.add(action);
      known.ways.add(way);
    }
  };
  /** @param {Action} action @param {Hop[]} hops @param {Hop[]} left */
  const walk = (action, hops, left) => {
    add(action, hops);
    left.forEach((hop, i) => {
      if (hop[0] === hops[hops.length - 1][1]) walk(action, [...hops, hop], left.filter((_, j) => j !== i));
    });
  };
  for (const { action, rests } of candidates) {
    for (const left of rests) {
      left.forEach((hop, i) => {
        if (i === 0 || hop[0] === null || isThere(hop[0])) walk(action, [hop], left.filter((_, j) => j !== i));
      });
    }
  }
  return [...found.values()].filter((move) => move.ways.size === 1 || move.actions.size === 1);
}

/**
 * Return the board after some hops of a side. A hop captures the other pieces on its target.
 * @param {View} view @param {Hop[]} made @param {string|null} side @returns {View}
 */
export function after(view, made, side) {
  let stacks = view.stacks;
  for (const [from, to] of made) {
    const moved = stacks.find((stack) => stack.place === from && (stack.owner === side || stack.owner === null));
    if (!moved) continue;
    stacks = stacks
      .map((stack) => (stack === moved ? { ...stack, count: stack.count - 1 } : stack))
      .filter((stack) => stack.count > 0 && (stack.place !== to || stack.owner === moved.owner));
    const there = stacks.find((stack) => stack.place === to && stack.label === moved.label);
    if (there) stacks = stacks.map((stack) => (stack === there ? { ...stack, count: stack.count + 1 } : stack));
    else stacks = [...stacks, { ...moved, place: to, count: 1 }];
  }
  return { ...view, stacks };
}

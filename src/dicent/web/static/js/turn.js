// A turn played on the board by one or more hops. Hops can be undone before the last one.
import { useEffect, useMemo, useState } from "./ui.js";
import { after, isComplete, narrow, nextMoves } from "./hops.js";

/** @typedef {import("./types.js").Position} Position */
/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").Hop} Hop */

/**
 * Track the hops of a turn, and play the action when it is complete and the only one left.
 * @param {Position|null} position @param {Action[]} actions those that may be played
 * @param {(text: string) => any} play
 */
export function useTurn(position, actions, play) {
  const [made, setMade] = useState(/** @type {{key: string, hops: Hop[][]}} */ ({ key: "", hops: [] }));
  const key = position ? `${position.game} ${position.position}` : "";
  const hops = made.key === key ? made.hops : [];
  useEffect(() => setMade({ key, hops: [] }), [key]);
  const now = useMemo(() => {
    const side = position?.to_play ?? null;
    const view = position?.view ? after(position.view, hops.flat(), side) : null;
    const candidates = narrow(actions, hops.flat());
    const isThere = (/** @type {number} */ place) =>
      Boolean(view?.stacks.some((stack) => stack.place === place && (stack.owner === side || stack.owner === null)));
    return {
      view, // after the hops made so far
      actions: candidates.map((candidate) => candidate.action), // that are left
      complete: hops.length ? candidates.filter(isComplete).map((candidate) => candidate.action) : [],
      moves: view ? nextMoves(candidates, isThere) : [], // what can be moved next
    };
  }, [position, actions, made, key]);

  /** @param {import("./hops.js").Move} move */
  function move(move) {
    const next = [...hops, move.hops];
    const left = narrow(actions, next.flat());
    const done = left.length === 1 && isComplete(left[0]);
    if (!done || next.flat().length > 1) setMade({ key, hops: next });
    if (done) play(left[0].action.text);
  }
  return {
    ...now,
    move,
    undo: hops.length ? () => setMade({ key, hops: hops.slice(0, -1) }) : null,
    long: actions.some((action) => action.paths.some((way) => way.length > 1)),
  };
}

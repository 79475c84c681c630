// The tree of variations on the analysis page: where the reader is, what was tried, and what is kept.
import { useEffect, useRef, useState } from "./ui.js";
import { analyseLink } from "./links.js";
import { annotate, find, graft, grow, keepTree, nodeAt, plant, prune, readTree, recallTree, toEnd } from "./variations.js";

/** @typedef {import("./variations.js").Node} Node */
/** @typedef {import("./variations.js").Path} Path */
/** @typedef {import("./variations.js").Step} Step */
/** @typedef {{game: string, tree: Node, path: Path}} Book */

/**
 * Follow the position of the address through the tree. A position that is not in it begins a new tree, or brings back the kept one.
 * @param {{game: string, position: string, root: string, link: string}} at `link` has the tree of a link, from the position `root`
 */
export function useVariations({ game, position, root, link }) {
  const [book, setBook] = useState(/** @type {Book|null} */ (null));
  useEffect(() => {
    if (!position) return;
    if (link) {
      let alive = true;
      readTree(game, root || position, link).then((linked) => {
        if (!alive) return;
        const [own, place] = recallTree(game, linked.position) ?? [linked, []];
        const tree = graft(own, place, linked);
        keepTree(game, tree);
        setBook({ game, tree, path: find(tree, position) ?? [] });
        history.replaceState(null, "", analyseLink(game, position)); // a reload brings back the kept tree, with later changes
      }, () => alive && setBook({ game, tree: plant(position), path: [] }));
      return () => void (alive = false);
    }
    setBook((now) => {
      if (now?.game === game && nodeAt(now.tree, now.path)?.position === position) return now;
      const here = now?.game === game ? find(now.tree, position) : null;
      if (now && here) return { ...now, path: here };
      const [tree, path] = recallTree(game, position) ?? [plant(position), []];
      return { game, tree, path };
    });
  }, [game, position, root, link]);
  const latest = useRef(book); // also of changes that are not drawn yet
  latest.current = book;
  const { tree = null, path = [] } = book?.game === game ? book : {};

  /** The tree to change: at the position of the address, or a new one that begins there. @returns {[Node, Path]} */
  function current() {
    const now = latest.current;
    return now?.game === game && nodeAt(now.tree, now.path)?.position === position ? [now.tree, now.path] : [plant(position), []];
  }
  /** @param {Node} tree @param {Path} path */
  function change(tree, path) {
    keepTree(game, tree);
    latest.current = { game, tree, path };
    setBook(latest.current);
    const next = nodeAt(tree, path)?.position ?? position;
    if (next !== position) location.hash = analyseLink(game, next);
  }
  return {
    tree,
    path,
    end: tree ? toEnd(tree, path) : path,
    /** Go to a node. @param {Path} to */
    go: (to) => change(current()[0], to),
    /** Play a step. @param {Step} step */
    play: (step) => change(...grow(...current(), [step])),
    /** Add a line without leaving the position. @param {Step[]} steps */
    add: (steps) => change(grow(...current(), steps)[0], current()[1]),
    /** @param {string} note */
    note: (note) => change(annotate(...current(), note), current()[1]),
    /** Remove the node with all that follows, and go to the one before it. */
    remove: () => change(prune(...current()), current()[1].slice(0, -1)),
  };
}

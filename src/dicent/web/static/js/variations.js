// A tree of variations: the moves that were tried from a position, with a note at each position.
// Trees are never changed in place. A path names a node: the number of the child at each step from the root.
import { afterStep, getPosition } from "./positions.js";
import { savePreference, readPreference } from "./preferences.js";

/** @typedef {{step: string, player: string, position: string, note: string, children: Node[]}} Node the root has no step */
/** @typedef {number[]} Path */
/** @typedef {{step: string, player: string|null, position: string}} Step with the position after it */
/** @typedef {{game: string, tree: Node}} Saved */

const TREES = 30; // kept in the browser, the last used first
const NODES = 200; // of a tree in a link
export const LONGEST_NOTE = 500; // letters
const LONGEST_LINK = 8000; // letters

/** @param {string} position @returns {Node} */
export const plant = (position) => ({ step: "", player: "", position, note: "", children: [] });

/** Return the node at a path, or null. @param {Node} tree @param {Path} path @returns {Node|null} */
export function nodeAt(tree, path) {
  /** @type {Node|null} */
  let node = tree;
  for (const i of path) node = node?.children[i] ?? null;
  return node;
}

/** Return a tree with the node at a path replaced. @param {Node} tree @param {Path} path @param {(node: Node) => Node} change @returns {Node} */
function changed(tree, path, change) {
  if (!path.length) return change(tree);
  const [first, ...rest] = path;
  return { ...tree, children: tree.children.map((child, i) => (i === first ? changed(child, rest, change) : child)) };
}

/**
 * Add steps after a node; steps that are there already are followed.
 * @param {Node} tree @param {Path} path @param {Step[]} steps @returns {[Node, Path]} the tree, and where the last step leads
 */
export function grow(tree, path, steps) {
  for (const { step, player, position } of steps) {
    const node = nodeAt(tree, path);
    if (!node) break;
    const known = node.children.findIndex((child) => child.step === step);
    if (known < 0) {
      const child = { ...plant(position), step, player: player ?? "" };
      tree = changed(tree, path, (one) => ({ ...one, children: [...one.children, child] }));
    }
    path = [...path, known < 0 ? node.children.length : known];
  }
  return [tree, path];
}

/** Add a tree with its notes at the node of the same position; nothing there is lost. @param {Node} tree @param {Path} path @param {Node} branch @returns {Node} */
export function graft(tree, path, branch) {
  const own = nodeAt(tree, path)?.note ?? "";
  if (!own.includes(branch.note)) tree = annotate(tree, path, own ? `${own}\n${branch.note}` : branch.note);
  for (const child of branch.children) {
    const [grown, to] = grow(tree, path, [child]);
    tree = graft(grown, to, child);
  }
  return tree;
}

/** @param {Node} tree @param {Path} path @param {string} note */
export const annotate = (tree, path, note) => changed(tree, path, (node) => ({ ...node, note }));

/** Remove a node with all that follows. @param {Node} tree @param {Path} path the root stays */
export const prune = (tree, path) =>
  changed(tree, path.slice(0, -1), (node) => ({ ...node, children: node.children.filter((_, i) => i !== path[path.length - 1]) }));

/** Find a position, the nearest to the root first. @param {Node} tree @param {string} position @returns {Path|null} */
export function find(tree, position) {
  /** @type {[Node, Path][]} */
  const open = [[tree, []]];
  for (const [node, path] of open) {
    if (node.position === position) return path;
    node.children.forEach((child, i) => open.push([child, [...path, i]]));
  }
  return null;
}

/** Follow the first children as far as they go. @param {Node} tree @param {Path} path @returns {Path} */
export function toEnd(tree, path) {
  for (let node = nodeAt(tree, path); node?.children.length; node = node.children[0]) path = [...path, 0];
  return path;
}

/** @param {Node} node @returns {boolean} */
export const isBare = (node) => !node.children.length && !node.note;

// In the browser's storage

/** @returns {Saved[]} */
const saved = () => [readPreference("variations", [])].flat().filter((one) => typeof one?.game === "string" && isNode(one.tree));

/** Keep a tree, unless there is nothing in it. @param {string} game @param {Node} tree */
export function keepTree(game, tree) {
  const others = saved().filter((one) => one.game !== game || one.tree.position !== tree.position);
  savePreference("variations", [...(isBare(tree) ? [] : [{ game, tree }]), ...others].slice(0, TREES));
}

/** Return the kept tree that has a position, and where. @param {string} game @param {string} position @returns {[Node, Path]|null} */
export function recallTree(game, position) {
  for (const one of saved()) {
    const path = one.game === game ? find(one.tree, position) : null;
    if (path) return [one.tree, path];
  }
  return null;
}

/** @param {any} node @returns {boolean} */
const isNode = (node) =>
  [node?.step, node?.player, node?.position, node?.note].every((text) => typeof text === "string") && Array.isArray(node.children) && node.children.every(isNode);

// In a link: the positions are left out, and the server fills them in again

/** @param {Node} node @returns {any[]} */
const packed = (node) => [node.step, node.note, ...node.children.map(packed)];

/** Return a tree as text for a link: nothing if it has no moves and notes, null if it has too many. @param {Node} tree */
export function written(tree) {
  const text = isBare(tree) ? "" : JSON.stringify(packed(tree));
  return encodeURIComponent(text).length > LONGEST_LINK ? null : text;
}

/**
 * Read a tree from a link. The link may come from anybody: steps that are not legal are left out.
 * @param {string} game @param {string} position @param {string} text @returns {Promise<Node>}
 */
export async function readTree(game, position, text) {
  let left = NODES;
  const start = await getPosition(game, position);
  /** @param {any} from @param {Node} node @param {string|null} player to play there @returns {Promise<Node>} */
  async function unpack(from, node, player) {
    const [, note, ...children] = Array.isArray(from) ? from : [];
    const whole = { ...node, note: typeof note === "string" ? note.slice(0, LONGEST_NOTE) : "" };
    for (const child of children) {
      if (typeof child?.[0] !== "string" || (left -= 1) < 0) continue;
      const after = await afterStep(game, node.position, child[0]).catch(() => null);
      if (after) whole.children = [...whole.children, await unpack(child, { ...plant(after.position), step: child[0], player: player ?? "" }, after.to_play)];
    }
    return whole;
  }
  try {
    return await unpack(JSON.parse(text), plant(start.position), start.to_play);
  } catch {
    return plant(start.position);
  }
}

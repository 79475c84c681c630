// Positions set up by hand. A position's text lists the board row by row, the player to move, and the die
// if there is one. The letters of the pieces are learned from the game's own positions.
import { afterStep, getStart } from "./positions.js";

/** @typedef {import("./types.js").Position} Position */
/** @typedef {import("./types.js").Piece} Piece */
/** @typedef {{owner: Piece["owner"], label: string, letter: string, single: boolean}} Kind */
/** @typedef {{kinds: Kind[], runs: boolean, faces: string[], rows: number, columns: number, pattern: Position}} Writer */
/** @typedef {{cells: (Kind|null)[][], mover: string, die: string|null}} Draft */

const LONGEST_WALK = 24;

/**
 * Learn how a game writes its positions; return null if it uses another form.
 * @param {string} game @returns {Promise<Writer|null>}
 */
export async function learnWriter(game) {
  let here = await getStart(game, 1);
  /** @type {string[]} */
  let faces = [];
  for (let i = 0; i < LONGEST_WALK && here.view; i++) {
    if (here.outcomes.length) faces = here.outcomes.map((/** @type {any} */ one) => one.text);
    if (isTypical(here)) break;
    const step = here.actions[0]?.text ?? here.outcomes[0]?.text;
    if (!step) break;
    here = await afterStep(game, here.position, step);
  }
  if (!here.view || !here.view.pieces.length) return null;
  const rows = readRows(here);
  if (!rows) return null;
  /** @type {Map<string, Kind>} */
  const kinds = new Map();
  for (const { row, column, label, owner } of here.view.pieces) {
    const key = `${owner} ${label}`;
    kinds.set(key, { owner, label, letter: rows[row][column], single: !kinds.has(key) });
  }
  const order = (/** @type {Kind} */ kind) => (kind.owner === "MAX" ? 0 : 1);
  const sorted = [...kinds.values()].sort((a, b) => order(a) - order(b) || a.label.localeCompare(b.label, "en", { numeric: true }));
  const writer = {
    kinds: sorted, faces, runs: !here.position.split(" ")[0].includes("."),
    rows: here.view.rows, columns: here.view.columns, pattern: here,
  };
  const draft = readDraft(writer, here);
  return draft && writeDraft(writer, draft) === here.position ? writer : null;
}

/** Return whether a position has every kind of piece. @param {Position} position */
function isTypical(position) {
  const pieces = position.view?.pieces ?? [];
  if (!pieces.length) return false;
  if (position.to_play === "CHANCE" || position.actions.some((action) => action.from)) return true;
  const names = pieces.map((p) => `${p.owner} ${p.label}`);
  return new Set(names).size < names.length && new Set(pieces.map((p) => p.owner)).size === 2;
}

/** Return the letters of a position's board. @param {Position} position */
function readRows(position) {
  const view = position.view;
  const rows = position.position.split(" ")[0].split("/").map((row) => row.replace(/\d/g, (n) => ".".repeat(Number(n))));
  return view && rows.length === view.rows && rows.every((row) => row.length === view.columns) ? rows : null;
}

/** @param {Writer} writer @param {Position} position @returns {Draft|null} */
export function readDraft(writer, position) {
  const rows = readRows(position);
  const [, mover, die] = position.position.split(" ");
  if (!rows || (mover !== "1" && mover !== "2")) return null;
  const byLetter = new Map(writer.kinds.map((kind) => [kind.letter, kind]));
  return {
    cells: rows.map((row) => [...row].map((letter) => byLetter.get(letter) ?? null)),
    mover,
    die: writer.faces.length ? (writer.faces.includes(die) ? die : "-") : null,
  };
}

/** @param {Writer} writer @param {Draft} draft */
export function writeDraft(writer, draft) {
  const rows = draft.cells.map((row) => {
    const text = row.map((kind) => kind?.letter ?? ".").join("");
    return writer.runs ? text.replace(/\.+/g, (run) => String(run.length)) : text;
  });
  return [rows.join("/"), draft.mover, ...(draft.die === null ? [] : [draft.die])].join(" ");
}

/** @param {Writer} writer @returns {Draft} */
export const emptyDraft = (writer) => ({
  cells: Array.from({ length: writer.rows }, () => Array.from({ length: writer.columns }, () => null)),
  mover: "1",
  die: writer.faces.length ? "-" : null,
});

/**
 * Put a piece on a cell and replace the piece there; the same piece again empties the cell.
 * @param {Draft} draft @param {Kind|null} kind @param {[number, number]} cell @returns {Draft}
 */
export function put(draft, kind, [row, column]) {
  const stood = draft.cells[row][column];
  const cells = draft.cells.map((line) => line.map((one) => (kind?.single && one === kind ? null : one)));
  cells[row][column] = kind === stood ? null : kind;
  return { ...draft, cells };
}

/** Return the view of a draft. @param {Writer} writer @param {Draft} draft @returns {import("./types.js").View} */
export function viewOf(writer, draft) {
  const view = /** @type {import("./types.js").View} */ (writer.pattern.view);
  const pieces = draft.cells.flatMap((line, row) =>
    line.flatMap((kind, column) => (kind ? [{ row, column, label: kind.label, owner: kind.owner }] : [])),
  );
  return { ...view, pieces, die: draft.die === "-" || draft.die === null ? "" : draft.die };
}

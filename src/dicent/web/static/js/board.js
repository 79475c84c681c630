// The board: draws what a view describes and reports what was chosen. It knows no rules; legal actions
// come with the cells they move between.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { COLOUR } from "./words.js";
import { Arrows } from "./arrows.js";

/** @typedef {import("./types.js").Cell} Cell */
/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").View} View */

/** @param {Cell|null|undefined} a @param {Cell|null|undefined} b */
const same = (a, b) => Boolean(a && b && a[0] === b[0] && a[1] === b[1]);

/** A cell's name, as players call it. @param {View} view @param {Cell} cell */
export function cellName(view, [row, column]) {
  const name = (view.column_names[column] ?? "") + (view.row_names[row] ?? "");
  return name && view.row_names.length ? name : `row ${row + 1}, column ${column + 1}`;
}

/**
 * @param {{view: View, actions?: Action[], onAction?: (action: Action) => void, last?: Action|null,
 *   arrows?: import("./types.js").Arrow[], label?: string, onCell?: (cell: Cell) => void,
 *   onEnter?: (() => void)|null}} props
 * With `onCell` every cell can be chosen, for setting up. `onEnter` is called by Enter if no piece can move.
 */
export function Board({ view, actions = [], onAction, last = null, arrows = [], label = "Board", onCell, onEnter }) {
  const grid = useRef(/** @type {HTMLElement|null} */ (null));
  const [selected, setSelected] = useState(/** @type {Cell|null} */ (null));
  const [focus, setFocus] = useState(/** @type {Cell} */ ([0, 0]));
  const open = onAction ? actions : [];
  const froms = useMemo(() => uniqueCells(open.map((action) => action.from)), [open]);
  const here = froms.some((cell) => same(cell, selected)) ? selected : froms.length === 1 ? froms[0] : null;
  const targets = open.filter((action) => action.to && (action.from === null || same(action.from, here)));
  useEffect(() => setSelected(null), [actions]);
  useEffect(() => {
    if (focus[0] >= view.rows || focus[1] >= view.columns) setFocus([0, 0]);
  }, [view.rows, view.columns]);

  /** @param {Cell} cell @param {Cell|null} [from] */
  function choose(cell, from = here) {
    if (onCell) return onCell(cell);
    const fitting = open.filter((action) => same(action.to, cell) && (action.from === null || same(action.from, from)));
    const only = fitting.length ? fitting : open.filter((action) => same(action.to, cell));
    if (only.length === 1 && !(froms.some((f) => same(f, cell)) && fitting.length === 0)) return onAction?.(only[0]);
    setSelected(froms.some((f) => same(f, cell)) && !same(cell, selected) ? cell : null);
  }
  const drag = useDrag(grid, view, (cell) => froms.some((f) => same(f, cell)), choose);

  /** @param {KeyboardEvent} event */
  function onKeyDown(event) {
    const step = /** @type {Record<string, Cell>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    })[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) {
      const row = Math.min(view.rows - 1, Math.max(0, focus[0] + step[0]));
      const column = Math.min(view.columns - 1, Math.max(0, focus[1] + step[1]));
      setFocus([row, column]);
      /** @type {HTMLElement|null|undefined} */ (grid.current?.querySelector(`[data-cell="${row},${column}"]`))?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      if (onEnter && !open.length) onEnter();
      else choose(focus);
    } else if (event.key === "Escape") {
      setSelected(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  const rows = Array.from({ length: view.rows }, (_, row) => row);
  const columns = Array.from({ length: view.columns }, (_, column) => column);
  return html`<div
    class="board ${view.row_names.length ? "has-rows" : ""}"
    style=${{ "--rows": view.rows, "--columns": view.columns }}
  >
    <div class="row-names" aria-hidden="true">${view.row_names.map((name) => html`<span>${name}</span>`)}</div>
    <div class="field">
      <div
        class="cells" role="grid" ref=${grid} aria-label=${label}
        onKeyDown=${onKeyDown} ...${drag.handlers}
      >
        ${rows.map(
          (row) => html`<div role="row" class="cell-row">
            ${columns.map((column) => {
              const cell = /** @type {Cell} */ ([row, column]);
              const state = {
                target: targets.some((action) => same(action.to, cell)),
                movable: froms.some((from) => same(from, cell)),
                selected: same(cell, here),
              };
              return html`<div
                role="gridcell" key=${column} data-cell=${`${row},${column}`} data-name=${cellName(view, cell)}
                class=${cellClasses(view, cell, state, last, Boolean(onCell))}
                tabindex=${same(cell, focus) ? 0 : -1}
                aria-label=${describe(view, cell, state)}
                aria-selected=${state.selected ? "true" : undefined}
                onFocus=${() => setFocus(cell)}
                onClick=${() => drag.swallowed() || choose(cell)}
              ></div>`;
            })}
          </div>`,
        )}
      </div>
      <${Pieces} view=${view} froms=${froms} lifted=${drag.lifted} offset=${drag.offset} last=${last} />
      <${Arrows} view=${view} arrows=${arrows} />
    </div>
    <div class="column-names" aria-hidden="true">${view.column_names.map((name) => html`<span>${name}</span>`)}</div>
    ${view.caption && html`<p class="board-caption">${view.caption}</p>`}
  </div>`;
}

/** @param {(Cell|null)[]} cells @returns {Cell[]} */
function uniqueCells(cells) {
  const found = new Map();
  for (const cell of cells) if (cell) found.set(cell.join(), cell);
  return [...found.values()];
}

/**
 * @param {View} view @param {Cell} cell @param {{target: boolean, movable: boolean, selected: boolean}} state
 * @param {Action|null} last @param {boolean} editing
 */
function cellClasses(view, cell, state, last, editing) {
  const names = ["cell", (cell[0] + cell[1]) % 2 ? "odd" : "even"];
  if (view.marked.some((marked) => same(marked, cell))) names.push("marked");
  if (last && (same(last.from, cell) || same(last.to, cell))) names.push("last");
  if (state.target) names.push("target");
  if (view.pieces.some((p) => p.row === cell[0] && p.column === cell[1])) names.push("taken");
  if (state.movable) names.push("movable");
  if (state.selected) names.push("selected");
  if (editing) names.push("editable");
  return names.join(" ");
}

/**
 * Return a cell's description for screen readers.
 * @param {View} view @param {Cell} cell @param {{target: boolean, movable: boolean, selected: boolean}} state
 */
function describe(view, cell, state) {
  const piece = view.pieces.find((p) => p.row === cell[0] && p.column === cell[1]);
  const parts = [cellName(view, cell)];
  parts.push(piece ? `${piece.owner ? COLOUR[piece.owner].toLowerCase() : ""} ${piece.label}`.trim() : "empty");
  if (view.marked.some((marked) => same(marked, cell))) parts.push("marked");
  if (state.selected) parts.push("selected");
  else if (state.movable) parts.push("can move");
  if (state.target) parts.push("can be moved to");
  return parts.join(", ");
}

/**
 * The pieces, above the cells, so that they can glide from one to another.
 * @param {{view: View, froms: Cell[], lifted: Cell|null, offset: Cell, last: Action|null}} props
 */
function Pieces({ view, froms, lifted, offset, last }) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const p of view.pieces) seen.set(`${p.owner} ${p.label}`, (seen.get(`${p.owner} ${p.label}`) ?? 0) + 1);
  return html`<div class="pieces" aria-hidden="true">
    ${view.pieces.map((p) => {
      const cell = /** @type {Cell} */ ([p.row, p.column]);
      const name = `${p.owner} ${p.label}`;
      const up = same(lifted, cell);
      const classes = ["place"];
      if (up) classes.push("lifted");
      if (same(last?.to, cell)) classes.push("moved");
      return html`<div
        key=${seen.get(name) === 1 ? name : `${name} ${p.row} ${p.column}`}
        class=${classes.join(" ")}
        style=${{
          "--row": p.row, "--column": p.column,
          "--x": up ? `${offset[1]}px` : "0px", "--y": up ? `${offset[0]}px` : "0px",
        }}
      ><span class="piece ${p.owner ?? "nobody"} ${froms.some((f) => same(f, cell)) ? "ready" : ""}">${p.label}</span></div>`;
    })}
  </div>`;
}

const SLACK = 6; // pixels of movement before a press counts as a drag

/**
 * Handle dragging of pieces. A press with less movement than a drag is a click.
 * @param {{current: HTMLElement|null}} grid @param {View} view
 * @param {(cell: Cell) => boolean} mayLift @param {(to: Cell, from: Cell) => void} drop
 */
function useDrag(grid, view, mayLift, drop) {
  const [drag, setDrag] = useState(/** @type {{cell: Cell, x: number, y: number, dx: number, dy: number, moved: boolean}|null} */ (null));
  const swallow = useRef(false);

  /** @param {PointerEvent} event @returns {Cell|null} */
  function cellAt(event) {
    const box = /** @type {HTMLElement} */ (grid.current).getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * view.rows);
    const column = Math.floor(((event.clientX - box.left) / box.width) * view.columns);
    return row >= 0 && row < view.rows && column >= 0 && column < view.columns ? [row, column] : null;
  }
  const handlers = {
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      swallow.current = false;
      const cell = cellAt(event);
      if (event.button === 0 && cell && mayLift(cell)) {
        setDrag({ cell, x: event.clientX, y: event.clientY, dx: 0, dy: 0, moved: false });
      }
    },
    onPointerMove: (/** @type {PointerEvent} */ event) => {
      if (!drag) return;
      const dx = event.clientX - drag.x;
      const dy = event.clientY - drag.y;
      const moved = drag.moved || Math.hypot(dx, dy) > SLACK;
      if (moved && !drag.moved) grid.current?.setPointerCapture(event.pointerId);
      if (moved) setDrag({ ...drag, dx, dy, moved });
    },
    onPointerUp: (/** @type {PointerEvent} */ event) => {
      if (!drag) return;
      setDrag(null);
      const cell = cellAt(event);
      swallow.current = drag.moved;
      if (drag.moved && cell && !same(cell, drag.cell)) drop(cell, drag.cell);
    },
    onPointerCancel: () => setDrag(null),
  };
  return {
    handlers,
    lifted: drag?.moved ? drag.cell : null,
    offset: /** @type {Cell} */ (drag ? [drag.dy, drag.dx] : [0, 0]),
    /** Return whether this click ended a drag. */
    swallowed: () => {
      const was = swallow.current;
      swallow.current = false;
      return was;
    },
  };
}

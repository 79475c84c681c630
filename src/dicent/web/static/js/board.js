// The board draws a view and reports moves. It knows no rules: the caller lists the moves, each with its places.
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { ADJECTIVE, fromServer } from "./format.js";
import { t } from "./language.js";
import { Arrows } from "./arrows.js";
import { useDrag } from "./drag.js";
import { neighbour, segments, spots } from "./layout.js";

/** @typedef {import("./types.js").View} View */
/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./hops.js").Move} Move */
/** @typedef {{target: boolean, movable: boolean, selected: boolean}} Standing */

/** @type {Record<string, [number, number]>} */
const DIRECTIONS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

/**
 * @param {{view: View, moves?: Move[], onMove?: (move: Move) => void, last?: Action|null, undo?: (() => void)|null,
 *   arrows?: import("./types.js").Arrow[], label?: string, onPlace?: (place: number) => void,
 *   onEnter?: (() => void)|null}} props
 * With `onPlace` every place can be chosen, for setting up. `onEnter` is called by Enter if no piece can move.
 */
export function Board({ view, moves = [], onMove, last = null, undo, arrows = [], label = t("Board"), onPlace, onEnter }) {
  const grid = useRef(/** @type {HTMLElement|null} */ (null));
  const [selected, setSelected] = useState(/** @type {number|null} */ (null));
  const [focus, setFocus] = useState(0);
  const open = onMove ? moves : [];
  const froms = useMemo(() => [...new Set(open.map((move) => move.from))].filter((from) => from !== null), [open]);
  const here = selected !== null && froms.includes(selected) ? selected : froms.length === 1 ? froms[0] : null;
  const targets = open.filter((move) => move.from === null || move.from === here);
  useEffect(() => setSelected(null), [moves]);
  useEffect(() => {
    if (focus >= view.places.length) setFocus(0);
  }, [view.places.length]);

  /** @param {number} place @param {number|null} [from] */
  function choose(place, from = here) {
    if (onPlace) return onPlace(place);
    const fitting = open.filter((move) => move.to === place && (move.from === null || move.from === from));
    const only = fitting.length ? fitting : open.filter((move) => move.to === place);
    const movable = froms.includes(place);
    if (only.length === 1 && (fitting.length || !movable)) return onMove?.(only[0]);
    setSelected(movable && place !== selected ? place : null);
  }
  const drag = useDrag(grid, view, (place) => froms.includes(place), choose);

  /** @param {KeyboardEvent} event */
  function onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = DIRECTIONS[event.key];
    if (direction) {
      const next = neighbour(view, focus, direction);
      setFocus(next);
      /** @type {HTMLElement|null|undefined} */ (grid.current?.querySelector(`[data-place="${next}"]`))?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      if (onEnter && !open.length) onEnter();
      else choose(focus);
    } else if (event.key === "Escape" || event.key === "Backspace") {
      if (selected !== null) setSelected(null);
      else undo?.();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} i */
  function cell(i) {
    const state = { target: targets.some((move) => move.to === i), movable: froms.includes(i), selected: i === here };
    const place = view.places[i];
    return html`<div
      role="gridcell" key=${i} data-place=${i} data-cell=${`${place.y},${place.x}`} data-name=${place.name}
      class=${cellClasses(view, i, state, last, Boolean(onPlace))}
      style=${box(view, place)}
      tabindex=${i === focus ? 0 : -1}
      aria-label=${describe(view, i, state)}
      aria-selected=${state.selected ? "true" : undefined}
      onFocus=${() => setFocus(i)}
      onClick=${() => drag.swallowed() || choose(i)}
    >${place.shape === "track"
      ? segments(view, i).map((part) => html`<span class="fill ${part.owner ?? "nobody"}" style=${{ left: `${100 * part.from}%`, width: `${100 * (part.to - part.from)}%` }}></span>`)
      : place.text && !stacksOn(view, i).length && html`<span class="cell-text" aria-hidden="true">${fromServer(place.text)}</span>`}
    ${place.purpose && html`<span class="cell-purpose" aria-hidden="true">${fromServer(place.purpose)}</span>`}</div>`;
  }

  const names = view.grid ?? { row_names: [], column_names: [] };
  return html`<div
    class="board ${view.grid ? "" : "free"} ${names.row_names.length ? "has-rows" : ""}"
    style=${{ "--width": view.width, "--height": view.height }}
  >
    <div class="row-names" aria-hidden="true">${names.row_names.map((name) => html`<span>${name}</span>`)}</div>
    <div class="field">
      <div
        class="cells" role="grid" ref=${grid} aria-label=${label}
        onKeyDown=${onKeyDown} ...${drag.handlers}
      >
        ${rowsOf(view).map((row, i) => html`<div role="row" class="cell-row" key=${i}>${row.map(cell)}</div>`)}
      </div>
      ${view.places.map((place) => place.shape === "label" && html`<div class="label-text" aria-hidden="true" style=${box(view, place)}>${fromServer(place.text)}</div>`)}
      <${Pieces} view=${view} froms=${froms} lifted=${drag.lifted} offset=${drag.offset} last=${last} />
      <${Arrows} view=${view} arrows=${arrows} />
    </div>
    <div class="column-names" aria-hidden="true">${names.column_names.map((name) => html`<span>${name}</span>`)}</div>
    ${view.caption && html`<p class="board-caption">${fromServer(view.caption)}</p>`}
  </div>`;
}

/** Return the places in rows, by their upper edges and from the left, for screen readers. @param {View} view @returns {number[][]} */
function rowsOf(view) {
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  view.places.forEach((place, i) => {
    if (place.shape !== "label") rows.set(place.y, [...(rows.get(place.y) ?? []), i]);
  });
  return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row.sort((a, b) => view.places[a].x - view.places[b].x));
}

/** @param {View} view @param {import("./types.js").Place} place */
const box = (view, place) => ({
  left: `${(100 * place.x) / view.width}%`, top: `${(100 * place.y) / view.height}%`,
  width: `${(100 * place.width) / view.width}%`, height: `${(100 * place.height) / view.height}%`,
});

/** @param {View} view @param {number} i */
const stacksOn = (view, i) => view.stacks.filter((stack) => stack.place === i);

/** @param {Action|null} last @param {number} i */
const wasTouched = (last, i) => Boolean(last?.paths[0]?.some((hop) => hop.includes(i)));

/** @param {View} view @param {number} i @param {Standing} state @param {Action|null} last @param {boolean} editing */
function cellClasses(view, i, state, last, editing) {
  const place = view.places[i];
  const shade = Math.round(place.x) + (place.shape === "point-up" ? 1 : place.shape === "cell" ? Math.round(place.y) : 0);
  const names = ["cell", place.shape === "cell" ? "square" : place.shape, shade % 2 ? "odd" : "even"];
  if (place.marked) names.push("marked");
  if (wasTouched(last, i)) names.push("last");
  if (state.target) names.push("target");
  if (stacksOn(view, i).length) names.push("taken");
  if (state.movable) names.push("movable");
  if (state.selected) names.push("selected");
  if (editing) names.push("editable");
  return names.join(" ");
}

/** Return a place's description for screen readers. @param {View} view @param {number} i @param {Standing} state */
function describe(view, i, state) {
  const place = view.places[i];
  const parts = [fromServer(place.name)];
  for (const { owner, count, label } of stacksOn(view, i)) {
    const many = count > 1 || !label ? String(count) : "";
    parts.push([many, ADJECTIVE[owner ?? ""], label].filter(Boolean).join(" "));
  }
  if (!stacksOn(view, i).length) parts.push(t("empty"));
  if (place.purpose) parts.push(fromServer(place.purpose));
  else if (place.marked) parts.push(t("marked"));
  if (state.selected) parts.push(t("selected"));
  else if (state.movable) parts.push(t("can move"));
  if (state.target) parts.push(t("can be moved to"));
  return parts.filter(Boolean).join(", ");
}

/**
 * Draw the pieces above the places, so that they can glide from one to another.
 * @param {{view: View, froms: number[], lifted: number|null, offset: [number, number], last: Action|null}} props
 */
function Pieces({ view, froms, lifted, offset, last }) {
  /** @type {Map<string, number>} */
  const kinds = new Map();
  for (const { owner, label, count } of view.stacks) kinds.set(`${owner} ${label}`, (kinds.get(`${owner} ${label}`) ?? 0) + count);
  const moved = last?.paths[0]?.at(-1)?.[1];
  return html`<div class="pieces" aria-hidden="true">
    ${spots(view).map(({ stack, number, last: top, x, y, size, label }) => {
      const kind = `${stack.owner} ${stack.label}`;
      const up = top && lifted === stack.place;
      const classes = ["place"];
      if (!["cell", "bowl"].includes(view.places[stack.place].shape)) classes.push("snug");
      if (up) classes.push("lifted");
      if (moved === stack.place) classes.push("moved");
      return html`<div
        key=${kinds.get(kind) === 1 ? kind : `${kind} ${stack.place} ${number}`}
        class=${classes.join(" ")}
        style=${{
          "--left": x - size / 2, "--top": y - size / 2, "--size": size,
          "--x": up ? `${offset[0]}px` : "0px", "--y": up ? `${offset[1]}px` : "0px",
        }}
      ><span class="piece ${stack.owner ?? "nobody"} ${top && froms.includes(stack.place) ? "ready" : ""}">${label}</span></div>`;
    })}
  </div>`;
}

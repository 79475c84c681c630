// Dragging of pieces. A press with less movement than a drag is a click.
import { useRef, useState } from "./ui.js";

/** @typedef {import("./types.js").View} View */

const SLACK = 6; // pixels of movement before a press counts as a drag

/**
 * Handle dragging of pieces.
 * @param {{current: HTMLElement|null}} grid @param {View} view
 * @param {(place: number) => boolean} mayLift @param {(to: number, from: number) => void} drop
 */
export function useDrag(grid, view, mayLift, drop) {
  const [drag, setDrag] = useState(/** @type {{place: number, x: number, y: number, dx: number, dy: number, moved: boolean}|null} */ (null));
  const swallow = useRef(false);

  /** @param {PointerEvent} event @returns {number|null} */
  function placeAt(event) {
    const box = /** @type {HTMLElement} */ (grid.current).getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * view.width;
    const y = ((event.clientY - box.top) / box.height) * view.height;
    const found = view.places.findIndex((place) =>
      place.shape !== "label" && x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height);
    return found < 0 ? null : found;
  }
  const handlers = {
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      swallow.current = false;
      const place = placeAt(event);
      if (event.button === 0 && place !== null && mayLift(place)) {
        setDrag({ place, x: event.clientX, y: event.clientY, dx: 0, dy: 0, moved: false });
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
      const place = placeAt(event);
      swallow.current = drag.moved;
      if (drag.moved && place !== null && place !== drag.place) drop(place, drag.place);
    },
    onPointerCancel: () => setDrag(null),
  };
  return {
    handlers,
    lifted: drag?.moved ? drag.place : null,
    offset: /** @type {[number, number]} */ (drag ? [drag.dx, drag.dy] : [0, 0]),
    /** Return whether this click ended a drag. */
    swallowed: () => {
      const was = swallow.current;
      swallow.current = false;
      return was;
    },
  };
}

"""Boards as SVG, from the view that a game describes."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dicent.game import State
from dicent.game.view import View
from dicent.kernels.constants import MAX, MIN

Cell = tuple[int, int]  # row and column, from the top left
UNIT, MARGIN = 48, 22  # of a cell, and for the names of rows and columns
OWNERS = {MAX: "max", MIN: "min"}

STYLE = """
svg.board { max-width: 19rem; }
svg.board .cell { fill: var(--paper); stroke: var(--line); }
svg.board .marked { fill: color-mix(in srgb, var(--soft) 16%, var(--paper)); stroke: var(--line); }
svg.board .max { fill: #bb4430; } svg.board .min { fill: #2b6cb0; } svg.board .neutral { fill: var(--soft); }
svg.board text.label { fill: #ffffff; font: 600 19px system-ui, sans-serif; }
svg.board .arrow { stroke-width: 5; stroke-linecap: round; fill: none; }
svg.board .casing { stroke: var(--paper); stroke-width: 10; }
svg.board polygon { stroke: var(--paper); stroke-width: 1.5; }
svg.board .good { stroke: #38a169; } svg.board .bad { stroke: #e53e3e; stroke-dasharray: 2 9; }
svg.board .tip-good { fill: #38a169; } svg.board .tip-bad { fill: #e53e3e; }
"""


@dataclass(frozen=True)
class Arrow:
    """An action drawn on a board; without an origin it is a ring around the cell."""

    origin: Cell | None
    to: Cell
    good: bool


def move_cells(state: State, action: int) -> tuple[Cell | None, Cell | None]:
    """Return the cells that an action leaves and enters, from the views before and after it."""
    view, after = state.game.view(state), state.game.view(state.apply(action))
    if view is None or after is None:
        return None, None
    before, now = _pieces(view, state.to_play), _pieces(after, state.to_play)
    left, appeared = before - now, now - before
    labels = {label for *_, label in appeared}
    origins = [(r, c) for r, c, label in left if label in labels] or [(r, c) for r, c, _ in left]
    targets = [(r, c) for r, c, _ in appeared]
    to = targets[0] if len(targets) == 1 else _last_cell(view, state.game.format_action(state, action))
    origins = [cell for cell in origins if cell != to]
    return (origins[0] if len(origins) == 1 else None), to


def _pieces(view: View, owner: int) -> set[tuple[int, int, str]]:
    return {(int(p.row), int(p.column), p.label) for p in view.pieces if p.owner == owner}


def _last_cell(view: View, text: str) -> Cell | None:
    """Return the cell that an action's text names last, for a piece that leaves the board."""
    names = {
        column + row: (r, c)
        for r, row in enumerate(view.row_names)
        for c, column in enumerate(view.column_names)
    }
    found = re.findall("|".join(map(re.escape, names)), text) if names else []
    return names[found[-1]] if found else None


def board_svg(view: View, arrows: Sequence[Arrow] = (), label: str = "") -> str:
    """Return the board with arrows for actions."""
    width, height = view.columns * UNIT + MARGIN, view.rows * UNIT + MARGIN
    parts = [
        f'<svg class="board" viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">'
    ]
    marked = {(int(r), int(c)) for r, c in view.marked}
    for r in range(view.rows):
        for c in range(view.columns):
            kind = "marked" if (r, c) in marked else "cell"
            place = f'x="{MARGIN + c * UNIT}" y="{r * UNIT}" width="{UNIT}" height="{UNIT}"'
            parts.append(f'<rect class="{kind}" {place}/>')
    parts += [_text(MARGIN / 2, _middle(r)[1] + 4, name) for r, name in enumerate(view.row_names)]
    parts += [_text(_middle(0, c)[0], height - 6, name) for c, name in enumerate(view.column_names)]
    for piece in view.pieces:
        x, y = _middle(int(piece.row), int(piece.column))
        owner = OWNERS.get(piece.owner, "neutral")
        parts.append(f'<rect class="{owner}" x="{x - 18}" y="{y - 18}" width="36" height="36" rx="9"/>')
        parts.append(_text(x, y + 7, piece.label, "label"))
    parts += [_arrow(arrow) for arrow in arrows]
    return "".join(parts) + "</svg>"


def _middle(row: int, column: int = 0) -> tuple[float, float]:
    return MARGIN + (column + 0.5) * UNIT, (row + 0.5) * UNIT


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}" text-anchor="middle">{html.escape(text)}</text>'


def _arrow(arrow: Arrow) -> str:
    kind = "good" if arrow.good else "bad"
    x, y = _middle(*arrow.to)
    if arrow.origin is None:
        return f'<circle class="arrow {kind}" cx="{x:g}" cy="{y:g}" r="21"/>'
    from_x, from_y = _middle(*arrow.origin)
    length = ((x - from_x) ** 2 + (y - from_y) ** 2) ** 0.5
    dx, dy = (x - from_x) / length, (y - from_y) / length
    end_x, end_y = x - 16 * dx, y - 16 * dy  # where the tip begins
    tip = [(x - 4 * dx, y - 4 * dy), (end_x - 8 * dy, end_y + 8 * dx), (end_x + 8 * dy, end_y - 8 * dx)]
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in tip)
    line = f"M{from_x + 14 * dx:.1f},{from_y + 14 * dy:.1f} L{end_x:.1f},{end_y:.1f}"
    return (
        f'<path class="arrow casing" d="{line}"/><path class="arrow {kind}" d="{line}"/>'
        f'<polygon class="tip-{kind}" points="{points}"/>'
    )

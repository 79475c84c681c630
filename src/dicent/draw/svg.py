"""Boards as SVG, from the view that a game describes."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dicent.draw.layout import segments, spots
from dicent.game.colours import in_colours
from dicent.game.view import Board, Place, View, as_board
from dicent.kernels.constants import MAX, MIN

UNIT, MARGIN = 48, 22  # of a cell, and for the names of rows and columns
WIDE = 8  # units; wider boards get more room on a page
DIE = 34
OWNERS = {MAX: "max", MIN: "min"}
LOW, MID, HIGH = 0.27, 0.5, 0.73
PIPS = {
    "1": ((MID, MID),),
    "2": ((LOW, LOW), (HIGH, HIGH)),
    "3": ((LOW, LOW), (MID, MID), (HIGH, HIGH)),
    "4": ((LOW, LOW), (LOW, HIGH), (HIGH, LOW), (HIGH, HIGH)),
    "5": ((LOW, LOW), (LOW, HIGH), (MID, MID), (HIGH, LOW), (HIGH, HIGH)),
    "6": ((LOW, LOW), (LOW, MID), (LOW, HIGH), (HIGH, LOW), (HIGH, MID), (HIGH, HIGH)),
}

STYLE = """
svg.board { max-width: 19rem; } svg.board.wide { max-width: 40rem; }
svg.board .cell, svg.board .tray { fill: var(--paper); stroke: var(--line); }
svg.board .bowl, svg.board .track { fill: var(--paper); stroke: var(--line); }
svg.board .marked { fill: color-mix(in srgb, var(--soft) 16%, var(--paper)); stroke: var(--line); }
svg.board .bar { fill: color-mix(in srgb, var(--soft) 30%, var(--paper)); }
svg.board .ground { fill: color-mix(in srgb, var(--soft) 8%, var(--paper)); }
svg.board .even { fill: color-mix(in srgb, var(--soft) 45%, var(--paper)); stroke: none; }
svg.board .odd { fill: color-mix(in srgb, var(--soft) 22%, var(--paper)); stroke: none; }
svg.board .max { fill: #bb4430; } svg.board .min { fill: #2b6cb0; } svg.board .neutral { fill: var(--soft); }
svg.board text.label { fill: #ffffff; font-weight: 600; }
svg.board text { font-family: system-ui, sans-serif; font-size: inherit; }
svg.board text.written { fill: var(--soft); }
svg.board .die { fill: var(--paper); stroke: var(--soft); } svg.board .pip { fill: var(--ink); }
svg.board .arrow { stroke-width: 5; stroke-linecap: round; fill: none; }
svg.board .casing { stroke: var(--paper); stroke-width: 10; }
svg.board .tip-good, svg.board .tip-bad { stroke: var(--paper); stroke-width: 1.5; }
svg.board .good { stroke: #38a169; } svg.board .bad { stroke: #e53e3e; stroke-dasharray: 2 9; }
svg.board .tip-good { fill: #38a169; } svg.board .tip-bad { fill: #e53e3e; }
"""


@dataclass(frozen=True)
class Arrow:
    """A hop drawn on a board; without an origin it is a ring around the place."""

    origin: int | None
    to: int
    good: bool


def board_svg(view: View | Board, arrows: Sequence[Arrow] = (), label: str = "") -> str:
    """Return the board with arrows for actions."""
    board = as_board(view)
    left = MARGIN if isinstance(view, View) else 0
    below = board.height * UNIT + left
    width, height = left + board.width * UNIT, below + (DIE + 6 if board.dice else 24 if board.caption else 0)
    parts = [
        f'<svg class="{"board wide" if board.width > WIDE else "board"}" viewBox="0 0 {width:g} {height:g}" '
        f'role="img" aria-label="{html.escape(label)}"><g transform="translate({left} 0)">'
    ]
    taken = {stack.place for stack in board.stacks if stack.count}
    for i, place in enumerate(board.places):
        parts += _place(place, i not in taken)
        if place.shape == "track":
            parts += _filled(board, i)
    if isinstance(view, View):
        parts += _names(view)
    for spot in spots(board):
        owner = OWNERS.get(spot.stack.owner, "neutral")
        x, y, size = spot.x * UNIT, spot.y * UNIT, spot.size * UNIT * 0.375
        parts.append(_rect(owner, x - size, y - size, 2 * size, 2 * size, size / 2))
        if spot.label:
            parts.append(_text(x, y + size * 0.39, spot.label, "label", spot.size))
    parts += [_arrow(board, arrow) for arrow in arrows]
    for k, text in enumerate(board.dice):
        parts += _die(k * (DIE + 8), below + 4, text)
    if board.caption:
        parts.append(_text(board.width * UNIT / 2, height - 8, board.caption, "written"))
    return "".join(parts) + "</g></svg>"


def _place(place: Place, empty: bool) -> Iterator[str]:
    x, y, width, height = (UNIT * n for n in (place.x, place.y, place.width, place.height))
    middle = x + width / 2
    if place.shape == "cell":
        yield _rect("marked" if place.marked else "cell", x, y, width, height)
    elif place.shape in ("point-up", "point-down"):
        base, tip = (y + height, y + 0.08 * height) if place.shape == "point-up" else (y, y + 0.92 * height)
        shade = "even" if (round(place.x) + (place.shape == "point-up")) % 2 == 0 else "odd"
        yield _rect("ground", x, y, width, height)
        yield f'<path class="{shade}" d="M{x:g},{base:g} H{x + width:g} L{middle:g},{tip:g} Z"/>'
    elif place.shape == "bowl":
        centre = f'cx="{middle:g}" cy="{y + height / 2:g}"'
        size = f'rx="{width / 2 - 3:g}" ry="{height / 2 - 3:g}"'
        yield f'<ellipse class="{"marked" if place.marked else "bowl"}" {centre} {size}/>'
    elif place.shape in ("bar", "tray", "track"):
        yield _rect(place.shape, x, y, width, height, 0 if place.shape == "bar" else 8)
    if place.text and empty:
        yield _text(middle, y + height / 2 + 5, in_colours(place.text), "written")


def _filled(board: Board, index: int) -> Iterator[str]:
    place = board.places[index]
    for stack, start, end in segments(board, index):
        x, width = UNIT * (place.x + start), UNIT * (end - start)
        owner = OWNERS.get(stack.owner, "neutral")
        yield _rect(owner, x, UNIT * place.y + 4, width, UNIT * place.height - 8, 4)


def _names(view: View) -> Iterator[str]:
    for r, name in enumerate(view.row_names):
        yield _text(-MARGIN / 2, (r + 0.5) * UNIT + 4, name)
    for c, name in enumerate(view.column_names):
        yield _text((c + 0.5) * UNIT, view.rows * UNIT + MARGIN - 6, name)


def _die(x: float, y: float, text: str) -> Iterator[str]:
    yield _rect("die", x + 1, y, DIE, DIE, 7)
    for px, py in PIPS.get(text, ()):
        yield f'<circle class="pip" cx="{x + 1 + px * DIE:g}" cy="{y + py * DIE:g}" r="3.2"/>'
    if text not in PIPS:
        yield _text(x + 1 + DIE / 2, y + DIE / 2 + 5, text, "written")


def _rect(kind: str, x: float, y: float, width: float, height: float, round_by: float = 0) -> str:
    corner = f' rx="{round_by:g}"' if round_by else ""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{corner}/>'


def _text(x: float, y: float, text: str, kind: str = "", scale: float = 1.0) -> str:
    named = f' class="{kind}"' if kind else ""
    size = min(1.0, scale) * (19 if kind == "label" else 14)
    place = f'x="{x:g}" y="{y:g}" text-anchor="middle"'
    return f'<g font-size="{size:g}"><text{named} {place}>{html.escape(text)}</text></g>'


def _middle(place: Place) -> tuple[float, float]:
    return UNIT * (place.x + place.width / 2), UNIT * (place.y + place.height / 2)


def _arrow(board: Board, arrow: Arrow) -> str:
    kind = "good" if arrow.good else "bad"
    x, y = _middle(board.places[arrow.to])
    if arrow.origin is None:
        return f'<circle class="arrow {kind}" cx="{x:g}" cy="{y:g}" r="21"/>'
    from_x, from_y = _middle(board.places[arrow.origin])
    length = ((x - from_x) ** 2 + (y - from_y) ** 2) ** 0.5 or 1.0
    dx, dy = (x - from_x) / length, (y - from_y) / length
    end_x, end_y = x - 16 * dx, y - 16 * dy  # where the tip begins
    tip = [(x - 4 * dx, y - 4 * dy), (end_x - 8 * dy, end_y + 8 * dx), (end_x + 8 * dy, end_y - 8 * dx)]
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in tip)
    line = f"M{from_x + 14 * dx:.1f},{from_y + 14 * dy:.1f} L{end_x:.1f},{end_y:.1f}"
    return (
        f'<path class="arrow casing" d="{line}"/><path class="arrow {kind}" d="{line}"/>'
        f'<polygon class="tip-{kind}" points="{points}"/>'
    )

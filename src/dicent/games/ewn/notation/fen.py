"""MeinStein's FEN: board, side, number of the move, and the die if it has been rolled.

    dec2/ba3/f3B/3EA/2DCF w 1 3

Small letters are Black, at home at the top left, our MAX; capital letters are White, our MIN, who
usually begins. Squares are the same as ours.
"""

from __future__ import annotations

import re

from dicent.errors import PositionError
from dicent.game import Game, State
from dicent.games.ewn.squares import die_of, mover_of, position_text, stones_of
from dicent.games.ewn.variant import is_usual, require_usual
from dicent.kernels.constants import MAX

SIDES = {"b": "1", "w": "2"}
FEN = re.compile(
    r"(?P<board>[a-f1-5/]+)\s+(?P<side>[wb])(\s+(?P<number>\d+))?(\s+\[?(?P<die>[1-6-])\]?)?", re.IGNORECASE
)


def parse_fen(game: Game, text: str) -> State | None:
    """Return the state that a FEN describes, or None if it is not a FEN of the usual board."""
    found = FEN.fullmatch(text.strip())
    if found is None or not is_usual(game):
        return None
    rows = [_row(row) for row in found["board"].split("/")]
    board, side = "/".join(rows).swapcase(), SIDES[found["side"].lower()]
    try:
        return game.parse(f"{board} {side} {found['die'] or '-'}")
    except PositionError as error:
        raise PositionError(f"{text.strip()!r} is read as a FEN: {error}") from error


def format_fen(state: State, number: int = 1) -> str:
    """Return the FEN of a state; `number` counts moves as in chess, one for both sides."""
    require_usual(state.game, "MeinStein's FEN")
    board = position_text(stones_of(state), MAX, None).split()[0].swapcase()
    die = die_of(state)
    side = "b" if mover_of(state) == MAX else "w"
    return f"{board} {side} {number}" + ("" if die is None else f" {die}")


def _row(row: str) -> str:
    """Return a row with adjacent empty cells counted together."""
    cells = re.sub(r"\d", lambda digit: "." * int(digit[0]), row)
    return re.sub(r"\.+", lambda run: str(len(run[0])), cells)

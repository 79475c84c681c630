"""Stones and squares: the board as other programs describe it.

All functions are for the usual board, 5x5 with six stones each. MAX starts at the top left.
Columns are a to e from the left, rows 5 to 1 from the top.
"""

from __future__ import annotations

from dicent.game import MAX, MIN, State, View
from dicent.games.ewn.variant import SIZE

COLUMNS = "abcde"
SQUARES = [column + str(row) for row in range(SIZE, 0, -1) for column in COLUMNS]  # from the top left

Stones = dict[tuple[int, int], str]  # the square of each side's stones, by their numbers from 1


def stones_of(state: State) -> Stones:
    """Return the square of each stone."""
    view = state.game.view(state)
    assert isinstance(view, View)
    return {
        (piece.owner, int(piece.label)): SQUARES[piece.row * SIZE + piece.column] for piece in view.pieces
    }


def steps_left(state: State) -> int:
    """Return the steps along rows and columns that all stones have left; every move makes them fewer."""
    places = ((side, divmod(SQUARES.index(square), SIZE)) for (side, _), square in stones_of(state).items())
    return sum(
        2 * (SIZE - 1) - row - column if side == MAX else row + column for side, (row, column) in places
    )


def position_text(stones: Stones, mover: int, die: int | None) -> str:
    """Return our text of a position; without a die the roll is still due."""
    letters = {
        square: ("ABCDEF" if side == MAX else "abcdef")[number - 1]
        for (side, number), square in stones.items()
    }
    rows = []
    for first in range(0, SIZE * SIZE, SIZE):
        row = "".join(letters.get(square, ".") for square in SQUARES[first : first + SIZE])
        for run in range(SIZE, 0, -1):
            row = row.replace("." * run, str(run))
        rows.append(row)
    return f"{'/'.join(rows)} {1 if mover == MAX else 2} {'-' if die is None else die}"


def die_of(state: State) -> int | None:
    """Return the number on the die, or None before the roll."""
    view = state.game.view(state)
    assert isinstance(view, View)
    return int(view.die) if view.die else None


def mover_of(state: State) -> int:
    """Return the player to move, also before the roll."""
    return MAX if str(state).split()[1] == "1" else MIN

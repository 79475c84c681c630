"""Describe the board for those who draw it."""

from collections.abc import Callable

from dicent.game import MAX, MIN, Cells, Piece, View
from dicent.games.ewn.text import COLUMNS, OFF, Board


def function(board: Board) -> Callable[..., View]:
    """Return the rules' `view` for a board."""
    return lambda s: view_of(board, s)


def view_of(board: Board, s: Cells) -> View:
    """Return the board: pieces with their numbers, the die, the goals and the hole."""
    pieces = []
    for i in range(2 * board.pieces):
        if s[i] != OFF:
            owner = MAX if i < board.pieces else MIN
            row, column = divmod(int(s[i]), board.size)
            pieces.append(Piece(row, column, str(i % board.pieces + 1), owner))
    far = board.size - 1
    purposes = [(0, 0, "MIN's goal"), (far, far, "MAX's goal")]
    if board.hole < board.cells:
        purposes.append((*divmod(board.hole, board.size), "hole"))
    die = int(s[board.die])
    return View(
        rows=board.size,
        columns=board.size,
        pieces=tuple(pieces),
        die=str(die) if die > 0 else "",
        marked=tuple((row, column) for row, column, _ in purposes),
        purposes=tuple(purposes),
        row_names=tuple(str(board.size - row) for row in range(board.size)),
        column_names=tuple(COLUMNS[: board.size]),
    )

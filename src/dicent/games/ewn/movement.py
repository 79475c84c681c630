"""Movement: where each cell's steps lead, and which pieces each roll moves, as tables for the rules."""

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]


def steps(size: int, off: int) -> Table:
    """Return where each step leads [side, cell, direction], or `off` beyond the board.

    Directions are across, down (or up) and diagonal. MIN's board is MAX's turned by half.
    """
    cells = size * size
    table = np.full((2, cells, 3), off)
    for cell in range(cells):
        for direction, (down, across) in enumerate(((0, 1), (1, 0), (1, 1))):
            row, column = cell // size + down, cell % size + across
            if row < size and column < size:
                table[0, cell, direction] = row * size + column
                table[1, cells - 1 - cell, direction] = cells - 1 - (row * size + column)
    return table


def moved_pieces(pieces: int, nearest: bool, off: int) -> Table:
    """Return up to two pieces that a roll may move [pieces present (a bit each), roll, 2], or `off`.

    The rolled piece moves if it is present, else the next lower or higher one; with `nearest` only the
    nearest of these, or both when tied.
    """
    table = np.full((1 << pieces, pieces, 2), off)
    for present in range(1 << pieces):
        here = [piece for piece in range(pieces) if present >> piece & 1]
        for rolled in range(pieces):
            if rolled in here:
                table[present, rolled, 0] = rolled
            else:
                table[present, rolled] = _stand_ins(here, rolled, nearest, off)
    return table


def _stand_ins(present: list[int], rolled: int, nearest: bool, off: int) -> tuple[int, int]:
    lower = max((piece for piece in present if piece < rolled), default=off)
    higher = min((piece for piece in present if piece > rolled), default=off)
    if nearest and off not in (lower, higher):
        if rolled - lower < higher - rolled:
            higher = off
        elif rolled - lower > higher - rolled:
            lower = off
    return lower, higher

"""Read and write positions and actions as text.

A position is a board, the player to move and the die, as in `ABC2/DE3/F3f/3de/2abc 1 2`. Rows come from the
top. Capital letters are MAX's pieces, small letters MIN's, digits count empty cells. The die is `-` before
a roll and `@` while pieces are placed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dicent.game import MAX, MIN, Cells

OFF = -1  # the cell of a piece that is not on the board
TO_ROLL, PLACING = 0, -1  # what the die says when it shows no number
COLUMNS = "abcdef"
EXAMPLE = "ABC2/DE3/F3f/3de/2abc 1 2"
SETUPS = {  # in words, by their names
    "random": "random",
    "mirrored": "first places, second mirrors",
    "alternate": "piece by piece, in turn",
    "sequential": "one side after the other",
}


@dataclass(frozen=True)
class Board:
    """The constants of a board that text and view need."""

    size: int
    pieces: int  # of each player
    setup: str
    hole: int  # its cell; the number of cells if there is none

    @cached_property
    def cells(self) -> int:
        """The number of cells."""
        return self.size * self.size

    @cached_property
    def depth(self) -> int:
        """The rows of the corner triangle that holds a player's pieces."""
        return {1: 1, 3: 2, 6: 3, 10: 4}[self.pieces]

    @property
    def mover(self) -> int:
        """The place of the mover in a state; die and winner follow."""
        return 2 * self.pieces

    @property
    def die(self) -> int:
        """The place of the die in a state."""
        return 2 * self.pieces + 1

    @property
    def winner(self) -> int:
        """The place of the winner in a state."""
        return 2 * self.pieces + 2

    @cached_property
    def letters(self) -> tuple[str, str]:
        """The letters of MAX's pieces and of MIN's."""
        return "ABCDEFGHIJ"[: self.pieces], "abcdefghij"[: self.pieces]

    def sides(self, s: Cells) -> tuple[list[int], list[int]]:
        """Return the cells of MAX's pieces and of MIN's."""
        cells = [int(cell) for cell in s[: 2 * self.pieces]]
        return cells[: self.pieces], cells[self.pieces :]

    def home(self, side: int) -> list[int]:
        """Return the cells of a side's corner, in the order of places."""
        rows = range(self.depth)
        triangle = [row * self.size + column for row in rows for column in range(self.depth - row)]
        return triangle if side == 0 else [self.cells - 1 - cell for cell in triangle]

    def square(self, cell: int) -> str:
        """Return the name of a cell, as in a5."""
        return COLUMNS[cell % self.size] + str(self.size - cell // self.size)

    def mirrored(self, cell: int) -> int:
        """Return the cell mirrored through the anti-diagonal."""
        row, column = divmod(cell, self.size)
        return (self.size - 1 - column) * self.size + self.size - 1 - row


def functions(board: Board) -> tuple[Callable[..., str], Callable[..., None], Callable[..., str]]:
    """Return the rules' `format_state`, `parse_state` and `format_action` for a board."""
    return (
        lambda s: format_state(board, s),
        lambda text, s: parse_state(board, text, s),
        lambda s, action: format_action(board, s, action),
    )


def check_size(board: Board, hole: bool) -> None:
    """Raise a ValueError unless the pieces and the hole fit on the board."""
    if board.depth >= board.size:
        raise ValueError(
            f"on size={board.size} the corners of pieces={board.pieces} overlap; use fewer pieces"
        )
    if hole and board.size % 2 == 0:
        raise ValueError(f"size={board.size} has no centre cell, so hole=true needs an odd size")


def parse_setup(board: Board) -> Cells:
    """Return the position that the option `setup` names; raise ValueError if there is none."""
    setup, s = board.setup, np.zeros(2 * board.pieces + 3, np.int64)
    try:
        parse_state(board, setup, s)
    except ValueError as error:
        raise ValueError(
            f"setup={setup} is neither random, mirrored, alternate or sequential, nor a position: {error}"
        ) from error
    if s[board.winner]:
        raise ValueError(f"setup={setup}: the game is over before it begins")
    return s


def format_state(board: Board, s: Cells) -> str:
    """Return the text of a position."""
    cells = ["."] * board.cells
    for letters, places in zip(board.letters, board.sides(s), strict=True):
        for letter, cell in zip(letters, places, strict=True):
            if cell != OFF:
                cells[cell] = letter
    rows = ["".join(cells[first : first + board.size]) for first in range(0, board.cells, board.size)]
    text = "/".join(rows)
    for run in range(board.size, 0, -1):
        text = text.replace("." * run, str(run))
    shown = int(s[board.die])
    die = {TO_ROLL: "-", PLACING: "@"}.get(shown, str(shown))
    return f"{text} {1 if s[board.mover] == MAX else 2} {die}"


def parse_state(board: Board, text: str, s: Cells) -> None:
    """Write the position that a text describes into `s`; raise ValueError if there is none."""
    fields = text.split(" ")
    if len(fields) != 3:
        raise ValueError("it needs three fields: board, mover (1 or 2) and die, as in " + EXAMPLE)
    rows, mover, die = fields
    s[:] = OFF
    _parse_rows(board, rows, s)
    if mover not in ("1", "2"):
        raise ValueError(f"the mover is {mover!r}, not 1 or 2")
    s[board.mover] = MAX if mover == "1" else MIN
    faces = [str(face + 1) for face in range(board.pieces)]
    if die not in ["-", "@", *faces]:
        raise ValueError(
            f"the die is {die!r}, not a number up to {board.pieces}, - (to be rolled) or @ (placing)"
        )
    s[board.die] = {"-": TO_ROLL, "@": PLACING}[die] if die in "-@" else int(die)
    s[board.winner] = 0
    if die == "@":
        _check_placing(board, s)
    else:
        s[board.winner] = _find_winner(board, s)
        if s[board.winner] and die != "-":
            raise ValueError("the game is over on this board, so the die must be -")


def _parse_rows(board: Board, text: str, s: Cells) -> None:
    rows = text.split("/")
    if len(rows) != board.size:
        raise ValueError(f"the board has {len(rows)} rows, not {board.size}")
    for row, content in enumerate(rows):
        column = 0
        for letter in content:
            if letter in "123456":
                column += int(letter)
                continue
            _put_piece(board, letter, row * board.size + column, s)
            column += 1
        if column != board.size:
            raise ValueError(f"row {content!r} has {column} cells, not {board.size}")


def _put_piece(board: Board, letter: str, cell: int, s: Cells) -> None:
    letters = board.letters
    side = 0 if letter in letters[0] else 1
    piece = letters[side].find(letter)
    if piece < 0:
        raise ValueError(f"{letter!r} is not a piece: {letters[0]} and {letters[1]} are")
    if s[board.pieces * side + piece] != OFF:
        raise ValueError(f"piece {letter} stands on the board twice")
    if cell == board.hole:
        raise ValueError(f"piece {letter} stands in the hole")
    s[board.pieces * side + piece] = min(cell, board.cells - 1)  # a row that is too long is refused later


def _find_winner(board: Board, s: Cells) -> int:
    """Return the winner that the board shows, or 0."""
    first, second = board.sides(s)
    over = [
        (MAX, board.cells - 1 in first, "MAX stands in the far corner"),
        (MIN, 0 in second, "MIN stands in the far corner"),
        (MAX, all(cell == OFF for cell in second), "MIN has no piece"),
        (MIN, all(cell == OFF for cell in first), "MAX has no piece"),
    ]
    found = {winner: reason for winner, true, reason in over if true}
    if len(found) == 2:
        raise ValueError("both sides have won: " + " and ".join(found.values()))
    return next(iter(found), 0)


def _check_placing(board: Board, s: Cells) -> None:
    """Raise ValueError for a board that the placing of pieces cannot reach."""
    if board.setup not in ("mirrored", "alternate", "sequential"):
        raise ValueError(f"nobody places pieces with setup={board.setup}, so the die cannot be @")
    sides, max_to_place = board.sides(s), s[board.mover] == MAX
    counts = [sum(cell != OFF for cell in side) for side in sides]
    mine, theirs = counts if max_to_place else counts[::-1]
    for i, side in enumerate(sides):
        if not set(side) <= {OFF, *board.home(i)}:
            raise ValueError("while pieces are placed, they all stand in their own corner")
        if board.setup != "alternate" and OFF in side[: counts[i]]:
            raise ValueError("pieces are placed in the order of their numbers")
    if board.setup == "mirrored":
        mirrored = [board.mirrored(cell) if cell != OFF else OFF for cell in sides[0]]
        possible = max_to_place and sides[1] == mirrored
    elif board.setup == "sequential":
        possible = theirs == (0 if max_to_place else board.pieces)
    else:
        possible = theirs - mine in (0, 1)
    if mine == board.pieces or not possible:
        raise ValueError(f"setup={board.setup} does not lead to this board with this player to place")


def format_action(board: Board, s: Cells, action: int) -> str:
    """Return the text of an action: the cells of a step, as in a5b4, or a placement, as in A@a5."""
    side = 0 if s[board.mover] == MAX else 1
    steps = 3 * board.pieces
    if action >= steps:
        piece, place = divmod(action - steps, board.pieces)
        return f"{board.letters[side][piece]}@{board.square(board.home(side)[place])}"
    cell = int(s[board.pieces * side + action // 3])
    across, down = ((1, 0), (0, 1), (1, 1))[action % 3]
    forward = 1 if side == 0 else -1
    return board.square(cell) + board.square(cell + forward * (across + board.size * down))

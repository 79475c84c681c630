"""The picture of a state: a `View` of a grid, or a `Board` of places of any shape. All drawings use it."""

from dataclasses import dataclass, field
from functools import lru_cache

from dicent.kernels.constants import CHANCE, MAX, MIN

# A hop moves a piece between two places of a board, named by their indexes; None is off the board.
Hop = tuple[int | None, int]
Path = tuple[Hop, ...]  # the hops of one action, in order

SHAPES = {
    "cell": "a square or rectangle that holds a piece",
    "point-up": "a triangle whose base is at the bottom, where pieces pile up from",
    "point-down": "a triangle whose base is at the top",
    "bar": "a strip for pieces out of play",
    "tray": "a box for pieces that wait or have finished",
    "bowl": "a round hollow",
    "track": "a bar that counts fill from the left; `capacity` fills it",
    "label": "only its text",
}


@dataclass(frozen=True)
class Piece:
    """A piece on a cell, counted from the top left."""

    row: int
    column: int
    label: str
    owner: int  # MAX, MIN, or CHANCE for neutral things


@dataclass(frozen=True)
class View:
    """A rectangular board of cells with pieces on it, and a die beside it."""

    rows: int
    columns: int
    pieces: tuple[Piece, ...] = ()
    die: str = ""  # the text of the die; empty before a roll, or without a die
    marked: tuple[tuple[int, int], ...] = ()  # special cells: goals, holes
    row_names: tuple[str, ...] = field(default=())
    column_names: tuple[str, ...] = field(default=())
    caption: str = ""
    purposes: tuple[tuple[int, int, str], ...] = ()  # row, column and what the cell is for: see Place
    bottom: int = MIN  # see Board


@dataclass(frozen=True)
class Place:
    """A place on a board: the top left corner and the size, in units of about one piece."""

    x: float
    y: float
    width: float = 1.0
    height: float = 1.0
    shape: str = "cell"  # one of SHAPES
    name: str = ""  # the name that players use; screen readers say it
    text: str = ""  # written on the place while it is empty
    marked: bool = False  # special: goals, holes, rosettes
    capacity: int = 0  # the count that fills a track
    purpose: str = ""  # what the place is for, as in "MAX's goal"; written at its edge, and said


@dataclass(frozen=True)
class Stack:
    """Equal pieces on a place, which is given by its index."""

    place: int
    owner: int  # MAX, MIN, or CHANCE for neutral things
    count: int = 1
    label: str = ""  # on each piece


@dataclass(frozen=True)
class Board:
    """A board of any shape: places, the pieces on them, and the dice beside it."""

    places: tuple[Place, ...]
    stacks: tuple[Stack, ...] = ()
    dice: tuple[str, ...] = ()  # the text of each die; empty before a roll
    caption: str = ""
    bottom: int = MIN  # the player who sits below the board; CHANCE: neither, so it is never turned

    @property
    def width(self) -> float:
        """The width in units."""
        return max(place.x + place.width for place in self.places)

    @property
    def height(self) -> float:
        """The height in units."""
        return max(place.y + place.height for place in self.places)


def as_board(view: View | Board) -> Board:
    """Return a grid as a board whose places are the cells, row by row; a board as it is."""
    if isinstance(view, Board):
        return view
    marked = frozenset((int(row), int(column)) for row, column in view.marked)
    purposes = frozenset((int(row), int(column), text) for row, column, text in view.purposes)
    places = _cells(view.rows, view.columns, marked, view.row_names, view.column_names, purposes)
    stacks = tuple(Stack(int(p.row) * view.columns + int(p.column), p.owner, 1, p.label) for p in view.pieces)
    return Board(places, stacks, (view.die,) if view.die else (), view.caption, view.bottom)


@lru_cache(maxsize=64)
def _cells(
    rows: int,
    columns: int,
    marked: frozenset[tuple[int, int]],
    row_names: tuple[str, ...],
    column_names: tuple[str, ...],
    purposes: frozenset[tuple[int, int, str]],
) -> tuple[Place, ...]:
    written = {(row, column): text for row, column, text in purposes}

    def name(row: int, column: int) -> str:
        if row_names and column_names:
            return column_names[column] + row_names[row]
        return f"row {row + 1}, column {column + 1}"

    return tuple(
        Place(c, r, name=name(r, c), marked=(r, c) in marked, purpose=written.get((r, c), ""))
        for r in range(rows)
        for c in range(columns)
    )


def find_fault(view: object) -> str | None:
    """Return what is wrong with a view, in words, or None."""
    if isinstance(view, View):
        if not all(0 <= p.row < view.rows and 0 <= p.column < view.columns for p in view.pieces):
            return "a piece stands outside the board"
        return _bottom_fault(view.bottom)
    if not isinstance(view, Board):
        return f"returned a {type(view).__name__}, not a View or a Board"
    if not view.places:
        return "the board has no places"
    for i, place in enumerate(view.places):
        if place.shape not in SHAPES:
            return f"place {i} has the shape {place.shape!r}, not one of {', '.join(SHAPES)}"
        if place.x < 0 or place.y < 0 or place.width <= 0 or place.height <= 0:
            return f"place {i} is outside the board or has no size: {place}"
        if place.shape == "track" and place.capacity < 1:
            return f"place {i} is a track with the capacity {place.capacity}, not 1 or more"
    for stack in view.stacks:
        if not 0 <= stack.place < len(view.places):
            return f"a stack stands on place {stack.place}; places are 0 to {len(view.places) - 1}"
        if stack.count < 0 or stack.owner not in (MAX, MIN, CHANCE):
            return f"a stack has no count of 0 or more, or no owner MAX, MIN or CHANCE: {stack}"
    return _bottom_fault(view.bottom)


def _bottom_fault(bottom: object) -> str | None:
    return None if bottom in (MAX, MIN, CHANCE) else f"bottom must be MAX, MIN or CHANCE (got {bottom!r})"


def find_path_fault(board: Board, paths: object) -> str | None:
    """Return what is wrong with the ways to play an action, in words, or None."""
    if paths is None:  # the game does not say
        return None
    if not isinstance(paths, tuple) or not all(isinstance(path, tuple) and path for path in paths):
        return f"returned {paths!r}, not a tuple of ways, each a tuple of (from, to) with one or more"
    for path in paths:
        for hop in path:
            if not (isinstance(hop, tuple) and len(hop) == 2):
                return f"{hop!r} is not (from, to)"
            if not all(_is_place(board, place) for place in hop if place is not None) or hop[1] is None:
                last = len(board.places) - 1
                return f"{hop!r} does not lead between places, which are numbers from 0 to {last}"
    return None


def _is_place(board: Board, place: object) -> bool:
    return isinstance(place, int) and 0 <= place < len(board.places)

"""View: a board with its pieces, for any program that draws it."""

from dataclasses import dataclass, field


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
    die: str = ""  # what the die shows; empty when it is still to be rolled, or there is none
    marked: tuple[tuple[int, int], ...] = ()  # special cells: goals, holes
    row_names: tuple[str, ...] = field(default=())
    column_names: tuple[str, ...] = field(default=())
    caption: str = ""

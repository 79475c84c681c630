"""Tables: every endgame of EinStein würfelt nicht! with few pieces, from a file mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dicent.errors import DicentError, TableFileError
from dicent.evaluate.base import Values
from dicent.exact.ewn_index import EwnIndex, new_position
from dicent.exact.solution import Solution, describe
from dicent.exact.solver import Report, Solver
from dicent.exact.table_file import Bytes, Facts, read_header, read_values, tables_folder
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.game.registry import make
from dicent.kernels import endgame as endgame_kernels
from dicent.kernels.endgame import UNIT


class Tables:
    """Exact values of all positions of a game with up to `pieces` pieces on the board.

    `error` bounds how far a win probability may be off: each of the moves to the end of the game may
    have added a rounding. What is sure is exactly 0 or 1.
    """

    def __init__(self, game: Game, index: EwnIndex, data: Bytes, compiled: bool | None = None) -> None:
        self.game = game
        self.pieces = index.pieces
        self.name = facts_of(game, index.pieces).name  # of the file
        self.positions = index.values  # that the table holds, after symmetry
        self.error = 2 * (index.size - 1) * index.pieces * UNIT
        self._index = index.arrays
        self._data = data
        self._bound = bind(game, compiled)

    def values(self, states: Cells) -> Values:
        """The values [B] of states [B, S] for MAX, before or after a roll; NaN where the table has none."""
        values = np.empty(len(states), np.float64)
        self._bound.kernel(endgame_kernels.probe)(
            *(self._index, self._data, new_position(self._bound), np.ascontiguousarray(states), values),
            *(self.game.empty_cells(), np.empty(self.game.num_actions, np.int64)),
        )
        return values

    def covers(self, state: State) -> bool:
        """Does the table have this state?"""
        known = state.game.is_like(self.game, "setup")
        return known and not np.isnan(self.values(state.cells[None])[0])

    def value_of(self, state: State) -> float:
        """The value of a state for MAX."""
        if not self.covers(state):
            raise DicentError(f"the table of up to {self.pieces} pieces does not have {state}")
        return float(self.values(state.cells[None])[0])

    def probe(self, state: State) -> Solution:
        """The value of a state, its moves and its outcomes."""
        return describe(state, self.value_of, "table")


def facts_of(game: Game, pieces: int, values: int = 0) -> Facts:
    """What a table of a game is called; an error for games that have no tables."""
    if game.rules.source != make("ewn").rules.source:
        raise DicentError(f"endgame tables are for ewn; {game.name} can be solved instead: dicent solve")
    options = game.options
    if options["hole"]:
        raise DicentError(f"{game.name}: there are no tables with a hole; dicent solve knows it")
    size, faces = int(options["size"]), int(options["pieces"])
    if not 2 <= pieces <= 2 * faces:
        raise DicentError(f"{game.name}: a table has from 2 to {2 * faces} pieces, not {pieces}")
    return Facts("ewn", size, faces, str(options["rules"]), pieces, values)


def open_tables(game: Game, pieces: int | None = None, folder: Path | None = None) -> Tables:
    """The table of a game that was built for so many pieces, or for the most."""
    largest = max(built(game, folder), default=None) if pieces is None else pieces
    if largest is None:
        facts_of(game, 2)
        raise DicentError(f"no table of {game.name} is built: dicent tables build {game.name} --pieces 4")
    path = tables_folder(folder) / facts_of(game, largest).name
    if not path.exists():
        raise DicentError(
            f"{path} does not exist: build it with `dicent tables build {game.name} --pieces {largest}`"
        )
    index = EwnIndex(bind(game), largest)
    return Tables(game, index, read_values(path, facts_of(game, largest, index.values)))


def built(game: Game, folder: Path | None = None) -> Iterator[int]:
    """The numbers of pieces for which tables of a game are built."""
    try:
        wanted = facts_of(game, 2)
    except DicentError:
        return
    for facts, _ in list_tables(folder):
        if (facts.size, facts.faces, facts.rules) == (wanted.size, wanted.faces, wanted.rules):
            yield facts.pieces


def list_tables(folder: Path | None = None) -> list[tuple[Facts, Path]]:
    """The tables that are there; files that are none are passed over."""
    found = []
    for path in sorted(tables_folder(folder).glob("*.table")):
        try:
            facts, _ = read_header(path)
        except TableFileError:
            continue
        if path.name == facts.name:
            found.append((facts, path))
    return found


def probe(state: State, folder: Path | None = None, progress: Report | None = None) -> Solution:
    """The exact value of a position: from a table where one is built, else by solving."""
    if max(built(state.game, folder), default=0) > 0:
        tables = open_tables(state.game, folder=folder)
        if tables.covers(state):
            return tables.probe(state)
    return Solver(state.game).solve(state, progress)

"""The tablebase: all endgames with few pieces, from a file mapped into memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dicent.errors import DicentError, TablebaseFileError
from dicent.evaluate.base import Values
from dicent.exact.tablebase import Tablebase, TablebaseFile
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.games.ewn.tablebase import kernel
from dicent.games.ewn.tablebase.file import Bytes, Contents, read_header, read_values
from dicent.games.ewn.tablebase.index import TablebaseIndex, new_position


class EwnTablebase(Tablebase):
    """Win probabilities of all positions with up to so many pieces.

    Each of the moves to the end of the game may have added a rounding to a value.
    """

    def __init__(
        self, game: Game, index: TablebaseIndex, data: Bytes, path: Path, compiled: bool | None = None
    ) -> None:
        error = 2 * (index.size - 1) * index.pieces * kernel.UNIT
        super().__init__(game, index.pieces, index.values, error, path)
        self.data = data
        self._index = index.arrays
        self._bound = bind(game, compiled)

    def values(self, states: Cells) -> Values:
        """Return the values [B] for MAX of states [B, S], before or after a roll; NaN for others."""
        values = np.empty(len(states), np.float64)
        self._bound.kernel(kernel.probe)(
            *(self._index, self.data, new_position(self._bound), np.ascontiguousarray(states), values),
            *(self.game.empty_cells(), self.game.empty_actions()),
        )
        return values


def contents_of(game: Game, pieces: int, values: int = 0) -> Contents:
    """Return what the file of a game holds; raise an error for options that have no tablebase."""
    options = game.options
    if options["hole"]:
        raise DicentError(f"{game.name}: there is no tablebase with a hole; `dicent solve` solves positions")
    size, faces = int(options["size"]), int(options["pieces"])
    if not 2 <= pieces <= 2 * faces:
        raise DicentError(f"{game.name}: a tablebase has from 2 to {2 * faces} pieces (got {pieces})")
    return Contents("ewn", size, faces, str(options["rules"]), pieces, values)


def open_file(game: Game, pieces: int, folder: Path) -> EwnTablebase:
    """Open the tablebase of a game in a folder."""
    path = folder / contents_of(game, pieces).name
    if not path.exists():
        raise DicentError(
            f"{path} does not exist: build it with `dicent tablebase build {game.name} --pieces {pieces}`"
        )
    index = TablebaseIndex(bind(game), pieces)
    return EwnTablebase(game, index, read_values(path, contents_of(game, pieces, index.values)), path)


def built(game: Game, folder: Path) -> list[int]:
    """Return the numbers of pieces for which tablebases of a game are built."""
    if game.options["hole"]:
        return []
    wanted = contents_of(game, 2)
    return [
        found.pieces
        for found, _ in _files(folder)
        if (found.size, found.faces, found.rules) == (wanted.size, wanted.faces, wanted.rules)
    ]


def list_files(folder: Path) -> list[TablebaseFile]:
    """Return the tablebases in a folder, of all boards and rules."""
    return [TablebaseFile(str(found), found.pieces, path, vars(found)) for found, path in _files(folder)]


def _files(folder: Path) -> list[tuple[Contents, Path]]:
    found = []
    for path in sorted(folder.glob("*.table")):
        try:
            contents, _ = read_header(path)
        except TablebaseFileError:
            continue
        if path.name == contents.name:
            found.append((contents, path))
    return found

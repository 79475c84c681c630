"""Tablebases: exact values of all positions with few pieces, for games that offer them.

A game offers a `TablebaseProvider` through its extras. Files lie in the folder `tables` of the data folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Values
from dicent.exact.progress import Report
from dicent.exact.solution import Solution, ValueKind, describe
from dicent.exact.solver import Solver, values_of
from dicent.files import data_folder
from dicent.game import Cells, Game, State
from dicent.game.extras import extra, known_games


class Tablebase(ABC):
    """Exact values of all positions of a game with up to `pieces` pieces on the board.

    `error` bounds how far a win probability may be off. Sure wins and losses are exact.
    """

    def __init__(self, game: Game, pieces: int, positions: int, error: float, path: Path) -> None:
        self.game = game
        self.pieces = pieces
        self.positions = positions  # stored, after symmetry
        self.error = error
        self.path = path  # of the file

    def __reduce__(self) -> tuple[Callable[..., Tablebase], tuple[object, ...]]:
        return open_again, (self.game, self.pieces, self.path)

    @abstractmethod
    def values(self, states: Cells) -> Values:
        """Return the values [B] for MAX of states [B, S]; NaN for states that are not covered."""

    def is_for(self, game: Game) -> bool:
        """Return whether states of `game` can be looked up; how a game is set up does not matter."""
        return game.is_like(self.game, "setup")

    def covers(self, state: State) -> bool:
        """Return whether the tablebase has this state."""
        return self.is_for(state.game) and not np.isnan(self.values(state.cells[None])[0])

    def value_of(self, state: State) -> float:
        """Return the value of a state for MAX."""
        if not self.covers(state):
            raise DicentError(f"the tablebase of up to {self.pieces} pieces does not have {state}")
        return float(self.values(state.cells[None])[0])

    def probe(self, state: State) -> Solution:
        """Return the value of a state, its moves and its outcomes."""
        return describe(state, self.value_of, "tablebase")


@dataclass(frozen=True)
class TablebaseFile:
    """A tablebase on disk."""

    title: str
    pieces: int
    path: Path
    details: dict[str, object] = field(default_factory=dict)  # for programs


@dataclass(frozen=True)
class BuildProgress:
    """The progress of a build."""

    values: int
    total: int


class BuildSettings(NamedTuple):
    """How to build a tablebase. `threads=None` means one per core."""

    folder: Path
    threads: int | None = None
    progress: Callable[[BuildProgress], object] | None = None
    compiled: bool | None = None


@dataclass(frozen=True)
class TablebaseProvider:
    """The tablebase functions of a game; numbers of pieces count both sides."""

    build: Callable[[int, BuildSettings], Tablebase]  # opens the file if it is built already
    open: Callable[[int, Path], Tablebase]
    built: Callable[[Path], list[int]]  # the numbers of pieces for which the game has a file in a folder
    files: Callable[[Path], list[TablebaseFile]]  # of this game with any options


def tablebase_folder(folder: Path | None = None) -> Path:
    """Return the folder of the tablebases: the one that is given, or the user's."""
    return data_folder() / "tables" if folder is None else folder


def build_tablebase(
    game: Game,
    pieces: int,
    folder: Path | None = None,
    threads: int | None = None,
    progress: Callable[[BuildProgress], object] | None = None,
    compiled: bool | None = None,
) -> Tablebase:
    """Build the tablebase of positions with up to `pieces` pieces, or open it if it is built."""
    settings = BuildSettings(tablebase_folder(folder), threads, progress, compiled)
    return _provider(game).build(pieces, settings)


def open_tablebase(game: Game, pieces: int | None = None, folder: Path | None = None) -> Tablebase:
    """Open the tablebase of a game that was built for so many pieces, or for the most."""
    provider = _provider(game)
    largest = max(provider.built(tablebase_folder(folder)), default=None) if pieces is None else pieces
    if largest is None:
        raise DicentError(
            f"no tablebase of {game.name} is built: build one with `dicent tablebase build {game.name}`"
        )
    return provider.open(largest, tablebase_folder(folder))


def open_again(game: Game, pieces: int, path: Path) -> Tablebase:
    """Open a tablebase that another process has opened: the same file, or that of this machine."""
    return open_tablebase(game, pieces, path.parent if path.exists() else None)


def built_pieces(game: Game, folder: Path | None = None) -> list[int]:
    """Return the numbers of pieces for which tablebases of a game are built."""
    provider = extra(game, "tablebase", TablebaseProvider)
    return [] if provider is None else provider.built(tablebase_folder(folder))


def list_tablebases(folder: Path | None = None) -> list[TablebaseFile]:
    """Return the tablebases of all built-in and installed games in a folder; skip other files."""
    providers = [extra(game, "tablebase", TablebaseProvider) for game in known_games()]
    files = [
        file
        for provider in providers
        if provider is not None
        for file in provider.files(tablebase_folder(folder))
    ]
    return sorted(files, key=lambda file: file.path)


def probe(
    state: State,
    folder: Path | None = None,
    progress: Report | None = None,
    values: ValueKind | None = None,
) -> Solution:
    """Return the exact value of a position, from a tablebase if one is built, else by solving.

    `values` is "score" or "gain", by default the score if the game has one. Tablebases hold gains.
    """
    if values_of(state.game, values) == "gain" and built_pieces(state.game, folder):
        tablebase = open_tablebase(state.game, folder=folder)
        if tablebase.covers(state):
            return tablebase.probe(state)
    return Solver(state.game, values=values).solve(state, progress)


def _provider(game: Game) -> TablebaseProvider:
    provider = extra(game, "tablebase", TablebaseProvider)
    if provider is None:
        raise DicentError(f"{game.name} has no tablebase; `dicent solve` works out its positions instead")
    return provider

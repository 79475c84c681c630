"""Endgame tables in analyses: what they hold needs no search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from dicent.errors import DicentError
from dicent.evaluate.network import Network
from dicent.exact.ewn_tables import Tables, built, open_tables
from dicent.exact.with_tables import WithTables
from dicent.game import Game, State
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo
from dicent.search.limit import Limit
from dicent.search.tree_search import Search


class LookUp(Search):
    """The exact values of a position that the tables have."""

    source = "table"

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """One analysis; the limit does not matter."""
        begin = time.perf_counter()
        found = self.tables.probe(state)
        moves = tuple(replace(move, by_outcome=self._by_outcome(state, move)) for move in found.moves)
        seconds = time.perf_counter() - begin
        yield Analysis(state, found.value, found.win, True, 1, 0, 0, seconds, moves, found.outcomes)

    def _by_outcome(self, state: State, move: MoveInfo) -> tuple[OutcomeInfo, ...]:
        return self.tables.probe(state.apply(move.action)).outcomes


def with_tables(search: Search, state: State) -> Search:
    """A look at the tables where they have the position; else the search, which asks them on its way.

    Only networks that predict results can be mixed with them.
    """
    tables = _tables(state.game)
    if tables is None or state.result is not None:
        return search
    if tables.covers(state):
        return LookUp(tables)
    evaluator = search.evaluator
    if not search.replaces_evaluator or not isinstance(evaluator, Network):
        return search
    if evaluator.terminal.name != "gain" or evaluator.gain_map is not None:
        return search
    return search.with_evaluator(WithTables(evaluator, tables))


def _tables(game: Game) -> Tables | None:
    """The largest table that is built for a game."""
    if game not in _opened:
        try:
            if not any(True for _ in built(game)):
                return None
            _opened[game] = open_tables(game)
        except DicentError:  # a damaged file is no reason not to search
            return None
    return _opened[game]


_opened: dict[Game, Tables] = {}

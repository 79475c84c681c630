"""Tablebases in analyses: positions that they cover need no search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from dicent.errors import DicentError
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.exact.tablebase import Tablebase, built_pieces, open_tablebase
from dicent.exact.with_tablebase import WithTablebase
from dicent.game import Game, State
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo
from dicent.search.limit import Limit
from dicent.search.tree_search import Search


class LookUp(Search):
    """Looks positions up in a tablebase instead of searching."""

    source = "tablebase"

    def __init__(self, tablebase: Tablebase) -> None:
        self.tablebase = tablebase

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """Yield one analysis; the limit does not matter."""
        begin = time.perf_counter()
        found = self.tablebase.probe(state)
        moves = tuple(replace(move, by_outcome=self._by_outcome(state, move)) for move in found.moves)
        seconds = time.perf_counter() - begin
        yield Analysis(state, found.value, found.win, True, 1, 0, 0, seconds, moves, found.outcomes)

    def _by_outcome(self, state: State, move: MoveInfo) -> tuple[OutcomeInfo, ...]:
        return self.tablebase.probe(state.apply(move.action)).outcomes


def with_tablebase(search: Search, state: State) -> Search:
    """Return a look-up if the tablebase covers the position, else the search with the tablebase.

    Only networks that predict results can be combined with it.
    """
    tablebase = _largest(state.game)
    if tablebase is None or state.result is not None:
        return search
    if search.evaluator is not None and search.evaluator.in_points:  # a tablebase holds results
        return search
    if tablebase.covers(state):
        return LookUp(tablebase)
    evaluator = search.evaluator
    if not search.replaces_evaluator or not isinstance(evaluator, Network | NativeNetwork):
        return search
    if evaluator.terminal.name != "gain" or evaluator.gain_map is not None:
        return search
    return search.with_evaluator(WithTablebase(evaluator, tablebase))


def _largest(game: Game) -> Tablebase | None:
    """Return the largest tablebase that is built for a game."""
    if game not in _opened:
        try:
            if not built_pieces(game):
                return None
            _opened[game] = open_tablebase(game)
        except DicentError:  # a search works without a damaged file
            return None
    return _opened[game]


_opened: dict[Game, Tablebase] = {}

"""Compile the kernels of a search before its clock starts."""

from __future__ import annotations

from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.game import State
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, inner_search


def warm_up(search: Search, state: State) -> None:
    """Compile the kernels of a search before its clock starts."""
    evaluator = search.evaluator
    game = state.game
    if isinstance(evaluator, Network | NativeNetwork):
        game = evaluator.with_encoding(game)
    inner = inner_search(search)
    kind = state.game, game, type(search), type(inner), inner.pausable, type(evaluator)
    if kind in _warm or not search.native or state.result is not None:
        return
    for _ in search.stream(state, Limit(evaluations=1, depth=1), None, float("inf")):
        pass
    _warm.add(kind)


_warm: set[object] = set()

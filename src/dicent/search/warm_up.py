"""Compile the kernels of a search before its clock starts."""

from __future__ import annotations

from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.game import State
from dicent.kernels.searches import SEARCHING
from dicent.search.group import Group
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch, inner_search

STEPS = 100  # of a search, within which it needs values


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
    if inner.pausable and inner.batched is not None:
        _warm_up_end(inner.batched, state)
    _warm.add(kind)


def _warm_up_end(search: TreeSearch, state: State) -> None:
    """Compile what runs when a tree grows, and when its time is over."""
    group = Group(search, state.game, nodes=64)
    group.kernels.prepare_deadline()
    group.begin(0, state, Limit(nodes=1000), search.seed)
    while group.must_continue() and group.step():
        pass
    for _ in range(STEPS):  # until it waits for values
        if group.searches.status[0] == SEARCHING:
            group.advance(1)
    group.kernels.dry_run(group.tree, group.searches, 0)
    group.break_off()
    group.settle()
    group.grow()


_warm: set[object] = set()

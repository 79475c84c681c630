"""Growth: one analysis that grows in slices, can be left lying, and goes on later."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import cast

from dicent.evaluate.network import Network
from dicent.game import State
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search

SLICE = 0.05  # seconds that a search goes on before others have their turn


class Growth:
    """A search of a position.

    It keeps its own clock: time while others had their turn does not count.
    """

    def __init__(
        self, search: Search, state: State, limit: Limit, ply: int = 0, after: Analysis | None = None
    ) -> None:
        self.search, self.state, self.limit, self.ply = search, state, limit, ply
        self.last: Analysis | None = None
        self.seconds = 0.0
        self.ended = False
        self._stream: Iterator[Analysis] = search.stream(state, limit, after, SLICE, ply)

    def grow(self) -> None:
        """Search on for about a slice."""
        begin = time.perf_counter()
        try:
            self.last = next(self._stream)
        except StopIteration:
            self.ended = True
        self.seconds += time.perf_counter() - begin

    def going_on(self, limit: Limit, nodes: int) -> Growth:
        """The analysis with another limit: the same one where it was only a matter of time.

        A tree that has as many as `nodes` is not made larger.
        """
        if limit == self.limit and not self.ended:
            return self
        self.close()
        tree = None if self.last is None else self.last.tree
        small = tree is not None and int(tree.tree.nodes[0]) < nodes
        return Growth(self.search, self.state, limit, self.ply, self.last if small else None)

    def close(self) -> None:
        """Search no further."""
        with contextlib.suppress(AttributeError):  # not every stream is a generator
            cast(Generator[Analysis], self._stream).close()
        self.ended = True


class Kept:
    """The last analysis of each conversation, so that a later query can go on with it; only of some."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._growths: OrderedDict[int, tuple[object, Growth]] = OrderedDict()  # oldest first

    def put(self, owner: object, key: object, growth: Growth) -> None:
        """Keep what `owner` has found about `key`."""
        with self._lock:
            self._growths[id(owner)] = key, growth
            self._growths.move_to_end(id(owner))
            while len(self._growths) > self.most:
                self._growths.popitem(last=False)

    def take(self, owner: object, key: object) -> Growth | None:
        """What is kept, if it is about the same; it is the taker's then."""
        with self._lock:
            found = self._growths.pop(id(owner), None)
        return found[1] if found is not None and found[0] == key else None


def warm_up(search: Search, state: State) -> None:
    """Compile what a search needs before its clock is started."""
    evaluator = search.evaluator
    shown = evaluator.shown(state.game) if isinstance(evaluator, Network) else state.game
    kind = state.game, shown, type(search), type(evaluator)
    if kind in _warm or not search.native or state.result is not None:
        return
    for _ in search.stream(state, Limit(evaluations=1, depth=1), None, float("inf")):
        pass
    _warm.add(kind)


_warm: set[object] = set()


def without_time(search: Search, limit: Limit, nodes: int) -> Limit:
    """The limit of an analysis whose time somebody else looks after, so that it can go on later.

    Searches that do not pause when asked keep theirs.
    """
    if limit.time is None or not search.pausable:
        return limit
    if limit.nodes is None and limit.evaluations is None and limit.depth is None:
        return Limit(nodes=nodes)
    return replace(limit, time=None)

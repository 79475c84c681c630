"""Session: one analysis that grows in slices, can be left lying, and goes on later."""

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
from dicent.search.tree_search import Search, TreeSearch

SLICE = 0.05  # seconds that a search goes on before others have their turn


class Session:
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

    def advance(self) -> None:
        """Search on for about a slice."""
        begin = time.perf_counter()
        try:
            self.last = next(self._stream)
        except StopIteration:
            self.ended = True
        self.seconds += time.perf_counter() - begin

    def resumed(self, limit: Limit, nodes: int) -> Session:
        """The analysis with another limit: the same one where it was only a matter of time.

        A tree that has as many as `nodes` is not made larger.
        """
        if limit == self.limit and not self.ended:
            return self
        self.close()
        tree = None if self.last is None else self.last.tree
        small = tree is not None and int(tree.tree.nodes[0]) < nodes
        return Session(self.search, self.state, limit, self.ply, self.last if small else None)

    def close(self) -> None:
        """Search no further."""
        with contextlib.suppress(AttributeError):  # not every stream is a generator
            cast(Generator[Analysis], self._stream).close()
        self.ended = True


class SessionCache:
    """The last analysis of each conversation, so that a later query can go on with it; only of some."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._sessions: OrderedDict[int, tuple[object, Session]] = OrderedDict()  # oldest first

    def put(self, owner: object, key: object, session: Session) -> None:
        """Keep what `owner` has found about `key`."""
        with self._lock:
            self._sessions[id(owner)] = key, session
            self._sessions.move_to_end(id(owner))
            while len(self._sessions) > self.most:
                self._sessions.popitem(last=False)

    def take(self, owner: object, key: object) -> Session | None:
        """What is kept, if it is about the same; it is the taker's then."""
        with self._lock:
            found = self._sessions.pop(id(owner), None)
        return found[1] if found is not None and found[0] == key else None


def inner_search(search: Search) -> Search:
    """The search that does the work, inside those that only lead it."""
    while isinstance(inner := getattr(search, "inner", None), Search):
        search = inner
    return search


def warm_up(search: Search, state: State) -> None:
    """Compile what a search needs before its clock is started."""
    evaluator = getattr(search, "evaluator", None)
    shown = evaluator.shown(state.game) if isinstance(evaluator, Network) else state.game
    kind = state.game, shown, type(search), type(evaluator)
    if kind in _warm or not isinstance(search, TreeSearch) or state.result is not None:
        return
    for _ in search.stream(state, Limit(evaluations=1, depth=1), None, float("inf")):
        pass
    _warm.add(kind)


_warm: set[object] = set()


def without_time(search: Search, limit: Limit, nodes: int) -> Limit:
    """The limit of an analysis whose time somebody else looks after, so that it can go on later.

    Searches that do not pause when asked keep theirs.
    """
    if limit.time is None or not isinstance(search, TreeSearch) or getattr(search, "prune", False):
        return limit
    if limit.nodes is None and limit.evaluations is None and limit.depth is None:
        return Limit(nodes=nodes)
    return replace(limit, time=None)

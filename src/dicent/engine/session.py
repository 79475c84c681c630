"""Session: a search that runs in time slices and can be paused and resumed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import cast

from dicent.game import State
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search

SLICE = 0.05  # seconds of one time slice


class Session:
    """A search of one position. Its clock counts only the time of its own slices."""

    def __init__(
        self, search: Search, state: State, limit: Limit, ply: int = 0, after: Analysis | None = None
    ) -> None:
        self.search, self.state, self.limit, self.ply = search, state, limit, ply
        self.last: Analysis | None = None
        self.seconds = 0.0
        self.ended = False
        self._stream: Iterator[Analysis] = search.stream(state, limit, after, SLICE, ply)

    def advance(self) -> None:
        """Search for about one slice."""
        begin = time.perf_counter()
        try:
            self.last = next(self._stream)
        except StopIteration:
            self.ended = True
        self.seconds += time.perf_counter() - begin

    def resumed(self, limit: Limit, nodes: int) -> Session:
        """Return a session that continues with another limit; this one, if the limit is the same.

        A tree with `nodes` nodes or more is not extended.
        """
        if limit == self.limit and not self.ended:
            return self
        self.close()
        tree = None if self.last is None else self.last.tree
        small = tree is not None and int(tree.tree.nodes[0]) < nodes
        return Session(self.search, self.state, limit, self.ply, self.last if small else None)

    def close(self) -> None:
        """Stop the search."""
        with contextlib.suppress(AttributeError):  # not every stream is a generator
            cast(Generator[Analysis], self._stream).close()
        self.ended = True


class SessionCache:
    """The last session of each client, so that a later query can resume it; the oldest are dropped."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._sessions: OrderedDict[int, tuple[object, Session]] = OrderedDict()  # oldest first

    def put(self, owner: object, key: object, session: Session) -> None:
        """Store the session of `owner` under `key`."""
        with self._lock:
            self._sessions[id(owner)] = key, session
            self._sessions.move_to_end(id(owner))
            while len(self._sessions) > self.most:
                self._sessions.popitem(last=False)

    def take(self, owner: object, key: object) -> Session | None:
        """Remove and return the session of `owner` if its key matches."""
        with self._lock:
            found = self._sessions.pop(id(owner), None)
        return found[1] if found is not None and found[0] == key else None


def without_time(search: Search, limit: Limit, nodes: int) -> Limit:
    """Return the limit without its time, which the caller then watches, so that the search can be resumed.

    Searches that cannot be paused keep their time limit.
    """
    if limit.time is None or not search.pausable:
        return limit
    if limit.nodes is None and limit.evaluations is None and limit.depth is None and limit.turns is None:
        return Limit(nodes=nodes)
    return replace(limit, time=None)

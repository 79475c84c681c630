"""Growth: one analysis that grows in slices, can be left lying, and goes on later."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import cast

from dicent.game import State
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch

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

    def going_on(self, limit: Limit) -> Growth:
        """The analysis with another limit: the same one where it was only a matter of time."""
        if limit == self.limit and not self.ended:
            return self
        self.close()
        return Growth(self.search, self.state, limit, self.ply, self.last)

    def close(self) -> None:
        """Search no further."""
        with contextlib.suppress(AttributeError):  # not every stream is a generator
            cast(Generator[Analysis], self._stream).close()
        self.ended = True


def without_time(search: Search, limit: Limit, nodes: int) -> Limit:
    """The limit of an analysis whose time somebody else looks after, so that it can go on later.

    Searches that do not pause when asked keep theirs.
    """
    if limit.time is None or not isinstance(search, TreeSearch) or getattr(search, "prune", False):
        return limit
    if limit.nodes is None and limit.evaluations is None and limit.depth is None:
        return Limit(nodes=nodes)
    return replace(limit, time=None)

"""Stages: the strongly connected components of a graph, in an order in which many can be solved at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.exact.threads import Threads
from dicent.game.binding import Bound
from dicent.kernels import components as components_kernels
from dicent.kernels.components import COMPLETE, DONE, ORDERED, Walk
from dicent.kernels.graph import Graph

Span = tuple[int, int]

FOLLOWED = 1 << 20  # links in a call of a kernel, which sees neither the clock nor Ctrl-C
MOVED = 1 << 16  # nodes that get their place in a call
SMALL = 1000  # nodes of a component that a single call solves


@dataclass(frozen=True)
class Stage:
    """Components that lead to those of earlier stages.

    Those of more than SMALL nodes lead to no other of their stage. Small ones lie in a stage of their own, in
    which each lies behind those that it leads to.
    """

    first: int  # the place of its first node
    cuts: npt.NDArray[np.int64]  # where its components end
    small: bool

    @property
    def last(self) -> int:
        """The place behind its last node."""
        return int(self.cuts[-1])

    @property
    def spans(self) -> list[Span]:
        """The places of each component."""
        return list(itertools.pairwise([self.first, *self.cuts.tolist()]))


def find_stages(
    graph: Graph, base: int, n: int, bound: Bound, threads: Threads, tell: Callable[[float], None]
) -> list[Stage]:
    """Order the nodes from number `base` to `n` by stage and component, and let links lead to places."""
    number, path, low, stage, waiting = (np.zeros(n - base, np.int32) for _ in range(5))
    cursor, counts = np.zeros(n - base, np.int64), np.zeros(5, np.int64)
    walk = Walk(number, path, low, stage, cursor, waiting, counts, base)
    walk_on = bound.kernel(components_kernels.components)
    while walk_on(graph, walk, SMALL, FOLLOWED) != DONE:
        tell(int(walk.counts[ORDERED]) / (n - base))

    ends = np.flatnonzero(graph.order[base:n] < 0) + 1  # of components, in the order of the walk
    sizes = np.diff(ends, prepend=0)
    numbers = COMPLETE - walk.number[-1 - graph.order[base + ends - 1] - base]  # of their stages
    by_stage = np.argsort(numbers, kind="stable")
    cuts = np.cumsum(sizes[by_stage])
    starts = np.empty_like(cuts)  # of components, in the new order
    starts[by_stage] = cuts - sizes[by_stage]

    note = bound.kernel(components_kernels.note_components)
    for first, last in _spans(0, len(ends)):
        note(graph, walk, ends, starts, first, last)
    sort = bound.kernel(components_kernels.sort_components)
    spans = _spans(base, n)
    for span in spans:
        sort(graph, walk, *span)
    link = bound.kernel(components_kernels.link_places)
    threads.map(link, [(graph, *span) for span in spans])

    behind = np.flatnonzero(np.diff(numbers[by_stage], append=-1)) + 1  # the last component of each stage
    firsts = [base, *(base + cuts[behind - 1]).tolist()]
    return [
        Stage(start, base + cuts[i:j], small=bool(numbers[by_stage[i]] % 2 == 0))
        for start, (i, j) in zip(firsts, itertools.pairwise([0, *behind.tolist()]), strict=False)
    ]


def _spans(first: int, last: int) -> list[Span]:
    return list(itertools.pairwise([*range(first, last, MOVED), last]))

"""Strongly connected components of a graph, each after those that it leads to (Tarjan 1972).

The recursion is a path in arrays, so that it can pause.
"""

from typing import NamedTuple

import numpy as np

from .jit import i64, inline, jit

# Why a call has returned.
DONE = 0
PAUSED = 1


class Walk(NamedTuple):
    """Tarjan's walk over the n nodes from number `base` on; earlier ones are solved."""

    number: np.ndarray  # [n]  when a node was met, from 1; 0 before
    low: np.ndarray  # [n]  the earliest node of its component that it leads to; 0 once that is complete
    cursor: np.ndarray  # [n]  the next link to follow, of nodes on the path
    path: np.ndarray  # [n]
    waiting: np.ndarray  # [n]  nodes whose component is not complete
    counts: np.ndarray  # [5]  MET, PATH, WAITING, ORDERED, NEXT_ROOT
    base: int


MET, PATH, WAITING, ORDERED, NEXT_ROOT = 0, 1, 2, 3, 4


@jit
def components(graph, walk, steps):
    """Find the strongly connected components, each after those that it leads to (Tarjan 1972)."""
    counts = walk.counts
    for _ in range(steps):
        if counts[PATH] == 0:
            while counts[NEXT_ROOT] < len(walk.number) and walk.number[counts[NEXT_ROOT]] != 0:
                counts[NEXT_ROOT] += 1
            if counts[NEXT_ROOT] == len(walk.number):
                return DONE
            meet(graph, walk, counts[NEXT_ROOT])
        i = walk.path[counts[PATH] - 1]
        at = walk.cursor[i]
        if at == graph.head[walk.base + i + 1]:
            leave(graph, walk, i)
            continue
        walk.cursor[i] = at + 1
        child = (i64(graph.links[at]) >> 1) - walk.base  # negative for ends, headers and solved nodes
        if child >= 0:
            if walk.number[child] == 0:
                meet(graph, walk, child)
            elif walk.low[child] != 0:
                walk.low[i] = min(walk.low[i], walk.number[child])
    return PAUSED


@jit
def meet(graph, walk, i):
    counts = walk.counts
    counts[MET] += 1
    walk.number[i] = counts[MET]
    walk.low[i] = counts[MET]
    walk.cursor[i] = graph.head[walk.base + i]
    walk.path[counts[PATH]] = i
    counts[PATH] += 1
    walk.waiting[counts[WAITING]] = i
    counts[WAITING] += 1


@jit
def leave(graph, walk, i):
    """Go back from a node; if it was the first of its component, the component is complete."""
    counts = walk.counts
    counts[PATH] -= 1
    low = walk.low[i]
    if low == walk.number[i]:
        while True:
            counts[WAITING] -= 1
            other = walk.waiting[counts[WAITING]]
            walk.low[other] = 0
            node = walk.base + other
            place = walk.base + counts[ORDERED]
            graph.order[place] = node if other != i else -1 - node
            graph.place[node] = place
            counts[ORDERED] += 1
            if other == i:
                return
    parent = walk.path[counts[PATH] - 1]
    walk.low[parent] = min(walk.low[parent], low)


@inline
def node_at(graph, place):
    node = i64(graph.order[place])
    return -1 - node if node < 0 else node


@jit
def link_places(graph, first, last):
    """Let the links of the nodes at places `first` to `last` lead to places instead of nodes."""
    for place in range(first, last):
        node = node_at(graph, place)
        for i in range(graph.head[node], graph.head[node + 1]):
            link = i64(graph.links[i])
            if link >= 0:
                graph.links[i] = 2 * i64(graph.place[link >> 1]) + (link & 1)

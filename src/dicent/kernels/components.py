"""Strongly connected components of a graph, each after those that it leads to (Tarjan 1972).

The recursion is a path in arrays, so that it can pause.

Every component has a stage. Small components have even stages, and large ones odd stages. A component
leads to earlier stages, and small ones also to others of their own stage. So all large components of a stage
can be solved side by side.
"""

from typing import NamedTuple

import numpy as np

from .constants import NONE
from .graph import node_at
from .jit import i64, jit

# Why a call has returned.
DONE = 0
PAUSED = 1


class Walk(NamedTuple):
    """Tarjan's walk over the n nodes from number `base` on; earlier ones are solved.

    Only `number` is read in random order, once for each link.
    """

    number: np.ndarray  # [n]  when a node was met, from 1; 0 before; COMPLETE - stage once its component is
    path: np.ndarray  # [n]  nodes; the next three arrays belong to the same depths
    low: np.ndarray  # [n]  the earliest node of its component that a node leads to
    stage: np.ndarray  # [n]  the latest stage that it leads to
    cursor: np.ndarray  # [n]  the next link to follow
    waiting: np.ndarray  # [n]  nodes whose component is not complete
    counts: np.ndarray  # [5]  MET, PATH, WAITING, ORDERED, NEXT_ROOT
    base: int


MET, PATH, WAITING, ORDERED, NEXT_ROOT = 0, 1, 2, 3, 4
COMPLETE = -1


@jit
def components(graph, walk, small, steps):
    """Find the strongly connected components, each after those that it leads to (Tarjan 1972).

    A component with up to `small` nodes is small.
    """
    counts = walk.counts
    while steps > 0:
        if counts[PATH] == 0:
            while counts[NEXT_ROOT] < len(walk.number) and walk.number[counts[NEXT_ROOT]] != 0:
                counts[NEXT_ROOT] += 1
            if counts[NEXT_ROOT] == len(walk.number):
                return DONE
            meet(graph, walk, counts[NEXT_ROOT])
        depth = counts[PATH] - 1
        at, end = walk.cursor[depth], graph.head[walk.base + walk.path[depth] + 1]
        steps -= end - at + 1
        low, stage = i64(walk.low[depth]), i64(walk.stage[depth])
        new = i64(NONE)
        while at < end and new == NONE:
            child = (i64(graph.links[at]) >> 1) - walk.base  # negative for ends, headers and solved nodes
            at += 1
            if child >= 0:
                number = i64(walk.number[child])
                if number > 0:
                    low = min(low, number)
                elif number < 0:
                    stage = max(stage, COMPLETE - number)
                else:
                    new = child
        walk.cursor[depth], walk.low[depth], walk.stage[depth] = at, low, stage
        if new != NONE:
            meet(graph, walk, new)
        else:
            leave(graph, walk, small)
    return PAUSED


@jit
def meet(graph, walk, i):
    counts = walk.counts
    counts[MET] += 1
    walk.number[i] = counts[MET]
    depth = counts[PATH]
    counts[PATH] = depth + 1
    walk.path[depth], walk.low[depth], walk.stage[depth] = i, counts[MET], 0
    walk.cursor[depth] = graph.head[walk.base + i]
    walk.waiting[counts[WAITING]] = i
    counts[WAITING] += 1


@jit
def leave(graph, walk, small):
    """Go back from a node; if it was the first of its component, the component is complete."""
    counts = walk.counts
    depth = counts[PATH] - 1
    counts[PATH] = depth
    i, low, stage = i64(walk.path[depth]), i64(walk.low[depth]), i64(walk.stage[depth])
    if low == walk.number[i]:
        stage = complete(graph, walk, i, stage, small)
    elif depth > 0:
        walk.low[depth - 1] = min(walk.low[depth - 1], low)
    if depth > 0:
        walk.stage[depth - 1] = max(walk.stage[depth - 1], stage)


@jit
def complete(graph, walk, root, stage, small):
    """Order the nodes of a component that leads to `stage`; returns the stage of the component."""
    counts = walk.counts
    first = last = counts[WAITING]
    while first == last or walk.waiting[first] != root:
        first -= 1
    counts[WAITING] = first
    stage += (stage & 1) + (last - first > small)  # small ones become even, large ones odd
    for k in range(last - 1, first - 1, -1):
        i = i64(walk.waiting[k])
        walk.number[i] = COMPLETE - stage
        node = walk.base + i
        graph.order[walk.base + counts[ORDERED]] = node if k > first else -1 - node
        counts[ORDERED] += 1
    return stage


@jit
def note_components(graph, walk, ends, starts, first, last):
    """Note where components `first` to `last` will begin, for each node in `low`, and their sizes there.

    ends    [C]  where components end, from `base` on, in the order of the walk
    starts  [C]  where they will begin
    """
    for k in range(first, last):
        begin = ends[k - 1] if k > 0 else 0
        for place in range(begin, ends[k]):
            walk.low[node_at(graph, walk.base + place) - walk.base] = starts[k]
        walk.number[starts[k]] = ends[k] - begin
        walk.path[starts[k]] = 0  # nodes of the component that have their place


@jit
def sort_components(graph, walk, first, last):
    """Give nodes `first` to `last` their places: by number inside each component.

    Nodes were numbered as they were found, so the next states of a node mostly lie close together.
    """
    for node in range(first, last):
        start = i64(walk.low[node - walk.base])
        i = i64(walk.path[start])
        walk.path[start] = i + 1
        place = walk.base + start + i
        graph.place[node] = place
        graph.order[place] = -1 - node if i + 1 == walk.number[start] else node


@jit
def link_places(graph, first, last):
    """Let the links of the nodes at places `first` to `last` lead to places instead of nodes."""
    for place in range(first, last):
        node = node_at(graph, place)
        for i in range(graph.head[node], graph.head[node + 1]):
            link = i64(graph.links[i])
            if link >= 0:
                graph.links[i] = 2 * i64(graph.place[link >> 1]) + (link & 1)

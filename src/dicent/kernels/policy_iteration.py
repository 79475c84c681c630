"""A guess of the values of a component, by modified policy iteration (Puterman and Shin 1978).

One vector of values is swept, not two bounds. A sweep that improves looks at all links, puts the best one of
each group first, and notes it in a `System`. Sweeps that follow solve that system: they read the best links
alone, a few bytes a group. Improving sweeps alone always settle where every play leaves the component. A
guess needs no proof of its own: `intervals` proves bounds around it, or fails to.

Rows and values are indexed by place from `start` on, the first place of the component. A sweep goes from the
last place to the first. A block reads the `new` values that it has computed itself and those of places from
`done` on, which earlier waves have computed, and the `old` values of all others. So the result does not
depend on which thread is faster.
"""

from typing import NamedTuple

import numpy as np

from .constants import NONE
from .graph import END, HEADER, groups_of
from .jit import i64, inline, jit


class System(NamedTuple):
    """The equations of the best links: a value is `known` plus the mean of the next values inside.

    The component has n nodes with G groups.
    """

    head: np.ndarray  # [n + 1]  where the groups of a row begin
    next: np.ndarray  # [G]  2 * row + 1 if the sign changes, else 2 * row; NONE for links to the outside
    vector: np.ndarray  # [n]  the probabilities of the groups; NONE for a single group
    known: np.ndarray  # [n]  what the links to the outside add


@jit
def count_groups(graph, head, vector, start, first, last):
    """Note where the groups of each row end, and their probabilities, for rows in their order."""
    for place in range(first, last):
        row = place - start
        groups, _, number = groups_of(graph, place)
        head[row + 1] = head[row] + groups
        vector[row] = number


@jit
def improve_block(graph, system, old, new, start, first, last, done):
    """Update a block's values by all links, and note the best ones; returns the largest change."""
    change = 0.0
    for place in range(last - 1, first - 1, -1):
        row = place - start
        groups, at, vector = groups_of(graph, place)
        known, inside = 0.0, 0.0
        for g in range(groups):
            header = HEADER - i64(graph.links[at])
            player, n = (header & 3) - 1, header >> 2
            at += 1
            best = value_at(graph, graph.links[at], old, new, start, place, last, done)
            best_at = at
            for j in range(at + 1, at + n):
                other = value_at(graph, graph.links[j], old, new, start, place, last, done)
                if player * other > player * best:
                    best = other
                    best_at = j
            link = i64(graph.links[best_at])
            if best_at != at:
                graph.links[best_at] = graph.links[at]
                graph.links[at] = link
            at += n
            share = best if vector == NONE else graph.chances[vector, g] * best
            if link >= 2 * start:
                system.next[system.head[row] + g] = link - 2 * start
                inside += share
            else:
                system.next[system.head[row] + g] = NONE
                known += share
        system.known[row] = known
        new[row] = known + inside
        change = max(change, abs(new[row] - old[row]))
    return change


@jit
def follow_block(graph, system, old, new, start, first, last, done):
    """Update a block's values by the best links alone; returns the largest change."""
    change = 0.0
    first_row, last_row, done_row = first - start, last - start, done - start
    for row in range(last_row - 1, first_row - 1, -1):
        at, end, vector = system.head[row], system.head[row + 1], i64(system.vector[row])
        value = system.known[row]
        for j in range(at, end):
            link = i64(system.next[j])
            if link != NONE:
                i = link >> 1
                other = new[i] if row < i < last_row or i >= done_row else old[i]
                if vector != NONE:
                    other *= graph.chances[vector, j - at]
                value += -other if link & 1 else other
        new[row] = value
        change = max(change, abs(value - old[row]))
    return change


@inline
def value_at(graph, link, old, new, start, place, last, done):
    """Return the value that a link of `place` leads to; outside the component, the middle of the bounds."""
    link = i64(link)
    if link < 0:
        return graph.ends[END - link]
    child = link >> 1
    if child < start:
        value = 0.5 * (graph.bounds[child, 0] + graph.bounds[child, 1])
    elif place < child < last or child >= done:
        value = new[child - start]
    else:
        value = old[child - start]
    return -value if link & 1 else value


@jit
def widest_exit(graph, start, first, last):
    """Return the widest gap between the bounds that places `first` to `last` see outside the component."""
    gap = 0.0
    for place in range(first, last):
        groups, at, _ = groups_of(graph, place)
        for _ in range(groups):
            n = (HEADER - i64(graph.links[at])) >> 2
            for j in range(at + 1, at + 1 + n):
                child = i64(graph.links[j]) >> 1
                if 0 <= child < start:
                    gap = max(gap, graph.bounds[child, 1] - graph.bounds[child, 0])
            at += 1 + n
    return gap


@jit
def spread_block(graph, values, width, start, first, last):
    """Set the bounds of places `first` to `last` to `width` below and above their values."""
    for place in range(first, last):
        graph.bounds[place, 0] = values[place - start] - width
        graph.bounds[place, 1] = values[place - start] + width


@jit
def take_proof(graph, fresh, start, values, width, first, last):
    """Make a block's fresh bounds the old ones.

    Returns by how much a bound is farther out than `width` from its value, and the widest gap.
    """
    excess = 0.0
    gap = 0.0
    for place in range(first, last):
        low, high, value = fresh[place - start, 0], fresh[place - start, 1], values[place - start]
        excess = max(excess, (value - width) - low, high - (value + width))
        graph.bounds[place, 0] = low
        graph.bounds[place, 1] = high
        gap = max(gap, high - low)
    return excess, gap

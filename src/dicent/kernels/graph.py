"""The graph of the states that can follow some states of a game, with cycles.

A node is a chance state, or a decision that chance has not just led to. A decision right after a
roll is not a node: its actions are part of the node of the roll. States that a symmetry makes equal
share a node; a link says whether the symmetry changes the sign of the value.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import NONE, ONGOING
from .hashing import equal, hash_state, home_slot, next_slot, slot_of
from .jit import copy, i64, inline, jit

# Links of a node: a header, then for each outcome a header and one link for each child. A link is
# 2 * node + 1 if the sign changes, or END - i for the i-th value of finished games. Once components are
# known, places stand for nodes.
END = -2
HEADER = -(1 << 20)  # and below: 4 * count + who plays, counted down from here
SINGLE = HEADER - 2  # the header of a decision: one group, without probabilities
REPEATED = 4  # the bit of nodes whose bounds met only because endless play is a draw
MOST_NODES = (1 << 30) - 1  # so that a link fits into 32 bits


class Graph(NamedTuple):
    """Up to N nodes with L links."""

    state: np.ndarray  # [N, S]
    head: np.ndarray  # [N + 1]  where the links of a node begin
    links: np.ndarray  # [L]
    chances: np.ndarray  # [K, O]  the different probabilities of outcomes
    ends: np.ndarray  # [E]  the different values of finished games
    slots: np.ndarray  # [H]  nodes by the hash of their state (H a power of two)
    place: np.ndarray  # [N]  where the values of a node are: components lie together, those led to first
    order: np.ndarray  # [N]  the node at each place, as -1 - node at the end of a component
    bounds: np.ndarray  # [N, 2]  by place: the lower and the upper bound of a value, adjacent in memory
    forced: np.ndarray  # [N]  by place: bit 0 if MAX can force endless play, bit 1 if MIN can; REPEATED
    counts: np.ndarray  # [5]  NODES, LINKS, VECTORS, ENDS, EXPANDED


NODES, LINKS, VECTORS, ENDS, EXPANDED = 0, 1, 2, 3, 4


class Room(NamedTuple):
    """Scratch memory of a thread."""

    rolled: np.ndarray  # [S]
    after: np.ndarray  # [S]
    image: np.ndarray  # [S]
    best: np.ndarray  # [S]
    actions: np.ndarray  # [A]
    p: np.ndarray  # [O]


@jit
def add_root(graph, s, scores, room):
    """Return the link of state `s`, which becomes a node if it is none."""
    result = rules.result(s)
    if result != ONGOING:
        return END - end_number(graph, end_value(s, result, scores))
    sign = canonical(s, room)
    return 2 * node_of(graph, room.best, hash_state(room.best, 0)) + (sign < 0)


@inline
def end_value(s, result, scores):
    """Return the value of a finished game: its score or its result."""
    return float(rules.score(s)) if scores else float(result)


@jit
def node_of(graph, s, hashed):
    """Return the node of a canonical state with its hash, a new one if there is none."""
    slot = slot_of(hashed, len(graph.slots))
    while graph.slots[slot] != NONE:
        node = i64(graph.slots[slot])
        if equal(graph.state[node], s):
            return node
        slot = next_slot(slot, len(graph.slots))
    node = graph.counts[NODES]
    graph.counts[NODES] = node + 1
    graph.slots[slot] = node
    copy(graph.state[node], s)
    return node


@jit
def canonical(s, room):
    """Write the smallest image of `s` under all symmetries into `best`; returns its sign."""
    copy(room.best, s)
    sign = 1
    for k in range(1, rules.NUM_SYMMETRIES):
        its_sign = rules.symmetry(s, k, room.image)
        if its_sign != 0 and is_smaller(room.image, room.best):
            copy(room.best, room.image)
            sign = its_sign
    return sign


@inline
def node_at(graph, place):
    node = i64(graph.order[place])
    return -1 - node if node < 0 else node


@inline
def groups_of(graph, place):
    """Return how many groups of links a node has, where they begin, and its vector of probabilities."""
    at = graph.head[node_at(graph, place)]
    if graph.links[at] == SINGLE:
        return 1, at + 1, i64(NONE)
    return (HEADER - i64(graph.links[at])) >> 2, at + 2, (HEADER - i64(graph.links[at + 1])) >> 2


@inline
def is_smaller(a, b):
    for i in range(len(a)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return False


@jit
def end_number(graph, value):
    """Return the number of the value of a finished game among the different ones."""
    i = find_end(graph.ends, graph.counts[ENDS], value)
    if i == NONE:
        i = graph.counts[ENDS]
        graph.ends[i] = value
        graph.counts[ENDS] = i + 1
    return i


@inline
def find_end(ends, n, value):
    """Return where a value is among the first `n`, or NONE."""
    for i in range(n):
        if ends[i] == value:
            return i
    return NONE


@jit
def vector_number(graph, p):
    """Return the number of probabilities `p`, zeros behind the last, among the different ones."""
    k = find_vector(graph.chances, graph.counts[VECTORS], p)
    if k == NONE:
        k = graph.counts[VECTORS]
        copy(graph.chances[k], p)
        graph.counts[VECTORS] = k + 1
    return k


@inline
def find_vector(chances, n, p):
    """Return where probabilities are among the first `n`, or NONE."""
    for k in range(n):
        if equal(chances[k], p):
            return k
    return NONE


@jit
def rehash(graph, first, last):
    """Put nodes `first` to `last` into the slots of a larger table."""
    for node in range(first, last):
        slot = home_slot(graph.state[node], 0, len(graph.slots))
        while graph.slots[slot] != NONE:
            slot = next_slot(slot, len(graph.slots))
        graph.slots[slot] = node

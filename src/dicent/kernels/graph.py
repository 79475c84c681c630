"""The graph of the states that can follow some states of a game, with cycles.

A node is a chance state, or a decision that chance has not just led to. A decision right after a
roll is no node: its actions are part of the node of the roll. States that a symmetry makes equal
share a node; a link says whether the symmetry changes the sign of the value.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING
from .hashing import equal, hash_state
from .jit import copy, i64, inline, jit, u64

# Links of a node: a header, then for each outcome a header and one link for each child. A link is
# 2 * node + 1 if the sign changes, or END - i for the i-th value of finished games.
END = -2
HEADER = -(1 << 20)  # and below: 4 * count + who plays, counted down from here
SINGLE = HEADER - 2  # the header of a decision: one group, without probabilities

# Why a call has returned.
DONE = 0
PAUSED = 1
FULL = 2  # the arrays must be larger


class Graph(NamedTuple):
    """Up to N nodes with L links."""

    state: np.ndarray  # [N, S]
    head: np.ndarray  # [N + 1]  where the links of a node begin
    links: np.ndarray  # [L]
    chances: np.ndarray  # [K, O]  the different probabilities of outcomes
    ends: np.ndarray  # [E]  the different values of finished games
    slots: np.ndarray  # [H]  nodes by the hash of their state (H a power of two)
    low: np.ndarray  # [N]
    high: np.ndarray  # [N]
    block: (
        np.ndarray
    )  # [N]  which block of a component a node is in while several threads solve it; else NONE
    counts: np.ndarray  # [5]  NODES, LINKS, CHANCES, ENDS, EXPANDED


NODES, LINKS, VECTORS, ENDS, EXPANDED = 0, 1, 2, 3, 4


class Room(NamedTuple):
    """Scratch memory."""

    rolled: np.ndarray  # [S]
    after: np.ndarray  # [S]
    image: np.ndarray  # [S]
    best: np.ndarray  # [S]
    actions: np.ndarray  # [A]
    p: np.ndarray  # [O]


@jit
def add_root(graph, s, scores, room):
    """Return the link of state `s`, which becomes a node if it is none."""
    copy(room.after, s)
    return link_of(graph, room.after, scores, room)


@jit
def expand(graph, scores, steps, room):
    """Give up to `steps` nodes their links; new nodes come at the end."""
    counts = graph.counts
    widest = widest_node(room)
    for _ in range(steps):
        node = counts[EXPANDED]
        if node == counts[NODES]:
            return DONE
        if (
            counts[NODES] + widest > len(graph.state)
            or counts[LINKS] + widest > len(graph.links)
            or counts[VECTORS] == len(graph.chances)
            or counts[ENDS] + widest > len(graph.ends)
            or 2 * counts[NODES] > len(graph.slots)
        ):
            return FULL
        add_links(graph, node, scores, room)
        counts[EXPANDED] = node + 1
        graph.head[node + 1] = counts[LINKS]
    return PAUSED


@jit
def widest_node(room):
    """Return how many links a node can have."""
    return (2 + rules.MAX_LEGAL) * len(room.p) + 2


@jit
def add_links(graph, node, scores, room):
    """Append the links of a node."""
    s = graph.state[node]
    if rules.to_play(s) != CHANCE:
        push(graph, SINGLE)
        add_group(graph, s, scores, room)
        return
    n = rules.outcomes(s, room.p)
    push(graph, HEADER - 4 * n)
    push(graph, HEADER - 4 * find_chances(graph, room.p, n))
    for o in range(n):
        copy(room.rolled, graph.state[node])
        rules.apply_outcome(room.rolled, o)
        add_group(graph, room.rolled, scores, room)


@jit
def add_group(graph, s, scores, room):
    """Append what a player can reach from `s`; a finished game or a chance state is its own only child."""
    player = rules.to_play(s)
    if rules.result(s) != ONGOING or player == CHANCE:
        push(graph, HEADER - 5)
        copy(room.after, s)
        push(graph, link_of(graph, room.after, scores, room))
        return
    place = graph.counts[LINKS]
    push(graph, 0)
    n = rules.legal_actions(s, room.actions)
    different = 0
    for i in range(n):
        copy(room.after, s)
        rules.apply_action(room.after, room.actions[i])
        link = link_of(graph, room.after, scores, room)
        new = True
        for j in range(different):
            new = new and graph.links[place + 1 + j] != link
        if new:
            push(graph, link)
            different += 1
    graph.links[place] = HEADER - 4 * different - (player + 1)


@inline
def push(graph, link):
    graph.links[graph.counts[LINKS]] = link
    graph.counts[LINKS] += 1


@jit
def link_of(graph, s, scores, room):
    """Return the link to state `s`; a state that is not in the graph becomes a node."""
    result = rules.result(s)
    if result != ONGOING:
        return end_of(graph, float(rules.score(s)) if scores else float(result))
    sign = canonical(s, room)
    mask = len(graph.slots) - 1
    slot = i64(hash_state(room.best, 0) & u64(mask))
    while graph.slots[slot] != NONE:
        node = i64(graph.slots[slot])
        if equal(graph.state[node], room.best):
            return 2 * node + (sign < 0)
        slot = (slot + 1) & mask
    node = graph.counts[NODES]
    graph.counts[NODES] = node + 1
    graph.slots[slot] = node
    copy(graph.state[node], room.best)
    return 2 * node + (sign < 0)


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
def is_smaller(a, b):
    for i in range(len(a)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return False


@jit
def end_of(graph, value):
    """Return the link of a finished game with this value."""
    for i in range(graph.counts[ENDS]):
        if graph.ends[i] == value:
            return END - i
    i = graph.counts[ENDS]
    graph.ends[i] = value
    graph.counts[ENDS] = i + 1
    return END - i


@jit
def find_chances(graph, p, n):
    """Return the number of the probabilities `p[:n]` among the different ones."""
    for k in range(graph.counts[VECTORS]):
        same = True
        for o in range(n):
            same = same and graph.chances[k, o] == p[o]
        if same:
            return k
    k = graph.counts[VECTORS]
    for o in range(n):
        graph.chances[k, o] = p[o]
    graph.counts[VECTORS] = k + 1
    return k


@jit
def rehash(graph):
    """Fill the slots of a larger table."""
    mask = len(graph.slots) - 1
    for node in range(graph.counts[NODES]):
        slot = i64(hash_state(graph.state[node], 0) & u64(mask))
        while graph.slots[slot] != NONE:
            slot = (slot + 1) & mask
        graph.slots[slot] = node

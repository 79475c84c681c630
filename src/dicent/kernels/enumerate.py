"""Enumeration of a graph in rounds: threads expand blocks of nodes, then the graph adopts what they found.

While threads work, the graph does not change. A child that is not in the graph yet is pending: its link is a
placeholder until the graph has adopted its state. Blocks are adopted in their order, so the numbers of nodes
do not depend on the threads.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING
from .graph import (
    END,
    ENDS,
    HEADER,
    LINKS,
    NODES,
    SINGLE,
    VECTORS,
    canonical,
    end_number,
    end_value,
    find_end,
    find_vector,
    node_of,
    vector_number,
)
from .hashing import equal, hash_state, next_slot, slot_of
from .jit import copy, i64, inline, jit

# A placeholder is PENDING - (4 * i + kind), for the i-th pending state, end or vector of probabilities.
PENDING = -(1 << 30)
STATE, MIRRORED, VALUE, VECTOR = 0, 1, 2, 3  # MIRRORED is a state whose value changes its sign


class Found(NamedTuple):
    """What a thread has found in one round: up to C nodes with l links, and pending things."""

    sizes: np.ndarray  # [C]  the links of each node
    links: np.ndarray  # [l]
    state: np.ndarray  # [P, S]
    hashes: np.ndarray  # [P]
    slots: np.ndarray  # [h]  pending states by hash
    ends: np.ndarray  # [e]
    chances: np.ndarray  # [k, O]
    numbers: np.ndarray  # [3, P]  of pending states, ends and vectors in the graph, once adopted
    counts: np.ndarray  # [4]  NODES, LINKS, VECTORS, ENDS


@jit
def expand_block(graph, found, scores, first, last, widest, room):
    """Find the links of nodes `first` to `last`; returns the node before which the memory was full.

    No node has more than `widest` links.
    """
    counts = found.counts
    for node in range(first, last):
        if (
            counts[NODES] + widest > len(found.state)
            or counts[LINKS] + widest > len(found.links)
            or counts[VECTORS] == len(found.chances)
            or counts[ENDS] + widest > len(found.ends)
        ):
            return node
        before = counts[LINKS]
        add_links(graph, found, graph.state[node], scores, room)
        found.sizes[node - first] = counts[LINKS] - before
    return last


@jit
def add_links(graph, found, s, scores, room):
    """Append the links of the node of state `s`."""
    chance = rules.to_play(s) == CHANCE
    n = 1
    if chance:
        for o in range(len(room.p)):
            room.p[o] = 0.0
        n = rules.outcomes(s, room.p)
        push(found, HEADER - 4 * n)
        push(found, vector_link(graph, found, room.p))
    else:
        push(found, SINGLE)
    for o in range(n):
        copy(room.rolled, s)
        if chance:
            rules.apply_outcome(room.rolled, o)
        add_group(graph, found, scores, room)


@jit
def add_group(graph, found, scores, room):
    """Append what a player can reach; a finished game or a chance state is its own only child."""
    s = room.rolled
    player = rules.to_play(s)
    if rules.result(s) != ONGOING or player == CHANCE:
        push(found, HEADER - 5)
        push(found, link_of(graph, found, s, scores, room))
        return
    place = found.counts[LINKS]
    push(found, 0)
    n = rules.legal_actions(s, room.actions)
    different = 0
    for i in range(n):
        copy(room.after, s)
        rules.apply_action(room.after, room.actions[i])
        link = link_of(graph, found, room.after, scores, room)
        new = True
        for j in range(different):
            new = new and found.links[place + 1 + j] != link
        if new:
            push(found, link)
            different += 1
    found.links[place] = HEADER - 4 * different - (player + 1)


@inline
def push(found, link):
    found.links[found.counts[LINKS]] = link
    found.counts[LINKS] += 1


@jit
def link_of(graph, found, s, scores, room):
    """Return the link to state `s`, or a placeholder if the graph does not have it."""
    result = rules.result(s)
    if result != ONGOING:
        return end_link(graph, found, end_value(s, result, scores))
    mirrored = canonical(s, room) < 0
    hashed = hash_state(room.best, 0)
    slot = slot_of(hashed, len(graph.slots))
    while graph.slots[slot] != NONE:
        node = i64(graph.slots[slot])
        if equal(graph.state[node], room.best):
            return 2 * node + mirrored
        slot = next_slot(slot, len(graph.slots))
    slot = slot_of(hashed, len(found.slots))
    while found.slots[slot] != NONE:
        i = i64(found.slots[slot])
        if equal(found.state[i], room.best):
            return PENDING - (4 * i + STATE + mirrored)
        slot = next_slot(slot, len(found.slots))
    i = found.counts[NODES]
    found.counts[NODES] = i + 1
    found.slots[slot] = i
    found.hashes[i] = hashed
    copy(found.state[i], room.best)
    return PENDING - (4 * i + STATE + mirrored)


@jit
def end_link(graph, found, value):
    i = find_end(graph.ends, graph.counts[ENDS], value)
    if i != NONE:
        return END - i
    i = find_end(found.ends, found.counts[ENDS], value)
    if i == NONE:
        i = found.counts[ENDS]
        found.ends[i] = value
        found.counts[ENDS] = i + 1
    return PENDING - (4 * i + VALUE)


@jit
def vector_link(graph, found, probabilities):
    number = find_vector(graph.chances, graph.counts[VECTORS], probabilities)
    if number != NONE:
        return HEADER - 4 * number
    number = find_vector(found.chances, found.counts[VECTORS], probabilities)
    if number == NONE:
        number = found.counts[VECTORS]
        copy(found.chances[number], probabilities)
        found.counts[VECTORS] = number + 1
    return PENDING - (4 * number + VECTOR)


@jit
def adopt(graph, found):
    """Give all that is pending its number in the graph."""
    for i in range(found.counts[NODES]):
        found.numbers[0, i] = node_of(graph, found.state[i], found.hashes[i])
    for i in range(found.counts[ENDS]):
        found.numbers[1, i] = end_number(graph, found.ends[i])
    for i in range(found.counts[VECTORS]):
        found.numbers[2, i] = vector_number(graph, found.chances[i])


@jit
def take_links(graph, found, first, last, at):
    """Copy the links of nodes `first` to `last` to place `at`, without placeholders."""
    start = at
    for node in range(first, last):
        at += found.sizes[node - first]
        graph.head[node + 1] = at
    for i in range(at - start):
        link = i64(found.links[i])
        if link <= PENDING:
            code = PENDING - link
            i_th, kind = code >> 2, code & 3
            if kind == VALUE:
                link = END - found.numbers[1, i_th]
            elif kind == VECTOR:
                link = HEADER - 4 * found.numbers[2, i_th]
            else:
                link = 2 * i64(found.numbers[0, i_th]) + kind
        graph.links[start + i] = link

"""Expectiminimax by iterative deepening, each depth a layer of the tree.

Every ply counts, a roll of chance too. Layer k holds the different states k plies below the root.
To search one ply deeper, the last layer is expanded, the new layer is valued in few large batches,
and values are backed up layer by layer. States are merged within a layer only, since a state that
is reached sooner is searched deeper. A depth that is not finished changes no value.

Layers that are expanded anyway need no values of their own: where the depth is the only limit and
nobody looks in between, only the last layer is valued.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE
from .jit import copy, i64, jit, u64
from .leaf import OUTSIDE, hash_state
from .matches import DONE, SEARCHING, STUFFED, WAITING
from .tree import (
    FULL,
    backup,
    equal,
    new_node,
    ply_after,
    resolve,
    skip_chance,
    tree_of,
    value_children,
)


class Layers(NamedTuple):
    """Where the layers of M trees begin, and how far the expansion of the last one has come."""

    start: np.ndarray  # [M, D + 2]  first node of each layer
    depth: np.ndarray  # [M]  the depth whose values are backed up
    cursor: np.ndarray  # [M]  next node to expand
    valued: np.ndarray  # [M]  the first layer whose states are valued
    largest: int  # batch that a match may wait for


@jit
def advance(trees, c, y, first, last, settings, work, steps):
    """Let matches `first` to `last` search, each until it waits or ends, or for `steps` steps."""
    for m in range(first, last):
        if c.status[m] == SEARCHING:
            search(tree_of(trees, m), c, y, m, settings, work, steps)


@jit
def search(t, c, y, m, settings, work, steps):
    """Expand the last layer node by node; at its end back up and begin the next."""
    for _ in range(steps):
        depth = y.depth[m]
        # 1. A whole layer is expanded and valued: the search is one ply deeper.
        if y.cursor[m] == y.start[m, depth + 1]:
            if c.waiting[m] > 0:
                c.status[m] = WAITING
                return
            deepen(t, c, y, m, depth, settings.completion)
            if is_finished(t, c, y, m, settings):
                c.status[m] = DONE
                return
            continue

        # 2. The budget is spent: this depth stays unfinished. The first one is always finished.
        if depth > 0 and (c.nodes[m] >= c.max_nodes[m] or c.evaluations[m] >= c.max_evaluations[m]):
            c.status[m] = DONE
            return

        # 3. Expand the next node, and value its children in a batch with others.
        node = y.cursor[m]
        if not t.resolved[node]:
            if c.waiting[m] + rules.NUM_ACTIONS + rules.NUM_OUTCOMES > y.largest:
                c.status[m] = WAITING
                return
            before = t.nodes[0]
            new = expand(t, c, y, m, node, settings, work)
            if new == FULL:
                c.status[m] = STUFFED
                return
            c.nodes[m] += t.nodes[0] - before
            c.evaluations[m] += new
            if settings.evaluator == OUTSIDE:
                c.waiting[m] += new
        y.cursor[m] += 1


@jit
def deepen(t, c, y, m, depth, completion):
    """Back up all layers from the last but one to the root."""
    for node in range(y.start[m, depth + 1] - 1, -1, -1):
        if t.first_edge[node] != NONE:
            backup(t, node, completion)
    y.depth[m] = depth + 1
    y.start[m, depth + 2] = t.nodes[0]
    c.depth[m] = depth + 1


@jit
def is_finished(t, c, y, m, settings):
    """Is the root resolved, or the depth or another budget reached, or is there nothing left to expand?"""
    return (
        (t.resolved[c.root[m]] and settings.completion)
        or y.start[m, y.depth[m]] == y.start[m, y.depth[m] + 1]
        or c.depth[m] >= c.max_depth[m]
        or c.depth[m] + 2 >= y.start.shape[1]
        or c.nodes[m] >= c.max_nodes[m]
        or c.evaluations[m] >= c.max_evaluations[m]
    )


@jit
def expand(t, c, y, m, node, settings, work):
    """Give `node` its children in the next layer; returns how many are new and go on, or FULL."""
    s = t.state[node]
    chance = t.kind[node] == CHANCE
    n = rules.outcomes(s, work.p) if chance else rules.legal_actions(s, work.actions)
    if t.edges[0] + n > len(t.child) or t.nodes[0] + n > len(t.kind):
        return FULL
    first = t.edges[0]
    t.edges[0] = first + n
    t.first_edge[node] = first
    t.num_edges[node] = n
    if chance and settings.determinized:
        t.num_edges[node] = 1
    for i in range(t.num_edges[node]):
        choice = i if chance else work.actions[i]
        if chance and settings.determinized:
            choice = resolve(s, c.d_seed[m], work)
        t.choice[first + i] = choice
        t.p[first + i] = work.p[i] if chance and not settings.determinized else 1.0
        t.visits[first + i] = 0
        copy(work.state, s)
        if chance:
            rules.apply_outcome(work.state, choice)
        else:
            rules.apply_action(work.state, choice)
        if settings.determinized:
            skip_chance(work.state, c.d_seed[m], work)
        t.child[first + i] = find_in_layer(
            t, work.state, ply_after(t, node, settings), y.start[m, y.depth[m] + 1], settings
        )
    if y.depth[m] + 1 < y.valued[m]:
        leave_children(t, node)
        return 0
    return value_children(t, node, c.leaves[m, c.waiting[m] :], settings, work)


@jit
def leave_children(t, node):
    """Let the new children of `node` count 0 until their layer is expanded."""
    for edge in range(t.first_edge[node], t.first_edge[node] + t.num_edges[node]):
        if np.isnan(t.value[t.child[edge]]):
            t.value[t.child[edge]] = 0.0


@jit
def find_in_layer(t, s, ply, start, settings):
    """The node of state `s` among those from `start` on, made if there is none."""
    mask = len(t.slots) - 1
    slot = i64(hash_state(s, ply) & u64(mask))
    while t.slots[slot] != NONE:
        node = i64(t.slots[slot])
        if node >= start and t.ply[node] == ply and equal(t.state[node], s):
            return node
        slot = (slot + 1) & mask
    return new_node(t, s, ply, slot, settings)

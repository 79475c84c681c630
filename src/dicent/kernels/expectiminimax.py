"""Expectiminimax by iterative deepening, each depth a layer of the tree.

Every ply counts, including rolls of chance. Layer k holds the different states k plies below the root. To
search one ply deeper, the search expands the last layer, evaluates the new layer in few large batches, and
backs up values layer by layer. Equal states share a node within a layer only, since a state that is reached
earlier is searched deeper. An unfinished depth changes no value. With a limit of turns, a line of play ends
where the next turn would begin.

Inner layers need no values of their own. If the depth is the only limit and no caller reads the tree before
the end, only the last layer is evaluated.

Legend: s, v, c, r and n are as in `tree.py`.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .backup import backup
from .constants import CHANCE, MAX, NONE
from .jit import i64, inline, jit
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .tree import (
    FULL,
    find_or_add,
    follow,
    open_node,
    ply_after,
    skip_chance,
    tree_of,
    value_children,
    write_edge,
)
from .values import OUTSIDE


class Layers(NamedTuple):
    """The layers of M trees, and the progress of the expansion of the last one."""

    start: np.ndarray  # [M, D + 2]  first node of each layer
    depth: np.ndarray  # [M]  the depth whose values are backed up
    cursor: np.ndarray  # [M]  next node to expand
    valued: np.ndarray  # [M]  the first layer whose states are evaluated
    largest: int  # the largest batch that a search may wait for


@jit
def advance(trees, searches, layers, first, last, settings, scratch, steps):
    """Advance searches `first` to `last`, each until it waits or ends, or for `steps` steps."""
    for row in range(first, last):
        if searches.status[row] == SEARCHING:
            search(tree_of(trees, row), searches, layers, row, settings, scratch, steps)


@jit
def search(tree, searches, layers, row, settings, scratch, steps):
    """Expand the last layer node by node; at its end back up and begin the next."""
    for _ in range(steps):
        depth = layers.depth[row]
        # 1. The whole layer is expanded and evaluated: the search is one ply deeper.
        if layers.cursor[row] == layers.start[row, depth + 1]:
            if searches.waiting[row] > 0:
                searches.status[row] = WAITING
                return
            deepen(tree, searches, layers, row, depth, settings.completion)
            if is_finished(tree, searches, layers, row, settings):
                searches.status[row] = DONE
                return
            continue

        # 2. The budget is spent: this depth stays unfinished. The first one is always finished.
        if depth > 0 and (
            searches.nodes[row] >= searches.max_nodes[row]
            or searches.evaluations[row] >= searches.max_evaluations[row]
        ):
            searches.status[row] = DONE
            return

        # 3. Expand the next node; its children join the batch.
        node = layers.cursor[row]
        if not (tree.resolved[node] or is_beyond(tree, node, searches.max_turns[row])):
            if searches.waiting[row] + rules.MAX_LEGAL + rules.NUM_OUTCOMES > layers.largest:
                searches.status[row] = WAITING
                return
            before = tree.nodes[0]
            new = expand(tree, searches, layers, row, node, settings, scratch)
            if new == FULL:
                searches.status[row] = NO_ROOM
                return
            searches.nodes[row] += tree.nodes[0] - before
            searches.evaluations[row] += new
            if settings.evaluator == OUTSIDE:
                searches.waiting[row] += new
        layers.cursor[row] += 1


@jit
def deepen(tree, searches, layers, row, depth, completion):
    """Back up all layers from the last but one to the root."""
    for node in range(layers.start[row, depth + 1] - 1, -1, -1):
        if tree.first_edge[node] != NONE:
            backup(tree, node, completion)
    layers.depth[row] = depth + 1
    layers.start[row, depth + 2] = tree.nodes[0]
    searches.depth[row] = depth + 1


@jit
def is_finished(tree, searches, layers, row, settings):
    """Return whether the root is resolved, a limit is reached, or nothing is left to expand."""
    return (
        (tree.resolved[searches.root[row]] and settings.completion)
        or layers.start[row, layers.depth[row]] == layers.start[row, layers.depth[row] + 1]
        or searches.depth[row] >= searches.max_depth[row]
        or searches.depth[row] + 2 >= layers.start.shape[1]
        or searches.nodes[row] >= searches.max_nodes[row]
        or searches.evaluations[row] >= searches.max_evaluations[row]
    )


@jit
def expand(tree, searches, layers, row, node, settings, scratch):
    """Give `node` its children in the next layer; return how many are new and unfinished, or FULL."""
    n = open_node(tree, node, 1, settings, scratch)
    if n == FULL:
        return FULL
    d_seed = searches.d_seed[row]
    layer = layers.start[row, layers.depth[row] + 1]  # the first node of the next layer
    ply = turn_after(tree, node) if searches.max_turns[row] > 0 else ply_after(tree, node, settings)
    for i in range(n):
        edge = write_edge(tree, node, i, settings, d_seed, scratch)
        follow(tree, node, edge, scratch)
        if settings.determinized:
            skip_chance(scratch.state, ply, d_seed, scratch)
        tree.child[edge] = find_or_add(tree, scratch.state, ply, layer, settings)
    if layers.depth[row] + 1 < layers.valued[row]:
        leave_children(tree, node)
        return 0
    return value_children(tree, node, searches.leaves[row, searches.waiting[row] :], settings, scratch)


@inline
def turn_after(tree, node):
    """Return 3 * turns + who moved last (1: MAX, 2: MIN) for the children of `node`.

    A search that is limited by turns has this in place of the ply: a state reached in fewer turns is searched
    further.
    """
    now = i64(tree.ply[node])
    if tree.kind[node] == CHANCE:
        return now
    mover = 1 if tree.kind[node] == MAX else 2
    return now if now % 3 == mover else 3 * (now // 3 + 1) + mover


@inline
def is_beyond(tree, node, max_turns):
    """Return whether an action at `node` would begin one turn too many."""
    return max_turns > 0 and tree.kind[node] != CHANCE and turn_after(tree, node) // 3 > max_turns


@jit
def leave_children(tree, node):
    """Give the new children of `node` the value 0 until their layer is expanded."""
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        if np.isnan(tree.value[tree.child[edge]]):
            tree.value[tree.child[edge]] = 0.0

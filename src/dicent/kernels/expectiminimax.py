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
from .hashing import equal, hash_state
from .jit import copy, i64, jit, u64
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .tree import (
    FULL,
    backup,
    new_node,
    ply_after,
    resolve,
    skip_chance,
    tree_of,
    value_children,
)
from .values import OUTSIDE


class Layers(NamedTuple):
    """Where the layers of M trees begin, and how far the expansion of the last one has come."""

    start: np.ndarray  # [M, D + 2]  first node of each layer
    depth: np.ndarray  # [M]  the depth whose values are backed up
    cursor: np.ndarray  # [M]  next node to expand
    valued: np.ndarray  # [M]  the first layer whose states are valued
    largest: int  # batch that a match may wait for


@jit
def advance(trees, searches, layers, first, last, settings, scratch, steps):
    """Let matches `first` to `last` search, each until it waits or ends, or for `steps` steps."""
    for row in range(first, last):
        if searches.status[row] == SEARCHING:
            search(tree_of(trees, row), searches, layers, row, settings, scratch, steps)


@jit
def search(tree, searches, layers, row, settings, scratch, steps):
    """Expand the last layer node by node; at its end back up and begin the next."""
    for _ in range(steps):
        depth = layers.depth[row]
        # 1. A whole layer is expanded and valued: the search is one ply deeper.
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

        # 3. Expand the next node, and value its children in a batch with others.
        node = layers.cursor[row]
        if not tree.resolved[node]:
            if searches.waiting[row] + rules.NUM_ACTIONS + rules.NUM_OUTCOMES > layers.largest:
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
    """Is the root resolved, or the depth or another budget reached, or is there nothing left to expand?"""
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
    """Give `node` its children in the next layer; returns how many are new and go on, or FULL."""
    s = tree.state[node]
    chance = tree.kind[node] == CHANCE
    n = rules.outcomes(s, scratch.p) if chance else rules.legal_actions(s, scratch.actions)
    if tree.edges[0] + n > len(tree.child) or tree.nodes[0] + n > len(tree.kind):
        return FULL
    first = tree.edges[0]
    tree.edges[0] = first + n
    tree.first_edge[node] = first
    tree.num_edges[node] = n
    if chance and settings.determinized:
        tree.num_edges[node] = 1
    for i in range(tree.num_edges[node]):
        choice = i if chance else scratch.actions[i]
        if chance and settings.determinized:
            choice = resolve(s, searches.d_seed[row], scratch)
        tree.choice[first + i] = choice
        tree.p[first + i] = scratch.p[i] if chance and not settings.determinized else 1.0
        tree.visits[first + i] = 0
        copy(scratch.state, s)
        if chance:
            rules.apply_outcome(scratch.state, choice)
        else:
            rules.apply_action(scratch.state, choice)
        if settings.determinized:
            skip_chance(scratch.state, searches.d_seed[row], scratch)
        tree.child[first + i] = find_in_layer(
            tree,
            scratch.state,
            ply_after(tree, node, settings),
            layers.start[row, layers.depth[row] + 1],
            settings,
        )
    if layers.depth[row] + 1 < layers.valued[row]:
        leave_children(tree, node)
        return 0
    return value_children(tree, node, searches.leaves[row, searches.waiting[row] :], settings, scratch)


@jit
def leave_children(tree, node):
    """Let the new children of `node` count 0 until their layer is expanded."""
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        if np.isnan(tree.value[tree.child[edge]]):
            tree.value[tree.child[edge]] = 0.0


@jit
def find_in_layer(tree, s, ply, start, settings):
    """The node of state `s` among those from `start` on, made if there is none."""
    mask = len(tree.slots) - 1
    slot = i64(hash_state(s, ply) & u64(mask))
    while tree.slots[slot] != NONE:
        node = i64(tree.slots[slot])
        if node >= start and tree.ply[node] == ply and equal(tree.state[node], s):
            return node
        slot = (slot + 1) & mask
    return new_node(tree, s, ply, slot, settings)

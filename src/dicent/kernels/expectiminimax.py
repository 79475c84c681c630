"""Expectiminimax by iterative deepening, each depth a layer of the tree.

Every ply counts, including rolls of chance. Layer k holds the different states k plies below the root. To
search one ply deeper, the search expands the last layer, evaluates the new layer in few large batches, and
backs up values layer by layer. Equal states share a node within a layer only, since a state that is reached
earlier is searched deeper. An unfinished depth changes no value, except by `break_off` when the time is over.
With a limit of turns, a line of play ends where the next turn would begin.

Inner layers need no values of their own. If the depth is the only limit and no caller reads the tree before
the end, only the last layer is evaluated.

Legend: s, v, c, r and n are as in `tree.py`.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .backup import backup, best_edge, better
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

TOGETHER = 64  # nodes that are backed up in one step


class Layers(NamedTuple):
    """The layers of M trees, and the progress of the expansion of the last one."""

    start: np.ndarray  # [M, D + 2]  first node of each layer
    depth: np.ndarray  # [M]  the depth whose values are backed up
    cursor: np.ndarray  # [M]  next node to expand
    order: np.ndarray  # [M, A]  the nodes of layer 1, best first, to be expanded in that order; A may be 0
    backing: np.ndarray  # [M]  nodes from here on are backed up for the next depth; NONE: none is
    partial: np.ndarray  # [M]  1 if the values of some actions are one ply deeper
    valued: np.ndarray  # [M]  the first layer whose states are evaluated
    largest: int  # the largest batch that a search may wait for


@jit
def advance(trees, searches, layers, first, last, settings, scratch, steps):
    """Advance searches `first` to `last`, each until it waits or ends, or for `steps` steps."""
    for row in range(first, last):
        if searches.status[row] == SEARCHING:
            search(tree_of(trees, row), searches, layers, row, settings, scratch, steps)


@inline
def search(tree, searches, layers, row, settings, scratch, steps):
    """Expand the last layer node by node; at its end back up and begin the next."""
    for _ in range(steps):
        depth = layers.depth[row]
        # 1. The whole layer is expanded and evaluated: the search is one ply deeper.
        if layers.cursor[row] == layers.start[row, depth + 1]:
            if searches.waiting[row] > 0:
                searches.status[row] = WAITING
                return
            if deepen(tree, searches, layers, row, depth, settings.completion) and is_finished(
                tree, searches, layers, row, settings
            ):
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
        if depth == 1 and layers.order.shape[1] > 0:
            node = layers.order[row, node - layers.start[row, 1]]
        if not is_leaf(tree, node, searches.max_turns[row]):
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
            if settings.evaluator.kind == OUTSIDE:
                searches.waiting[row] += new
        layers.cursor[row] += 1


@inline
def deepen(tree, searches, layers, row, depth, completion):
    """Back up some nodes, from the last layer but one towards the root; return whether that was the last."""
    last = layers.backing[row] if layers.backing[row] != NONE else layers.start[row, depth + 1]
    first = last - TOGETHER
    if first < layers.start[row, min(2, depth + 1)]:  # the root and its actions change together
        first = 0
    for node in range(last - 1, first - 1, -1):
        if tree.first_edge[node] != NONE:
            backup(tree, node, completion)
    layers.backing[row] = first
    if first > 0:
        return False
    layers.backing[row] = NONE
    layers.depth[row] = depth + 1
    layers.start[row, depth + 2] = tree.nodes[0]
    searches.depth[row] = depth + 1
    if depth == 0 and layers.order.shape[1] > 0:
        sort_actions(tree, layers, row, completion)
    return True


@inline
def sort_actions(tree, layers, row, completion):
    """List the nodes of layer 1, those of the best actions first."""
    first, n = i64(tree.first_edge[0]), 0
    sign = tree.kind[0]
    for node in range(layers.start[row, 1], layers.start[row, 2]):
        for edge in range(first, first + tree.num_edges[0]):
            if tree.child[edge] == node:
                break
        layers.order[row, n] = edge
        k = n
        while k > 0 and better(tree, edge, layers.order[row, k - 1], sign, completion, 0) > 0:
            layers.order[row, k] = layers.order[row, k - 1]
            k -= 1
        layers.order[row, k] = edge
        n += 1
    for k in range(n):
        layers.order[row, k] = tree.child[layers.order[row, k]]


@jit
def break_off(tree, searches, layers, row, settings):
    """End a search within a depth, and use what that depth has found where it is sound.

    An action is complete if every state below it at the new depth is evaluated. If the best action of the
    last finished depth is complete, the complete actions get their deeper values, and the best of them is
    played. All others were worse at the last depth, and their old values are compared with no new one. If the
    best action is not complete, no value changes. Outcomes of a roll count only if all are complete.
    """
    depth, completion = layers.depth[row], settings.completion
    end = layers.start[row, depth + 1]
    mark_late(tree, searches, layers, row)
    if tree.on_path[0] and (
        tree.kind[0] == CHANCE or tree.on_path[tree.child[best_edge(tree, 0, completion)]]
    ):
        return
    for node in range(end - 1, 0, -1):
        if tree.first_edge[node] != NONE and not tree.on_path[node]:
            backup(tree, node, completion)
    if tree.on_path[0]:
        layers.partial[row] = 1
        play_complete(tree, completion)
    else:
        backup(tree, 0, completion)
        layers.depth[row] = depth + 1
        layers.start[row, depth + 2] = tree.nodes[0]
        searches.depth[row] = depth + 1


@jit
def mark_late(tree, searches, layers, row):
    """Mark the nodes in `on_path` that are not complete."""
    last = layers.start[row, layers.depth[row] + 1]
    for node in range(last, tree.nodes[0]):
        tree.on_path[node] = 0
    for i in range(searches.waiting[row]):
        tree.on_path[searches.leaves[row, i]] = 1
    for node in range(last - 1, -1, -1):
        tree.on_path[node] = is_late(tree, layers, row, node, searches.max_turns[row])


@jit
def rehearse(tree, searches, layers, row, completion):
    """Do about a quarter of the work of `break_off` if all nodes are complete, and change no value."""
    mark_late(tree, searches, layers, row)
    for node in range(layers.start[row, layers.depth[row] + 1] - 1, -1, -1):
        if tree.first_edge[node] != NONE and node // TOGETHER % 4 == 0:
            value, c, resolved = tree.value[node], tree.completion[node], tree.resolved[node]
            backup(tree, node, completion)
            tree.value[node], tree.completion[node], tree.resolved[node] = value, c, resolved


@inline
def is_late(tree, layers, row, node, max_turns):
    """Return 1 if a state below `node` is not evaluated at the new depth, else 0."""
    if tree.first_edge[node] == NONE:
        unexpanded = node >= layers.start[row, layers.depth[row]] and not is_leaf(tree, node, max_turns)
        return 1 if unexpanded else 0
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        if tree.on_path[tree.child[edge]]:
            return 1
    return 0


@inline
def play_complete(tree, completion):
    """Give the root the value of its best complete action."""
    best = NONE
    sign = tree.kind[0]
    for edge in range(tree.first_edge[0], tree.first_edge[0] + tree.num_edges[0]):
        if not tree.on_path[tree.child[edge]] and (
            best == NONE or better(tree, edge, best, sign, completion, 0) > 0
        ):
            best = edge
    child = tree.child[best]
    tree.value[0] = tree.value[child]
    if completion and tree.completion[child] == sign:  # a proved win needs no other action
        tree.completion[0] = sign
        tree.resolved[0] = 1


@inline
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


@inline
def expand(tree, searches, layers, row, node, settings, scratch):
    """Give `node` its children in the next layer; return how many are new and unfinished, or FULL."""
    n = open_node(tree, node, 1, settings, scratch)
    if n == FULL:
        return FULL
    d_seed = searches.d_seed[row]
    layer = layers.start[row, layers.depth[row] + 1]  # the first node of the next layer
    for i in range(n):
        edge = write_edge(tree, node, i, settings, d_seed, scratch)
        follow(tree, node, edge, scratch)
        if searches.max_turns[row] > 0:
            ply = turn_after(tree, node)
        else:
            ply = ply_after(tree, node, scratch.state, settings)
        if settings.determinized:
            ply = skip_chance(scratch.state, ply, d_seed, settings, scratch)
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


@inline
def is_leaf(tree, node, max_turns):
    """Return whether a node is never expanded: its value is exact, or it is beyond the last turn."""
    return tree.resolved[node] or is_beyond(tree, node, max_turns)


@inline
def leave_children(tree, node):
    """Give the new children of `node` the value 0 until their layer is expanded."""
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        if np.isnan(tree.value[tree.child[edge]]):
            tree.value[tree.child[edge]] = 0.0

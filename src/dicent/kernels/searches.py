"""Searches: the state of each of the M searches of a group between two kernel calls."""

from typing import NamedTuple

import numpy as np

from .backup import backup
from .constants import NONE
from .jit import copy, jit
from .tree import TERMINAL, counts_plies, find, plant, sure_side, tree_of

# The status of a search.
IDLE = 0  # there is nothing to search
SEARCHING = 1
WAITING = 2  # for the values of its leaves
DONE = 3  # the budget is spent, or nothing is left to search
NO_ROOM = 4  # the tree is full


class Searches(NamedTuple):
    """The state of M searches, each a row."""

    status: np.ndarray  # [M]
    root: np.ndarray  # [M]
    path: np.ndarray  # [M, D]  nodes from the root down, of the iteration under way
    length: np.ndarray  # [M]  of the path; 0 between iterations
    fresh: np.ndarray  # [M]  1 when the last node of the path has just been expanded
    before: np.ndarray  # [M]  nodes of the tree when the iteration began
    grew: np.ndarray  # [M]  1 when the iteration has expanded a state
    detour: np.ndarray  # [M]  1 when the iteration takes random actions
    iterations: np.ndarray  # [M]  finished so far
    nodes: np.ndarray  # [M]  added so far
    evaluations: np.ndarray  # [M]  states evaluated so far
    charged: np.ndarray  # [M]  work that added no state, charged to both budgets so that they run out
    depth: np.ndarray  # [M]  the deepest path so far
    max_nodes: np.ndarray  # [M]
    max_evaluations: np.ndarray  # [M]
    max_depth: np.ndarray  # [M]
    max_turns: np.ndarray  # [M]  0: turns do not matter
    patience: np.ndarray  # [M]  iterations without an expansion that are left until the search stops
    leaves: np.ndarray  # [M, L]  nodes that wait for a value
    waiting: np.ndarray  # [M]  the number of these
    rng: np.ndarray  # [M, 2]  the search's own random stream
    d_seed: np.ndarray  # [M]  the determinization's seed


@jit
def begin(trees, searches, members, states, plies, keep, settings):
    """Begin the searches `members` of `states` [n, S]; with `keep` in their trees where possible."""
    for i in range(len(members)):
        row = members[i]
        tree = tree_of(trees, row)
        ply = plies[i] * counts_plies(settings)
        for k in range(searches.length[row]):  # an iteration that was left
            tree.on_path[searches.path[row, k]] = 0
        root = find(tree, states[i], ply) if keep else NONE
        if root == NONE:
            root = plant(tree, states[i], ply, settings)
        elif tree.first_edge[root] != NONE:  # the nodes below may have changed since
            backup(tree, root, settings.completion)
        searches.root[row] = root
        searches.length[row] = 0
        searches.fresh[row] = 0
        searches.before[row] = 0
        searches.detour[row] = 0
        searches.iterations[row] = 0
        searches.nodes[row] = 0
        searches.evaluations[row] = 0
        searches.charged[row] = 0
        searches.depth[row] = 0
        searches.waiting[row] = 0
        searches.status[row] = DONE if tree.kind[root] == TERMINAL else SEARCHING


@jit
def line_up(searches, offsets):
    """Write the batch offset of each search; return the numbers of waiting leaves and ended searches."""
    waiting = 0
    ended = 0
    for row in range(len(offsets)):
        offsets[row] = waiting
        waiting += searches.waiting[row]
        ended += searches.status[row] == DONE
    return waiting, ended


@jit
def gather(trees, searches, first, last, offsets, states):
    """Copy the waiting leaves of searches `first` to `last` into the batch `states`."""
    for row in range(first, last):
        for i in range(searches.waiting[row]):
            copy(states[offsets[row] + i], trees.state[row, searches.leaves[row, i]])


@jit
def absorb(trees, searches, first, last, offsets, values):
    """Give the waiting leaves their values from the batch, and resume the searches.

    Leaves beyond the end of the batch keep waiting.
    """
    for row in range(first, last):
        n = min(searches.waiting[row], len(values) - offsets[row])
        for i in range(n):
            trees.value[row, searches.leaves[row, i]] = values[offsets[row] + i]
        for i in range(n, searches.waiting[row]):
            searches.leaves[row, i - n] = searches.leaves[row, i]
        searches.waiting[row] -= n
        if searches.status[row] == WAITING and searches.waiting[row] == 0:
            searches.status[row] = SEARCHING


@jit
def mark(trees, searches, first, last, offsets, values, exact, settings):
    """Resolve the waiting leaves whose values in the batch are exact; call `absorb` afterwards."""
    for row in range(first, last):
        for i in range(min(searches.waiting[row], len(values) - offsets[row])):
            if exact[offsets[row] + i]:
                node = searches.leaves[row, i]
                trees.resolved[row, node] = 1
                trees.completion[row, node] = sure_side(values[offsets[row] + i], settings)


@jit
def drop(trees, searches, row):
    """Undo the expansion at the end of the path, whose leaves still wait for values."""
    node = searches.path[row, searches.length[row] - 1]
    trees.first_edge[row, node] = NONE
    for i in range(searches.waiting[row]):
        trees.value[row, searches.leaves[row, i]] = np.nan
    searches.evaluations[row] -= searches.waiting[row]
    searches.waiting[row] = 0
    searches.fresh[row] = 0
    searches.status[row] = SEARCHING

"""Matches: what a group of searches keeps for each of its M members between two calls."""

from typing import NamedTuple

import numpy as np

from .constants import NONE
from .jit import copy, jit
from .tree import TERMINAL, backup, find, plant, tree_of

# What a member is doing.
IDLE = 0  # it has nothing to search
SEARCHING = 1
WAITING = 2  # for the values of its leaves
DONE = 3  # its budget is spent, or there is nothing left to find out
STUFFED = 4  # its store is full


class Matches(NamedTuple):
    """The state of M searches, each a row."""

    status: np.ndarray  # [M]
    root: np.ndarray  # [M]
    path: np.ndarray  # [M, D]  nodes from the root down, of the iteration under way
    length: np.ndarray  # [M]  of the path; 0 between iterations
    fresh: np.ndarray  # [M]  1 when the last node of the path has just been expanded
    before: np.ndarray  # [M]  nodes of the tree when the iteration began
    grew: np.ndarray  # [M]  1 when the iteration has expanded a state
    iterations: np.ndarray  # [M]  finished so far
    nodes: np.ndarray  # [M]  spent so far
    evaluations: np.ndarray  # [M]
    depth: np.ndarray  # [M]  the deepest path so far
    max_nodes: np.ndarray  # [M]
    max_evaluations: np.ndarray  # [M]
    max_depth: np.ndarray  # [M]
    patience: np.ndarray  # [M]  iterations that expand nothing after which to stop
    leaves: np.ndarray  # [M, L]  nodes that wait for a value
    waiting: np.ndarray  # [M]  how many
    rng: np.ndarray  # [M, 2]  the search's own random stream
    d_seed: np.ndarray  # [M]  the determinization's seed


@jit
def begin(trees, c, members, states, plies, keep, settings):
    """Let `members` search `states` [n, S]; with `keep` in the trees that they have, where found there."""
    for i in range(len(members)):
        m = members[i]
        t = tree_of(trees, m)
        ply = plies[i] * settings.uses_ply
        root = find(t, states[i], ply) if keep else NONE
        if root == NONE:
            root = plant(t, states[i], ply, settings)
        elif t.first_edge[root] != NONE:  # what is below may have changed since
            backup(t, root, settings.completion)
        c.root[m] = root
        c.length[m] = 0
        c.fresh[m] = 0
        c.before[m] = 0
        c.iterations[m] = 0
        c.nodes[m] = 0
        c.evaluations[m] = 0
        c.depth[m] = 0
        c.waiting[m] = 0
        c.status[m] = DONE if t.kind[root] == TERMINAL else SEARCHING


@jit
def line_up(c, offsets):
    """Where the leaves of each member begin in a batch; returns how many wait, and how many have ended."""
    waiting = 0
    ended = 0
    for m in range(len(offsets)):
        offsets[m] = waiting
        waiting += c.waiting[m]
        ended += c.status[m] == DONE
    return waiting, ended


@jit
def gather(trees, c, first, last, offsets, states):
    """Copy the states of the waiting leaves of matches `first` to `last` into the batch `states`."""
    for m in range(first, last):
        for i in range(c.waiting[m]):
            copy(states[offsets[m] + i], trees.state[m, c.leaves[m, i]])


@jit
def absorb(trees, c, first, last, offsets, values):
    """Give the waiting leaves their values from the batch, and let the searches go on."""
    for m in range(first, last):
        for i in range(c.waiting[m]):
            trees.value[m, c.leaves[m, i]] = values[offsets[m] + i]
        c.waiting[m] = 0
        if c.status[m] == WAITING:
            c.status[m] = SEARCHING


@jit
def mark(trees, c, first, last, offsets, values, exact):
    """Call the waiting leaves resolved whose values in the batch are exact; `absorb` comes after it."""
    for m in range(first, last):
        for i in range(c.waiting[m]):
            if exact[offsets[m] + i]:
                node = c.leaves[m, i]
                trees.resolved[m, node] = 1
                if abs(values[offsets[m] + i]) == 1.0:  # sure, not only known
                    trees.completion[m, node] = int(values[offsets[m] + i])

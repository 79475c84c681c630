"""The tree of a search, and what all best-first searches do with it: expand, back up, resolve.

A struct of arrays holds one tree for each of M matches; most functions work on one of them, `tree`, which
has the same arrays without the first dimension. Nodes are states, merged where they are equal, and
links are indices. Values lie on nodes, not on edges, so that a node reached by two paths
has one value (the paper's v'(s, a) is the value of a(s) here).
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING, RESOLVE
from .generator import draw, open_stream, uniform
from .hashing import equal, hash_state
from .jit import copy, i64, inline, jit, u64
from .rollout import sample_outcome
from .values import OUTSIDE, leaf_value

TERMINAL = 2  # a kind of node, beside MAX, MIN and CHANCE
FULL = -2  # there is no room for what was asked
MAX_JUMPS = 3  # chance states in a row that a determinization resolves at once


class Tree(NamedTuple):
    """M trees of up to N nodes, E edges and H slots (H a power of two, at least 2 N)."""

    state: np.ndarray  # [M, N, S]
    kind: np.ndarray  # [M, N]  MAX, MIN, CHANCE or TERMINAL
    value: np.ndarray  # [M, N]  v(s), for MAX
    completion: np.ndarray  # [M, N]  c(s): 1 or -1 when MAX or MIN is proved to win, else 0
    resolved: np.ndarray  # [M, N]  r(s): 1 when v(s) is exact
    first_edge: np.ndarray  # [M, N]  NONE until s is expanded, that is, in S
    num_edges: np.ndarray  # [M, N]
    ply: np.ndarray  # [M, N]  actions played before s, where terminal values depend on it, else 0
    child: np.ndarray  # [M, E]  the state a(s)
    choice: np.ndarray  # [M, E]  the action or the outcome
    p: np.ndarray  # [M, E]  the probability of an outcome
    visits: np.ndarray  # [M, E]  n(s, a)
    slots: np.ndarray  # [M, H]  nodes by the hash of their state
    nodes: np.ndarray  # [M]  how many there are; of one tree [1]
    edges: np.ndarray  # [M]


class Scratch(NamedTuple):
    """Memory for one thread to work in."""

    state: np.ndarray  # [S]
    actions: np.ndarray  # [A]
    p: np.ndarray  # [O]
    rollout: np.ndarray  # [S]  for random games from a leaf, as are the following
    rolled: np.ndarray  # [A]
    rolled_p: np.ndarray  # [O]
    rng: np.ndarray  # [3, 2]
    max_steps: int


class Settings(NamedTuple):
    """What a search is asked to do, the same for all matches."""

    completion: int  # 1: prove and never revisit what is resolved
    determinized: int  # 1: chance is resolved by d
    evaluator: int  # a kind of `leaf.py`
    seed: int  # of that evaluator
    games: int  # random ones, that it plays for a value
    uses_ply: int  # 1: states are told apart by their ply, since terminal values depend on it
    uses_score: int  # 1: terminal values are the game's own score
    gains: np.ndarray  # [3, L]  else they are these, by result + 1 and ply


@inline
def tree_of(trees, row):
    """The tree of match `row`: the same arrays without their first dimension."""
    return Tree(
        trees.state[row],
        trees.kind[row],
        trees.value[row],
        trees.completion[row],
        trees.resolved[row],
        trees.first_edge[row],
        trees.num_edges[row],
        trees.ply[row],
        trees.child[row],
        trees.choice[row],
        trees.p[row],
        trees.visits[row],
        trees.slots[row],
        trees.nodes[row : row + 1],
        trees.edges[row : row + 1],
    )


@jit
def plant(tree, s, ply, settings):
    """Make a tree the root with state `s` and nothing else; returns the root."""
    tree.nodes[0] = 0
    tree.edges[0] = 0
    tree.slots[:] = NONE
    return find_or_add(tree, s, ply, settings)


@inline
def find_slot(tree, s, ply):
    """The slot of state `s` at a ply, or the free one that it would get."""
    mask = len(tree.slots) - 1
    slot = i64(hash_state(s, ply) & u64(mask))
    while tree.slots[slot] != NONE:
        node = i64(tree.slots[slot])
        if tree.ply[node] == ply and equal(tree.state[node], s):
            break
        slot = (slot + 1) & mask
    return slot


@jit
def find(tree, s, ply):
    """The node of state `s` at a ply, or NONE."""
    return i64(tree.slots[find_slot(tree, s, ply)])


@inline
def find_or_add(tree, s, ply, settings):
    """The node of state `s` at a ply, made if there is none; FULL without room for it."""
    slot = find_slot(tree, s, ply)
    if tree.slots[slot] != NONE:
        return i64(tree.slots[slot])
    return new_node(tree, s, ply, slot, settings)


@inline
def new_node(tree, s, ply, slot, settings):
    """A node for state `s`, found through `slot`; FULL without room for it.

    The value of a state that goes on is NaN: it is still to be found.
    """
    node = i64(tree.nodes[0])
    if node == len(tree.kind):
        return FULL
    tree.nodes[0] = node + 1
    tree.slots[slot] = node
    fill_node(tree, node, s, ply, settings)
    return node


@inline
def fill_node(tree, node, s, ply, settings):
    """Write state `s` and its labels into a node that is not expanded."""
    copy(tree.state[node], s)
    tree.ply[node] = ply
    tree.first_edge[node] = NONE
    tree.num_edges[node] = 0
    result = rules.result(s)
    if result == ONGOING:
        tree.kind[node] = rules.to_play(s)
        tree.value[node] = np.nan
        tree.completion[node] = 0
        tree.resolved[node] = 0
    else:  # (v, c, r) = (f_t, f_b, 1)
        tree.kind[node] = TERMINAL
        tree.value[node] = terminal_value(s, result, ply, settings)
        tree.completion[node] = result
        tree.resolved[node] = 1


@inline
def terminal_value(s, result, ply, settings):
    """f_t(s): by result and ply, or the game's own score."""
    if settings.uses_score:
        return float(rules.score(s))
    return settings.gains[result + 1, min(ply, settings.gains.shape[1] - 1)]


@inline
def ply_after(tree, node, settings):
    """The ply of the children of `node`; outcomes of chance are no actions."""
    return i64(tree.ply[node]) + (settings.uses_ply if tree.kind[node] != CHANCE else 0)


@inline
def expand(tree, node, leaves, settings, d_seed, scratch):
    """Give `node` its children. Returns how many of them are new and go on, or FULL and does nothing.

    These are written to `leaves`, to be valued in a batch, unless native code can value them itself.
    """
    s = tree.state[node]
    chance = tree.kind[node] == CHANCE
    if chance:
        n = rules.outcomes(s, scratch.p)
    else:
        n = rules.legal_actions(s, scratch.actions)
    room = 1 + settings.determinized * MAX_JUMPS
    if tree.edges[0] + n * room > len(tree.child) or tree.nodes[0] + n * room > len(tree.kind):
        return FULL
    if chance and settings.determinized:
        jump(tree, node, d_seed, settings, scratch)
    else:
        add_edges(tree, node, n, settings, d_seed, scratch)
    return value_children(tree, node, leaves, settings, scratch)


@inline
def add_edges(tree, node, n, settings, d_seed, scratch):
    """Edges from `node` by its actions or outcomes, which `scratch` holds."""
    chance = tree.kind[node] == CHANCE
    first = tree.edges[0]
    tree.edges[0] = first + n
    tree.first_edge[node] = first
    tree.num_edges[node] = n
    ply = ply_after(tree, node, settings)
    for i in range(n):
        copy(scratch.state, tree.state[node])
        if chance:
            rules.apply_outcome(scratch.state, i)
        else:
            rules.apply_action(scratch.state, scratch.actions[i])
        child = find_or_add(tree, scratch.state, ply, settings)
        if settings.determinized:
            for _ in range(MAX_JUMPS):
                if tree.kind[child] == CHANCE:
                    child = jump(tree, child, d_seed, settings, scratch)
        tree.child[first + i] = child
        tree.choice[first + i] = i if chance else scratch.actions[i]
        tree.p[first + i] = scratch.p[i] if chance else 0.0
        tree.visits[first + i] = 0


@inline
def value_children(tree, node, leaves, settings, scratch):
    """Value the new children of `node`, or list them in `leaves`; returns how many there are."""
    new = 0
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        child = tree.child[edge]
        if np.isnan(tree.value[child]):
            tree.value[child] = 0.0
            if settings.evaluator == OUTSIDE:
                leaves[new] = child
            else:
                tree.value[child] = leaf_value(
                    tree.state[child], settings.evaluator, settings.seed, settings.games, scratch
                )
            new += 1
    return new


@jit
def jump(tree, node, d_seed, settings, scratch):
    """The state that `d` resolves a chance node to; the node gets this one edge."""
    if tree.first_edge[node] == NONE:
        s = tree.state[node]
        outcome = resolve(s, d_seed, scratch)
        copy(scratch.state, s)
        rules.apply_outcome(scratch.state, outcome)
        edge = tree.edges[0]
        tree.edges[0] = edge + 1
        tree.first_edge[node] = edge
        tree.num_edges[node] = 1
        tree.child[edge] = find_or_add(tree, scratch.state, i64(tree.ply[node]), settings)
        tree.choice[edge] = outcome
        tree.p[edge] = 1.0
        tree.visits[edge] = 0
    return i64(tree.child[tree.first_edge[node]])


@jit
def resolve(s, d_seed, scratch):
    """d(s): the outcome that a determinization has for chance state `s`, by the game's probability."""
    open_stream(scratch.rng[0], d_seed, hash_state(s, 0), RESOLVE)
    return sample_outcome(s, scratch.p, scratch.rng[0])


@jit
def skip_chance(s, d_seed, scratch):
    """Play the outcomes that `d` has for the chance states from `s` on."""
    for _ in range(MAX_JUMPS):
        if rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
            rules.apply_outcome(s, resolve(s, d_seed, scratch))


@inline
def better(tree, a, b, sign, completion, count):
    """Is edge `a` better than edge `b` for the player `sign`, by (c, v, n)? 1, 0 or -1 (a tie is 0).

    `count` is 1 where more visits are better, -1 where fewer are, 0 where they do not matter.
    """
    x, y = tree.child[a], tree.child[b]
    if completion and tree.completion[x] != tree.completion[y]:
        return 1 if sign * tree.completion[x] > sign * tree.completion[y] else -1
    if tree.value[x] != tree.value[y]:
        return 1 if sign * tree.value[x] > sign * tree.value[y] else -1
    if count != 0 and tree.visits[a] != tree.visits[b]:
        return 1 if count * tree.visits[a] > count * tree.visits[b] else -1
    return 0


@inline
def best_edge(tree, node, completion):
    """The best action by (c, v, n), the first of equals."""
    first = i64(tree.first_edge[node])
    sign = tree.kind[node]
    best = first
    for edge in range(first + 1, first + tree.num_edges[node]):
        if better(tree, edge, best, sign, completion, 1) > 0:
            best = edge
    return best


@inline
def explore_edge(tree, node, completion, rng):
    """The action to go down by: the best of the unresolved, the less visited of equals, then any.

    Without completion all actions count, and equals are drawn from at random.
    """
    first = i64(tree.first_edge[node])
    sign = tree.kind[node]
    best = NONE
    ties = 0
    for edge in range(first, first + tree.num_edges[node]):
        if completion and tree.resolved[tree.child[edge]]:
            continue
        order = 1 if best == NONE else better(tree, edge, best, sign, completion, -completion)
        if order > 0:
            best = edge
            ties = 1
        elif order == 0:
            ties += 1
            if draw(rng, ties) == 0:
                best = edge
    return best


@inline
def sample_edge(tree, node, completion, rng):
    """An outcome by its probability; with completion among the unresolved ones."""
    first = i64(tree.first_edge[node])
    total = 0.0
    for edge in range(first, first + tree.num_edges[node]):
        if not (completion and tree.resolved[tree.child[edge]]):
            total += tree.p[edge]
    u = uniform(rng) * total
    last = NONE
    for edge in range(first, first + tree.num_edges[node]):
        if not (completion and tree.resolved[tree.child[edge]]):
            last = edge
            u -= tree.p[edge]
            if u < 0.0:
                break
    return last


@jit
def backup(tree, node, completion):
    """v(s) from the children: max, min, or the mean by probability; with completion c(s) and r(s)."""
    first = i64(tree.first_edge[node])
    last = first + tree.num_edges[node]
    if tree.kind[node] == CHANCE:
        v = 0.0
        lowest, highest = 1, -1  # of c over the outcomes
        for edge in range(first, last):
            child = tree.child[edge]
            v += tree.p[edge] * tree.value[child]
            lowest = min(lowest, i64(tree.completion[child]))
            highest = max(highest, i64(tree.completion[child]))
        tree.value[node] = v
        if completion:  # sure only if sure after every outcome
            tree.completion[node] = lowest if lowest == highest else 0
    else:
        best = tree.child[best_edge(tree, node, completion)]
        tree.value[node] = tree.value[best]
        if completion:
            tree.completion[node] = tree.completion[best]
    if completion:
        resolved = 1
        for edge in range(first, last):
            resolved = min(resolved, i64(tree.resolved[tree.child[edge]]))
        tree.resolved[node] = 1 if tree.completion[node] != 0 else resolved


@jit
def rehash(trees):
    """Fill the slots anew, for trees that were moved to a larger store."""
    for row in range(len(trees.nodes)):
        tree = tree_of(trees, row)
        mask = len(tree.slots) - 1
        tree.slots[:] = NONE
        for node in range(tree.nodes[0]):
            slot = i64(hash_state(tree.state[node], tree.ply[node]) & u64(mask))
            while tree.slots[slot] != NONE:
                slot = (slot + 1) & mask
            tree.slots[slot] = node

"""The tree of a search, and what all best-first searches do with it: expand, back up, resolve.

A struct of arrays holds one tree for each of M matches; most functions work on one of them, `t`, which
has the same arrays without the first dimension. Nodes are states, merged where they are equal, and
links are indices. Values lie on nodes, not on edges, so that a node reached by two paths
has one value (the paper's v'(s, a) is the value of a(s) here).
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING, RESOLVE
from .generator import draw, open_stream, uniform
from .jit import copy, i64, inline, jit, u64
from .leaf import OUTSIDE, hash_state, leaf_value
from .playout import sample_outcome

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


class Work(NamedTuple):
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
def tree_of(trees, m):
    """The tree of match `m`: the same arrays without their first dimension."""
    return Tree(
        trees.state[m],
        trees.kind[m],
        trees.value[m],
        trees.completion[m],
        trees.resolved[m],
        trees.first_edge[m],
        trees.num_edges[m],
        trees.ply[m],
        trees.child[m],
        trees.choice[m],
        trees.p[m],
        trees.visits[m],
        trees.slots[m],
        trees.nodes[m : m + 1],
        trees.edges[m : m + 1],
    )


@jit
def plant(t, s, ply, settings):
    """Make a tree the root with state `s` and nothing else; returns the root."""
    t.nodes[0] = 0
    t.edges[0] = 0
    t.slots[:] = NONE
    return find_or_add(t, s, ply, settings)


@inline
def find_slot(t, s, ply):
    """The slot of state `s` at a ply, or the free one that it would get."""
    mask = len(t.slots) - 1
    slot = i64(hash_state(s, ply) & u64(mask))
    while t.slots[slot] != NONE:
        node = i64(t.slots[slot])
        if t.ply[node] == ply and equal(t.state[node], s):
            break
        slot = (slot + 1) & mask
    return slot


@jit
def find(t, s, ply):
    """The node of state `s` at a ply, or NONE."""
    return i64(t.slots[find_slot(t, s, ply)])


@inline
def find_or_add(t, s, ply, settings):
    """The node of state `s` at a ply, made if there is none; FULL without room for it."""
    slot = find_slot(t, s, ply)
    if t.slots[slot] != NONE:
        return i64(t.slots[slot])
    return new_node(t, s, ply, slot, settings)


@inline
def new_node(t, s, ply, slot, settings):
    """A node for state `s`, found through `slot`; FULL without room for it.

    The value of a state that goes on is NaN: it is still to be found.
    """
    node = i64(t.nodes[0])
    if node == len(t.kind):
        return FULL
    t.nodes[0] = node + 1
    t.slots[slot] = node
    fill_node(t, node, s, ply, settings)
    return node


@inline
def fill_node(t, node, s, ply, settings):
    """Write state `s` and its labels into a node that is not expanded."""
    copy(t.state[node], s)
    t.ply[node] = ply
    t.first_edge[node] = NONE
    t.num_edges[node] = 0
    result = rules.result(s)
    if result == ONGOING:
        t.kind[node] = rules.to_play(s)
        t.value[node] = np.nan
        t.completion[node] = 0
        t.resolved[node] = 0
    else:  # (v, c, r) = (f_t, f_b, 1)
        t.kind[node] = TERMINAL
        t.value[node] = terminal_value(s, result, ply, settings)
        t.completion[node] = result
        t.resolved[node] = 1


@inline
def terminal_value(s, result, ply, settings):
    """f_t(s): by result and ply, or the game's own score."""
    if settings.uses_score:
        return float(rules.score(s))
    return settings.gains[result + 1, min(ply, settings.gains.shape[1] - 1)]


@inline
def ply_after(t, node, settings):
    """The ply of the children of `node`; outcomes of chance are no actions."""
    return i64(t.ply[node]) + (settings.uses_ply if t.kind[node] != CHANCE else 0)


@inline
def equal(a, b):
    for i in range(len(a)):
        if a[i] != b[i]:
            return False
    return True


@inline
def expand(t, node, leaves, settings, d_seed, work):
    """Give `node` its children. Returns how many of them are new and go on, or FULL and does nothing.

    These are written to `leaves`, to be valued in a batch, unless native code can value them itself.
    """
    s = t.state[node]
    chance = t.kind[node] == CHANCE
    if chance:
        n = rules.outcomes(s, work.p)
    else:
        n = rules.legal_actions(s, work.actions)
    room = 1 + settings.determinized * MAX_JUMPS
    if t.edges[0] + n * room > len(t.child) or t.nodes[0] + n * room > len(t.kind):
        return FULL
    if chance and settings.determinized:
        jump(t, node, d_seed, settings, work)
    else:
        add_edges(t, node, n, settings, d_seed, work)
    return value_children(t, node, leaves, settings, work)


@inline
def add_edges(t, node, n, settings, d_seed, work):
    """Edges from `node` by its actions or outcomes, which `work` holds."""
    chance = t.kind[node] == CHANCE
    first = t.edges[0]
    t.edges[0] = first + n
    t.first_edge[node] = first
    t.num_edges[node] = n
    ply = ply_after(t, node, settings)
    for i in range(n):
        copy(work.state, t.state[node])
        if chance:
            rules.apply_outcome(work.state, i)
        else:
            rules.apply_action(work.state, work.actions[i])
        child = find_or_add(t, work.state, ply, settings)
        if settings.determinized:
            for _ in range(MAX_JUMPS):
                if t.kind[child] == CHANCE:
                    child = jump(t, child, d_seed, settings, work)
        t.child[first + i] = child
        t.choice[first + i] = i if chance else work.actions[i]
        t.p[first + i] = work.p[i] if chance else 0.0
        t.visits[first + i] = 0


@inline
def value_children(t, node, leaves, settings, work):
    """Value the new children of `node`, or list them in `leaves`; returns how many there are."""
    new = 0
    for edge in range(t.first_edge[node], t.first_edge[node] + t.num_edges[node]):
        child = t.child[edge]
        if np.isnan(t.value[child]):
            t.value[child] = 0.0
            if settings.evaluator == OUTSIDE:
                leaves[new] = child
            else:
                t.value[child] = leaf_value(
                    t.state[child], settings.evaluator, settings.seed, settings.games, work
                )
            new += 1
    return new


@jit
def jump(t, node, d_seed, settings, work):
    """The state that `d` resolves a chance node to; the node gets this one edge."""
    if t.first_edge[node] == NONE:
        s = t.state[node]
        outcome = resolve(s, d_seed, work)
        copy(work.state, s)
        rules.apply_outcome(work.state, outcome)
        edge = t.edges[0]
        t.edges[0] = edge + 1
        t.first_edge[node] = edge
        t.num_edges[node] = 1
        t.child[edge] = find_or_add(t, work.state, i64(t.ply[node]), settings)
        t.choice[edge] = outcome
        t.p[edge] = 1.0
        t.visits[edge] = 0
    return i64(t.child[t.first_edge[node]])


@jit
def resolve(s, d_seed, work):
    """d(s): the outcome that a determinization has for chance state `s`, by the game's probability."""
    open_stream(work.rng[0], d_seed, hash_state(s, 0), RESOLVE)
    return sample_outcome(s, work.p, work.rng[0])


@jit
def skip_chance(s, d_seed, work):
    """Play the outcomes that `d` has for the chance states from `s` on."""
    for _ in range(MAX_JUMPS):
        if rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
            rules.apply_outcome(s, resolve(s, d_seed, work))


@inline
def better(t, a, b, sign, completion, count):
    """Is edge `a` better than edge `b` for the player `sign`, by (c, v, n)? 1, 0 or -1 (a tie is 0).

    `count` is 1 where more visits are better, -1 where fewer are, 0 where they do not matter.
    """
    x, y = t.child[a], t.child[b]
    if completion and t.completion[x] != t.completion[y]:
        return 1 if sign * t.completion[x] > sign * t.completion[y] else -1
    if t.value[x] != t.value[y]:
        return 1 if sign * t.value[x] > sign * t.value[y] else -1
    if count != 0 and t.visits[a] != t.visits[b]:
        return 1 if count * t.visits[a] > count * t.visits[b] else -1
    return 0


@inline
def best_edge(t, node, completion):
    """The best action by (c, v, n), the first of equals."""
    first = i64(t.first_edge[node])
    sign = t.kind[node]
    best = first
    for edge in range(first + 1, first + t.num_edges[node]):
        if better(t, edge, best, sign, completion, 1) > 0:
            best = edge
    return best


@inline
def explore_edge(t, node, completion, rng):
    """The action to go down by: the best of the unresolved, the less visited of equals, then any.

    Without completion all actions count, and equals are drawn from at random.
    """
    first = i64(t.first_edge[node])
    sign = t.kind[node]
    best = NONE
    ties = 0
    for edge in range(first, first + t.num_edges[node]):
        if completion and t.resolved[t.child[edge]]:
            continue
        order = 1 if best == NONE else better(t, edge, best, sign, completion, -completion)
        if order > 0:
            best = edge
            ties = 1
        elif order == 0:
            ties += 1
            if draw(rng, ties) == 0:
                best = edge
    return best


@inline
def sample_edge(t, node, completion, rng):
    """An outcome by its probability; with completion among the unresolved ones."""
    first = i64(t.first_edge[node])
    total = 0.0
    for edge in range(first, first + t.num_edges[node]):
        if not (completion and t.resolved[t.child[edge]]):
            total += t.p[edge]
    u = uniform(rng) * total
    last = NONE
    for edge in range(first, first + t.num_edges[node]):
        if not (completion and t.resolved[t.child[edge]]):
            last = edge
            u -= t.p[edge]
            if u < 0.0:
                break
    return last


@jit
def backup(t, node, completion):
    """v(s) from the children: max, min, or the mean by probability; with completion c(s) and r(s)."""
    first = i64(t.first_edge[node])
    last = first + t.num_edges[node]
    if t.kind[node] == CHANCE:
        v = 0.0
        lowest, highest = 1, -1  # of c over the outcomes
        for edge in range(first, last):
            child = t.child[edge]
            v += t.p[edge] * t.value[child]
            lowest = min(lowest, i64(t.completion[child]))
            highest = max(highest, i64(t.completion[child]))
        t.value[node] = v
        if completion:  # sure only if sure after every outcome
            t.completion[node] = lowest if lowest == highest else 0
    else:
        best = t.child[best_edge(t, node, completion)]
        t.value[node] = t.value[best]
        if completion:
            t.completion[node] = t.completion[best]
    if completion:
        resolved = 1
        for edge in range(first, last):
            resolved = min(resolved, i64(t.resolved[t.child[edge]]))
        t.resolved[node] = 1 if t.completion[node] != 0 else resolved


@jit
def rehash(trees):
    """Fill the slots anew, for trees that were moved to a larger store."""
    for m in range(len(trees.nodes)):
        t = tree_of(trees, m)
        mask = len(t.slots) - 1
        t.slots[:] = NONE
        for node in range(t.nodes[0]):
            slot = i64(hash_state(t.state[node], t.ply[node]) & u64(mask))
            while t.slots[slot] != NONE:
                slot = (slot + 1) & mask
            t.slots[slot] = node

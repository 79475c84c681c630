"""The tree of a search: its nodes and edges, the expansion of states, and determinization.

A struct of arrays holds one tree for each of M searches. Most functions work on one of them, `tree`, which
has the same arrays without the first dimension. Nodes are states, equal states share a node, and links are
indices.

Legend, the paper's symbols: s is a state, a an action (an edge), v(s) `value`, c(s) `completion`, r(s)
`resolved`, n(s, a) `visits`, f_t the terminal value, d a determinization. S holds the expanded states. Values
are on nodes, so that a node reached by two paths has one value: the paper's v'(s, a) is `value` of a(s).
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING, RESOLVE
from .generator import open_stream
from .hashing import find_slot, hash_state
from .jit import copy, i64, inline, jit
from .rollout import sample_outcome
from .values import CONSTANT, OUTSIDE, Native, leaf_value

TERMINAL = 2  # a kind of node, beside MAX, MIN and CHANCE
FULL = -2  # there is no room for more nodes or edges
MAX_JUMPS = 3  # chance states in a row that a determinization resolves at once
ROLLS = 256  # values of `ply` for each action in determinized games with cycles, to count rolls in a row


class Tree(NamedTuple):
    """M trees of up to N nodes, E edges and H slots (H a power of two, at least 2 N)."""

    state: np.ndarray  # [M, N, S]
    kind: np.ndarray  # [M, N]  MAX, MIN, CHANCE or TERMINAL
    value: np.ndarray  # [M, N]  v(s), for MAX
    completion: np.ndarray  # [M, N]  c(s): 1 or -1 when the largest value is proved for MAX or MIN, else 0
    resolved: np.ndarray  # [M, N]  r(s): 1 when v(s) is exact
    on_path: np.ndarray  # [M, N]  1 while s is on the path of an iteration
    first_edge: np.ndarray  # [M, N]  NONE until s is expanded, that is, in S
    num_edges: np.ndarray  # [M, N]
    ply: np.ndarray  # [M, N]  actions played before s, times `counts_plies`; see `ply_after`
    child: np.ndarray  # [M, E]  the state a(s)
    choice: np.ndarray  # [M, E]  the action or the outcome
    p: np.ndarray  # [M, E]  the probability of an outcome
    visits: np.ndarray  # [M, E]  n(s, a)
    slots: np.ndarray  # [M, H]  nodes by the hash of their state
    nodes: np.ndarray  # [M]  the number of nodes; of one tree [1]
    edges: np.ndarray  # [M]


class Scratch(NamedTuple):
    """Scratch memory of one thread."""

    state: np.ndarray  # [S]
    actions: np.ndarray  # [A]
    p: np.ndarray  # [O]
    rollout: np.ndarray  # [S]  for random games from a leaf, as are the following
    rolled: np.ndarray  # [A]
    rolled_p: np.ndarray  # [O]
    rng: np.ndarray  # [3, 2]
    max_steps: int
    planes: np.ndarray  # [C, H, W]  for sparse networks, as are the following
    bits: np.ndarray  # [C, H * W]  the same memory as whole numbers
    features: np.ndarray  # [F]
    strengths: np.ndarray  # [F]  the numbers in the planes
    units: np.ndarray  # [2, U]  outputs of layers
    chosen: np.ndarray  # [U]  those above 0


class Settings(NamedTuple):
    """Settings of a search, the same for all searches of a group."""

    completion: int  # 1: prove values, and never revisit resolved nodes
    determinized: int  # 1: chance is resolved by d
    evaluator: Native
    uses_ply: int  # 1: terminal values depend on the ply
    uses_score: int  # 1: terminal values are the game's own score
    largest: float  # the largest terminal value, unless they are the score
    gains: np.ndarray  # [3, L]  terminal values by result + 1 and ply, unless they are the score


@inline
def tree_of(trees, row):
    """Return the tree of search `row`: the same arrays without their first dimension."""
    return Tree(
        trees.state[row],
        trees.kind[row],
        trees.value[row],
        trees.completion[row],
        trees.resolved[row],
        trees.on_path[row],
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
    """Empty a tree, make `s` its root, and return the root."""
    tree.nodes[0] = 0
    tree.edges[0] = 0
    tree.slots[:] = NONE
    return find_or_add(tree, s, ply, 0, settings)


@jit
def find(tree, s, ply):
    """Return the node of state `s` at a ply, or NONE."""
    return i64(tree.slots[find_slot(tree.slots, tree.state, tree.ply, s, ply, 0)])


@inline
def find_or_add(tree, s, ply, first, settings):
    """Return the node of state `s` at a ply, from node `first` on; add it if there is none.

    Return FULL if there is no room for it.
    """
    slot = find_slot(tree.slots, tree.state, tree.ply, s, ply, first)
    if tree.slots[slot] != NONE:
        return i64(tree.slots[slot])
    return new_node(tree, s, ply, slot, settings)


@inline
def new_node(tree, s, ply, slot, settings):
    """Add a node for state `s` to `slot` and return it, or return FULL.

    The value of an unfinished state is NaN until it is evaluated.
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
    tree.on_path[node] = 0
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
        tree.value[node] = terminal_value(s, result, ply // max(1, counts_plies(settings)), settings)
        tree.completion[node] = sure_side(tree.value[node], settings)
        tree.resolved[node] = 1


@inline
def sure_side(value, settings):
    """Return f_b, the player who has the largest possible value for sure, or 0.

    A player who is sure of it needs to look at no other action. With gains that is a win. A sure win is not
    enough if wins differ in value, as by their score or length.
    """
    largest = rules.MAX_SCORE if settings.uses_score else settings.largest
    if value >= largest:
        return 1
    return -1 if value <= -largest else 0


@inline
def terminal_value(s, result, ply, settings):
    """Return f_t(s): by result and ply, or the game's own score."""
    if settings.uses_score:
        return float(rules.score(s))
    return settings.gains[result + 1, min(ply, settings.gains.shape[1] - 1)]


@inline
def ply_after(tree, node, s, settings):
    """Return the ply of `s`, which an action or an outcome at `node` leads to."""
    if tree.kind[node] != CHANCE:
        return i64(tree.ply[node]) + counts_plies(settings)
    return ply_after_roll(i64(tree.ply[node]), s, settings)


@inline
def ply_after_roll(ply, s, settings):
    """Return the ply of `s` after an outcome at `ply`. Outcomes are not actions.

    Where a state that recurs must not repeat its roll, rolls in a row are counted until a player is to move.
    """
    if not (rules.CYCLIC and settings.determinized):
        return ply
    if rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
        return ply + 1
    return ply - ply % ROLLS


@inline
def counts_plies(settings):
    """Return by how much an action raises `ply`; 0 if a node is a state at any ply.

    Terminal values may depend on the ply. So does d in a game with cycles, where a state that recurs must not
    repeat its roll for ever.
    """
    if rules.CYCLIC and settings.determinized:
        return ROLLS
    return 1 if settings.uses_ply else 0


@inline
def open_node(tree, node, room, settings, scratch):
    """Reserve an edge of `node` for each action or outcome; return their number, or FULL and do nothing.

    The actions, or the probabilities of the outcomes, are in `scratch`. `room` nodes and edges for each of
    them must be free, too. Where chance is resolved by d, a chance node has one edge.
    """
    s = tree.state[node]
    if tree.kind[node] != CHANCE:
        n = rules.legal_actions(s, scratch.actions)
    elif settings.determinized:
        n = 1
    else:
        n = rules.outcomes(s, scratch.p)
    first = tree.edges[0]
    if first + n * max(1, room) > len(tree.child) or tree.nodes[0] + n * room > len(tree.kind):
        return FULL
    tree.edges[0] = first + n
    tree.first_edge[node] = first
    tree.num_edges[node] = n
    return n


@inline
def write_edge(tree, node, i, settings, d_seed, scratch):
    """Write edge `i` of a node that was just opened, without its child; return the edge."""
    edge = i64(tree.first_edge[node]) + i
    if tree.kind[node] != CHANCE:
        tree.choice[edge] = scratch.actions[i]
        tree.p[edge] = 0.0
    elif settings.determinized:
        tree.choice[edge] = determinized_outcome(tree.state[node], i64(tree.ply[node]), d_seed, scratch)
        tree.p[edge] = 1.0
    else:
        tree.choice[edge] = i
        tree.p[edge] = scratch.p[i]
    tree.visits[edge] = 0
    return edge


@inline
def follow(tree, node, edge, scratch):
    """Write the state that `edge` of `node` leads to into `scratch.state`."""
    copy(scratch.state, tree.state[node])
    if tree.kind[node] == CHANCE:
        rules.apply_outcome(scratch.state, tree.choice[edge])
    else:
        rules.apply_action(scratch.state, tree.choice[edge])


@inline
def expand(tree, node, leaves, settings, d_seed, scratch):
    """Give `node` its children and return how many are new and unfinished, or FULL and do nothing.

    The new children are written to `leaves`, for the evaluator's next batch, unless native code evaluates
    them here.
    """
    n = open_node(tree, node, 1 + settings.determinized * MAX_JUMPS, settings, scratch)
    if n == FULL:
        return FULL
    for i in range(n):
        edge = write_edge(tree, node, i, settings, d_seed, scratch)
        follow(tree, node, edge, scratch)
        ply = ply_after(tree, node, scratch.state, settings)
        child = find_or_add(tree, scratch.state, ply, 0, settings)
        if settings.determinized and tree.kind[node] != CHANCE:
            for _ in range(MAX_JUMPS):
                if tree.kind[child] == CHANCE:
                    child = jump(tree, child, d_seed, settings, scratch)
        tree.child[edge] = child
    return value_children(tree, node, leaves, settings, scratch)


@inline
def value_children(tree, node, leaves, settings, scratch):
    """Evaluate the new children of `node`, or list them in `leaves`; return their number."""
    new = 0
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        child = tree.child[edge]
        if np.isnan(tree.value[child]):
            tree.value[child] = 0.0
            if settings.evaluator.kind == OUTSIDE:
                leaves[new] = child
            elif settings.evaluator.kind != CONSTANT:
                tree.value[child] = leaf_value(tree.state[child], settings.evaluator, scratch)
            new += 1
    return new


@jit
def jump(tree, node, d_seed, settings, scratch):
    """Return the node that `d` resolves a chance node to, and make that its only child."""
    if tree.first_edge[node] == NONE:
        open_node(tree, node, 1, settings, scratch)
        edge = write_edge(tree, node, 0, settings, d_seed, scratch)
        follow(tree, node, edge, scratch)
        ply = ply_after(tree, node, scratch.state, settings)
        tree.child[edge] = find_or_add(tree, scratch.state, ply, 0, settings)
    return i64(tree.child[tree.first_edge[node]])


@jit
def determinized_outcome(s, ply, d_seed, scratch):
    """Return d(s), the outcome of a determinization at chance state `s`, drawn by its probability.

    In a game with cycles it depends on the ply, too, which counts rolls in a row.
    """
    open_stream(scratch.rng[0], d_seed, hash_state(s, ply if rules.CYCLIC else 0), RESOLVE)
    return sample_outcome(s, scratch.p, scratch.rng[0])


@jit
def skip_chance(s, ply, d_seed, settings, scratch):
    """Apply the outcomes of d to the chance states from `s` on; return the ply after them."""
    for _ in range(MAX_JUMPS):
        if rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
            rules.apply_outcome(s, determinized_outcome(s, ply, d_seed, scratch))
            ply = ply_after_roll(ply, s, settings)
    return ply


@jit
def rehash(trees):
    """Fill the slots of trees that were copied to larger arrays."""
    for row in range(len(trees.nodes)):
        tree = tree_of(trees, row)
        tree.slots[:] = NONE
        for node in range(tree.nodes[0]):  # two layers may hold the same state, so no earlier node matches
            s, ply = tree.state[node], i64(tree.ply[node])
            tree.slots[find_slot(tree.slots, tree.state, tree.ply, s, ply, node)] = node

"""What Uct and Puct share: simulations that go down a tree, and credit their result to the path.

These trees are true trees: a state reached by two paths has two nodes with separate statistics. A child is
made at its first visit. A chance node has an edge for each outcome, and a simulation samples one of them.
Functions that every simulation calls are `inline`, as `uct.py` explains.

Legend: s is a state, a an edge, n(s, a) `visits`, N(s) `through` and Q(s, a) `total` / `visits`.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import NONE
from .generator import MOST_FINE, fine_draw, uniform
from .jit import i64, inline, jit
from .searches import NO_ROOM
from .tree import FULL, TERMINAL, fill_node, follow, open_node, ply_after, tree_of, write_edge

SPARE = 4  # nodes that a simulation usually adds at the most; several rolls in a row may add more


class Statistics(NamedTuple):
    """Results of simulations, beside the tree."""

    total: np.ndarray  # [M, E]  sum of the results of simulations through an edge, for MAX
    through: np.ndarray  # [M, N]  the number of simulations through a node
    edge: np.ndarray  # [M, D]  the edges of the path
    noise: np.ndarray  # [M, A]  weights for exploration at the root
    above: np.ndarray  # [M, N]  the node above a node
    edge_above: np.ndarray  # [M, N]  the edge between the two
    pending: np.ndarray  # [M, E]  simulations through an edge that wait for a value


@inline
def statistics_of(all_statistics, row):
    """Return the statistics of search `row`: the same arrays without their first dimension."""
    return Statistics(
        all_statistics.total[row],
        all_statistics.through[row],
        all_statistics.edge[row],
        all_statistics.noise[row],
        all_statistics.above[row],
        all_statistics.edge_above[row],
        all_statistics.pending[row],
    )


@inline
def open_untried(tree, statistics, node, settings, d_seed, scratch):
    """Give `node` its edges, without children or results; return their number, or FULL."""
    n = open_node(tree, node, 0, settings, scratch)
    for i in range(n):  # none if it is FULL, which is negative
        edge = write_edge(tree, node, i, settings, d_seed, scratch)
        tree.child[edge] = NONE
        statistics.total[edge] = 0.0
    return n


@inline
def visit_child(tree, statistics, node, edge, settings, scratch):
    """Return the node that `edge` leads to, made at the first visit; FULL if there is no room."""
    if tree.child[edge] == NONE:
        child = tree.nodes[0]
        if child == len(tree.kind):
            return FULL
        tree.nodes[0] = child + 1
        follow(tree, node, edge, scratch)
        fill_node(tree, child, scratch.state, ply_after(tree, node, scratch.state, settings), settings)
        statistics.through[child] = 0
        tree.child[edge] = child
    return i64(tree.child[edge])


@inline
def roll_edge(tree, node, rng):
    """Return the edge of a random outcome, by its probability."""
    first = i64(tree.first_edge[node])
    if rules.EQUAL_OUTCOMES and tree.num_edges[node] == rules.NUM_OUTCOMES <= MOST_FINE:
        return first + fine_draw(rng, rules.NUM_OUTCOMES)
    u = uniform(rng)
    total = 0.0
    edge = first
    for i in range(first, first + tree.num_edges[node] - 1):
        total += tree.p[i]
        edge += u >= total
    return edge


@inline
def has_room(tree):
    """Return whether there is room for a simulation; one that ran out of room would be lost."""
    widest = max(rules.MAX_LEGAL, rules.NUM_OUTCOMES)
    return tree.nodes[0] + SPARE <= len(tree.kind) and tree.edges[0] + SPARE * widest <= len(tree.child)


@inline
def give_up(searches, row):
    """Stop a search whose tree is full, and drop the simulation under way."""
    searches.status[row] = NO_ROOM
    searches.length[row] = 0


@inline
def credit(tree, searches, statistics, row, value):
    """Add the result of a simulation to every edge and node of its path."""
    for i in range(searches.length[row]):
        statistics.through[searches.path[row, i]] += 1
    for i in range(searches.length[row] - 1):
        tree.visits[statistics.edge[i]] += 1
        statistics.total[statistics.edge[i]] += value
    searches.depth[row] = max(searches.depth[row], searches.length[row] - 1)
    searches.length[row] = 0


@jit
def summarise(trees, all_statistics, first, last):
    """Give every node the mean result of its simulations as its value, so that trees can be read."""
    for row in range(first, last):
        tree, statistics = tree_of(trees, row), statistics_of(all_statistics, row)
        for node in range(tree.nodes[0]):
            if tree.kind[node] == TERMINAL or tree.first_edge[node] == NONE:
                continue
            total = 0.0
            visits = 0
            for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
                total += statistics.total[edge]
                visits += tree.visits[edge]
            if visits > 0:
                tree.value[node] = total / visits

"""What Uct and Puct share: simulations that walk down a tree, and credit what they find to the path.

These trees are true trees: a state reached by two paths has two nodes, each with statistics of its
own. Children are made when they are first visited. A chance node has an edge for each outcome, and a
simulation samples its way through it.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE
from .jit import copy, i64, jit
from .tree import FULL, TERMINAL, fill_node, resolve


class Statistics(NamedTuple):
    """Beside the tree: what simulations have brought."""

    total: np.ndarray  # [M, E]  sum of the values found below an edge, for MAX
    through: np.ndarray  # [M, N]  simulations that went through a node
    edge: np.ndarray  # [M, D]  the edge by which each node of the path was left
    noise: np.ndarray  # [M, A]  weights for exploration at the root


@jit
def open_node(t, y, m, node, settings, d_seed, work):
    """Give `node` its edges, without children; returns FULL without room for them."""
    s = t.state[m, node]
    chance = t.kind[m, node] == CHANCE
    n = rules.outcomes(s, work.p) if chance else rules.legal_actions(s, work.actions)
    first = t.edges[m]
    if first + n > t.child.shape[1]:
        return FULL
    t.edges[m] = first + n
    t.first_edge[m, node] = first
    t.num_edges[m, node] = n
    if chance and settings.determinized:
        t.num_edges[m, node] = 1
    for i in range(t.num_edges[m, node]):
        edge = first + i
        t.choice[m, edge] = i if chance else work.actions[i]
        t.p[m, edge] = work.p[i] if chance else 1.0 / n
        if chance and settings.determinized:
            t.choice[m, edge] = resolve(s, d_seed, work)
            t.p[m, edge] = 1.0
        t.child[m, edge] = NONE
        t.visits[m, edge] = 0
        y.total[m, edge] = 0.0
    return 0


@jit
def visit_child(t, y, m, node, edge, work):
    """The node that `edge` leads to, made if this is the first visit; FULL without room."""
    if t.child[m, edge] == NONE:
        child = t.nodes[m]
        if child == t.kind.shape[1]:
            return FULL
        t.nodes[m] = child + 1
        copy(work.state, t.state[m, node])
        if t.kind[m, node] == CHANCE:
            rules.apply_outcome(work.state, t.choice[m, edge])
        else:
            rules.apply_action(work.state, t.choice[m, edge])
        fill_node(t, m, child, work.state)
        y.through[m, child] = 0
        t.child[m, edge] = child
    return i64(t.child[m, edge])


@jit
def credit(t, c, y, m, value):
    """Add what a simulation found to every edge and node of its path."""
    for i in range(c.length[m]):
        y.through[m, c.path[m, i]] += 1
    for i in range(c.length[m] - 1):
        t.visits[m, y.edge[m, i]] += 1
        y.total[m, y.edge[m, i]] += value
    c.depth[m] = max(c.depth[m], c.length[m] - 1)
    c.length[m] = 0


@jit
def summarise(t, c, y, first, last):
    """Give every node the mean of what was found below it as its value, so that trees can be read."""
    for m in range(first, last):
        for node in range(t.nodes[m]):
            if t.kind[m, node] == TERMINAL or t.first_edge[m, node] == NONE:
                continue
            total = 0.0
            visits = 0
            for edge in range(t.first_edge[m, node], t.first_edge[m, node] + t.num_edges[m, node]):
                total += y.total[m, edge]
                visits += t.visits[m, edge]
            if visits > 0:
                t.value[m, node] = total / visits

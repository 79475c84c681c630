"""What Uct and Puct share: simulations that walk down a tree, and credit what they find to the path.

These trees are true trees: a state reached by two paths has two nodes, each with statistics of its
own. Children are made when they are first visited. A chance node has an edge for each outcome, and a
simulation samples its way through it. What simulations call is `inline`, as `uct.py` says.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE
from .generator import MOST_FINE, fine_draw, uniform
from .jit import copy, i64, inline, jit
from .matches import STUFFED
from .tree import FULL, TERMINAL, fill_node, ply_after, resolve, tree_of

SPARE = 4  # nodes that a simulation may add, more only where chance plays several times in a row


class Statistics(NamedTuple):
    """Beside the tree: what simulations have brought."""

    total: np.ndarray  # [M, E]  sum of the values found below an edge, for MAX
    through: np.ndarray  # [M, N]  simulations that went through a node
    edge: np.ndarray  # [M, D]  the edge by which each node of the path was left
    noise: np.ndarray  # [M, A]  weights for exploration at the root


@inline
def statistics_of(statistics, m):
    """The statistics of match `m`: the same arrays without their first dimension."""
    return Statistics(statistics.total[m], statistics.through[m], statistics.edge[m], statistics.noise[m])


@inline
def open_node(t, y, node, settings, d_seed, work):
    """Give `node` its edges, without children; returns FULL without room for them."""
    s = t.state[node]
    chance = t.kind[node] == CHANCE
    n = rules.outcomes(s, work.p) if chance else rules.legal_actions(s, work.actions)
    first = t.edges[0]
    if first + n > len(t.child):
        return FULL
    t.edges[0] = first + n
    t.first_edge[node] = first
    t.num_edges[node] = n
    if chance and settings.determinized:
        t.num_edges[node] = 1
    for i in range(t.num_edges[node]):
        edge = first + i
        t.choice[edge] = i if chance else work.actions[i]
        t.p[edge] = work.p[i] if chance else 1.0 / n
        if chance and settings.determinized:
            t.choice[edge] = resolve(s, d_seed, work)
            t.p[edge] = 1.0
        t.child[edge] = NONE
        t.visits[edge] = 0
        y.total[edge] = 0.0
    return 0


@inline
def visit_child(t, y, node, edge, settings, work):
    """The node that `edge` leads to, made if this is the first visit; FULL without room."""
    if t.child[edge] == NONE:
        child = t.nodes[0]
        if child == len(t.kind):
            return FULL
        t.nodes[0] = child + 1
        copy(work.state, t.state[node])
        if t.kind[node] == CHANCE:
            rules.apply_outcome(work.state, t.choice[edge])
        else:
            rules.apply_action(work.state, t.choice[edge])
        fill_node(t, child, work.state, ply_after(t, node, settings), settings)
        y.through[child] = 0
        t.child[edge] = child
    return i64(t.child[edge])


@inline
def roll_edge(t, node, rng):
    """An outcome by its probability."""
    first = i64(t.first_edge[node])
    if rules.EQUAL_OUTCOMES and t.num_edges[node] == rules.NUM_OUTCOMES <= MOST_FINE:
        return first + fine_draw(rng, rules.NUM_OUTCOMES)
    u = uniform(rng)
    total = 0.0
    edge = first
    for i in range(first, first + t.num_edges[node] - 1):
        total += t.p[i]
        edge += u >= total
    return edge


@inline
def has_room(t):
    """Is there room for a simulation? One that ran out of it halfway would be lost."""
    widest = max(rules.NUM_ACTIONS, rules.NUM_OUTCOMES)
    return t.nodes[0] + SPARE <= len(t.kind) and t.edges[0] + SPARE * widest <= len(t.child)


@inline
def give_up(c, m):
    """End a search whose store is full all the same, and drop the simulation under way."""
    c.status[m] = STUFFED
    c.length[m] = 0


@inline
def credit(t, c, y, m, value):
    """Add what a simulation found to every edge and node of its path."""
    for i in range(c.length[m]):
        y.through[c.path[m, i]] += 1
    for i in range(c.length[m] - 1):
        t.visits[y.edge[i]] += 1
        y.total[y.edge[i]] += value
    c.depth[m] = max(c.depth[m], c.length[m] - 1)
    c.length[m] = 0


@jit
def summarise(trees, statistics, first, last):
    """Give every node the mean of what was found below it as its value, so that trees can be read."""
    for m in range(first, last):
        t, y = tree_of(trees, m), statistics_of(statistics, m)
        for node in range(t.nodes[0]):
            if t.kind[node] == TERMINAL or t.first_edge[node] == NONE:
                continue
            total = 0.0
            visits = 0
            for edge in range(t.first_edge[node], t.first_edge[node] + t.num_edges[node]):
                total += y.total[edge]
                visits += t.visits[edge]
            if visits > 0:
                t.value[node] = total / visits

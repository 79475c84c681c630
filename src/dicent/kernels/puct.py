"""Puct: the search of AlphaZero and Polygames, with chance nodes.

A simulation goes down by Q + c P sqrt(N) / (1 + n), samples its way through chance, and ends at a
decision that was not visited before. A network gives that state's value, which is credited to the
path, and the prior P of its actions. The network never sees a chance state.
"""

import math

import numpy as np

from .constants import CHANCE, NONE
from .generator import gamma
from .jit import i64, jit
from .matches import DONE, SEARCHING, STUFFED, WAITING
from .simulation import credit, give_up, has_room, open_node, roll_edge, statistics_of, visit_child
from .tree import FULL, TERMINAL, tree_of

LEAST_NOISE = 1e-300  # so that weights never sum to 0, however small alpha is


@jit
def draw_noise(c, statistics, members, alpha):
    """Draw the noise at the root of each of `members` [n] from its own random stream.

    Gamma variates have a Dirichlet distribution once they are divided by their sum over the legal actions.
    """
    for i in range(len(members)):
        m = members[i]
        for action in range(statistics.noise.shape[1]):
            statistics.noise[m, action] = max(LEAST_NOISE, gamma(c.rng[m], alpha))


@jit
def advance(trees, c, statistics, first, last, exploration, fraction, settings, work, steps):
    """Let matches `first` to `last` simulate, each until it waits for a value or ends."""
    for m in range(first, last):
        t, y = tree_of(trees, m), statistics_of(statistics, m)
        for _ in range(steps):
            if c.status[m] != SEARCHING:
                break
            simulate(t, c, y, m, exploration, fraction, settings, work)


@jit
def simulate(t, c, y, m, exploration, fraction, settings, work):
    """One simulation, up to the value that its last state waits for."""
    if c.evaluations[m] > 1 and (c.nodes[m] >= c.max_nodes[m] or c.evaluations[m] >= c.max_evaluations[m]):
        c.status[m] = DONE
        return
    if not has_room(t):
        c.status[m] = STUFFED
        return
    c.before[m] = t.nodes[0]
    node = c.root[m]
    c.path[m, 0] = node
    c.length[m] = 1
    while t.kind[node] != TERMINAL and c.length[m] < c.path.shape[1]:
        opened = t.first_edge[node] == NONE
        if opened and open_node(t, y, node, settings, c.d_seed[m], work) == FULL:
            give_up(c, m)
            return
        if t.kind[node] == CHANCE:
            edge = roll_edge(t, node, c.rng[m])
        elif opened:
            c.leaves[m, 0] = node
            c.waiting[m] = 1
            c.status[m] = WAITING
            return
        else:
            edge = select(t, y, node, exploration, fraction if node == c.root[m] else 0.0)
        child = visit_child(t, y, node, edge, settings, work)
        if child == FULL:
            give_up(c, m)
            return
        y.edge[c.length[m] - 1] = edge
        c.path[m, c.length[m]] = child
        c.length[m] += 1
        node = child
    value = t.value[node] if t.kind[node] == TERMINAL else 0.0
    finish(t, c, y, m, value)


@jit
def finish(t, c, y, m, value):
    """Credit a simulation's value, and count it."""
    credit(t, c, y, m, value)
    c.nodes[m] += max(1, t.nodes[0] - c.before[m])
    c.evaluations[m] += 1
    if t.nodes[0] == c.before[m] and c.evaluations[m] > 1:  # the first one values the root
        c.patience[m] -= 1
    if c.depth[m] >= c.max_depth[m] or c.patience[m] == 0:
        c.status[m] = DONE


@jit
def select(t, y, node, exploration, fraction):
    """The action with the largest Q + c P sqrt(N) / (1 + n); an action never tried has Q = 0.

    At the root, `fraction` of each prior is replaced by noise.
    """
    first = i64(t.first_edge[node])
    last = first + t.num_edges[node]
    sign = t.kind[node]
    weight = 0.0
    if fraction > 0.0:
        for edge in range(first, last):
            weight += y.noise[t.choice[edge]]
    scale = exploration * math.sqrt(y.through[node])
    best = first
    most = -1e300
    for edge in range(first, last):
        n = t.visits[edge]
        prior = t.p[edge]
        if fraction > 0.0:
            prior = (1.0 - fraction) * prior + fraction * y.noise[t.choice[edge]] / weight
        q = sign * y.total[edge] / n if n > 0 else 0.0
        if q + scale * prior / (1 + n) > most:
            most = q + scale * prior / (1 + n)
            best = edge
    return best


@jit
def absorb(trees, c, statistics, first, last, offsets, values, logits):
    """Give the waiting states their values and their actions' priors, and finish the simulations."""
    for m in range(first, last):
        if c.waiting[m] == 0:
            continue
        t, y = tree_of(trees, m), statistics_of(statistics, m)
        node = c.leaves[m, 0]
        t.value[node] = values[offsets[m]]
        c.waiting[m] = 0
        c.status[m] = SEARCHING
        soften(t, node, logits[offsets[m]])
        finish(t, c, y, m, values[offsets[m]])


@jit
def soften(t, node, logits):
    """Priors: the softmax of the logits over the legal actions."""
    first = i64(t.first_edge[node])
    last = first + t.num_edges[node]
    highest = -np.inf
    for edge in range(first, last):
        highest = max(highest, logits[t.choice[edge]])
    total = 0.0
    for edge in range(first, last):
        t.p[edge] = math.exp(logits[t.choice[edge]] - highest)
        total += t.p[edge]
    for edge in range(first, last):
        t.p[edge] /= total

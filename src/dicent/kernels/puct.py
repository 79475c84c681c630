"""Puct: the search of AlphaZero and Polygames, with chance nodes.

A simulation goes down by Q + c P sqrt(N) / (1 + n), samples outcomes at chance nodes, and ends at a decision
that was not visited before. A network gives the value of that state, which is credited to the path, and the
prior P of its actions. The network never sees a chance state.

Legend: c is `exploration`, P the prior (`p` of an edge), N, n and Q as in `simulation.py`.
"""

import math

import numpy as np

from .constants import CHANCE, NONE
from .generator import gamma
from .jit import i64, jit
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .simulation import credit, give_up, has_room, open_untried, roll_edge, statistics_of, visit_child
from .tree import FULL, TERMINAL, tree_of

LEAST_NOISE = 1e-300  # so that weights never sum to 0, however small alpha is


@jit
def draw_noise(searches, all_statistics, members, alpha):
    """Draw the noise at the root of each of `members` [n] from its own random stream.

    Gamma variates have a Dirichlet distribution once they are divided by their sum over the legal actions.
    """
    for i in range(len(members)):
        row = members[i]
        for action in range(all_statistics.noise.shape[1]):
            all_statistics.noise[row, action] = max(LEAST_NOISE, gamma(searches.rng[row], alpha))


@jit
def advance(trees, searches, all_statistics, first, last, exploration, fraction, settings, scratch, steps):
    """Advance searches `first` to `last`, each until it waits for a value or ends."""
    for row in range(first, last):
        tree, statistics = tree_of(trees, row), statistics_of(all_statistics, row)
        for _ in range(steps):
            if searches.status[row] != SEARCHING:
                break
            simulate(tree, searches, statistics, row, exploration, fraction, settings, scratch)


@jit
def simulate(tree, searches, statistics, row, exploration, fraction, settings, scratch):
    """Make one simulation, up to the state that waits for a value."""
    if searches.evaluations[row] > 1 and (
        searches.nodes[row] >= searches.max_nodes[row]
        or searches.evaluations[row] >= searches.max_evaluations[row]
    ):
        searches.status[row] = DONE
        return
    if not has_room(tree):
        searches.status[row] = NO_ROOM
        return
    searches.before[row] = tree.nodes[0]
    node = searches.root[row]
    searches.path[row, 0] = node
    searches.length[row] = 1
    while tree.kind[node] != TERMINAL and searches.length[row] < searches.path.shape[1]:
        opened = tree.first_edge[node] == NONE
        if opened and open_untried(tree, statistics, node, settings, searches.d_seed[row], scratch) == FULL:
            give_up(searches, row)
            return
        if tree.kind[node] == CHANCE:
            edge = roll_edge(tree, node, searches.rng[row])
        elif opened:
            searches.leaves[row, 0] = node
            searches.waiting[row] = 1
            searches.status[row] = WAITING
            return
        else:
            edge = select(
                tree, statistics, node, exploration, fraction if node == searches.root[row] else 0.0
            )
        child = visit_child(tree, statistics, node, edge, settings, scratch)
        if child == FULL:
            give_up(searches, row)
            return
        statistics.edge[searches.length[row] - 1] = edge
        searches.path[row, searches.length[row]] = child
        searches.length[row] += 1
        node = child
    value = tree.value[node] if tree.kind[node] == TERMINAL else 0.0
    finish(tree, searches, statistics, row, value)


@jit
def finish(tree, searches, statistics, row, value):
    """Credit a simulation's value, and count it."""
    credit(tree, searches, statistics, row, value)
    searches.nodes[row] += max(1, tree.nodes[0] - searches.before[row])
    searches.evaluations[row] += 1
    if tree.nodes[0] == searches.before[row] and searches.evaluations[row] > 1:  # the first is the root's
        searches.patience[row] -= 1
    if searches.depth[row] >= searches.max_depth[row] or searches.patience[row] == 0:
        searches.status[row] = DONE


@jit
def select(tree, statistics, node, exploration, fraction):
    """Return the action with the largest Q + c P sqrt(N) / (1 + n); an untried action has Q = 0.

    At the root, `fraction` of each prior is replaced by noise.
    """
    first = i64(tree.first_edge[node])
    last = first + tree.num_edges[node]
    sign = tree.kind[node]
    weight = 0.0
    if fraction > 0.0:
        for edge in range(first, last):
            weight += statistics.noise[tree.choice[edge]]
    scale = exploration * math.sqrt(statistics.through[node])
    best = first
    most = -1e300
    for edge in range(first, last):
        n = tree.visits[edge]
        prior = tree.p[edge]
        if fraction > 0.0:
            prior = (1.0 - fraction) * prior + fraction * statistics.noise[tree.choice[edge]] / weight
        q = sign * statistics.total[edge] / n if n > 0 else 0.0
        if q + scale * prior / (1 + n) > most:
            most = q + scale * prior / (1 + n)
            best = edge
    return best


@jit
def absorb(trees, searches, all_statistics, first, last, offsets, values, logits):
    """Give the waiting states their values and their actions' priors, and finish the simulations."""
    for row in range(first, last):
        if searches.waiting[row] == 0:
            continue
        tree, statistics = tree_of(trees, row), statistics_of(all_statistics, row)
        node = searches.leaves[row, 0]
        tree.value[node] = values[offsets[row]]
        searches.waiting[row] = 0
        searches.status[row] = SEARCHING
        soften(tree, node, logits[offsets[row]])
        finish(tree, searches, statistics, row, values[offsets[row]])


@jit
def soften(tree, node, logits):
    """Set the priors to the softmax of the logits over the legal actions."""
    first = i64(tree.first_edge[node])
    last = first + tree.num_edges[node]
    highest = -np.inf
    for edge in range(first, last):
        highest = max(highest, logits[tree.choice[edge]])
    total = 0.0
    for edge in range(first, last):
        tree.p[edge] = math.exp(logits[tree.choice[edge]] - highest)
        total += tree.p[edge]
    for edge in range(first, last):
        tree.p[edge] /= total

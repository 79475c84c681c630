"""Puct: the search of AlphaZero and Polygames, with chance nodes.

A simulation goes down by Q + c P sqrt(N) / (1 + n), samples outcomes at chance nodes, and ends at a decision
that was not visited before. A network gives the value of that state, which is credited to the path, and the
prior P of its actions. The network never sees a chance state.

Several simulations may wait for the network at once. Until its value arrives, each counts on its path as a
visit and a loss for the player to move (virtual loss), so that the next one goes elsewhere. The search drops
a simulation that arrives at a waiting state, and waits.

Legend: c is `exploration`, P the prior (`p` of an edge), N, n and Q as in `simulation.py`.
"""

import math

import numpy as np

from .constants import CHANCE, NONE
from .generator import gamma
from .jit import i64, inline, jit
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .simulation import credit, has_room, open_untried, roll_edge, statistics_of, visit_child
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
        stop(searches, row, DONE)
        return
    if not has_room(tree):
        stop(searches, row, NO_ROOM)
        return
    searches.before[row] = tree.nodes[0]
    node = searches.root[row]
    searches.path[row, 0] = node
    searches.length[row] = 1
    while tree.kind[node] != TERMINAL and searches.length[row] < searches.path.shape[1]:
        opened = tree.first_edge[node] == NONE
        if opened and open_untried(tree, statistics, node, settings, searches.d_seed[row], scratch) == FULL:
            stop(searches, row, NO_ROOM)
            return
        if opened:
            for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
                statistics.pending[edge] = 0
        if tree.kind[node] == CHANCE:
            edge = roll_edge(tree, node, searches.rng[row])
        elif np.isnan(tree.value[node]):
            if awaits(searches, row, node):
                stop(searches, row, WAITING)
            else:
                hold(tree, searches, statistics, row, node)
            return
        else:
            edge = select(
                tree, statistics, node, exploration, fraction if node == searches.root[row] else 0.0
            )
        child = visit_child(tree, statistics, node, edge, settings, scratch)
        if child == FULL:
            stop(searches, row, NO_ROOM)
            return
        statistics.above[child] = node
        statistics.edge_above[child] = edge
        statistics.edge[searches.length[row] - 1] = edge
        searches.path[row, searches.length[row]] = child
        searches.length[row] += 1
        node = child
    value = tree.value[node] if tree.kind[node] == TERMINAL else 0.0
    credit(tree, searches, statistics, row, value)
    count(tree, searches, row)
    if is_over(searches, row):
        stop(searches, row, DONE)


@inline
def awaits(searches, row, node):
    """Return whether a simulation waits for the value of `node`."""
    for i in range(searches.waiting[row]):
        if searches.leaves[row, i] == node:
            return True
    return False


@jit
def hold(tree, searches, statistics, row, leaf):
    """Let a simulation wait for the value of `leaf`; until then it counts as a loss on its path."""
    searches.leaves[row, searches.waiting[row]] = leaf
    searches.waiting[row] += 1
    for i in range(searches.length[row]):
        statistics.through[searches.path[row, i]] += 1
    for i in range(searches.length[row] - 1):
        tree.visits[statistics.edge[i]] += 1
        statistics.pending[statistics.edge[i]] += 1
    searches.depth[row] = max(searches.depth[row], searches.length[row] - 1)
    searches.length[row] = 0
    count(tree, searches, row)
    if searches.waiting[row] == searches.leaves.shape[1] or is_over(searches, row):
        searches.status[row] = WAITING


@jit
def let_go(trees, searches, all_statistics, row):
    """Forget the simulations that wait for a value, as if they had never begun."""
    tree, statistics = tree_of(trees, row), statistics_of(all_statistics, row)
    for i in range(searches.waiting[row]):
        node = searches.leaves[row, i]
        statistics.through[node] -= 1
        while node != searches.root[row]:
            edge = statistics.edge_above[node]
            tree.visits[edge] -= 1
            statistics.pending[edge] -= 1
            node = statistics.above[node]
            statistics.through[node] -= 1
    searches.waiting[row] = 0
    searches.length[row] = 0


@jit
def stop(searches, row, status):
    """End the search with a status, or let it wait first for the values of its leaves."""
    searches.status[row] = status if searches.waiting[row] == 0 else WAITING
    searches.length[row] = 0


@jit
def count(tree, searches, row):
    """Count a simulation and the nodes that it added."""
    searches.nodes[row] += max(1, tree.nodes[0] - searches.before[row])
    searches.evaluations[row] += 1
    searches.iterations[row] += 1
    if tree.nodes[0] == searches.before[row] and searches.evaluations[row] > 1:  # the first is the root's
        searches.patience[row] -= 1


@jit
def is_over(searches, row):
    """Return whether the search is deep enough, or has nothing left to add."""
    return searches.depth[row] >= searches.max_depth[row] or searches.patience[row] <= 0


@jit
def select(tree, statistics, node, exploration, fraction):
    """Return the action with the largest Q + c P sqrt(N) / (1 + n); an untried action has Q = 0.

    At the root, `fraction` of each prior is replaced by noise. N, n and Q include the simulations that wait.
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
        q = (sign * statistics.total[edge] - statistics.pending[edge]) / n if n > 0 else 0.0
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
        for i in range(searches.waiting[row]):
            leaf = searches.leaves[row, i]
            tree.value[leaf] = values[offsets[row] + i]
            soften(tree, leaf, logits[offsets[row] + i])
            replace_loss(statistics, searches.root[row], leaf, values[offsets[row] + i])
        searches.waiting[row] = 0
        searches.status[row] = DONE if is_over(searches, row) else SEARCHING


@jit
def replace_loss(statistics, root, leaf, value):
    """Credit the value of a leaf to the edges above it, in place of the loss that stood for it."""
    node = leaf
    while node != root:
        edge = statistics.edge_above[node]
        statistics.pending[edge] -= 1
        statistics.total[edge] += value
        node = statistics.above[node]


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

"""Uct: Monte Carlo tree search with random rollouts, no network.

A simulation goes down by UCB1, the mean result plus c sqrt(ln N / n), to a node that was not visited
before, plays a random game from there, and credits its result to the path.

All that happens at every simulation is `inline`: a tree as an argument is a hundred numbers, and copying
them from call to call took half of the time.
"""

import math

from .constants import CHANCE, CHOICE, DICE, NONE, ONGOING
from .generator import bits, draw, open_stream
from .jit import copy, i64, inline, jit
from .matches import DONE, SEARCHING, STUFFED
from .playout import playout
from .simulation import credit, give_up, has_room, open_node, roll_edge, statistics_of, visit_child
from .tree import FULL, TERMINAL, tree_of


@jit
def advance(trees, c, statistics, first, last, exploration, settings, work, steps):
    """Let matches `first` to `last` make up to `steps` simulations each."""
    for m in range(first, last):
        t, y = tree_of(trees, m), statistics_of(statistics, m)
        for _ in range(steps):
            if c.status[m] != SEARCHING:
                break
            simulate(t, c, y, m, exploration, settings, work)


@inline
def simulate(t, c, y, m, exploration, settings, work):
    """One simulation."""
    if c.evaluations[m] > 0 and (c.nodes[m] >= c.max_nodes[m] or c.evaluations[m] >= c.max_evaluations[m]):
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
        if y.through[node] == 0 and t.kind[node] != CHANCE and node != c.root[m]:
            break  # it gets edges at its second visit, which few nodes ever see
        if t.first_edge[node] == NONE and open_node(t, y, node, settings, c.d_seed[m], work) == FULL:
            give_up(c, m)
            return
        if t.kind[node] == CHANCE:
            edge = roll_edge(t, node, c.rng[m])
        else:
            edge = select(t, y, node, exploration, c.rng[m])
        child = visit_child(t, y, node, edge, settings, work)
        if child == FULL:
            give_up(c, m)
            return
        y.edge[c.length[m] - 1] = edge
        c.path[m, c.length[m]] = child
        c.length[m] += 1
        node = child
    credit(t, c, y, m, rollout(t, node, settings, c.rng[m], work))
    c.nodes[m] += max(1, t.nodes[0] - c.before[m])
    c.evaluations[m] += 1
    if t.nodes[0] == c.before[m]:
        c.patience[m] -= 1
    if c.depth[m] >= c.max_depth[m] or c.patience[m] == 0:
        c.status[m] = DONE


@inline
def select(t, y, node, exploration, rng):
    """An action that was never tried, any of them; else the one with the largest UCB1."""
    first = i64(t.first_edge[node])
    last = first + t.num_edges[node]
    sign = t.kind[node]
    best = NONE
    untried = 0
    most = -1e300
    log = math.log(max(1, y.through[node]))
    for edge in range(first, last):
        n = t.visits[edge]
        if n == 0:
            untried += 1
            if draw(rng, untried) == 0:
                best = edge
        elif untried == 0:
            upper = sign * y.total[edge] / n + exploration * math.sqrt(log / n)
            if upper > most:
                most = upper
                best = edge
    return best


@inline
def rollout(t, node, settings, rng, work):
    """The mean result of random games from a node."""
    if t.kind[node] == TERMINAL:
        return t.value[node]
    total = 0
    for _ in range(settings.games):
        key = bits(rng)
        open_stream(work.rng[DICE], key, 0, DICE)
        open_stream(work.rng[CHOICE], key, 0, CHOICE)
        copy(work.rollout, t.state[node])
        result, _, _ = playout(
            work.rollout, work.rolled, work.rolled_p, work.rng[DICE], work.rng[CHOICE], work.max_steps
        )
        if result != ONGOING:
            total += result
    return total / settings.games

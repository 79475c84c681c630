"""Uct: Monte Carlo tree search with random rollouts, no network.

A simulation goes down by UCB1, the mean result plus c sqrt(ln N / n), to a node that was not visited before,
plays a random game from there, and credits its result to the path. With the terminal value score it credits
the game's score in place of the result.

Functions that every simulation calls are `inline`: a tree as an argument is a hundred numbers, and copying
them from call to call takes half of the time.

Legend: c is `exploration`, N the simulations through a node, n those through an edge.
"""

import math

from .constants import CHANCE, NONE
from .generator import bits, draw
from .jit import i64, inline, jit
from .rollout import rollout_gain
from .searches import DONE, NO_ROOM, SEARCHING
from .simulation import credit, give_up, has_room, open_untried, roll_edge, statistics_of, visit_child
from .tree import FULL, TERMINAL, tree_of


@jit
def advance(trees, searches, all_statistics, first, last, exploration, settings, scratch, steps):
    """Make up to `steps` simulations of each of the searches `first` to `last`."""
    for row in range(first, last):
        tree, statistics = tree_of(trees, row), statistics_of(all_statistics, row)
        for _ in range(steps):
            if searches.status[row] != SEARCHING:
                break
            simulate(tree, searches, statistics, row, exploration, settings, scratch)


@inline
def simulate(tree, searches, statistics, row, exploration, settings, scratch):
    """Make one simulation."""
    if searches.evaluations[row] > 0 and (
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
        if statistics.through[node] == 0 and tree.kind[node] != CHANCE and node != searches.root[row]:
            break  # a node gets edges at its second visit, and most nodes have only one
        if (
            tree.first_edge[node] == NONE
            and open_untried(tree, statistics, node, settings, searches.d_seed[row], scratch) == FULL
        ):
            give_up(searches, row)
            return
        if tree.kind[node] == CHANCE:
            edge = roll_edge(tree, node, searches.rng[row])
        else:
            edge = select(tree, statistics, node, exploration, searches.rng[row])
        child = visit_child(tree, statistics, node, edge, settings, scratch)
        if child == FULL:
            give_up(searches, row)
            return
        statistics.edge[searches.length[row] - 1] = edge
        searches.path[row, searches.length[row]] = child
        searches.length[row] += 1
        node = child
    credit(tree, searches, statistics, row, mean_rollout(tree, node, settings, searches.rng[row], scratch))
    searches.nodes[row] += max(1, tree.nodes[0] - searches.before[row])
    searches.evaluations[row] += 1
    if tree.nodes[0] == searches.before[row]:
        searches.patience[row] -= 1
    if searches.depth[row] >= searches.max_depth[row] or searches.patience[row] == 0:
        searches.status[row] = DONE


@inline
def select(tree, statistics, node, exploration, rng):
    """Return a random untried action; if there is none, the action with the largest UCB1."""
    first = i64(tree.first_edge[node])
    last = first + tree.num_edges[node]
    sign = tree.kind[node]
    best = NONE
    untried = 0
    most = -1e300
    log = math.log(max(1, statistics.through[node]))
    for edge in range(first, last):
        n = tree.visits[edge]
        if n == 0:
            untried += 1
            if draw(rng, untried) == 0:
                best = edge
        elif untried == 0:
            upper = sign * statistics.total[edge] / n + exploration * math.sqrt(log / n)
            if upper > most:
                most = upper
                best = edge
    return best


@inline
def mean_rollout(tree, node, settings, rng, scratch):
    """Return the mean result, or score, of random games from a node, different ones at each visit."""
    if tree.kind[node] == TERMINAL:
        return tree.value[node]
    total = 0.0
    for _ in range(settings.evaluator.games):
        total += rollout_gain(tree.state[node], bits(rng), 0, settings.uses_score, scratch)
    return total / settings.evaluator.games

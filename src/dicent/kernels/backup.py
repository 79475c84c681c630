"""Order of actions, exploration and backup: the parts that all best-first searches share.

Legend, the paper's symbols: s is a node, a an edge, v(s) `value`, c(s) `completion`, r(s) `resolved` and
n(s, a) `visits`. Tuples such as (c, v, n) compare lexicographically, for the player to move.
"""

from .constants import CHANCE, NONE
from .generator import draw, uniform
from .jit import i64, inline, jit


@inline
def better(tree, a, b, sign, completion, count):
    """Compare edges for the player `sign` by (c, v, n): 1 if `a` is better than `b`, 0 for a tie, else -1.

    `count` is 1 if more visits are better, -1 if fewer are, 0 if they do not matter.
    """
    x, y = tree.child[a], tree.child[b]
    if completion and tree.completion[x] != tree.completion[y]:
        return 1 if sign * tree.completion[x] > sign * tree.completion[y] else -1
    if tree.value[x] != tree.value[y]:
        return 1 if sign * tree.value[x] > sign * tree.value[y] else -1
    if count != 0 and tree.visits[a] != tree.visits[b]:
        return 1 if count * tree.visits[a] > count * tree.visits[b] else -1
    return 0


@inline
def best_edge(tree, node, completion):
    """Return the best action by (c, v, n), the first of equals (the paper's best_action)."""
    first = i64(tree.first_edge[node])
    sign = tree.kind[node]
    best = first
    for edge in range(first + 1, first + tree.num_edges[node]):
        if better(tree, edge, best, sign, completion, 1) > 0:
            best = edge
    return best


@inline
def explore_edge(tree, node, completion, rng):
    """Return the best unresolved action by (c, v, -n), a random one of equals (best_action_dual).

    Without completion all actions count, and visits do not matter.
    """
    first = i64(tree.first_edge[node])
    sign = tree.kind[node]
    best = NONE
    ties = 0
    for edge in range(first, first + tree.num_edges[node]):
        if completion and tree.resolved[tree.child[edge]]:
            continue
        order = 1 if best == NONE else better(tree, edge, best, sign, completion, -completion)
        if order > 0:
            best = edge
            ties = 1
        elif order == 0:
            ties += 1
            if draw(rng, ties) == 0:
                best = edge
    return best


@inline
def any_edge(tree, node, completion, rng):
    """Return a random action; with completion one of the unresolved actions."""
    first = i64(tree.first_edge[node])
    chosen = NONE
    met = 0
    for edge in range(first, first + tree.num_edges[node]):
        if not (completion and tree.resolved[tree.child[edge]]):
            met += 1
            if draw(rng, met) == 0:
                chosen = edge
    return chosen


@inline
def sample_edge(tree, node, completion, rng):
    """Return a random outcome by its probability; with completion one of the unresolved outcomes."""
    first = i64(tree.first_edge[node])
    total = 0.0
    for edge in range(first, first + tree.num_edges[node]):
        if not (completion and tree.resolved[tree.child[edge]]):
            total += tree.p[edge]
    u = uniform(rng) * total
    last = NONE
    for edge in range(first, first + tree.num_edges[node]):
        if not (completion and tree.resolved[tree.child[edge]]):
            last = edge
            u -= tree.p[edge]
            if u < 0.0:
                break
    return last


@jit
def backup(tree, node, completion):
    """Set v(s) to the maximum, minimum or mean of the children; with completion set c(s) and r(s)."""
    first = i64(tree.first_edge[node])
    last = first + tree.num_edges[node]
    if tree.kind[node] == CHANCE:
        v = 0.0
        lowest, highest = 1, -1  # of c over the outcomes
        for edge in range(first, last):
            child = tree.child[edge]
            v += tree.p[edge] * tree.value[child]
            lowest = min(lowest, i64(tree.completion[child]))
            highest = max(highest, i64(tree.completion[child]))
        tree.value[node] = v
        if completion:  # a certain result only if every outcome has it
            tree.completion[node] = lowest if lowest == highest else 0
    else:
        best = tree.child[best_edge(tree, node, completion)]
        tree.value[node] = tree.value[best]
        if completion:
            tree.completion[node] = tree.completion[best]
    if completion:
        resolved = 1
        for edge in range(first, last):
            resolved = min(resolved, i64(tree.resolved[tree.child[edge]]))
        tree.resolved[node] = 1 if tree.completion[node] != 0 else resolved

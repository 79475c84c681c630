"""Descent Minimax and Descent Expectiminimax, with and without completion.

An iteration goes from the root to the end of a game: it expands each state that is not in S (the
expanded states) and goes on to its best child; in a chance state the next state is sampled. Then
values are backed up along the path: the maximum, the minimum, or the mean by probability. With
completion, what is proved is never visited again. The recursion of the paper is a path here, so that
a search can pause wherever its leaves wait for values.

The paper looks at its budget between iterations only (`whole`). Otherwise one that is spent ends an
iteration where it stands, at a state that is valued and not expanded.

Unbounded Minimax and its expectiminimax form differ in one line: an iteration ends with the state
that it has expanded.
"""

from .constants import CHANCE, NONE
from .jit import inline, jit
from .leaf import OUTSIDE
from .matches import DONE, SEARCHING, STUFFED, WAITING
from .tree import FULL, TERMINAL, backup, expand, explore_edge, sample_edge, tree_of


@jit
def advance(trees, c, first, last, unbounded, whole, settings, work, steps):
    """Let matches `first` to `last` search, each until it waits or ends, or for `steps` steps."""
    for m in range(first, last):
        if c.status[m] == SEARCHING:
            search(tree_of(trees, m), c, m, unbounded, whole, settings, work, steps)


@inline
def search(t, c, m, unbounded, whole, settings, work, steps):
    """descent_iteration, again and again; each step of the loop is a state on the path."""
    completion = settings.completion
    for _ in range(steps):
        # 1. Between iterations: is there anything left to do?
        if c.length[m] == 0:
            if is_finished(t, c, m, completion):
                c.status[m] = DONE
                return
            c.before[m] = t.nodes[0]
            c.grew[m] = 0
            push(c, m, c.root[m])

        # 2. A terminal state, or one that is resolved, ends the iteration.
        s = c.path[m, c.length[m] - 1]
        if t.kind[s] == TERMINAL:
            end_iteration(t, c, m, completion)
            continue

        # 3. A state that is not in S is expanded; its children are valued in one batch.
        if t.first_edge[s] == NONE:
            new = NONE
            if s == c.root[m] or whole or not is_spent(t, c, m):
                new = expand(t, s, c.leaves[m], settings, c.d_seed[m], work)
            if new == FULL:  # the path is kept: a larger store can go on from here
                c.status[m] = STUFFED
                return
            if new == NONE:
                end_iteration(t, c, m, completion)
                c.status[m] = DONE
                return
            c.fresh[m] = 1
            c.grew[m] = 1
            c.evaluations[m] += new
            if new > 0 and settings.evaluator == OUTSIDE:
                c.waiting[m] = new
                c.status[m] = WAITING
                return

        # 4. Another path may have resolved a child meanwhile, so back up before going on.
        if completion:
            backup(t, s, completion)
            if t.resolved[s]:
                end_iteration(t, c, m, completion)
                continue

        # 5. Unbounded: a newly expanded state ends the iteration. Descent: keep going down.
        if (unbounded and c.fresh[m]) or c.length[m] == c.path.shape[1] or c.length[m] > c.max_depth[m]:
            end_iteration(t, c, m, completion)
            continue

        # 6. The best action, or a sampled outcome.
        if t.kind[s] == CHANCE:
            edge = sample_edge(t, s, completion, c.rng[m])
        else:
            edge = explore_edge(t, s, completion, c.rng[m])
        t.visits[edge] += 1
        push(c, m, t.child[edge])


@inline
def is_finished(t, c, m, completion):
    """Is everything known, or the budget spent? The root is expanded whatever the budget."""
    root = c.root[m]
    if t.kind[root] == TERMINAL:
        return True
    if t.first_edge[root] == NONE:
        return False
    if completion and t.resolved[root]:
        return True
    return is_spent(t, c, m) or c.depth[m] >= c.max_depth[m] or c.patience[m] == 0


@inline
def is_spent(t, c, m):
    """Are as many nodes or evaluations used as there may be?"""
    nodes = c.nodes[m] + (t.nodes[0] - c.before[m] if c.length[m] > 0 else 0)
    return nodes >= c.max_nodes[m] or c.evaluations[m] >= c.max_evaluations[m]


@inline
def push(c, m, node):
    """Go down to `node`."""
    c.path[m, c.length[m]] = node
    c.length[m] += 1
    c.fresh[m] = 0
    c.depth[m] = max(c.depth[m], c.length[m] - 1)


@jit
def settle(trees, c, first, last, completion):
    """Back up the iterations under way, so that the trees can be read; they go on all the same."""
    for m in range(first, last):
        back_up_path(tree_of(trees, m), c, m, completion)


@inline
def back_up_path(t, c, m, completion):
    """New values for the states on the path, from its end to the root."""
    for i in range(c.length[m] - 1, -1, -1):
        if t.first_edge[c.path[m, i]] != NONE:
            backup(t, c.path[m, i], completion)


@inline
def end_iteration(t, c, m, completion):
    """Back up the values along the path, from its end to the root, and count what was added."""
    back_up_path(t, c, m, completion)
    c.length[m] = 0
    c.iterations[m] += 1
    added = t.nodes[0] - c.before[m]
    c.nodes[m] += max(1, added)
    if added == 0:  # counts as an evaluation too, so that every budget ends
        c.evaluations[m] += 1
    if not c.grew[m]:
        c.patience[m] -= 1

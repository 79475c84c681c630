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

from .backup import backup, explore_edge, sample_edge
from .constants import CHANCE, NONE
from .jit import inline, jit
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .tree import FULL, TERMINAL, expand, tree_of
from .values import OUTSIDE


@jit
def advance(trees, searches, first, last, unbounded, whole, settings, scratch, steps):
    """Let matches `first` to `last` search, each until it waits or ends, or for `steps` steps."""
    for row in range(first, last):
        if searches.status[row] == SEARCHING:
            search(tree_of(trees, row), searches, row, unbounded, whole, settings, scratch, steps)


@inline
def search(tree, searches, row, unbounded, whole, settings, scratch, steps):
    """descent_iteration, again and again; each step of the loop is a state on the path."""
    completion = settings.completion
    for _ in range(steps):
        # 1. Between iterations: is there anything left to do?
        if searches.length[row] == 0:
            if is_finished(tree, searches, row, completion):
                searches.status[row] = DONE
                return
            searches.before[row] = tree.nodes[0]
            searches.grew[row] = 0
            push(searches, row, searches.root[row])

        # 2. A terminal state, or one that is resolved, ends the iteration.
        s = searches.path[row, searches.length[row] - 1]
        if tree.kind[s] == TERMINAL:
            end_iteration(tree, searches, row, completion)
            continue

        # 3. A state that is not in S is expanded; its children are valued in one batch.
        if tree.first_edge[s] == NONE:
            new = NONE
            if s == searches.root[row] or whole or not is_spent(tree, searches, row):
                new = expand(tree, s, searches.leaves[row], settings, searches.d_seed[row], scratch)
            if new == FULL:  # the path is kept: a larger store can go on from here
                searches.status[row] = NO_ROOM
                return
            if new == NONE:
                end_iteration(tree, searches, row, completion)
                searches.status[row] = DONE
                return
            searches.fresh[row] = 1
            searches.grew[row] = 1
            searches.evaluations[row] += new
            if new > 0 and settings.evaluator == OUTSIDE:
                searches.waiting[row] = new
                searches.status[row] = WAITING
                return

        # 4. Another path may have resolved a child meanwhile, so back up before going on.
        if completion:
            backup(tree, s, completion)
            if tree.resolved[s]:
                end_iteration(tree, searches, row, completion)
                continue

        # 5. Unbounded: a newly expanded state ends the iteration. Descent: keep going down.
        if (
            (unbounded and searches.fresh[row])
            or searches.length[row] == searches.path.shape[1]
            or searches.length[row] > searches.max_depth[row]
        ):
            end_iteration(tree, searches, row, completion)
            continue

        # 6. The best action, or a sampled outcome.
        if tree.kind[s] == CHANCE:
            edge = sample_edge(tree, s, completion, searches.rng[row])
        else:
            edge = explore_edge(tree, s, completion, searches.rng[row])
        tree.visits[edge] += 1
        push(searches, row, tree.child[edge])


@inline
def is_finished(tree, searches, row, completion):
    """Is everything known, or the budget spent? The root is expanded whatever the budget."""
    root = searches.root[row]
    if tree.kind[root] == TERMINAL:
        return True
    if tree.first_edge[root] == NONE:
        return False
    if completion and tree.resolved[root]:
        return True
    return (
        is_spent(tree, searches, row)
        or searches.depth[row] >= searches.max_depth[row]
        or searches.patience[row] == 0
    )


@inline
def is_spent(tree, searches, row):
    """Are as many nodes or evaluations used as there may be?"""
    nodes = searches.nodes[row] + (tree.nodes[0] - searches.before[row] if searches.length[row] > 0 else 0)
    return nodes >= searches.max_nodes[row] or searches.evaluations[row] >= searches.max_evaluations[row]


@inline
def push(searches, row, node):
    """Go down to `node`."""
    searches.path[row, searches.length[row]] = node
    searches.length[row] += 1
    searches.fresh[row] = 0
    searches.depth[row] = max(searches.depth[row], searches.length[row] - 1)


@jit
def settle(trees, searches, first, last, completion):
    """Back up the iterations under way, so that the trees can be read; they go on all the same."""
    for row in range(first, last):
        back_up_path(tree_of(trees, row), searches, row, completion)


@inline
def back_up_path(tree, searches, row, completion):
    """New values for the states on the path, from its end to the root."""
    for i in range(searches.length[row] - 1, -1, -1):
        if tree.first_edge[searches.path[row, i]] != NONE:
            backup(tree, searches.path[row, i], completion)


@inline
def end_iteration(tree, searches, row, completion):
    """Back up the values along the path, from its end to the root, and count what was added."""
    back_up_path(tree, searches, row, completion)
    searches.length[row] = 0
    searches.iterations[row] += 1
    added = tree.nodes[0] - searches.before[row]
    searches.nodes[row] += max(1, added)
    if added == 0:  # counts as an evaluation too, so that every budget ends
        searches.evaluations[row] += 1
    if not searches.grew[row]:
        searches.patience[row] -= 1

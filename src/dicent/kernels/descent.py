"""Descent Minimax and Descent Expectiminimax, with and without completion.

An iteration goes from the root to the end of a game. It expands each state that is not in S, and continues
with the best child; at a chance state it samples an outcome. Then it backs up values along the path: the
maximum, the minimum, or the mean by probability. With completion the search never revisits a resolved state.
The paper's recursion is a path here, so that a search can pause while its leaves wait for values.

The paper checks its budget between iterations only (`whole`). Otherwise a spent budget ends an iteration at
a state that has a value and is not expanded.

The paper's games have no cycles. Where positions recur, an iteration also ends at a state that is on its path
already, so that it never walks in circles. See `end_on_cycle` for what happens next.

Unbounded Minimax and its expectiminimax form differ in one line: an iteration ends with the state that it
has expanded.

Legend: s is a state (a node on the path), S the expanded states, and v, c, r and n are as in `tree.py`.
"""

from . import rules
from .backup import any_edge, backup, explore_edge, sample_edge
from .constants import CHANCE, NONE
from .jit import inline, jit
from .searches import DONE, NO_ROOM, SEARCHING, WAITING
from .tree import FULL, TERMINAL, expand, tree_of
from .values import OUTSIDE


@jit
def advance(trees, searches, first, last, unbounded, whole, settings, scratch, steps):
    """Advance searches `first` to `last`, each until it waits or ends, or for `steps` steps."""
    for row in range(first, last):
        if searches.status[row] == SEARCHING:
            search(tree_of(trees, row), searches, row, unbounded, whole, settings, scratch, steps)


@inline
def search(tree, searches, row, unbounded, whole, settings, scratch, steps):
    """Run descent_iteration repeatedly; each step of the loop is a state on the path."""
    completion = settings.completion
    for _ in range(steps):
        # 1. Between iterations, check whether the search is finished.
        if searches.length[row] == 0:
            if is_finished(tree, searches, row, completion):
                searches.status[row] = DONE
                return
            searches.before[row] = tree.nodes[0]
            searches.grew[row] = 0
            push(tree, searches, row, searches.root[row])

        # 2. A terminal state ends the iteration.
        s = searches.path[row, searches.length[row] - 1]
        if tree.kind[s] == TERMINAL:
            end_iteration(tree, searches, row, completion)
            continue

        # 3. Expand a state that is not in S; its children are evaluated in one batch.
        if tree.first_edge[s] == NONE:
            new = NONE
            if s == searches.root[row] or whole or not is_spent(tree, searches, row):
                new = expand(tree, s, searches.leaves[row], settings, searches.d_seed[row], scratch)
            if new == FULL:  # the path stays, so that the search can resume in a larger tree
                searches.status[row] = NO_ROOM
                return
            if new == NONE:
                end_iteration(tree, searches, row, completion)
                searches.status[row] = DONE
                return
            searches.fresh[row] = 1
            searches.grew[row] = 1
            searches.evaluations[row] += new
            if new > 0 and settings.evaluator.kind == OUTSIDE:
                searches.waiting[row] = new
                searches.status[row] = WAITING
                return

        # 4. Another path may have resolved a child meanwhile, so back up first.
        if completion:
            backup(tree, s, completion)
            if tree.resolved[s]:
                end_iteration(tree, searches, row, completion)
                continue

        # 5. Unbounded: a newly expanded state ends the iteration. Descent continues within the budget.
        if (
            (unbounded and searches.fresh[row])
            or searches.length[row] == searches.path.shape[1]
            or searches.length[row] > searches.max_depth[row]
            or (not whole and not searches.fresh[row] and is_spent(tree, searches, row))
        ):
            end_iteration(tree, searches, row, completion)
            continue

        # 6. Take the best action, or sample an outcome.
        if tree.kind[s] == CHANCE:
            edge = sample_edge(tree, s, completion, searches.rng[row])
        elif searches.detour[row]:
            edge = any_edge(tree, s, completion, searches.rng[row])
        else:
            edge = explore_edge(tree, s, completion, searches.rng[row])
        tree.visits[edge] += 1

        # 7. A state that is on the path already ends the iteration, and keeps its value.
        if tree.on_path[tree.child[edge]]:
            end_on_cycle(tree, searches, row, completion)
        else:
            push(tree, searches, row, tree.child[edge])


@inline
def is_finished(tree, searches, row, completion):
    """Return whether the root is resolved or the budget spent. The root is expanded in any case."""
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
    """Return whether the budget of nodes or evaluations is spent."""
    charged = searches.charged[row]
    nodes = searches.nodes[row] + (tree.nodes[0] - searches.before[row] if searches.length[row] > 0 else 0)
    return (
        nodes + charged >= searches.max_nodes[row]
        or searches.evaluations[row] + charged >= searches.max_evaluations[row]
    )


@inline
def push(tree, searches, row, node):
    """Append `node` to the path."""
    tree.on_path[node] = 1
    searches.path[row, searches.length[row]] = node
    searches.length[row] += 1
    searches.fresh[row] = 0
    searches.depth[row] = max(searches.depth[row], searches.length[row] - 1)


@jit
def settle(trees, searches, first, last, completion):
    """Back up the iterations under way, so that the trees can be read. The iterations then continue."""
    for row in range(first, last):
        back_up_path(tree_of(trees, row), searches, row, completion)


@inline
def back_up_path(tree, searches, row, completion):
    """Back up the states on the path, from its end to the root."""
    for i in range(searches.length[row] - 1, -1, -1):
        if tree.first_edge[searches.path[row, i]] != NONE:
            backup(tree, searches.path[row, i], completion)


@inline
def end_on_cycle(tree, searches, row, completion):
    """End an iteration at a state of its own path.

    Nothing in a cycle ever resolves. If the iteration has expanded no state either, the next one would take
    the same actions again, and the values of the others would never improve. So the next one makes a detour
    by random actions.
    """
    steps = searches.length[row] - 1
    stalled = not searches.grew[row]
    detour = searches.detour[row]
    end_iteration(tree, searches, row, completion)
    if stalled:
        searches.detour[row] = 1 - detour
        if not rules.CYCLIC:  # the rules do not state their cycles; otherwise the steps are charged already
            searches.charged[row] += steps


@inline
def end_iteration(tree, searches, row, completion):
    """Back up the states on the path, and count the nodes that the iteration added."""
    back_up_path(tree, searches, row, completion)
    steps = searches.length[row] - 1
    for i in range(searches.length[row]):
        tree.on_path[searches.path[row, i]] = 0
    searches.length[row] = 0
    searches.detour[row] = 0
    searches.iterations[row] += 1
    added = tree.nodes[0] - searches.before[row]
    searches.nodes[row] += added
    if added == 0:
        searches.charged[row] += 1
    if not searches.grew[row]:
        searches.patience[row] -= 1
        if rules.CYCLIC:  # a walk can be long and expand nothing
            searches.charged[row] += steps

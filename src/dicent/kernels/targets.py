"""Training targets: states of search trees with their values, from whole trees or from layers."""

from . import rules
from .constants import CHANCE, NONE, ONGOING
from .hashing import find_slot
from .jit import copy, i64, jit
from .tree import TERMINAL, tree_of


@jit
def tree_data(trees, members, determinized, states, values, ends):
    """List the training states of the trees of `members` with their values; tree i ends at `ends[i]`."""
    n = 0
    for i in range(len(members)):
        n = add_tree(tree_of(trees, members[i]), determinized, states, values, n)
        ends[i] = n


@jit
def add_tree(tree, determinized, states, values, n):
    """Append the expanded and the finished states of a tree with their values; return the new count.

    If d resolves chance, a chance state has the value of the state that d leads to, and is included only if
    that state is (the paper's set D_d).
    """
    for node in range(tree.nodes[0]):
        if tree.kind[node] != TERMINAL and tree.first_edge[node] == NONE:
            continue
        source = node
        if determinized:
            while tree.kind[source] == CHANCE and tree.first_edge[source] != NONE:
                source = i64(tree.child[tree.first_edge[source]])
            if tree.kind[source] != TERMINAL and tree.first_edge[source] == NONE:
                continue
        copy(states[n], tree.state[node])
        values[n] = tree.value[source]
        n += 1
    return n


@jit
def layer_data(trees, starts, depth, members, determinized, scratch, states, values, plies, left, ends):
    """List the training states of the trees of `members` with their values; tree i ends at `ends[i]`.

    `plies` holds the ply of each state, `left` the number of plies searched below it.
    """
    n = 0
    for i in range(len(members)):
        row = members[i]
        tree = tree_of(trees, row)
        n = add_layers(tree, starts[row], depth[row], determinized, scratch, states, values, plies, left, n)
        ends[i] = n


@jit
def add_layers(tree, starts, depth, determinized, scratch, states, values, plies, left, n):
    """Append the backed-up states, and the finished states down to that depth; return the new count.

    If d resolves chance, chance states are not in the tree, and are reconstructed from the edges.
    """
    inner = starts[depth]
    layer = 0
    for node in range(starts[depth + 1]):
        while node == starts[layer + 1]:
            layer += 1
        expanded = node < inner and tree.first_edge[node] != NONE
        if not expanded and tree.kind[node] != TERMINAL:
            continue
        copy(states[n], tree.state[node])
        values[n] = tree.value[node]
        plies[n] = tree.ply[node]
        left[n] = depth - layer
        n += 1
        if determinized and expanded and tree.kind[node] != CHANCE:
            n = add_jumped(tree, node, inner, depth - layer - 1, scratch, states, values, plies, left, n)
    return n


@jit
def add_jumped(tree, node, inner, rest, scratch, states, values, plies, left, n):
    """Append the chance states between a decision and those of its children that are training states."""
    for edge in range(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node]):
        child = tree.child[edge]
        if tree.kind[child] == TERMINAL or (child < inner and tree.first_edge[child] != NONE):
            copy(scratch.state, tree.state[node])
            rules.apply_action(scratch.state, tree.choice[edge])
            if rules.result(scratch.state) == ONGOING and rules.to_play(scratch.state) == CHANCE:
                copy(states[n], scratch.state)
                values[n] = tree.value[child]
                plies[n] = tree.ply[child]
                left[n] = rest
                n += 1
    return n


@jit
def deepest(states, plies, left, slots, chosen):
    """Mark each state of a ply once in `chosen`: the row that was searched deepest, the last of equals.

    `slots` is full of NONE, its length a power of two and at least twice the number of rows.
    """
    for i in range(len(states)):
        slot = find_slot(slots, states, plies, states[i], plies[i], 0)
        if slots[slot] == NONE or left[i] >= left[slots[slot]]:
            slots[slot] = i
    for slot in range(len(slots)):
        if slots[slot] != NONE:
            chosen[slots[slot]] = True

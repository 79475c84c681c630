"""Layers: what is learned of the trees that an iterative deepening has grown, layer by layer."""

from . import rules
from .constants import CHANCE, NONE, ONGOING
from .jit import copy, i64, jit, u64
from .leaf import hash_state
from .tree import TERMINAL, equal, tree_of


@jit
def layer_data(trees, starts, depth, members, determinized, work, states, values, plies, left, ends):
    """The states that are learned of the trees of `members`; each one's end at `ends`.

    `plies` say which ply each state is of, `left` how many plies were searched below it.
    """
    n = 0
    for i in range(len(members)):
        m = members[i]
        t = tree_of(trees, m)
        n = add_layers(t, starts[m], depth[m], determinized, work, states, values, plies, left, n)
        ends[i] = n


@jit
def add_layers(t, starts, depth, determinized, work, states, values, plies, left, n):
    """Append what is backed up, and the finished states down to that depth; returns how many there are.

    Where chance is resolved by d, its states are not in the tree: they come up again along the edges.
    """
    inner = starts[depth]
    layer = 0
    for node in range(starts[depth + 1]):
        while node == starts[layer + 1]:
            layer += 1
        expanded = node < inner and t.first_edge[node] != NONE
        if not expanded and t.kind[node] != TERMINAL:
            continue
        copy(states[n], t.state[node])
        values[n] = t.value[node]
        plies[n] = t.ply[node]
        left[n] = depth - layer
        n += 1
        if determinized and expanded and t.kind[node] != CHANCE:
            n = add_jumped(t, node, inner, depth - layer - 1, work, states, values, plies, left, n)
    return n


@jit
def add_jumped(t, node, inner, rest, work, states, values, plies, left, n):
    """Append the chance states that lie between a decision and those of its children that are learned."""
    for edge in range(t.first_edge[node], t.first_edge[node] + t.num_edges[node]):
        child = t.child[edge]
        if t.kind[child] == TERMINAL or (child < inner and t.first_edge[child] != NONE):
            copy(work.state, t.state[node])
            rules.apply_action(work.state, t.choice[edge])
            if rules.result(work.state) == ONGOING and rules.to_play(work.state) == CHANCE:
                copy(states[n], work.state)
                values[n] = t.value[child]
                plies[n] = t.ply[child]
                left[n] = rest
                n += 1
    return n


@jit
def deepest(states, plies, left, slots, chosen):
    """Mark in `chosen` each state of a ply once: where it was searched deepest, the last of equals.

    `slots` have room for twice as many rows, are a power of two, and hold NONE.
    """
    mask = len(slots) - 1
    for i in range(len(states)):
        slot = i64(hash_state(states[i], plies[i]) & u64(mask))
        while slots[slot] != NONE:
            other = i64(slots[slot])
            if plies[other] == plies[i] and equal(states[other], states[i]):
                break
            slot = (slot + 1) & mask
        if slots[slot] == NONE or left[i] >= left[slots[slot]]:
            slots[slot] = i
    for slot in range(len(slots)):
        if slots[slot] != NONE:
            chosen[slots[slot]] = True

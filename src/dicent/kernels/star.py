"""Expectiminimax depth first, with alpha-beta at decisions and Star1 and Star2 at chance (Ballard 1983).

Values lie in [-1, 1]. At a chance node a window [alpha, beta] for the mean gives each outcome a window
of its own, since the outcomes not yet searched can add no more than their bounds (Star1). Two plies from the
leaves one action after each outcome is looked at first, which often shows that the mean lies beyond the
window (Star2). The value found is that of the full-width search, in fewer nodes; it takes an evaluator that
native code runs itself. The recursion is a loop over a stack in arrays, so that it can pause.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, MAX, NONE, ONGOING
from .jit import copy, i64, inline, jit, u64
from .leaf import hash_state, leaf_value
from .tree import equal

LEAST, MOST = -1.0, 1.0  # of any value
WORTHWHILE = 3  # plies from which on the table saves more than it costs


class Star(NamedTuple):
    """A line of up to D plies, and a table of T states (T a power of two)."""

    state: np.ndarray  # [D + 1, S]
    actions: np.ndarray  # [D + 1, A]  legal actions, in the order to be tried
    p: np.ndarray  # [D + 1, O]  probabilities of outcomes
    width: np.ndarray  # [D + 1]  how many children there are; NONE at a node just reached
    child: np.ndarray  # [D + 1]  the one that is searched
    alpha: np.ndarray  # [D + 1]  the window
    beta: np.ndarray  # [D + 1]
    value: np.ndarray  # [D + 1]  best so far, or the sum over the outcomes so far
    best: np.ndarray  # [D + 1]  the best action so far
    rest: np.ndarray  # [D + 1]  probability of the outcomes not yet searched
    low: np.ndarray  # [O]  bounds of the outcomes of one chance node
    high: np.ndarray  # [O]
    key: np.ndarray  # [T, S]  the table: states,
    depth: np.ndarray  # [T]  how deep they were searched (0: an empty place),
    lower: np.ndarray  # [T]  the bounds found,
    upper: np.ndarray  # [T]
    advice: np.ndarray  # [T]  and the best action
    counts: np.ndarray  # [2]  nodes and evaluations so far
    kind: int  # of the evaluator
    seed: int
    games: int


@jit
def search(w, work, depth, level, returned, steps):
    """Search on from `level` for at most `steps` steps; returns the level and the value found there.

    A level of -1 says that the value is that of the root, `depth` plies deep.
    """
    v = returned
    for _ in range(steps):
        if level < 0:
            break
        if w.width[level] == NONE:
            done, v = enter(w, work, level, depth - level)
        else:
            done, v = take(w, level, v)
        if not done:
            done, v = next_child(w, level)
        if done:
            leave(w, level, depth - level, v)
            level -= 1
        else:
            level += 1
            w.width[level] = NONE
    return level, v


@jit
def enter(w, work, level, depth):
    """A node just reached: is its value known at once? Else list its children."""
    s = w.state[level]
    w.counts[0] += 1
    w.child[level] = NONE
    result = rules.result(s)
    if result != ONGOING:
        return True, float(result)
    if depth == 0:
        w.counts[1] += 1
        return True, leaf_value(s, w.kind, w.seed, w.games, work)
    if depth == 1:
        return True, one_ply(w, work, level)
    if depth == 2:
        return True, two_plies(w, work, level)
    if rules.to_play(s) == CHANCE:
        w.width[level] = list_children(w, level)
        w.value[level] = 0.0
        w.rest[level] = 1.0
        return False, 0.0
    slot = slot_of(w, s) if depth >= WORTHWHILE else 0
    known = depth >= WORTHWHILE and w.depth[slot] > 0 and equal(w.key[slot], s)
    if known and w.depth[slot] == depth:
        if w.lower[slot] >= w.beta[level] or w.lower[slot] == w.upper[slot]:
            return True, w.lower[slot]
        if w.upper[slot] <= w.alpha[level]:
            return True, w.upper[slot]
    w.width[level] = list_children(w, level)
    if known:
        to_front(w.actions[level], w.width[level], w.advice[slot])
    w.value[level] = 2.0 * LEAST if rules.to_play(s) == MAX else 2.0 * MOST
    w.best[level] = NONE
    return False, 0.0


@inline
def list_children(w, level):
    """How many children the state on a level has; its actions or probabilities are written down."""
    s = w.state[level]
    if rules.to_play(s) == CHANCE:
        return rules.outcomes(s, w.p[level])
    return rules.legal_actions(s, w.actions[level])


@inline
def make_child(w, level, i):
    """Make child `i` of the state on a level, one level below."""
    s = w.state[level]
    copy(w.state[level + 1], s)
    if rules.to_play(s) == CHANCE:
        rules.apply_outcome(w.state[level + 1], i)
    else:
        rules.apply_action(w.state[level + 1], w.actions[level, i])


@jit
def one_ply(w, work, level):
    """The value of a state one ply deep, without the ado of the stack."""
    s, below = w.state[level], w.state[level + 1]
    player = rules.to_play(s)
    n = list_children(w, level)
    total, best, judged = 0.0, 2.0 * LEAST, 0
    for i in range(n):
        make_child(w, level, i)
        result = rules.result(below)
        if result == ONGOING:
            judged += 1
            v = leaf_value(below, w.kind, w.seed, w.games, work)
        else:
            v = float(result)
        if player == CHANCE:
            total += w.p[level, i] * v
        else:
            best = max(best, player * v)
            if best >= MOST:  # nothing is better
                break
    w.counts[0] += n
    w.counts[1] += judged
    return total if player == CHANCE else player * best


@jit
def two_plies(w, work, level):
    """The same two plies deep."""
    s, below = w.state[level], w.state[level + 1]
    player = rules.to_play(s)
    n = list_children(w, level)
    lower, upper = LEAST, MOST
    narrow = player == CHANCE and (w.alpha[level] > LEAST or w.beta[level] < MOST)
    if narrow:
        lower, upper = probe(w, work, level, n)
    total, best = 0.0, 2.0 * LEAST
    for i in range(n):
        if narrow and lower >= w.beta[level]:
            return lower
        if narrow and upper <= w.alpha[level]:
            return upper
        make_child(w, level, i)
        result = rules.result(below)
        v = float(result) if result != ONGOING else one_ply(w, work, level + 1)
        if player == CHANCE:
            total += w.p[level, i] * v
            lower += w.p[level, i] * (v - w.low[i])
            upper += w.p[level, i] * (v - w.high[i])
        else:
            best = max(best, player * v)
            if best >= MOST:
                break
    w.counts[0] += n
    return total if player == CHANCE else player * best


@jit
def probe(w, work, level, n):
    """Bounds of a chance node two plies deep, from one action after each of its n outcomes (Star2)."""
    s, below, last = w.state[level], w.state[level + 1], w.state[level + 2]
    lower, upper = 0.0, 0.0
    for i in range(n):
        copy(below, s)
        rules.apply_outcome(below, i)
        low, high = LEAST, MOST
        result = rules.result(below)
        player = rules.to_play(below)
        if result != ONGOING:
            low = high = float(result)
        elif player != CHANCE:
            rules.legal_actions(below, w.actions[level + 1])
            copy(last, below)
            rules.apply_action(last, w.actions[level + 1, 0])
            result = rules.result(last)
            v = float(result) if result != ONGOING else leaf_value(last, w.kind, w.seed, w.games, work)
            if player == MAX:
                low = v
            else:
                high = v
        w.low[i], w.high[i] = low, high
        lower += w.p[level, i] * low
        upper += w.p[level, i] * high
    w.counts[0] += 2 * n
    return lower, upper


@jit
def next_child(w, level):
    """Go to the next child, in its window; or find that the node is done."""
    s = w.state[level]
    w.child[level] += 1
    i = w.child[level]
    if i == w.width[level]:
        return True, w.value[level]
    make_child(w, level, i)
    if rules.to_play(s) != CHANCE:
        low, high = w.alpha[level], w.beta[level]
        if rules.to_play(s) == MAX:
            low = max(low, w.value[level])
        else:
            high = min(high, w.value[level])
    else:
        p = w.p[level, i]
        w.rest[level] -= p
        low = (w.alpha[level] - w.value[level] - MOST * w.rest[level]) / p
        high = (w.beta[level] - w.value[level] - LEAST * w.rest[level]) / p
        if low >= MOST:  # not even the best outcomes reach alpha
            return True, w.value[level] + MOST * (p + w.rest[level])
        if high <= LEAST:
            return True, w.value[level] + LEAST * (p + w.rest[level])
    w.alpha[level + 1] = low
    w.beta[level + 1] = high
    return False, 0.0


@jit
def take(w, level, v):
    """Take in the value of the child that was searched; does it decide the node's?"""
    s = w.state[level]
    i = w.child[level]
    if rules.to_play(s) == CHANCE:
        w.value[level] += w.p[level, i] * v
        if v <= w.alpha[level + 1]:
            return True, w.value[level] + MOST * w.rest[level]
        if v >= w.beta[level + 1]:
            return True, w.value[level] + LEAST * w.rest[level]
        return False, 0.0
    sign = 1.0 if rules.to_play(s) == MAX else -1.0
    if sign * v > sign * w.value[level]:
        w.value[level] = v
        w.best[level] = w.actions[level, i]
    cut = w.value[level] >= w.beta[level] if sign > 0.0 else w.value[level] <= w.alpha[level]
    return cut, w.value[level]


@jit
def leave(w, level, depth, v):
    """Keep what was found out about a decision in the table."""
    s = w.state[level]
    if depth < WORTHWHILE or w.width[level] == NONE or rules.to_play(s) == CHANCE:
        return
    slot = slot_of(w, s)
    copy(w.key[slot], s)
    w.depth[slot] = depth
    w.advice[slot] = w.best[level]
    w.lower[slot] = v if v > w.alpha[level] else LEAST
    w.upper[slot] = v if v < w.beta[level] else MOST


@jit
def slot_of(w, s):
    """The place of a state in the table; what stood there before is written over."""
    return i64(hash_state(s, 0) & u64(len(w.depth) - 1))


@jit
def to_front(actions, n, action):
    """Move `action` to the front of the first `n`."""
    for i in range(n):
        if actions[i] == action:
            actions[i] = actions[0]
            actions[0] = action
            return

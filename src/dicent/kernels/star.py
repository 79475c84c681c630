"""Expectiminimax depth first, with alpha-beta at decisions and Star1 and Star2 at chance (Ballard 1983).

Values lie in [-1, 1]. At a chance node a window [alpha, beta] for the mean gives each outcome its own window,
since the outcomes not yet searched can add no more than their bounds (Star1). Two plies from the leaves the
search first tries one action after each outcome, which often shows that the mean is outside the window
(Star2). The value is that of the full-width search, from fewer nodes. The evaluator must be native. The
recursion is a loop over a stack in arrays, so that it can pause.

Legend: s is a state, v a value for MAX, p the probability of an outcome.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, MAX, NONE, ONGOING
from .hashing import equal, home_slot
from .jit import copy, inline, jit
from .values import Native, leaf_value

LEAST, MOST = -1.0, 1.0  # bounds of all values
WORTHWHILE = 3  # the least depth at which the table saves more than it costs


class Star(NamedTuple):
    """A line of up to D plies, and a table of T states (T a power of two)."""

    state: np.ndarray  # [D + 1, S]
    actions: np.ndarray  # [D + 1, A]  legal actions, in the order to be tried
    p: np.ndarray  # [D + 1, O]  probabilities of outcomes
    width: np.ndarray  # [D + 1]  the number of children; NONE at a node just reached
    child: np.ndarray  # [D + 1]  the child that is searched
    alpha: np.ndarray  # [D + 1]  the window
    beta: np.ndarray  # [D + 1]
    value: np.ndarray  # [D + 1]  best so far, or the sum over the outcomes so far
    best: np.ndarray  # [D + 1]  the best action so far
    rest: np.ndarray  # [D + 1]  probability of the outcomes not yet searched
    low: np.ndarray  # [O]  bounds of the outcomes of one chance node
    high: np.ndarray  # [O]
    key: np.ndarray  # [T, S]  the table: states,
    depth: np.ndarray  # [T]  the depth searched (0: a free slot),
    lower: np.ndarray  # [T]  the bounds found,
    upper: np.ndarray  # [T]
    advice: np.ndarray  # [T]  and the best action
    counts: np.ndarray  # [2]  nodes and evaluations so far
    evaluator: Native


@jit
def search(stack, scratch, depth, level, returned, steps):
    """Continue from `level` for at most `steps` steps; return the level and the value found there.

    A level of -1 says that the value is that of the root, `depth` plies deep.
    """
    v = returned
    for _ in range(steps):
        if level < 0:
            break
        if stack.width[level] == NONE:
            done, v = enter(stack, scratch, level, depth - level)
        else:
            done, v = take(stack, level, v)
        if not done:
            done, v = next_child(stack, level)
        if done:
            leave(stack, level, depth - level, v)
            level -= 1
        else:
            level += 1
            stack.width[level] = NONE
    return level, v


@jit
def enter(stack, scratch, level, depth):
    """Enter a node: return True and its value if it is known at once, else list its children."""
    s = stack.state[level]
    stack.counts[0] += 1
    stack.child[level] = NONE
    result = rules.result(s)
    if result != ONGOING:
        return True, float(result)
    if depth == 0:
        stack.counts[1] += 1
        return True, leaf_value(s, stack.evaluator, scratch)
    if depth == 1:
        return True, one_ply(stack, scratch, level)
    if depth == 2:
        return True, two_plies(stack, scratch, level)
    if rules.to_play(s) == CHANCE:
        stack.width[level] = list_children(stack, level)
        stack.value[level] = 0.0
        stack.rest[level] = 1.0
        return False, 0.0
    slot = slot_of(stack, s) if depth >= WORTHWHILE else 0
    known = depth >= WORTHWHILE and stack.depth[slot] > 0 and equal(stack.key[slot], s)
    if known and stack.depth[slot] == depth:
        if stack.lower[slot] >= stack.beta[level] or stack.lower[slot] == stack.upper[slot]:
            return True, stack.lower[slot]
        if stack.upper[slot] <= stack.alpha[level]:
            return True, stack.upper[slot]
    stack.width[level] = list_children(stack, level)
    if known:
        to_front(stack.actions[level], stack.width[level], stack.advice[slot])
    stack.value[level] = 2.0 * LEAST if rules.to_play(s) == MAX else 2.0 * MOST
    stack.best[level] = NONE
    return False, 0.0


@inline
def list_children(stack, level):
    """List the actions or probabilities of the state on a level; return the number of children."""
    s = stack.state[level]
    if rules.to_play(s) == CHANCE:
        return rules.outcomes(s, stack.p[level])
    return rules.legal_actions(s, stack.actions[level])


@inline
def make_child(stack, level, i):
    """Make child `i` of the state on a level, one level below."""
    s = stack.state[level]
    copy(stack.state[level + 1], s)
    if rules.to_play(s) == CHANCE:
        rules.apply_outcome(stack.state[level + 1], i)
    else:
        rules.apply_action(stack.state[level + 1], stack.actions[level, i])


@jit
def one_ply(stack, scratch, level):
    """Return the value of a state one ply deep, without stack overhead."""
    s, below = stack.state[level], stack.state[level + 1]
    player = rules.to_play(s)
    n = list_children(stack, level)
    total, best, evaluated = 0.0, 2.0 * LEAST, 0
    for i in range(n):
        make_child(stack, level, i)
        result = rules.result(below)
        if result == ONGOING:
            evaluated += 1
            v = leaf_value(below, stack.evaluator, scratch)
        else:
            v = float(result)
        if player == CHANCE:
            total += stack.p[level, i] * v
        else:
            best = max(best, player * v)
            if best >= MOST:  # nothing is better
                break
    stack.counts[0] += n
    stack.counts[1] += evaluated
    return total if player == CHANCE else player * best


@jit
def two_plies(stack, scratch, level):
    """Return the value of a state two plies deep, without stack overhead."""
    s, below = stack.state[level], stack.state[level + 1]
    player = rules.to_play(s)
    n = list_children(stack, level)
    lower, upper = LEAST, MOST
    narrow = player == CHANCE and (stack.alpha[level] > LEAST or stack.beta[level] < MOST)
    if narrow:
        lower, upper = probe(stack, scratch, level, n)
    total, best = 0.0, 2.0 * LEAST
    for i in range(n):
        if narrow and lower >= stack.beta[level]:
            return lower
        if narrow and upper <= stack.alpha[level]:
            return upper
        make_child(stack, level, i)
        result = rules.result(below)
        v = float(result) if result != ONGOING else one_ply(stack, scratch, level + 1)
        if player == CHANCE:
            total += stack.p[level, i] * v
            lower += stack.p[level, i] * (v - stack.low[i])
            upper += stack.p[level, i] * (v - stack.high[i])
        else:
            best = max(best, player * v)
            if best >= MOST:
                break
    stack.counts[0] += n
    return total if player == CHANCE else player * best


@jit
def probe(stack, scratch, level, n):
    """Return bounds of a chance node two plies deep, from one action after each of n outcomes (Star2)."""
    s, below, last = stack.state[level], stack.state[level + 1], stack.state[level + 2]
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
            rules.legal_actions(below, stack.actions[level + 1])
            copy(last, below)
            rules.apply_action(last, stack.actions[level + 1, 0])
            result = rules.result(last)
            v = float(result) if result != ONGOING else leaf_value(last, stack.evaluator, scratch)
            if player == MAX:
                low = v
            else:
                high = v
        stack.low[i], stack.high[i] = low, high
        lower += stack.p[level, i] * low
        upper += stack.p[level, i] * high
    stack.counts[0] += 2 * n
    return lower, upper


@jit
def next_child(stack, level):
    """Prepare the next child and its window; return True and the value if the node is done."""
    s = stack.state[level]
    stack.child[level] += 1
    i = stack.child[level]
    if i == stack.width[level]:
        return True, stack.value[level]
    make_child(stack, level, i)
    if rules.to_play(s) != CHANCE:
        low, high = stack.alpha[level], stack.beta[level]
        if rules.to_play(s) == MAX:
            low = max(low, stack.value[level])
        else:
            high = min(high, stack.value[level])
    else:
        p = stack.p[level, i]
        stack.rest[level] -= p
        low = (stack.alpha[level] - stack.value[level] - MOST * stack.rest[level]) / p
        high = (stack.beta[level] - stack.value[level] - LEAST * stack.rest[level]) / p
        if low >= MOST:  # not even the best outcomes reach alpha
            return True, stack.value[level] + MOST * (p + stack.rest[level])
        if high <= LEAST:
            return True, stack.value[level] + LEAST * (p + stack.rest[level])
    stack.alpha[level + 1] = low
    stack.beta[level + 1] = high
    return False, 0.0


@jit
def take(stack, level, v):
    """Combine the value of the child just searched; return True and the value if that decides the node."""
    s = stack.state[level]
    i = stack.child[level]
    if rules.to_play(s) == CHANCE:
        stack.value[level] += stack.p[level, i] * v
        if v <= stack.alpha[level + 1]:
            return True, stack.value[level] + MOST * stack.rest[level]
        if v >= stack.beta[level + 1]:
            return True, stack.value[level] + LEAST * stack.rest[level]
        return False, 0.0
    sign = 1.0 if rules.to_play(s) == MAX else -1.0
    if sign * v > sign * stack.value[level]:
        stack.value[level] = v
        stack.best[level] = stack.actions[level, i]
    cut = stack.value[level] >= stack.beta[level] if sign > 0.0 else stack.value[level] <= stack.alpha[level]
    return cut, stack.value[level]


@jit
def leave(stack, level, depth, v):
    """Store the bounds of a decision in the table."""
    s = stack.state[level]
    if depth < WORTHWHILE or stack.width[level] == NONE or rules.to_play(s) == CHANCE:
        return
    slot = slot_of(stack, s)
    copy(stack.key[slot], s)
    stack.depth[slot] = depth
    stack.advice[slot] = stack.best[level]
    stack.lower[slot] = v if v > stack.alpha[level] else LEAST
    stack.upper[slot] = v if v < stack.beta[level] else MOST


@jit
def slot_of(stack, s):
    """Return the slot of a state in the table, which replaces an earlier state there."""
    return home_slot(s, 0, len(stack.depth))


@jit
def to_front(actions, n, action):
    """Move `action` to the front of the first `n`."""
    for i in range(n):
        if actions[i] == action:
            actions[i] = actions[0]
            actions[0] = action
            return

"""Expectiminimax depth first, with alpha-beta at decisions and Star1 and Star2 at chance (Ballard 1983).

Values lie in [-1, 1]. At a chance node a window [alpha, beta] for the mean gives each outcome its own window,
since the outcomes not yet searched can add no more than their bounds (Star1). Two plies from the leaves the
search first tries one action after each outcome, which often shows that the mean is outside the window
(Star2). The value is that of the full-width search, from fewer nodes. The evaluator must be native. The
recursion is a loop over a stack in arrays, so that it can pause.

A value is sure if it comes from results alone. Such a value is the same at any greater depth.

Legend: s is a state, v a value for MAX, p the probability of an outcome.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, MAX, NONE, ONGOING
from .hashing import equal, home_slot
from .jit import copy, inline, jit
from .last_plies import LEAST, MOST, is_spent, list_children, make_child, one_ply, rounded, two_plies
from .values import Native, leaf_value

WORTHWHILE = 3  # the least depth at which the table saves more than it costs
MARGIN = 1e-9  # actions at the root that are worse by more than this may get bounds in place of values


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
    sure: np.ndarray  # [D + 1]  1 if the value so far is sure
    low: np.ndarray  # [O]  bounds of the outcomes of one chance node
    high: np.ndarray  # [O]
    key: np.ndarray  # [T, S]  the table: states,
    writer: np.ndarray  # [T]  the number of the search that wrote them,
    depth: np.ndarray  # [T]  the depth searched,
    lower: np.ndarray  # [T]  the bounds found,
    upper: np.ndarray  # [T]
    known: np.ndarray  # [T]  whether these are sure,
    advice: np.ndarray  # [T]  and the best action
    found: np.ndarray  # [C]  the values of the root's children, in the order to be tried,
    found_sure: np.ndarray  # [C]  whether these are sure,
    inner: np.ndarray  # [C, O]  and the values after the outcomes of each child
    counts: np.ndarray  # [2]  nodes and evaluations so far
    most: np.ndarray  # [2]  the limit of both
    level: np.ndarray  # [1]  the level reached; NONE: the search has ended
    returned: np.ndarray  # [1]  the value of the child just searched
    number: int  # of the search; entries of others in the table are free
    whole: int  # 1: the root's children, and the outcomes after them, get exact values
    evaluator: Native


@jit
def begin(stack, action_order):
    """Begin the search of the state on level 0, which is not finished.

    `action_order` [n] has the actions in the order to be tried; at a chance state nothing reads it.
    """
    s = stack.state[0]
    stack.level[0] = 0
    stack.width[0] = list_children(stack, 0)
    stack.child[0] = NONE
    stack.alpha[0], stack.beta[0] = 2.0 * LEAST, 2.0 * MOST
    stack.best[0] = NONE
    stack.rest[0] = 1.0
    stack.sure[0] = 1
    if rules.to_play(s) == CHANCE:
        stack.value[0] = 0.0
    else:
        copy(stack.actions[0], action_order)
        stack.value[0] = 2.0 * LEAST if rules.to_play(s) == MAX else 2.0 * MOST
    next_child(stack, 0)
    stack.level[0] = 1
    stack.width[1] = NONE


@jit
def search(stack, scratch, depth, nodes):
    """Continue the search that `begin` began, until there are so many nodes; return whether it has ended.

    It also returns when `stack.counts` reach `stack.most`, which an expansion may exceed.
    """
    level, v = stack.level[0], stack.returned[0]
    while level >= 0:
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
        if stack.counts[0] >= nodes or is_spent(stack):
            break
    stack.level[0], stack.returned[0] = level, v
    return level < 0


@jit
def enter(stack, scratch, level, depth):
    """Enter a node: return True and its value if it is known at once, else list its children."""
    s = stack.state[level]
    stack.counts[0] += 1
    stack.child[level] = NONE
    stack.sure[level] = 1
    result = rules.result(s)
    if result != ONGOING:
        return True, float(result)
    if depth == 0:
        stack.counts[1] += 1
        stack.sure[level] = 0
        return True, leaf_value(s, stack.evaluator, scratch)
    player = rules.to_play(s)
    if level > 1 or player != CHANCE or not stack.whole:
        if depth == 1:
            return True, one_ply(stack, scratch, level)
        if depth == 2:
            done, v = two_plies(stack, scratch, level)
            if done:
                return True, v
            stack.sure[level] = 1  # the limit came first: continue child by child
    if player == CHANCE:
        stack.width[level] = list_children(stack, level)
        stack.value[level] = 0.0
        stack.rest[level] = 1.0
        return False, 0.0
    slot = slot_of(stack, s) if depth >= WORTHWHILE else 0
    known = depth >= WORTHWHILE and stack.writer[slot] == stack.number and equal(stack.key[slot], s)
    if known and (stack.depth[slot] == depth or (stack.known[slot] and stack.depth[slot] < depth)):
        stack.sure[level] = stack.known[slot]
        if stack.lower[slot] >= stack.beta[level] or stack.lower[slot] == stack.upper[slot]:
            return True, stack.lower[slot]
        if stack.upper[slot] <= stack.alpha[level]:
            return True, stack.upper[slot]
        stack.sure[level] = 1
    stack.width[level] = list_children(stack, level)
    if known:
        to_front(stack.actions[level], stack.width[level], stack.advice[slot])
    stack.value[level] = 2.0 * LEAST if player == MAX else 2.0 * MOST
    stack.best[level] = NONE
    return False, 0.0


@jit
def next_child(stack, level):
    """Prepare the next child and its window; return True and the value if the node is done."""
    s = stack.state[level]
    stack.child[level] += 1
    i = stack.child[level]
    if i == stack.width[level]:
        return True, settled(stack, level, 0.0)
    make_child(stack, level, i)
    low, high = stack.alpha[level], stack.beta[level]
    if rules.to_play(s) != CHANCE:
        if level == 0:
            low, high = root_window(stack, low, high)
        elif rules.to_play(s) == MAX:
            low = max(low, stack.value[level])
        else:
            high = min(high, stack.value[level])
    else:
        p = stack.p[level, i]
        stack.rest[level] -= p
        low = (low - stack.value[level] - MOST * stack.rest[level]) / p
        high = (high - stack.value[level] - LEAST * stack.rest[level]) / p
        if low >= MOST:  # not even the best outcomes reach alpha
            return True, settled(stack, level, MOST * (p + stack.rest[level]))
        if high <= LEAST:
            return True, settled(stack, level, LEAST * (p + stack.rest[level]))
    stack.alpha[level + 1] = low
    stack.beta[level + 1] = high
    return False, 0.0


@inline
def settled(stack, level, rest):
    """Return the value of a node whose other outcomes add `rest`."""
    v = stack.value[level] + rest
    return rounded(v) if stack.sure[level] else v


@inline
def root_window(stack, low, high):
    """Return the window of an action at the root: the widest, unless only the best action matters."""
    if stack.whole:
        return low, high
    if rules.to_play(stack.state[0]) == MAX:
        return max(low, stack.value[0] - MARGIN), high
    return low, min(high, stack.value[0] + MARGIN)


@jit
def take(stack, level, v):
    """Combine the value of the child just searched; return True and the value if that decides the node."""
    s = stack.state[level]
    i, sure = stack.child[level], stack.sure[level + 1]
    if level == 0:
        stack.found[i], stack.found_sure[i] = v, sure
    if rules.to_play(s) == CHANCE:
        if level == 1:
            stack.inner[stack.child[0], i] = v
        stack.sure[level] &= sure
        stack.value[level] += stack.p[level, i] * v
        if v <= stack.alpha[level + 1]:
            return True, settled(stack, level, MOST * stack.rest[level])
        if v >= stack.beta[level + 1]:
            return True, settled(stack, level, LEAST * stack.rest[level])
        return False, 0.0
    sign = 1.0 if rules.to_play(s) == MAX else -1.0
    if sign * v > sign * stack.value[level]:
        stack.value[level] = v
        stack.best[level] = stack.actions[level, i]
    if sure and sign * v >= MOST and not (level == 0 and stack.whole):  # a proved win
        stack.sure[level] = 1
        return True, v
    stack.sure[level] &= sure
    cut = stack.value[level] >= stack.beta[level] if sign > 0.0 else stack.value[level] <= stack.alpha[level]
    return cut, stack.value[level]


@jit
def leave(stack, level, depth, v):
    """Store the bounds of a decision in the table."""
    s = stack.state[level]
    if depth < WORTHWHILE or stack.width[level] == NONE or rules.to_play(s) == CHANCE or level == 0:
        return
    slot = slot_of(stack, s)
    copy(stack.key[slot], s)
    stack.writer[slot] = stack.number
    stack.depth[slot] = depth
    stack.advice[slot] = stack.best[level]
    stack.lower[slot] = v if v > stack.alpha[level] else LEAST
    stack.upper[slot] = v if v < stack.beta[level] else MOST
    stack.known[slot] = stack.sure[level]


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

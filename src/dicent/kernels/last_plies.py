"""The last two plies of a pruned search, without stack overhead (`star.py`).

Legend: s is a state, v a value for MAX.
"""

from . import rules
from .constants import CHANCE, MAX, ONGOING
from .jit import copy, inline, jit
from .values import leaf_value

LEAST, MOST = -1.0, 1.0  # bounds of all values
ROUNDING = 1e-13  # a sure mean that is so close to 1 or -1 is 1 or -1


@inline
def is_spent(stack):
    """Return whether the counts have reached the limit."""
    return stack.counts[0] >= stack.most[0] or stack.counts[1] >= stack.most[1]


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
    total, best, evaluated, sure = 0.0, 2.0 * LEAST, 0, 0
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
                sure = 1 if result != ONGOING else 0
                break
    stack.counts[0] += n
    stack.counts[1] += evaluated
    stack.sure[level] = 1 if sure or evaluated == 0 else 0
    if player != CHANCE:
        return player * best
    return rounded(total) if evaluated == 0 else total


@jit
def two_plies(stack, scratch, level):
    """Return True and the value of a state two plies deep, without stack overhead.

    Return False if the limit comes first.
    """
    s, below = stack.state[level], stack.state[level + 1]
    player = rules.to_play(s)
    n = list_children(stack, level)
    stack.counts[0] += n
    lower, upper = LEAST, MOST
    narrow = player == CHANCE and (stack.alpha[level] > LEAST or stack.beta[level] < MOST)
    if narrow:
        lower, upper = probe(stack, scratch, level, n)
    total, best, sure = 0.0, 2.0 * LEAST, 1
    for i in range(n):
        if narrow and (lower >= stack.beta[level] or upper <= stack.alpha[level]):
            stack.sure[level] = 0
            return True, lower if lower >= stack.beta[level] else upper
        if is_spent(stack):
            return False, 0.0
        make_child(stack, level, i)
        result = rules.result(below)
        stack.sure[level + 1] = 1
        v = float(result) if result != ONGOING else one_ply(stack, scratch, level + 1)
        sure &= stack.sure[level + 1]
        if player == CHANCE:
            total += stack.p[level, i] * v
            lower += stack.p[level, i] * (v - stack.low[i])
            upper += stack.p[level, i] * (v - stack.high[i])
        else:
            best = max(best, player * v)
            if best >= MOST:
                sure = stack.sure[level + 1]
                break
    stack.sure[level] = sure
    if player != CHANCE:
        return True, player * best
    return True, rounded(total) if sure else total


@inline
def rounded(v):
    """Return a sure mean without the rounding errors of a proof."""
    if v > MOST - ROUNDING:
        return MOST
    return LEAST if v < LEAST + ROUNDING else v


@jit
def probe(stack, scratch, level, n):
    """Return bounds of a chance node two plies deep, from one action after each of n outcomes (Star2).

    Outcomes beyond the limit keep the widest bounds.
    """
    s, below, last = stack.state[level], stack.state[level + 1], stack.state[level + 2]
    lower, upper = 0.0, 0.0
    for i in range(n):
        low, high = LEAST, MOST
        if not is_spent(stack):
            copy(below, s)
            rules.apply_outcome(below, i)
            result = rules.result(below)
            player = rules.to_play(below)
            stack.counts[0] += 1
            if result != ONGOING:
                low = high = float(result)
            elif player != CHANCE:
                rules.legal_actions(below, stack.actions[level + 1])
                copy(last, below)
                rules.apply_action(last, stack.actions[level + 1, 0])
                v = float(rules.result(last))
                stack.counts[0] += 1
                if rules.result(last) == ONGOING:
                    stack.counts[1] += 1
                    v = leaf_value(last, stack.evaluator, scratch)
                if player == MAX:
                    low = v
                else:
                    high = v
        stack.low[i], stack.high[i] = low, high
        lower += stack.p[level, i] * low
        upper += stack.p[level, i] * high
    return lower, upper

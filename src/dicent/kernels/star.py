"""Expectiminimax depth first, with alpha-beta at decisions and Star1 and Star2 at chance (Ballard).

Values lie in [-1, 1]. At a chance node a window [alpha, beta] for the mean gives each outcome a window
of its own, since the outcomes not yet searched can add no more than their bounds (Star1); probing one
action after each outcome first makes these bounds tighter (Star2). The value found is that of the
full-width search, in fewer nodes; it takes an evaluator that native code runs itself.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, MAX, NONE, ONGOING
from .jit import copy, i64, jit, u64
from .leaf import hash_state, leaf_value
from .tree import equal

LEAST, MOST = -1.0, 1.0


class Star(NamedTuple):
    """Memory for a search of up to D plies, with a table of T states (T a power of two)."""

    states: np.ndarray  # [D + 1, S]  the line of play
    actions: np.ndarray  # [D + 1, A]  legal actions on the line, in the order to be tried
    p: np.ndarray  # [D + 1, O]
    low: np.ndarray  # [D + 1, O]  what each outcome is worth at least
    high: np.ndarray  # [D + 1, O]  and at most
    key: np.ndarray  # [T, S]  the table: states,
    depth: np.ndarray  # [T]  how deep they were searched (0: an empty place),
    lower: np.ndarray  # [T]  the bounds found,
    upper: np.ndarray  # [T]
    best: np.ndarray  # [T]  and the best action
    counts: np.ndarray  # [2]  nodes and evaluations so far
    stop: np.ndarray  # [1]  set from outside to end the search
    kind: int  # of the evaluator
    seed: int
    games: int


@jit
def value(w, work, ply, depth, alpha, beta):
    """The value of the state on line `ply`, `depth` plies deep: exact inside the window, else a bound."""
    s = w.states[ply]
    w.counts[0] += 1
    result = rules.result(s)
    if result != ONGOING:
        return float(result)
    if depth == 0 or w.stop[0] != 0:
        w.counts[1] += 1
        return leaf_value(s, w.kind, w.seed, w.games, work)

    if rules.to_play(s) == CHANCE:
        n = rules.outcomes(s, w.p[ply])
        # 1. Bounds of each outcome: by one action after it (Star2), or those of any value (Star1).
        for o in range(n):
            w.low[ply, o] = LEAST
            w.high[ply, o] = MOST
            child = w.states[ply + 1]
            copy(child, s)
            rules.apply_outcome(child, o)
            if depth > 2 and rules.result(child) == ONGOING and rules.to_play(child) != CHANCE:
                rules.legal_actions(child, w.actions[ply + 1])
                first = find_best(w, child)
                copy(w.states[ply + 2], child)
                rules.apply_action(w.states[ply + 2], w.actions[ply + 1, 0] if first == NONE else first)
                if rules.to_play(child) == MAX:
                    w.low[ply, o] = max(LEAST, value(w, work, ply + 2, depth - 2, LEAST, MOST))
                else:
                    w.high[ply, o] = min(MOST, value(w, work, ply + 2, depth - 2, LEAST, MOST))
        rest_low, rest_high = 0.0, 0.0
        for o in range(n):
            rest_low += w.p[ply, o] * w.low[ply, o]
            rest_high += w.p[ply, o] * w.high[ply, o]
        # 2. Each outcome in its own window.
        total = 0.0
        for o in range(n):
            p = w.p[ply, o]
            rest_low -= p * w.low[ply, o]
            rest_high -= p * w.high[ply, o]
            a = (alpha - total - rest_high) / p
            b = (beta - total - rest_low) / p
            if w.high[ply, o] <= a:
                return total + p * w.high[ply, o] + rest_high
            if w.low[ply, o] >= b:
                return total + p * w.low[ply, o] + rest_low
            copy(w.states[ply + 1], s)
            rules.apply_outcome(w.states[ply + 1], o)
            v = value(w, work, ply + 1, depth - 1, max(LEAST, a), min(MOST, b))
            if v <= a:
                return total + p * v + rest_high
            if v >= b:
                return total + p * v + rest_low
            total += p * v
        return total

    # 3. A decision: bounds from the table may do; else the best action of an earlier search first.
    slot = i64(hash_state(s, 0) & u64(len(w.depth) - 1))
    known = w.depth[slot] > 0 and equal(w.key[slot], s)
    if known and w.depth[slot] == depth:
        if w.lower[slot] >= beta or w.lower[slot] == w.upper[slot]:
            return w.lower[slot]
        if w.upper[slot] <= alpha:
            return w.upper[slot]
    n = rules.legal_actions(s, w.actions[ply])
    if known:
        to_front(w.actions[ply], n, w.best[slot])
    low, high = alpha, beta
    sign = 1.0 if rules.to_play(s) == MAX else -1.0
    best = -sign * 2.0
    chosen = NONE
    for i in range(n):
        action = w.actions[ply, i]
        copy(w.states[ply + 1], s)
        rules.apply_action(w.states[ply + 1], action)
        v = value(w, work, ply + 1, depth - 1, low, high)
        if sign * v > sign * best:
            best = v
            chosen = action
        if sign > 0.0:
            low = max(low, best)
        else:
            high = min(high, best)
        if low >= high:
            break
    if w.stop[0] == 0:
        copy(w.key[slot], s)
        w.depth[slot] = depth
        w.best[slot] = chosen
        w.lower[slot] = best if best > alpha else LEAST
        w.upper[slot] = best if best < beta else MOST
    return best


@jit
def find_best(w, s):
    """The best action of a state by an earlier search, or NONE."""
    slot = i64(hash_state(s, 0) & u64(len(w.depth) - 1))
    if w.depth[slot] > 0 and equal(w.key[slot], s):
        return i64(w.best[slot])
    return NONE


@jit
def to_front(actions, n, action):
    """Move `action` to the front of the first `n`."""
    for i in range(n):
        if actions[i] == action:
            actions[i] = actions[0]
            actions[0] = action
            return


@jit
def root_value(w, work, s, depth):
    """The exact value of a state, `depth` plies deep."""
    copy(w.states[0], s)
    return value(w, work, 0, depth, 2 * LEAST, 2 * MOST)

"""Solve: the exact value of every state below a root, each worked out once.

The walk goes depth first over a line of play in arrays, so that it can pause. Values that are known lie
in a hash table with open addressing. A decision that chance has just led to is not kept: the chance
state before it is, and keeping a state for each roll of a die would cost seven times the memory.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, ONGOING
from .hashing import equal, home_slot, next_slot
from .jit import copy, inline, jit

ON_PATH = 9.0  # in place of a value: the state lies on the line of play, so meeting it again is a cycle

# Why the walk has paused.
PAUSED = 0  # the steps are used up, or the end is reached
FULL = 1  # the hash table wants to be larger
DEEP = 2  # the line of play wants to be longer
CYCLE = 3  # the last state of the line is on it already


class Known(NamedTuple):
    """A hash table of states with H slots (a power of two)."""

    state: np.ndarray  # [H, S]
    value: np.ndarray  # [H]  for MAX; NaN where there is no state, ON_PATH while it is worked out
    filled: np.ndarray  # [1]  states in it


class Line(NamedTuple):
    """A line of play of up to D states, the root first."""

    state: np.ndarray  # [D, S]
    actions: np.ndarray  # [D, A]
    p: np.ndarray  # [D, O]
    player: np.ndarray  # [D]  who is to play
    width: np.ndarray  # [D]  how many children the state has; -1 when it is new
    child: np.ndarray  # [D]  how many of them have been entered
    first: np.ndarray  # [D]  the value of the first of them
    value: np.ndarray  # [D]  of the children so far: their best, or their mean as far as it goes


@jit
def solve(known, line, level, most, steps):
    """Walk on from `level` for up to `steps` steps; returns the level and why the walk paused.

    At the end the level is -1 and `line.value[0]` is the root's value. `most` states fit into `known`.
    """
    for _ in range(steps):
        if line.width[level] < 0:  # a new state
            if level + 1 == len(line.width):
                return level, DEEP
            why = enter(known, line, level, most)
            if why != PAUSED:
                return level, why
        if line.child[level] < line.width[level]:
            go_down(line, level)
            level += 1
            continue
        s = line.state[level]
        if line.width[level] > 0 and is_kept(line, level):
            known.value[slot_of(known, s)] = line.value[level]
        if level == 0:
            return -1, PAUSED
        level -= 1
        take_in(line, level)
    return level, PAUSED


@jit
def enter(known, line, level, most):
    """Look at a new state. Without children (width 0) its value is known, by the rules or from before."""
    s = line.state[level]
    line.child[level] = 0
    result = rules.result(s)
    if result != ONGOING:
        line.width[level] = 0
        line.value[level] = result
        return PAUSED
    line.player[level] = rules.to_play(s)
    chance = line.player[level] == CHANCE
    if is_kept(line, level):
        slot = slot_of(known, s)
        value = known.value[slot]
        if value == ON_PATH:
            return CYCLE
        if not np.isnan(value):
            line.width[level] = 0
            line.value[level] = value
            return PAUSED
        if known.filled[0] >= most:
            return FULL
        copy(known.state[slot], s)
        known.value[slot] = ON_PATH
        known.filled[0] += 1
    if chance:
        line.width[level] = rules.outcomes(s, line.p[level])
    else:
        line.width[level] = rules.legal_actions(s, line.actions[level])
        line.value[level] = -2.0 * line.player[level]
    return PAUSED


@inline
def is_kept(line, level):
    """Does the table hold the state on this level of the line? Every cycle passes through one it holds."""
    return level == 0 or line.player[level] == CHANCE or line.player[level - 1] != CHANCE


@jit
def go_down(line, level):
    """Put the next child on the line."""
    s = line.state[level + 1]
    copy(s, line.state[level])
    i = line.child[level]
    if line.player[level] == CHANCE:
        rules.apply_outcome(s, i)
    else:
        rules.apply_action(s, line.actions[level, i])
    line.child[level] = i + 1
    line.width[level + 1] = -1


@inline
def take_in(line, level):
    """Give a state the value of the child that was worked out last."""
    value = line.value[level + 1]
    if line.player[level] == CHANCE:
        # A mean from the first value on, so that outcomes which are all worth the same give just that.
        if line.child[level] == 1:
            line.first[level] = value
            line.value[level] = value
        else:
            line.value[level] += line.p[level, line.child[level] - 1] * (value - line.first[level])
    elif line.player[level] * value > line.player[level] * line.value[level]:
        line.value[level] = value


@jit
def slot_of(known, s):
    """The slot of a state, or the empty slot where it belongs."""
    slot = home_slot(s, 0, len(known.value))
    while not np.isnan(known.value[slot]) and not equal(known.state[slot], s):
        slot = next_slot(slot, len(known.value))
    return slot


@jit
def move(known, larger, first, last):
    """Copy what is in slots `first` to `last` to a larger table."""
    for i in range(first, last):
        if not np.isnan(known.value[i]):
            slot = slot_of(larger, known.state[i])
            copy(larger.state[slot], known.state[i])
            larger.value[slot] = known.value[i]
            larger.filled[0] += 1

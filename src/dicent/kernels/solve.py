"""Solve: the exact value of every state below a root, each computed once.

The recursion is a loop over a line of play in arrays, so that it can pause. Known values are in a hash table
with open addressing. A decision directly after chance is not stored: the chance state before it is, and a
state for each roll of a die would cost seven times the memory.

Legend: s is a state.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, ONGOING
from .hashing import equal, home_slot, next_slot
from .jit import copy, inline, jit

ON_PATH = (
    np.inf
)  # in place of a value: the state is on the line of play, so that reaching it again is a cycle

# Why the loop paused.
PAUSED = 0  # the steps are used up, or the end is reached
FULL = 1  # the hash table must be larger
DEEP = 2  # the line of play must be longer
CYCLE = 3  # the last state of the line occurs earlier on it


class Known(NamedTuple):
    """A hash table of states with H slots (a power of two)."""

    state: np.ndarray  # [H, S]
    value: np.ndarray  # [H]  for MAX; NaN in a free slot, ON_PATH until the value is known
    filled: np.ndarray  # [1]  the number of states


class Line(NamedTuple):
    """A line of play of up to D states, the root first."""

    state: np.ndarray  # [D, S]
    actions: np.ndarray  # [D, A]
    p: np.ndarray  # [D, O]
    player: np.ndarray  # [D]  the player to move
    width: np.ndarray  # [D]  the number of children; -1 for a new state
    child: np.ndarray  # [D]  the number of them entered so far
    first: np.ndarray  # [D]  the value of the first child
    value: np.ndarray  # [D]  the best value of the children so far, or the partial mean


@jit
def solve(known, line, level, scores, most, steps):
    """Continue from `level` for up to `steps` steps; return the level and why the loop paused.

    At the end the level is -1 and `line.value[0]` is the root's value. `most` states fit into `known`. With
    `scores`, a finished game is worth its score instead of its result.
    """
    for _ in range(steps):
        if line.width[level] < 0:  # a new state
            if level + 1 == len(line.width):
                return level, DEEP
            why = enter(known, line, level, scores, most)
            if why != PAUSED:
                return level, why
        if line.child[level] < line.width[level]:
            go_down(line, level)
            level += 1
            continue
        s = line.state[level]
        if line.width[level] > 0 and is_stored(line, level):
            known.value[slot_of(known, s)] = line.value[level]
        if level == 0:
            return -1, PAUSED
        level -= 1
        absorb(line, level)
    return level, PAUSED


@jit
def enter(known, line, level, scores, most):
    """Enter a new state. Its width is 0 if its value is known, by the rules or from the table."""
    s = line.state[level]
    line.child[level] = 0
    result = rules.result(s)
    if result != ONGOING:
        line.width[level] = 0
        line.value[level] = float(rules.score(s)) if scores else float(result)
        return PAUSED
    line.player[level] = rules.to_play(s)
    chance = line.player[level] == CHANCE
    if is_stored(line, level):
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
        line.value[level] = -np.inf * line.player[level]
    return PAUSED


@inline
def is_stored(line, level):
    """Return whether the table stores the state at this level. Every cycle contains such a state."""
    return level == 0 or line.player[level] == CHANCE or line.player[level - 1] != CHANCE


@jit
def go_down(line, level):
    """Append the next child to the line."""
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
def absorb(line, level):
    """Combine the value of a state with that of the child solved last."""
    value = line.value[level + 1]
    if line.player[level] == CHANCE:
        # The mean is relative to the first value, so that equal values give exactly that value.
        if line.child[level] == 1:
            line.first[level] = value
            line.value[level] = value
        else:
            line.value[level] += line.p[level, line.child[level] - 1] * (value - line.first[level])
    elif line.player[level] * value > line.player[level] * line.value[level]:
        line.value[level] = value


@jit
def slot_of(known, s):
    """Return the slot of a state, or the free slot where it belongs."""
    slot = home_slot(s, 0, len(known.value))
    while not np.isnan(known.value[slot]) and not equal(known.state[slot], s):
        slot = next_slot(slot, len(known.value))
    return slot


@jit
def move(known, larger, first, last):
    """Copy slots `first` to `last` to a larger table."""
    for i in range(first, last):
        if not np.isnan(known.value[i]):
            slot = slot_of(larger, known.state[i])
            copy(larger.state[slot], known.state[i])
            larger.value[slot] = known.value[i]
            larger.filled[0] += 1

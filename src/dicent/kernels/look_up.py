"""Values of states from a table of solved ones, such as a file holds."""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, NONE, ONGOING
from .graph import canonical, end_value
from .hashing import equal, home_slot, next_slot
from .jit import copy, i64, jit


class Solved(NamedTuple):
    """N states, each the smallest of its images under symmetries, and their values."""

    state: np.ndarray  # [N, S]
    value: np.ndarray  # [N]
    slots: np.ndarray  # [H]  states by hash


@jit
def enter(solved, first, last, room):
    """Enter states `first` to `last` by hash; of equal images, such as a walk stores, the first counts."""
    for i in range(first, last):
        if canonical(solved.state[i], room) < 0:
            solved.value[i] = -solved.value[i]
        copy(solved.state[i], room.best)
        slot, row = find(solved, room.best)
        if row == NONE:
            solved.slots[slot] = i


@jit
def find(solved, s):
    """Return the slot of a canonical state and its row; NONE for the row if it is not there."""
    slot = home_slot(s, 0, len(solved.slots))
    while solved.slots[slot] != NONE:
        row = i64(solved.slots[slot])
        if equal(solved.state[row], s):
            return slot, row
        slot = next_slot(slot, len(solved.slots))
    return slot, i64(NONE)


@jit
def look_up(solved, states, values, scores, room):
    """Write the values of states [B, S] to `values` [B]; NaN if a state, or one after it, is not there."""
    for i in range(len(states)):
        values[i] = value_of(solved, states[i], scores, room)


@jit
def value_of(solved, s, scores, room):
    """Return the value of a state. Decisions right after a roll follow from the next states."""
    value = stored_value(solved, s, scores, room)
    player = rules.to_play(s)
    if value == value or player == CHANCE:
        return value
    n = rules.legal_actions(s, room.actions)
    for i in range(n):
        copy(room.after, s)
        rules.apply_action(room.after, room.actions[i])
        other = stored_value(solved, room.after, scores, room)
        if other != other:
            return other
        if i == 0 or player * other > player * value:
            value = other
    return value


@jit
def stored_value(solved, s, scores, room):
    result = rules.result(s)
    if result != ONGOING:
        return end_value(s, result, scores)
    sign = canonical(s, room)
    _, row = find(solved, room.best)
    return np.nan if row == NONE else sign * solved.value[row]

"""The tablebase kernel: locate positions, compute their values, look them up.

A tablebase holds the probability that the side to move wins before its roll,
in three bytes each. Positions that are equivalent by reflection, by a swap of colours, or by numbers
that let the same pieces move share a value (`index.py` explains the arrays).
"""

from typing import NamedTuple

import numpy as np

from dicent.kernels import rules
from dicent.kernels.constants import MAX, ONGOING
from dicent.kernels.jit import copy, i64, inline, jit

SURE = (1 << 24) - 1  # how a sure win is written
UNIT = 1.0 / SURE
NOBODY = -1


class Index(NamedTuple):
    """Arrays that locate positions: L sets of labels, a bit each, in C classes; K pieces a side."""

    label_class: np.ndarray  # [L]
    flipped: np.ndarray  # [L]  1 where the class lists the pieces from the highest number down
    symmetric: np.ndarray  # [C]  1 where either order is right
    single: np.ndarray  # [L, K]  how many rolls let only the piece of this rank move
    either: np.ndarray  # [L, K]  how many leave a choice between it and the next
    place: np.ndarray  # row of the larger side's cells, twice, plus 1 where the board is to be reflected
    place_start: np.ndarray  # [C]  where the places of a class begin in `place`
    corner_row: np.ndarray  # [C]  first row in which the larger side stands on the smaller's target
    width: np.ndarray  # [C, C, 2]  arrangements of the smaller side in a row, before and after that row
    base: np.ndarray  # [C, C, 2]  where a block begins, by the classes and whether the larger side moves
    reflection: np.ndarray  # [N]  of each of the board's cells
    step: np.ndarray  # [2, N, 3]  where a side's piece goes; OFF the board
    target: np.ndarray  # [2]
    faces: int  # of the die
    pieces: int  # covered, in total


class Position(NamedTuple):
    """A position without its die, and memory to look it up in."""

    cells: np.ndarray  # [2, K]  of each side's pieces by rank, MAX first
    labels: np.ndarray  # [2]  the set of each side
    number: np.ndarray  # [2]  of pieces
    larger: np.ndarray  # [K]  cells of the larger side, in the order of its class
    smaller: np.ndarray  # [K]  of the smaller side
    best: np.ndarray  # [K]  what moving each piece is worth


@jit
def locate(index, position, mover):
    """Return the place of a position with side `mover` to roll."""
    larger = (
        0
        if position.number[0] > position.number[1]
        or (position.number[0] == position.number[1] and mover == 0)
        else 1
    )
    larger_class = index.label_class[position.labels[larger]]
    smaller_class = index.label_class[position.labels[1 - larger]]
    row = place_larger(index, position, larger, larger_class)
    place_smaller(index, position, larger, smaller_class, row & 1)
    row >>= 1
    corner = index.corner_row[larger_class]
    block = index.base[larger_class, smaller_class, i64(mover == larger)]
    width = index.width[larger_class, smaller_class]
    if row < corner:
        return block + row * width[0] + rank(index, position, larger, smaller_class)
    start = corner * width[0] + (row - corner) * width[1]
    return block + start + rank(index, position, larger, smaller_class)


@inline
def place_larger(index, position, larger, larger_class):
    """Return the larger side's entry of `place`; write its cells, perhaps reflected, to `larger`."""
    count = position.number[larger]
    last = len(index.reflection) - 1
    flipped = index.flipped[position.labels[larger]]
    code = 0
    for piece in range(count):
        cell = position.cells[larger, count - 1 - piece if flipped else piece]
        position.larger[piece] = last - cell if larger == 1 else cell
        code = code * last + position.larger[piece]
    entry = i64(index.place[index.place_start[larger_class] + code])
    if entry & 1:
        for piece in range(count):
            position.larger[piece] = index.reflection[position.larger[piece]]
    return entry


@inline
def place_smaller(index, position, larger, smaller_class, reflected):
    """Write the smaller side's cells to `smaller`, seen by the larger side, in the order of the class."""
    count = position.number[1 - larger]
    last = len(index.reflection) - 1
    flipped = index.flipped[position.labels[1 - larger]]
    for piece in range(count):
        cell = position.cells[1 - larger, count - 1 - piece if flipped else piece]
        cell = last - cell if larger == 1 else cell
        position.smaller[piece] = index.reflection[cell] if reflected else cell
    if index.symmetric[smaller_class] and position.smaller[0] > position.smaller[count - 1]:
        for piece in range(count // 2):
            cell, opposite = position.smaller[piece], count - 1 - piece
            position.smaller[piece] = position.smaller[opposite]
            position.smaller[opposite] = cell


@inline
def rank(index, position, larger, smaller_class):
    """Return the number of the smaller side's arrangement among all on the free cells."""
    larger_count, smaller_count = position.number[larger], position.number[1 - larger]
    free = len(index.reflection) - 1 - larger_count  # its target is not free either
    for piece in range(larger_count):
        free += position.larger[piece] == 0
    if index.symmetric[smaller_class] and smaller_count > 1:  # the outer two in either order
        low, high = digit(position, larger_count, 0, 0), digit(position, larger_count, 0, smaller_count - 1)
        place = high * (high - 1) // 2 + low
        free -= 2
        for piece in range(1, smaller_count - 1):
            is_above = position.smaller[smaller_count - 1] < position.smaller[piece]
            place = place * free + digit(position, larger_count, piece, piece) - is_above
            free -= 1
        return place
    place = 0
    for piece in range(smaller_count):
        place = place * free + digit(position, larger_count, piece, piece)
        free -= 1
    return place


@inline
def digit(position, larger_count, before, piece):
    """Count the cells below that of `piece` in `smaller` that `larger` and `smaller[:before]` leave free."""
    cell = position.smaller[piece]
    free = cell - 1  # cell 0 is its target
    for other in range(larger_count):
        free -= 0 < position.larger[other] < cell
    for other in range(before):
        free -= position.smaller[other] < cell
    return free


@inline
def read(data, place):
    """Return the value at a place."""
    return (i64(data[3 * place]) | i64(data[3 * place + 1]) << 8 | i64(data[3 * place + 2]) << 16) * UNIT


@inline
def write(data, place, value):
    """Write a value, rounded; only what is sure is written as sure."""
    number = i64(value * SURE + 0.5)
    if 0.0 < value < 1.0:
        number = min(max(number, 1), SURE - 1)
    data[3 * place] = number & 255
    data[3 * place + 1] = number >> 8 & 255
    data[3 * place + 2] = number >> 16


@jit
def expected(index, data, position, side):
    """Return the probability that `side` wins before its roll, from the next positions."""
    count = position.number[side]
    for rank in range(count):
        cell = position.cells[side, rank]
        best = 0.0
        for direction in range(3):
            to = index.step[side, cell, direction]
            if to >= 0:
                best = max(best, moved(index, data, position, side, rank, to))
        position.best[rank] = best
    total = 0.0
    labels = position.labels[side]
    for rank in range(count):
        total += index.single[labels, rank] * position.best[rank]
        if rank + 1 < count:
            total += index.either[labels, rank] * max(position.best[rank], position.best[rank + 1])
    return total / index.faces  # whole numbers first: a sure win is exactly 1


@jit
def moved(index, data, position, side, rank, to):
    """Return the win probability of `side` after its piece of `rank` moves to the cell `to`."""
    if to == index.target[side]:
        return 1.0
    owner, captured = find(position, to)
    if owner == 1 - side and position.number[owner] == 1:
        return 1.0
    cell = position.cells[side, rank]
    position.cells[side, rank] = to
    labels = 0
    if owner >= 0:
        labels = take_off(position, owner, captured)
    value = 1.0 - read(data, locate(index, position, 1 - side))
    if owner >= 0:
        put_back(position, owner, captured, labels, to)
    position.cells[side, rank] = cell
    return value


@inline
def find(position, cell):
    """Return side and rank of the piece on a cell; NOBODY and 0 if it is empty."""
    for side in range(2):
        for rank in range(position.number[side]):
            if position.cells[side, rank] == cell:
                return side, rank
    return NOBODY, 0


@inline
def take_off(position, side, rank):
    """Take the piece of a rank off the board; return the labels before."""
    labels = position.labels[side]
    rest = labels
    for _ in range(rank):
        rest &= rest - 1  # without its lowest bit
    position.labels[side] = labels ^ (rest & -rest)
    position.number[side] -= 1
    for place in range(rank, position.number[side]):
        position.cells[side, place] = position.cells[side, place + 1]
    return labels


@inline
def put_back(position, side, rank, labels, cell):
    """Undo `take_off`."""
    for place in range(position.number[side], rank, -1):
        position.cells[side, place] = position.cells[side, place - 1]
    position.cells[side, rank] = cell
    position.number[side] += 1
    position.labels[side] = labels


@jit
def fill(
    index, data, position, rows, mask, distance, others, other_mask, other_start, total, both, first, last
):
    """Compute positions of two classes with `total` steps to go, rows `first` to `last`.

    rows         [R, k]   arrangements of MAX's k pieces, as in the table; `position` has both sides' labels
    mask         [R]      their cells, a bit each
    distance     [R]      how far they have to go
    others       [Q, l]   arrangements of MIN's l pieces, by how far they have to go
    other_mask   [Q]
    other_start  [T + 1]  where those begin that have 0, 1, ... steps to go
    both                  1 where MAX has more pieces, so that these rows serve with MIN to move too
    """
    for row in range(first, last):
        left = total - distance[row]
        if left < 0 or left + 1 >= len(other_start):
            continue
        copy(position.cells[0, : rows.shape[1]], rows[row])
        for other in range(other_start[left], other_start[left + 1]):
            if mask[row] & other_mask[other] == 0:
                copy(position.cells[1, : others.shape[1]], others[other])
                for side in range(1 + both):
                    write(data, locate(index, position, side), expected(index, data, position, side))


@jit
def set_position(index, position, s):
    """Read a state of an unfinished game; return whether the tablebase covers it."""
    position.number[0] = 0
    position.number[1] = 0
    total = 0
    for i in range(2 * rules.PIECES):
        total += s[i] != rules.OFF
    if total > index.pieces or s[rules.DIE] == rules.PLACING:
        return False
    for side in range(2):
        position.labels[side] = 0
        for piece in range(rules.PIECES):
            cell = i64(s[rules.PIECES * side + piece])
            if cell != rules.OFF:
                position.cells[side, position.number[side]] = cell
                position.number[side] += 1
                position.labels[side] |= 1 << piece
    return position.number[0] > 0 and position.number[1] > 0


@jit
def state_value(index, data, position, s):
    """Return the value for MAX of a state before a roll or after the game; NaN if not covered."""
    result = rules.result(s)
    if result != ONGOING:
        return float(result)
    if not set_position(index, position, s):
        return np.nan
    win = read(data, locate(index, position, 0 if s[rules.MOVER] == MAX else 1))
    return s[rules.MOVER] * (2.0 * win - 1.0)


@jit
def probe(index, data, position, states, values, after, actions):
    """Write the values [B] for MAX of `states` [B, S], before or after a roll; NaN for others.

    after [S] and actions [A] are scratch.
    """
    for i in range(len(states)):
        s = states[i]
        mover = i64(s[rules.MOVER])
        rolled = s[rules.DIE] > 0 and rules.result(s) == ONGOING
        values[i] = np.nan
        if rolled and not set_position(index, position, s):
            continue
        n = rules.legal_actions(s, actions) if rolled else 1
        for j in range(n):
            copy(after, s)
            if rolled:
                rules.apply_action(after, actions[j])
            value = state_value(index, data, position, after)
            if j == 0 or mover * value > mover * values[i]:
                values[i] = value

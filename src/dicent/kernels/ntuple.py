"""An n-tuple network: the sum of one number from the table of each tuple of squares.

A square is a place of the input planes with all its cells. A cell is active if it is not 0. Each tuple has a
key for every cell of its squares. The sum of the keys of the active cells, modulo the size of a table, is the
number's place in the table. So the sums of all tuples are the first layer of a sparse network (`sparse.py`).
Keys are whole numbers in rows of float32, small enough for exact sums.

Legend: s is a state.
"""

import math

import numpy as np

from .jit import i64, jit
from .sparse import BLANK, ZERO, active_features, add_rows

LARGEST_SUM = 1 << 24  # of the keys of one tuple: float32 holds all whole numbers below it
MOST_BITS = 18  # of a place in a table


@jit
def ntuple_value(s, evaluator, scratch):
    """Return the value of a state for MAX.

    `evaluator.weights` holds the keys of all features, then the tables, and the bias. `evaluator.units` is
    the number of tuples, and `evaluator.second` the size of a table, a power of two.
    """
    tuples, size = evaluator.units, evaluator.second
    weights, sums = evaluator.weights, scratch.units[0]
    n, side = active_features(s, scratch)
    for j in range(tuples):
        sums[j] = ZERO
    add_rows(scratch.features, n, weights, tuples, sums)
    at = (BLANK + 1) * tuples
    value = np.float64(weights[at + tuples * size])
    for j in range(tuples):
        value += weights[at + j * size + (i64(sums[j]) & (size - 1))]
    if evaluator.bounded:
        value = math.tanh(value)
    return side * value

"""An n-tuple network: the sum of one number from the table of each tuple of squares.

A square is a place of the input planes with all its cells. A cell is active if it is not 0. Each tuple has a
key for every cell of its squares. The sum of the keys of the active cells, modulo the size of a table, is the
number's place in the table. The keys of a cell are its row (`features.py`): whole numbers in float32, small
enough for exact sums.
"""

import numpy as np

from .features import BLANK, ZERO, add_rows
from .jit import i64, inline

LARGEST_SUM = 1 << 24  # of the keys of one tuple: float32 holds all whole numbers below it
MOST_BITS = 18  # of a place in a table


@inline
def tables_value(n, evaluator, scratch):
    """Return the value behind the first `n` of `scratch.features`.

    `evaluator.weights` holds the keys of all features, then the tables, and the bias. `evaluator.units` is
    the number of tuples, and `evaluator.second` the size of a table, a power of two.
    """
    tuples, size = evaluator.units, evaluator.second
    weights, sums = evaluator.weights, scratch.units[0]
    for j in range(tuples):
        sums[j] = ZERO
    add_rows(scratch.features, n, weights, tuples, sums)
    at = (BLANK + 1) * tuples
    value = np.float64(weights[at + tuples * size])
    for j in range(tuples):
        value += weights[at + j * size + (i64(sums[j]) & (size - 1))]
    return value

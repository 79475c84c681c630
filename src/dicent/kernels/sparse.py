"""A sparse network: the sum of one row of weights per active feature, one or two small layers, one value.

All layers add rows to a vector of outputs, four rows at a time (`features.py`). Further layers add the rows
of positive inputs only, which they list first: ReLU makes zeros of more than half of all inputs.
"""

import numpy as np

from . import rules
from .features import BLANK, ZERO, add_rows, add_weighted_rows
from .jit import inline


@inline
def layers_value(n, evaluator, scratch):
    """Return the value behind the first `n` of `scratch.features`.

    `evaluator.weights` holds the rows of all features, the biases of the first layer, then for each further
    layer its rows, one for each input, and its biases.
    """
    units, second, third = evaluator.units, evaluator.second, evaluator.third
    weights, one, two = evaluator.weights, scratch.units[0], scratch.units[1]
    first_layer(n, weights, units, one, scratch)
    at = (BLANK + 2) * units
    next_layer(one, units, weights, at, second, two, scratch.chosen)
    at += (units + 1) * second
    if third > 0:
        next_layer(two, second, weights, at, third, one, scratch.chosen)
        return output(one, third, weights, at + (second + 1) * third)
    return output(two, second, weights, at)


@inline
def first_layer(n, weights, units, sums, scratch):
    """Write the sums of the rows of all active features."""
    first = weights[(BLANK + 1) * units : (BLANK + 2) * units]
    for j in range(units):
        sums[j] = first[j]
    if rules.LISTS_FEATURES:
        add_rows(scratch.features, n, weights, units, sums)
    else:
        add_weighted_rows(scratch.features, n, scratch.strengths, weights, units, sums)


@inline
def next_layer(inputs, count, weights, at, units, sums, chosen):
    """Write the outputs of a layer after ReLU of its inputs; its rows begin at `at`."""
    n = 0
    for i in range(count):  # without branches: nobody can predict them
        chosen[n] = i
        n += inputs[i] > ZERO
    first = weights[at + count * units : at + (count + 1) * units]
    for j in range(units):
        sums[j] = first[j]
    fours = n - n % 4
    for i in range(0, fours, 4):
        p, q = inputs[chosen[i]], inputs[chosen[i + 1]]
        x, y = inputs[chosen[i + 2]], inputs[chosen[i + 3]]
        a, b = at + chosen[i] * units, at + chosen[i + 1] * units
        c, d = at + chosen[i + 2] * units, at + chosen[i + 3] * units
        row_a, row_b = weights[a : a + units], weights[b : b + units]
        row_c, row_d = weights[c : c + units], weights[d : d + units]
        for j in range(units):
            sums[j] += (p * row_a[j] + q * row_b[j]) + (x * row_c[j] + y * row_d[j])
    for i in range(fours, n):
        p, a = inputs[chosen[i]], at + chosen[i] * units
        row_a = weights[a : a + units]
        for j in range(units):
            sums[j] += p * row_a[j]


@inline
def output(inputs, count, weights, at):
    """Return the one output of the last layer; its bias comes after its row."""
    row = weights[at : at + count]
    value = np.float64(weights[at + count])  # to Numba, float() of a float32 is a float32
    for j in range(0, count, 4):
        p, q = np.float64(max(inputs[j], ZERO)), np.float64(max(inputs[j + 1], ZERO))
        x, y = np.float64(max(inputs[j + 2], ZERO)), np.float64(max(inputs[j + 3], ZERO))
        a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
        value += (p * a + q * b) + (x * c + y * d)
    return value

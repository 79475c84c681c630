"""The active features of a state, and sums of their rows: the first layer of networks in native code.

A feature is a cell of the input planes that is neither 0 nor -0, times its number, or a whole plane of equal
numbers. A cell's feature is its index in the flattened planes. The feature of a whole plane comes after those
of all cells, and its row is the sum of the rows of its cells. The last feature has a row of zeros, for
padding.

Sums add four rows at a time: such loops become vector instructions without changing the order of any sum.
Rows are slices, so that the compiler knows their indices to be positive.

Legend: s is a state.
"""

import numpy as np

from . import rules
from .constants import MAX, MIN
from .jit import inline

LANES = 8  # the sizes of all layers are multiples of this; packing adds zeros
MOST_UNITS = 1024  # of a layer

CHANNELS = rules.INPUT_SHAPE[0]
WIDTH = rules.INPUT_SHAPE[2]
PLANE = rules.INPUT_SHAPE[1] * WIDTH
CELLS = CHANNELS * PLANE
BLANK = CELLS + CHANNELS  # the feature of padding
SIDE = CELLS + CHANNELS - 1  # the feature of the last plane, which is the side if SEEN_BY_MOVER
ZERO = np.float32(0.0)
MAGNITUDE = np.int32(0x7FFFFFFF)  # the bits of a number without its sign: 0 for 0.0 and -0.0


@inline
def active_features(s, scratch):
    """List the features of a state, three of padding after them; return their number and the mover's side."""
    features = scratch.features
    if rules.LISTS_FEATURES:
        n = rules.features(s, features)
        side = MAX
        if rules.SEEN_BY_MOVER:
            side, n = take_side(features, n)
    else:
        n, side = list_features(s, scratch)
    for i in range(n, n + 3):
        features[i] = BLANK
    return n, side


@inline
def take_side(features, n):
    """Remove the feature of the side from a list; return MAX if it was there, else MIN, and the length."""
    for i in range(n):
        if features[i] == SIDE:
            features[i] = features[n - 1]
            return MAX, n - 1
    return MIN, n


@inline
def list_features(s, scratch):
    """List the features of the planes that the rules write; return their number and the mover's side."""
    planes, bits, features, strengths = scratch.planes, scratch.bits, scratch.features, scratch.strengths
    planes[:] = 0
    rules.encode(s, planes)
    side, channels = MAX, CHANNELS
    if rules.SEEN_BY_MOVER:
        channels -= 1
        side = MAX if planes[channels, 0, 0] != ZERO else MIN
    n = 0
    for channel in range(channels):
        first = bits[channel, 0]
        some, differ = first, 0
        for cell in range(PLANE):  # without branches, so that this becomes vector instructions
            some |= bits[channel, cell]
            differ |= bits[channel, cell] ^ first
        if some & MAGNITUDE == 0:  # most planes are empty
            continue
        if differ == 0:
            features[n] = CELLS + channel
            n += 1
            continue
        for cell in range(PLANE):  # without branches: nobody can predict them
            features[n] = channel * PLANE + cell
            n += bits[channel, cell] & MAGNITUDE != 0
    for i in range(n):
        at = features[i] if features[i] < CELLS else (features[i] - CELLS) * PLANE
        strengths[i] = planes[at // PLANE, at % PLANE // WIDTH, at % WIDTH]
    return n, side


@inline
def add_rows(features, n, weights, units, sums):
    """Add the rows of the first `n` features to `sums`."""
    for i in range(0, n, 4):
        a, b = features[i] * units, features[i + 1] * units
        c, d = features[i + 2] * units, features[i + 3] * units
        row_a, row_b = weights[a : a + units], weights[b : b + units]
        row_c, row_d = weights[c : c + units], weights[d : d + units]
        for j in range(units):
            sums[j] += (row_a[j] + row_b[j]) + (row_c[j] + row_d[j])


@inline
def add_weighted_rows(features, n, strengths, weights, units, sums):
    """Add the rows of the first `n` features, each times its number in the planes, to `sums`."""
    for i in range(0, n, 4):
        a, b = features[i] * units, features[i + 1] * units
        c, d = features[i + 2] * units, features[i + 3] * units
        row_a, row_b = weights[a : a + units], weights[b : b + units]
        row_c, row_d = weights[c : c + units], weights[d : d + units]
        p, q, x, y = strengths[i], strengths[i + 1], strengths[i + 2], strengths[i + 3]
        for j in range(units):
            sums[j] += (p * row_a[j] + q * row_b[j]) + (x * row_c[j] + y * row_d[j])

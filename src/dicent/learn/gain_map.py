"""Fit the map from a network's values to expected results, for values that are not gains."""

from __future__ import annotations

import numpy as np

from dicent.evaluate.terminal_value import GainMap

POINTS = 33


def fit_gain_map(results: list[tuple[float, int]]) -> GainMap | None:
    """Return the monotone least-squares fit of (value, result) pairs; None if too few or not finite.

    Pairs are sorted by value and pooled into blocks of equal size. Neighbouring blocks whose results do not
    rise are merged until all do.
    """
    if len(results) < 2 * POINTS:
        return None
    pairs = np.array(results, np.float64)
    if not np.isfinite(pairs).all():
        return None
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    blocks: list[tuple[float, float, float]] = []  # mean value, mean result, weight
    for part in np.array_split(pairs, POINTS):
        blocks.append((float(part[:, 0].mean()), float(part[:, 1].mean()), float(len(part))))
        while len(blocks) > 1 and (blocks[-2][0] >= blocks[-1][0] or blocks[-2][1] >= blocks[-1][1]):
            (v, r, w), (u, q, x) = blocks.pop(), blocks.pop()
            blocks.append(((v * w + u * x) / (w + x), (r * w + q * x) / (w + x), w + x))
    return GainMap(tuple(b[0] for b in blocks), tuple(b[1] for b in blocks))

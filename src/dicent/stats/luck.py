"""Luck adjustment: subtract the luck of the dice from a score, which makes its interval narrower.

Luck has mean zero for all players, so subtracting a fixed multiple of it does not change the expectation. The
best multiple is a regression coefficient. Estimated from the same pairs it would cause a bias. Even pairs
therefore use the coefficient of odd pairs and vice versa; pairs are independent, so there is no bias.
"""

import math

import numpy as np
import numpy.typing as npt

from dicent.stats.intervals import PRIOR, Interval, quantile

Floats = npt.NDArray[np.float64]


def without_luck(shares: Floats, luck: Floats) -> Floats:
    """Return a player's share of each pair of games minus its luck in them."""
    adjusted = np.array(shares, np.float64)
    for mine, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        adjusted[mine] -= _coefficient(shares[others], luck[others]) * luck[mine]
    return adjusted


def _coefficient(shares: Floats, luck: Floats) -> float:
    """Return the regression coefficient of shares on luck, shrunk towards 1 for few pairs."""
    away = shares - shares.mean() if len(shares) else shares
    return float((away @ luck + PRIOR) / (luck @ luck + PRIOR))


def mean_interval(values: Floats, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of the mean of luck-adjusted shares.

    Single adjusted shares may lie outside 0 to 1; the interval is clipped to that range.

    `PRIOR` increases the variance of few pairs, as in `pair_interval`.
    """
    n = len(values)
    if n == 0:
        return 0.0, 1.0
    mean = float(values.mean())
    spread = float(((values - mean) ** 2).sum()) + PRIOR
    half = quantile(confidence) * math.sqrt(spread / (n * max(1, n - 1)))
    return max(0.0, mean - half), min(1.0, mean + half)

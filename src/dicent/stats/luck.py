"""Luck adjustment: a score less what the dice have given, which makes its interval narrower.

Luck has mean zero whatever the players do, so that subtracting any fixed multiple of it moves no
expectation. The multiple that helps most is a regression coefficient. Found from the same pairs it would
bring a bias; here the even pairs have theirs from the odd ones and the other way round, and pairs
are independent, so there is none.
"""

import math

import numpy as np
import numpy.typing as npt

from dicent.stats.intervals import PRIOR, Interval, quantile

Floats = npt.NDArray[np.float64]


def without_luck(shares: Floats, luck: Floats) -> Floats:
    """A player's share of each pair of games less its luck in them, both from 0 to 1 for a win."""
    adjusted = np.array(shares, np.float64)
    for mine, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        adjusted[mine] -= _coefficient(shares[others], luck[others]) * luck[mine]
    return adjusted


def _coefficient(shares: Floats, luck: Floats) -> float:
    """How much of a share an amount of luck is worth; drawn towards 1 where there are few pairs."""
    away = shares - shares.mean() if len(shares) else shares
    return float((away @ luck + PRIOR) / (luck @ luck + PRIOR))


def mean_interval(values: Floats, confidence: float = 0.95) -> Interval:
    """The interval for the mean of adjusted shares, which may lie outside 0 to 1.

    With few pairs their variance is drawn up by `PRIOR`, as in `pair_interval`.
    """
    n = len(values)
    if n == 0:
        return 0.0, 1.0
    mean = float(values.mean())
    spread = float(((values - mean) ** 2).sum()) + PRIOR
    half = quantile(confidence) * math.sqrt(spread / (n * max(1, n - 1)))
    return max(0.0, mean - half), min(1.0, mean + half)

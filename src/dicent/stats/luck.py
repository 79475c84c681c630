"""Luck adjustment: subtract the luck of the dice from a score, which makes its interval narrower.

Luck has mean zero for all players, so subtracting a fixed multiple of it does not change the expectation. The
best multiple is a regression coefficient. Estimated from the same pairs it would cause a bias. Even pairs
therefore use the coefficient of odd pairs and vice versa; pairs are independent, so there is no bias.
"""

import math

import numpy as np
import numpy.typing as npt

from dicent.stats.intervals import PRIOR, Interval
from dicent.stats.welch import student_quantile

Floats = npt.NDArray[np.float64]


def without_luck(shares: Floats, luck: Floats, prior: float = PRIOR) -> Floats:
    """Return a player's share, or points, of each pair of games minus its luck in them, in the same unit."""
    adjusted = np.array(shares, np.float64)
    for mine, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        adjusted[mine] -= _coefficient(shares[others], luck[others], prior) * luck[mine]
    return adjusted


def _coefficient(shares: Floats, luck: Floats, prior: float) -> float:
    """Return the regression coefficient of shares on luck, shrunk towards 1 for few pairs."""
    away = shares - shares.mean() if len(shares) else shares
    return float((away @ luck + prior) / (luck @ luck + prior))


def mean_interval(
    values: Floats,
    unadjusted: Floats | None = None,
    confidence: float = 0.95,
    limits: Interval = (0.0, 1.0),
    prior: float = PRIOR,
) -> Interval:
    """Return Student's confidence interval of the mean of luck-adjusted shares, or of points.

    Single adjusted shares may lie outside `limits`; the interval is clipped to that range.

    `prior` increases the variance of few pairs, as in `pair_interval`: pairs have few different values, and a
    short run of equal ones proves little. For points it is the mean square of the scores, which for scores of
    +1 and -1 is the same prior on a scale twice as wide. Luck explains a share of the variance of the pairs
    before the adjustment, `unadjusted`, and the same share of the prior.
    """
    n = len(values)
    if n == 0:
        return limits
    mean, spread = float(values.mean()), _spread(values)
    if unadjusted is not None and (before := _spread(unadjusted)) > spread:
        prior *= spread / before
    half = student_quantile(confidence, max(1, n - 1)) * math.sqrt((spread + prior) / (n * max(1, n - 1)))
    return max(limits[0], mean - half), min(limits[1], mean + half)


def _spread(values: Floats) -> float:
    """Return the sum of squares around the mean."""
    return float(((values - values.mean()) ** 2).sum())

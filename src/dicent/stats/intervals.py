"""Confidence intervals for a player's score."""

import math
from collections.abc import Sequence
from statistics import NormalDist

Interval = tuple[float, float]
PRIOR = 0.25  # the variance of two pairs of even, independent games


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval for a proportion, from `n` independent trials.

    A draw may count as half a success. Its variance is less than that of a win or a loss, so the
    interval is then too wide rather than too narrow.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be from 0 to {n}, the number of trials (got {successes})")
    if n == 0:
        return 0.0, 1.0
    z = quantile(confidence)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return low, high


def pair_interval(pairs: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the interval of a player's score, from its share (0 to 1) of each pair of games.

    The games of a pair share start and dice, so they are dependent, but pairs are independent. The variance
    of pairs determines the equivalent number of independent games, for which Wilson's interval is returned.
    With few or equal pairs, `PRIOR` moves the variance towards that of independent games, so that a short run
    of wins proves little.
    """
    n = len(pairs)
    if n == 0:
        return 0.0, 1.0
    share = math.fsum(pairs) / n
    spread = math.fsum((pair - share) ** 2 for pair in pairs) + PRIOR
    independent = (n - 1) * share * (1 - share) / 2 + PRIOR
    worth = 2 * n * independent / spread
    return wilson(min(1.0, max(0.0, share)) * worth, worth, confidence)


def superiority(pairs: Sequence[float]) -> float:
    """Return the likelihood that a player is the better one, from its share of each pair of games.

    This is the probability of a mean above one half, with the variance of `pair_interval` and a flat prior.
    """
    n = len(pairs)
    if n == 0:
        return 0.5
    share = math.fsum(pairs) / n
    spread = math.fsum((pair - share) ** 2 for pair in pairs) + PRIOR
    return NormalDist().cdf((share - 0.5) * n / math.sqrt(spread))


def quantile(confidence: float) -> float:
    """Return the number of standard deviations that cover this probability."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1 (got {confidence})")
    return NormalDist().inv_cdf((1 + confidence) / 2)

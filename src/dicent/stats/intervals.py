"""Intervals that hold: what share of the points a player scores, as far as the games can tell."""

import math
from collections.abc import Sequence
from statistics import NormalDist

Interval = tuple[float, float]
PRIOR = 0.25  # the variance of two pairs of even, independent games


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """Wilson's interval for a proportion, from `n` independent trials.

    A draw may count as half a success. Its variance is less than that of a win or a loss, so the
    interval is then too wide rather than too narrow.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
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
    """The interval for a player's share, from its share (0 to 1) of each pair of games.

    The two games of a pair have the same start and dice, so they are not independent, but pairs are.
    Their variance says how many independent games they are worth, and Wilson's interval for so many
    is the answer. With few pairs, or pairs all alike, the variance is drawn towards that of
    independent games (by `PRIOR`), so that ten wins in a row do not prove the next.
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
    """The likelihood that a player is the better one, from its share (0 to 1) of each pair of games.

    It is that of a mean above one half, with the variance of `pair_interval` and no opinion beforehand.
    """
    n = len(pairs)
    if n == 0:
        return 0.5
    share = math.fsum(pairs) / n
    spread = math.fsum((pair - share) ** 2 for pair in pairs) + PRIOR
    return NormalDist().cdf((share - 0.5) * n / math.sqrt(spread))


def quantile(confidence: float) -> float:
    """How many standard deviations a normal variable stays within, with that probability."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, not between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)

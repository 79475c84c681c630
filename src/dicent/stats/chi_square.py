"""Pearson's chi-square test, and a test of dice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 5.0  # expected counts below this are too few for the test


@dataclass(frozen=True)
class DiceTest:
    """A test of rolls against the probabilities of the game."""

    rolls: int  # number of tested rolls
    chi_square: float
    freedom: int  # degrees of freedom
    p: float  # probability of a statistic at least this large with fair dice


def dice_test(groups: Sequence[tuple[Sequence[float], Sequence[int]]]) -> DiceTest | None:
    """Test counts of outcomes against their probabilities, a group for each kind of roll.

    Groups in which an outcome is expected fewer than five times are left out; None if all are.
    """
    rolls, statistic, freedom = 0, 0.0, 0
    for probabilities, counts in groups:
        n = sum(counts)
        expected = [n * p for p in probabilities]
        if len(expected) < 2 or min(expected) < LEAST:
            continue
        rolls += n
        statistic += math.fsum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True))
        freedom += len(expected) - 1
    return DiceTest(rolls, statistic, freedom, chi_square_tail(statistic, freedom)) if rolls else None


def chi_square_tail(x: float, freedom: float) -> float:
    """Return the probability that a chi-square variable is at least `x`."""
    if freedom <= 0 or x < 0:
        raise ValueError(f"x must be 0 or more, and freedom above 0 (got {x}, {freedom})")
    return _upper_gamma(freedom / 2, x / 2)


def _upper_gamma(a: float, x: float) -> float:
    """Return the regularised incomplete gamma function Q(a, x)."""
    if x == 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # P(a, x) as a power series
        term = total = 1 / a
        k = a
        while term > total * 1e-17:
            k += 1
            term *= x / k
            total += term
        return max(0.0, 1.0 - scale * total)
    # Q(a, x) as a continued fraction: convergents numerator / denominator, by their recurrence
    n0, n1, d0, d1 = 0.0, 1.0, 1.0, x + 1 - a
    value, before, k = n1 / d1, math.inf, 0
    while abs(value - before) > 1e-16 * abs(value):
        k += 1
        factor, step = k * (a - k), x + 2 * k + 1 - a
        n0, n1 = n1, step * n1 + factor * n0
        d0, d1 = d1, step * d1 + factor * d0
        n0, n1, d0, d1 = n0 / d1, n1 / d1, d0 / d1, 1.0  # keeps them in range
        before, value = value, n1
    return scale * value

"""Welch's interval for a sum of means over few samples with unequal variances.

Trained networks are such samples. Runs with the same settings and different seeds differ in strength, and no
number of games between two networks shows by how much. The spread between runs does, with Student's
distribution because there are few runs.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dicent.stats.intervals import Interval

STEPS = 20_000  # of the integral behind Student's distribution


class Part(NamedTuple):
    """One mean of the sum with its coefficient."""

    coefficient: float
    values: Sequence[float]  # independent of each other


def welch_interval(middle: float, parts: Sequence[Part], confidence: float = 0.95) -> Interval:
    """Return the interval around `middle` for the spread of these parts.

    It is infinite if a part has fewer than two values, since their spread is unknown.
    """
    variances, degrees = [], []
    for coefficient, values in parts:
        if coefficient == 0:
            continue
        if len(values) < 2:
            return -math.inf, math.inf
        mean = math.fsum(values) / len(values)
        spread = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        variances.append(coefficient**2 * spread / len(values))
        degrees.append(len(values) - 1)
    total = math.fsum(variances)
    if total == 0:
        return middle, middle
    freedom = total**2 / math.fsum(v**2 / d for v, d in zip(variances, degrees, strict=True))
    half = student_quantile(confidence, max(1.0, freedom)) * math.sqrt(total)
    return middle - half, middle + half


@lru_cache(maxsize=256)
def student_quantile(confidence: float, freedom: float) -> float:
    """Return the distance from zero that a Student variable stays within, with that probability.

    With t = sqrt(freedom) tan(a) the density becomes a power of cos(a), which is easy to integrate.
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError(
            f"confidence must be between 0 and 1, and freedom 1 or more (got {confidence}, {freedom})"
        )
    angles = np.linspace(0, math.pi / 2, STEPS + 1)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence * area[-1], area, angles)))

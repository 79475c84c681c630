"""Welch's interval: for a sum of means over few samples that vary, each kind by a variance of its own.

Trained networks are such samples. Two runs with the same settings and other seeds differ in strength, and
no number of games between the same networks says by how much. Their own spread does, with Student's
distribution, since it is known from few of them only.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dicent.stats.intervals import Interval

STEPS = 20_000  # of the integral behind Student's distribution


class Part(NamedTuple):
    """One mean of the sum, and what it counts."""

    coefficient: float
    values: Sequence[float]  # independent of each other


def welch_interval(middle: float, parts: Sequence[Part], confidence: float = 0.95) -> Interval:
    """The interval around `middle`, which is known up to the spread of these parts.

    It is infinite if a part has less than two values: then nothing is known of their spread.
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


def student_quantile(confidence: float, freedom: float) -> float:
    """How far a variable of Student's distribution strays from zero at the most, with that probability.

    With t = sqrt(freedom) tan(a) the density becomes a power of cos(a), which is easily summed up.
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError(f"confidence {confidence} with {freedom} degrees of freedom")
    angles = np.linspace(0, math.pi / 2, STEPS + 1)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence * area[-1], area, angles)))

"""PointsResult: the points of a match, in games that have a score beside win, draw and loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dicent.files import JsonObject
from dicent.play.luck import Judge
from dicent.stats.intervals import Interval
from dicent.stats.luck import mean_interval, without_luck

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PointsResult:
    """The points of a match, from A's point of view; games 2k and 2k + 1 are a pair."""

    scores: Floats  # [games] of A; 0 for a game that was cut
    largest: float  # the largest score that the game declares
    judge: Judge | None = None  # its values are points
    luck: Floats | None = None  # [games] of A, in points
    final: Floats | None = None  # [games] the scores, with the judge's value of games that were cut

    @property
    def mean(self) -> float:
        """Return A's points per game."""
        return float(self.scores.mean())

    @property
    def pairs(self) -> Floats:
        """Return A's points per game in each pair."""
        return _pairs(self.scores)

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the mean, from the variance between pairs."""
        return self._interval(self.pairs)

    @cached_property
    def adjusted_pairs(self) -> Floats | None:
        """Return A's points per game in each pair minus its luck; None without a judge or without dice."""
        if self.luck is None or self.final is None:
            return None
        if not self.luck.any() and np.array_equal(self.final, self.scores):
            return None
        return without_luck(_pairs(self.final), self.luck.reshape(-1, 2).mean(axis=1), self._prior)

    @property
    def adjusted(self) -> float:
        """Return the luck-adjusted points per game, or the plain ones without a judge."""
        return self.mean if self.adjusted_pairs is None else float(self.adjusted_pairs.mean())

    @property
    def adjusted_interval(self) -> Interval:
        """Return its 95 % interval."""
        if self.adjusted_pairs is None or self.final is None:
            return self.interval
        return self._interval(self.adjusted_pairs, _pairs(self.final))

    @property
    def _prior(self) -> float:
        """Return the variance of two pairs of even, independent games with scores of this size."""
        return float((self.scores**2).mean()) or 1.0

    def _interval(self, pairs: Floats, unadjusted: Floats | None = None) -> Interval:
        largest = max(self.largest, float(np.abs(self.scores).max(initial=0.0)))
        return mean_interval(pairs, unadjusted, limits=(-largest, largest), prior=self._prior)

    def to_dict(self) -> JsonObject:
        """Return the points as an object for JSON."""
        return {
            "mean": self.mean,
            "interval": list(self.interval),
            "adjusted": self.adjusted,
            "adjusted_interval": list(self.adjusted_interval),
            "luck": None if self.adjusted_pairs is None or self.judge is None else self.judge.name,
        }


def _pairs(values: Floats) -> Floats:
    """Return the mean of each pair of games."""
    pairs: Floats = values.reshape(-1, 2).mean(axis=1)
    return pairs

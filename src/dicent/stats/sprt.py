"""SPRT: a sequential probability ratio test that ends a match as soon as it is decided.

It compares two hypotheses about the Elo difference, elo0 and elo1, by their likelihood ratio. Each hypothesis
is represented by the most likely frequencies of pair scores whose mean is the score of that Elo difference
(the generalised test of fishtest).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dicent.stats.elo import expected_share

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a pair of games
EMPTY = 1e-3  # count for a score that never occurred, to keep logarithms finite


@dataclass(frozen=True)
class Sprt:
    """A test of the Elo difference `elo0` or less against `elo1` or more."""

    elo0: float
    elo1: float
    alpha: float = 0.05  # the risk of accepting elo1 where elo0 is true
    beta: float = 0.05  # the risk of accepting elo0 where elo1 is true

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 must be less than elo1 (got {self.elo0} and {self.elo1})")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError(f"alpha and beta must be between 0 and 0.5 (got {self.alpha}, {self.beta})")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the log-likelihood ratios at which elo0 and elo1 are accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def decide(self, pairs: Sequence[int]) -> str | None:
        """Return the accepted hypothesis, "elo0" or "elo1", or None."""
        low, high = self.bounds
        ratio = self.ratio(pairs)
        return "elo0" if ratio <= low else "elo1" if ratio >= high else None

    def ratio(self, pairs: Sequence[int]) -> float:
        """Return the log-likelihood ratio of elo1 to elo0, from the numbers of pairs by points."""
        return log_likelihood_ratio(pairs, expected_share(self.elo0), expected_share(self.elo1))


def log_likelihood_ratio(pairs: Sequence[int], share0: float, share1: float) -> float:
    """Return the log-likelihood ratio of mean share `share1` to `share0`, given pairs by points."""
    if sum(pairs) == 0:
        return 0.0
    counts = [count or EMPTY for count in pairs]
    total = math.fsum(counts)
    seen = [count / total for count in counts]
    likely0, likely1 = _likeliest(seen, share0), _likeliest(seen, share1)
    return total * math.fsum(p * math.log(p1 / p0) for p, p0, p1 in zip(seen, likely0, likely1, strict=True))


def _likeliest(seen: Sequence[float], mean: float) -> list[float]:
    """Return the most likely frequencies with that mean, given the observed ones.

    Lagrange multipliers give p_i = seen_i / (1 + x (share_i - mean)), with x such that the mean is right.
    """
    away = [share - mean for share in SHARES]

    def excess(x: float) -> float:
        return math.fsum(p * d / (1 + x * d) for p, d in zip(seen, away, strict=True))

    low, high = -1 / away[-1], -1 / away[0]  # between these all p_i are positive, and excess falls
    for _ in range(100):
        x = (low + high) / 2
        low, high = (x, high) if excess(x) > 0 else (low, x)
    return [p / (1 + x * d) for p, d in zip(seen, away, strict=True)]

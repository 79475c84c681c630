"""Elo: the difference in strength that a share of the points stands for."""

import math


def elo(share: float) -> float:
    """The Elo difference at which a player is expected to score `share`; infinite at 0 and 1."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share of the points is from 0 to 1, not {share}")
    if share in (0, 1):
        return math.copysign(math.inf, share - 0.5)
    return 400 * math.log10(share / (1 - share))


def expected_share(difference: float) -> float:
    """The share of the points to expect at an Elo difference."""
    return 1 / (1 + 10 ** (-difference / 400))

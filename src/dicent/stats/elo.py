"""Elo differences and expected scores."""

import math


def elo(share: float) -> float:
    """Return the Elo difference with the expected score `share`; infinite at 0 and 1."""
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1 (got {share})")
    if share in (0, 1):
        return math.copysign(math.inf, share - 0.5)
    return 400 * math.log10(share / (1 - share))


def expected_share(difference: float) -> float:
    """Return the expected score at an Elo difference."""
    return 1 / (1 + 10 ** (-difference / 400))

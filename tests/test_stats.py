"""Statistics against published values and simulations."""

import math
import random

import pytest

from dicent.stats.elo import elo, expected_share
from dicent.stats.intervals import pair_interval, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe (1998), table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson_gives_newcombes_examples(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_knows_nothing_without_trials_and_refuses_nonsense() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    for successes, n in ((-1, 5), (6, 5)):
        with pytest.raises(ValueError, match="successes"):
            wilson(successes, n)
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence=1.0)


def test_pairs_all_won_are_worth_no_more_than_independent_games() -> None:
    assert pair_interval([1.0] * 10) == pytest.approx(wilson(20, 20))
    assert pair_interval([]) == (0.0, 1.0)
    low, high = pair_interval([0.5])
    assert low < 0.1
    assert high > 0.9


def test_pairs_that_always_split_give_a_narrow_interval() -> None:
    low, high = pair_interval([0.5] * 500)
    assert 0.49 < low < 0.5 < high < 0.51


def test_pairs_decided_by_luck_alone_count_as_one_game_each() -> None:
    half = [0.0, 1.0] * 200
    low, high = pair_interval(half)
    once = wilson(200, 400)
    assert high - low == pytest.approx(once[1] - once[0], rel=0.01)


@pytest.mark.parametrize(("skill", "luck"), [(0.0, 0.0), (0.1, 0.4), (0.3, 0.2), (0.1, -0.4), (0.45, 0.0)])
def test_pair_intervals_cover_the_truth(skill: float, luck: float) -> None:
    """Pairs whose games have a common part of luck, good for both games or for one of them."""
    rng = random.Random(1)
    covered = 0
    for _ in range(1000):
        pairs = []
        for _ in range(100):
            common = luck * rng.choice((-1, 1)) * min(1.0, (0.5 - skill) / max(abs(luck), 1e-9))
            first = rng.random() < 0.5 + skill + common
            second = rng.random() < 0.5 + skill + (common if luck > 0 else -common)
            pairs.append((first + second) / 2)
        low, high = pair_interval(pairs)
        covered += low <= 0.5 + skill <= high
    assert 930 <= covered <= 972


def test_elo_has_its_known_values() -> None:
    assert elo(0.5) == 0
    assert elo(0.76) == pytest.approx(200.24, abs=0.01)
    assert elo(10 / 11) == pytest.approx(400)
    assert (elo(0), elo(1)) == (-math.inf, math.inf)
    assert expected_share(elo(0.64)) == pytest.approx(0.64)
    with pytest.raises(ValueError, match="from 0 to 1"):
        elo(1.5)

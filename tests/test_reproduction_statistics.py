"""The intervals and verdicts of a reproduction."""

import math

import numpy as np
import pytest

from dicent.reproduction.findings import (
    AgainstAlphaZero,
    Claim,
    RoundRobin,
    Share,
    Verdict,
    arms_of,
    head_to_head,
)
from dicent.reproduction.scale import ARMS, Arm
from dicent.reproduction.study_figures import trend
from dicent.stats.welch import Part, student_quantile, welch_interval


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (30, 2.0423), (120, 1.9799)],
)
def test_student_quantiles_match_tables(freedom: float, expected: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(expected, abs=1e-4)
    assert student_quantile(0.9, 5) == pytest.approx(2.0150, abs=1e-4)


def test_welchs_interval_by_hand() -> None:
    # variances 1 and 4 of three and two values: 1/3 + 4 * 2 = 25/3, freedom 625/9 / (1/18 + 64)
    low, high = welch_interval(0.0, [Part(1.0, [1, 2, 3]), Part(-2.0, [0, 2 * math.sqrt(2)])])
    total, freedom = 25 / 3, (625 / 9) / (1 / 18 + 64)
    assert high == -low == pytest.approx(student_quantile(0.95, freedom) * math.sqrt(total))
    assert welch_interval(0.5, [Part(1.0, [1.0])]) == (-math.inf, math.inf)
    assert welch_interval(0.5, [Part(0.0, [1.0]), Part(1.0, [1.0, 1.0])]) == (0.5, 0.5)


def simulated(rng: np.random.Generator, n: int, strengths: dict[Arm, float], games: float) -> RoundRobin:
    """Simulate a round robin between networks that differ, in some arms more than in others."""
    arms = tuple(arm for arm in ARMS for _ in range(n))
    spread = {arm: 0.02 + 0.01 * i for i, arm in enumerate(ARMS)}
    strength = np.array([rng.normal(strengths.get(arm, 0.0), spread[arm]) for arm in arms])
    noise = np.triu(rng.normal(0, games, (len(arms), len(arms))), 1)
    scores = 0.5 + strength[:, None] - strength[None, :] + noise - noise.T
    return RoundRobin(arms, scores, scores, np.full(scores.shape, games))


@pytest.mark.parametrize("n", [2, 4])
def test_intervals_over_networks_cover_the_truth(n: int) -> None:
    descent, others = arms_of("descent"), [arm for arm in ARMS if arm.search != "descent"]
    strengths, networks = dict.fromkeys(descent, 0.03), len(ARMS) * n
    truth = 0.5 + 0.03 * (2 / 3) * networks / (networks - 1)
    covered, by_games, difference, rounds = 0, 0, 0, 500
    for i in range(rounds):
        scores = simulated(np.random.default_rng([n, i]), n, strengths, 0.02)
        share = scores.share(descent)
        covered += share.interval[0] <= truth <= share.interval[1]
        by_games += share.games_interval[0] <= truth <= share.games_interval[1]
        low, high = scores.difference(descent, others).interval
        difference += low <= 1.5 * (truth - 0.5) <= high
    assert 0.92 < covered / rounds < 0.99
    assert 0.92 < difference / rounds < 0.99
    assert by_games / rounds < 0.5  # intervals over games alone ignore how networks differ


def test_shares_of_a_round_robin_are_means_over_networks() -> None:
    scores = simulated(np.random.default_rng(1), 3, {}, 0.05)
    np.fill_diagonal(scores.adjusted, np.nan)
    means = np.nanmean(scores.adjusted, axis=1)
    for arms in (arms_of("descent"), arms_of(terminal="depth"), arms_of("descent", "gain")):
        assert scores.share(arms).value == pytest.approx(means[[arm in arms for arm in scores.arms]].mean())
    shares = [scores.share(arms_of(search)).value for search in ("descent", "expectiminimax", "determinized")]
    assert sum(shares) == pytest.approx(1.5)
    depth = scores.difference(arms_of(terminal="depth"), arms_of(terminal="gain"))
    assert depth.value == pytest.approx(2 * (scores.share(arms_of(terminal="depth")).value - 0.5))


def test_intervals_against_alphazero_cover_the_truth() -> None:
    arms = tuple(arm for arm in ARMS for _ in range(4))
    mean = column = rounds = 0
    for i in range(500):
        rng = np.random.default_rng(i)
        ours, theirs = rng.normal(0.05, 0.03, len(arms)), rng.normal(0, 0.03, 3)
        scores = 0.5 + ours[:, None] - theirs[None, :] + rng.normal(0, 0.02, (len(arms), 3))
        against = AgainstAlphaZero(arms, scores, scores, np.full(scores.shape, 0.02))
        chosen = arms_of("descent", "depth")
        low, high = against.share(chosen).interval
        mean += low <= 0.55 <= high
        low, high = against.share(chosen, 1).interval
        column += low <= 0.55 - theirs[1] <= high
        rounds += 1
    assert mean / rounds > 0.93
    assert 0.92 < column / rounds < 0.98


@pytest.mark.parametrize(
    ("interval", "threshold", "verdict"),
    [
        ((0.51, 0.55), 0.5, "confirmed"),
        ((0.45, 0.49), 0.5, "not confirmed"),
        ((0.49, 0.60), 0.5, "undecided at this scale"),
        ((0.50, 0.60), 0.5, "undecided at this scale"),
        ((0.01, 0.02), 0.0, "confirmed"),
        ((-0.02, -0.01), 0.0, "not confirmed"),
        ((-math.inf, math.inf), 0.0, "undecided at this scale"),
    ],
)
def test_verdicts_follow_the_interval(interval: tuple[float, float], threshold: float, verdict: str) -> None:
    middle = 0.5 if math.isinf(interval[0]) else sum(interval) / 2
    share = Share(middle, middle, interval, (middle, middle))
    assert Claim("It helps", "55 %", share, threshold).verdict == verdict


def test_verdict_depends_where_time_and_evaluations_disagree() -> None:
    def claim(low: float, high: float) -> Claim:
        return Claim("It helps", "55 %", Share(0.5, 0.5, (low, high), (low, high)), 0.5)

    above, below, around = claim(0.51, 0.55), claim(0.45, 0.49), claim(0.45, 0.55)
    assert Verdict(above, above).verdict == "confirmed"
    assert Verdict(below, below).verdict == "not confirmed"
    assert Verdict(around, around).verdict == "undecided at this scale"
    for one, other in ((above, below), (below, above), (above, around), (around, below)):
        assert Verdict(one, other).verdict == "depends"
    assert Verdict(above, None).verdict == "confirmed at equal time only"
    assert Verdict(below, None).verdict == "not confirmed, at equal time only"
    assert Verdict(around, None).verdict == "undecided at this scale, at equal time only"


def test_intervals_head_to_head_cover_the_truth() -> None:
    covered = rounds = 0
    for i in range(500):
        rng = np.random.default_rng(i)
        scores = (
            0.53 + rng.normal(0, 0.03, (4, 1)) - rng.normal(0, 0.03, (1, 4)) + rng.normal(0, 0.02, (4, 4))
        )
        low, high = head_to_head((scores, scores, np.full((4, 4), 0.02))).interval
        covered += low <= 0.53 <= high
        rounds += 1
    assert 0.93 < covered / rounds < 0.995


def test_trend_is_the_slope_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    x, noise = np.array([0.0, 1.0, 3.0]), rng.normal(0, 0.001, (3, 2, 2))
    met = [
        (0.5 + 0.02 * t + e, 0.5 + 0.03 * t + e, np.full((2, 2), 0.01)) for t, e in zip(x, noise, strict=True)
    ]
    found = trend(x, met)
    assert found.value == pytest.approx(0.02, abs=0.001)
    assert found.plain == pytest.approx(0.03, abs=0.001)
    half = (found.games_interval[1] - found.games_interval[0]) / 2
    assert half == pytest.approx(1.96 * 0.01 / math.sqrt(((x - x.mean()) ** 2).sum() * 4), rel=0.01)

"""Statistics against published values and simulations."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from dicent.stats.chi_square import chi_square_tail, dice_test
from dicent.stats.elo import elo, expected_share
from dicent.stats.intervals import pair_interval, superiority, wilson
from dicent.stats.luck import mean_interval, without_luck
from dicent.stats.ratings import ELO, Pairing, fit_ratings
from dicent.stats.sprt import Sprt


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


def test_wilson_without_trials_and_with_invalid_input() -> None:
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
    """The two games of a pair share some luck, which favours one side or one player."""
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


# Likelihood of superiority


def test_superiority_has_its_known_values() -> None:
    assert superiority([]) == superiority([0.5] * 20) == superiority([0.0, 1.0] * 9) == 0.5
    won, lost = [1.0] * 130 + [0.0] * 100, [0.0] * 130 + [1.0] * 100
    z = 30 / math.sqrt(230)  # a random walk of 230 steps that ends 30 from its start
    assert superiority(won) == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), abs=0.002)
    assert superiority(won) + superiority(lost) == pytest.approx(1)


def test_superiority_is_calibrated() -> None:
    """For players of random skill, the stated probability is how often the likelier player is better."""
    rng = random.Random(1)
    said = right = 0.0
    for _ in range(2000):
        skill = rng.uniform(-0.2, 0.2)
        likelihood = superiority([float(rng.random() < 0.5 + skill) for _ in range(50)])
        said += max(likelihood, 1 - likelihood)
        right += (skill > 0) == (likelihood > 0.5)
    assert right / 2000 == pytest.approx(said / 2000, abs=0.03)


# Chi-square


@pytest.mark.parametrize(
    ("freedom", "x"),  # from tables: exceeded with a probability of 5 %
    [(1, 3.841), (2, 5.991), (5, 11.070), (10, 18.307), (30, 43.773), (100, 124.342)],
)
def test_chi_square_has_its_tabulated_values(freedom: int, x: float) -> None:
    assert chi_square_tail(x, freedom) == pytest.approx(0.05, abs=2e-5)


def test_chi_square_with_two_degrees_of_freedom_is_an_exponential() -> None:
    for x in (0.0, 0.01, 1.0, 3.9, 4.1, 50.0, 1400.0):
        assert chi_square_tail(x, 2) == pytest.approx(math.exp(-x / 2), rel=1e-12)
    with pytest.raises(ValueError, match="freedom"):
        chi_square_tail(1.0, 0)


def test_fair_dice_pass_and_rigged_ones_fail() -> None:
    rng = random.Random(1)
    tests = []
    for _ in range(400):
        dice = Counter(rng.choices(range(6), k=300))
        coins = Counter(rng.choices(range(2), (0.2, 0.8), k=100))
        groups = [([1 / 6] * 6, [dice[i] for i in range(6)]), ([0.2, 0.8], [coins[0], coins[1]])]
        tests.append(dice_test(groups))
    assert {(test.rolls, test.freedom) for test in tests if test} == {(400, 6)}
    assert 0.02 <= sum(test.p < 0.05 for test in tests if test) / 400 <= 0.08
    rigged = dice_test([([1 / 6] * 6, [100, 100, 100, 100, 100, 160])])
    assert rigged is not None
    assert rigged.p < 0.001


def test_rolls_that_are_too_few_are_left_out() -> None:
    assert dice_test([]) is None
    assert dice_test([([1 / 6] * 6, [4, 4, 4, 4, 4, 4])]) is None
    assert dice_test([([1.0], [1000])]) is None


# The sequential test


@pytest.mark.parametrize(
    ("pairs", "elo0", "elo1", "ratio"),
    [
        ((223, 9863, 21279, 10037, 246), 0.5, 2.5, -3.07),  # values from fastchess's tests of logistic Elo
        ((871, 26175, 55983, 26678, 821), 0.0, 2.0, -4.98),
        ((10, 5, 2, 5, 10), -5.0, 5.0, 0.0),
        ((0, 0, 0, 0, 0), 0.0, 5.0, 0.0),
    ],
)
def test_likelihood_ratio_equals_published_values(
    pairs: tuple[int, ...], elo0: float, elo1: float, ratio: float
) -> None:
    assert Sprt(elo0, elo1).ratio(pairs) == pytest.approx(ratio, abs=0.006)


def test_bounds_of_the_sequential_test_are_walds() -> None:
    assert Sprt(0, 5).bounds == pytest.approx((-2.944, 2.944), abs=5e-4)
    assert Sprt(0, 5, alpha=0.05, beta=0.1).bounds == pytest.approx((-2.251, 2.890), abs=5e-4)
    for wrong in ((5, 5), (5, 0), (0, 5, 0.0), (0, 5, 0.05, 0.7)):
        with pytest.raises(ValueError, match=r"elo0|alpha"):
            Sprt(*wrong)


@pytest.mark.parametrize("truth", ["elo0", "elo1"])
def test_sequential_test_keeps_its_error_rates(truth: str) -> None:
    rng = np.random.default_rng(1)
    sprt = Sprt(0, 60)
    share = expected_share(getattr(sprt, truth))
    chances = [(1 - share) ** 2, 0, 2 * share * (1 - share), 0, share**2]
    wrong = 0
    for _ in range(300):
        pairs = np.zeros(5, int)
        while (accepted := sprt.decide(pairs.tolist())) is None:
            pairs += rng.multinomial(20, chances)
        wrong += accepted != truth
    assert wrong / 300 < 0.075


# Luck


def test_luck_that_explains_everything_leaves_the_skill() -> None:
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 0.3, 1000)
    assert without_luck(0.6 + luck, luck) == pytest.approx(0.6, abs=0.01)
    low, high = mean_interval(without_luck(0.6 + luck, luck), 0.6 + luck)
    assert low < 0.6 < high
    assert high - low < 0.0005


DICE = np.array([-1.53, -0.82, -0.2, 0.2, 0.82, 1.53])  # what the faces are worth, with variance 1


def simulated_pairs(
    n: int, rng: np.random.Generator, skill: float, error: float, scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate pairs of games, each a race of 20 rolls; return A's shares of them and its luck.

    A judge with that `error` and `scale` evaluates the rolls. The two games share dice, and moves differ.
    """
    results, luck = np.zeros(n), np.zeros(n)
    rolls = rng.integers(6, size=(20, n))
    for side in (1, -1):  # of A
        lead = np.zeros(n)
        for t, faces in enumerate(rolls):
            lead += side * skill / 20 + rng.normal(0, 0.12, n)
            after = lead + DICE[:, None]
            values = np.sign(after)
            if t < 19:
                values = np.tanh(1.25 * after / math.sqrt(19 - t)) + error * np.sin(5 * after + t)
            luck += side * scale * (values[faces, np.arange(n)] - values.mean(axis=0)) / 4
            lead = after[faces, np.arange(n)]
        results += side * np.sign(lead)
    return (results + 2) / 4, luck


@pytest.mark.parametrize(
    ("skill", "error", "scale"),
    [
        (0.0, 0.0, 1.0),  # equal players and a good judge
        (2.5, 0.0, 1.0),
        (7.0, 0.0, 1.0),  # A wins 19 of 20 games
        (1.0, 0.3, 1.0),  # a judge that explains some of the luck
        (1.0, 2.0, 1.0),  # a useless one
        (1.0, 0.2, 5.0),  # judges with a wrong scale: the coefficient is fitted without bias
        (1.0, 0.2, 0.3),
    ],
)
def test_intervals_of_20_to_100_pairs_cover_the_truth(skill: float, error: float, scale: float) -> None:
    rng = np.random.default_rng(1)
    shares, luck = simulated_pairs(120_000, rng, skill, error, scale)
    truth = shares.mean()
    for n in (20, 40, 100):
        parts = [slice(i, i + n) for i in range(0, 800 * n, n)]
        adjusted = [without_luck(shares[part], luck[part]) for part in parts]
        raw = [pair_interval(shares[part].tolist()) for part in parts]
        without = [mean_interval(a, shares[part]) for a, part in zip(adjusted, parts, strict=True)]
        for intervals in (raw, without):
            covered = np.mean([low <= truth <= high for low, high in intervals])
            assert covered >= 0.925  # the standard deviation is 0.008
        assert np.mean(adjusted) == pytest.approx(truth, abs=0.004)
        if error == 0.0:
            assert np.mean(np.diff(without)) < 0.7 * np.mean(np.diff(raw))


def test_adjusted_interval_of_a_short_match_follows_the_spread_of_its_pairs() -> None:
    """20 pairs that vary by 25 points before the adjustment and by 3 points after it."""
    rng = np.random.default_rng(1)
    luck = rng.choice((-0.25, 0.25), 20)
    adjusted = 0.6 + rng.choice((-0.03, 0.03), 20)
    low, high = mean_interval(adjusted, adjusted + luck)
    assert 0.013 < (high - low) / 2 < 0.018


def test_ten_wins_without_luck_prove_little() -> None:
    for unadjusted in (None, np.ones(5)):
        low, high = mean_interval(np.ones(5), unadjusted)
        assert low < 0.9
    assert high == 1.0
    assert mean_interval(np.empty(0)) == (0.0, 1.0)


# Ratings

STRENGTHS = np.array([0.0, 0.3, 0.8, -0.5])  # in the model's units, like the first-move advantage
FIRST_MOVE = 0.2


def simulated(pairs: int, rng: np.random.Generator, likeness: float = 0.0) -> list[Pairing]:
    """Simulate a round robin; in a fraction `likeness` of the pairs both games share their luck."""
    pairings = []
    for i in range(4):
        for j in range(i):
            away = STRENGTHS[i] - STRENGTHS[j]
            chances = [1 / (1 + math.exp(-(away + first))) for first in (FIRST_MOVE, -FIRST_MOVE)]
            drawn = rng.random((pairs, 2))
            same = rng.random(pairs) < likeness
            drawn[same, 1] = 1 - drawn[same, 0]
            pairings.append(Pairing(i, j, (drawn < chances).astype(float)))
    return pairings


def test_ratings_equal_those_of_choix() -> None:
    choix = pytest.importorskip("choix")
    pairings = simulated(50, np.random.default_rng(3))
    games = [
        (pairing.first, pairing.second) if won else (pairing.second, pairing.first)
        for pairing in pairings
        for won in pairing.shares.ravel()
    ]
    theirs = ELO * choix.ilsr_pairwise(4, games)
    ours = fit_ratings(4, pairings, first_move=False, virtual=0)
    assert ours.elo == pytest.approx(theirs - theirs.mean(), abs=1e-4)
    assert ours.first_move == pytest.approx(0, abs=1e-6)


def test_two_players_and_their_first_moves_have_the_ratings_of_their_scores() -> None:
    """Three wins of four with either side are 191 Elo; the rest follows by symmetry."""
    shares = np.array([[1, 1], [1, 1], [1, 0], [0, 1]] * 25, float)
    fitted = fit_ratings(2, [Pairing(0, 1, shares)], virtual=0)
    assert fitted.elo[0] - fitted.elo[1] == pytest.approx(elo(0.75))
    assert fitted.first_move == pytest.approx(0, abs=1e-6)
    firsts = fit_ratings(
        2, [Pairing(0, 1, np.array([[1, 0], [1, 0], [1, 0], [0, 1]] * 25, float))], virtual=0
    )
    assert firsts.elo == pytest.approx((0, 0), abs=1e-6)
    assert firsts.first_move == pytest.approx(elo(0.75))
    assert fitted.better(0, 1) > 0.999
    assert firsts.better(0, 1) == pytest.approx(0.5)


def test_player_who_won_all_games_has_finite_rating() -> None:
    fitted = fit_ratings(3, [Pairing(0, 1, np.ones((10, 2)))])
    assert 200 < fitted.elo[0] - fitted.elo[1] < 1000
    assert fitted.intervals[0][0] < fitted.elo[0] - 100
    assert fitted.elo[2] == pytest.approx(0, abs=1)  # a player without games


@pytest.mark.parametrize("likeness", [0.0, 0.6])
def test_intervals_of_ratings_cover_the_truth(likeness: float) -> None:
    rng = np.random.default_rng(2)
    covered = np.zeros(5)
    for _ in range(200):
        fitted = fit_ratings(4, simulated(40, rng, likeness))
        truth = [*(ELO * (STRENGTHS - STRENGTHS.mean())), ELO * FIRST_MOVE]
        intervals = [*fitted.intervals, fitted.first_move_interval]
        covered += [low <= value <= high for value, (low, high) in zip(truth, intervals, strict=True)]
    assert (covered / 200 >= 0.90).all()
    assert 0.93 <= covered.mean() / 200 <= 0.975

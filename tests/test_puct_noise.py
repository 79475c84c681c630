"""The noise of Puct: its distribution, and the random numbers that it uses."""

import math

import numpy as np
import pytest

from dicent import Limit
from dicent.kernels.constants import SEARCH
from dicent.kernels.generator import gamma, normal, open_stream
from dicent.search.group import Group

from .simulating import COLUMNS, CONNECT_FOUR, fixed


def stream(seed: int) -> np.ndarray:
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, 0, SEARCH)
    return rng


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance between a sample and a distribution."""
    at = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(some), at, side="right") / len(some) for some in (ours, theirs)]
    return float(np.abs(below[0] - below[1]).max())


@pytest.mark.parametrize("alpha", [0.03, 0.3, 1.0, 10.0])
def test_gamma_variates_have_their_distribution(alpha: float) -> None:
    rng, n = stream(1), 20_000
    ours = np.array([gamma(rng, alpha) for _ in range(n)])
    assert ours.mean() == pytest.approx(alpha, abs=4 * math.sqrt(alpha / n))
    fourth = alpha**2 * (2 + 6 / alpha)  # variance of (x - alpha)**2: fourth moment minus squared second
    assert ours.var() == pytest.approx(alpha, abs=4 * math.sqrt(fourth / n))
    theirs = np.random.default_rng(1).gamma(alpha, size=10 * n)
    assert distance(ours, theirs) < 1.95 * math.sqrt(1.1 / n)  # exceeded once in 1,000 times


def test_normal_variates_have_their_distribution() -> None:
    rng, n = stream(2), 20_000
    ours = np.array([normal(rng) for _ in range(n)])
    assert distance(ours, np.random.default_rng(2).normal(size=10 * n)) < 1.95 * math.sqrt(1.1 / n)


def noise_of(alpha: float, moves: int = 1, compiled: bool = False, noise: float = 0.25) -> np.ndarray:
    """Return the noise [moves, 3, 7] of three searches with seeds 1, 2 and 1."""
    group = Group(fixed(noise=noise, alpha=alpha), CONNECT_FOUR, 3, compiled=compiled)
    for m, seed in enumerate((1, 2, 1)):
        group.begin(m, COLUMNS, Limit(evaluations=2), seed)
    seen = [group.kernels.arrays()["noise"].copy()]
    for _ in range(moves - 1):
        cells = np.array([COLUMNS.cells] * 3)
        group.begin_many(np.arange(3), cells, np.zeros(3, np.int64), Limit(evaluations=2), keep=False)
        seen.append(group.kernels.arrays()["noise"].copy())
    return np.array(seen)


def test_noise_depends_on_the_random_stream_only_and_differs_by_move() -> None:
    noise = noise_of(0.3, moves=4)
    assert (noise[:, 0] == noise[:, 2]).all()
    assert len(np.unique(noise[:, :2])) == 4 * 2 * 7


@pytest.mark.parametrize("alpha", [1e-3, 0.03, 0.3, 1.0, 10.0])
def test_noise_is_the_same_compiled_and_uncompiled(alpha: float) -> None:
    assert noise_of(alpha, 50, compiled=True).tobytes() == noise_of(alpha, 50).tobytes()


@pytest.mark.parametrize("alpha", [1e-300, 1e-3, 1e9])
def test_noise_sums_to_one_for_every_alpha(alpha: float) -> None:
    noise = noise_of(alpha, 20)
    shares = noise / noise.sum(axis=2, keepdims=True)
    assert (noise > 0).all()
    assert shares.sum(axis=2) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 3.0])
def test_noise_has_a_dirichlet_distribution(alpha: float) -> None:
    """Small values of alpha are included, which usually give nearly all the noise to one action."""
    ours = noise_of(alpha, 1000)[:, 0]
    largest = (ours / ours.sum(axis=1, keepdims=True)).max(axis=1)
    theirs = np.random.default_rng(1).dirichlet([alpha] * 7, 10_000).max(axis=1)
    assert distance(largest, theirs) < 1.95 * math.sqrt(1.1 / 1000)


def test_without_noise_no_random_numbers_are_drawn() -> None:
    group = Group(fixed(), CONNECT_FOUR, compiled=False)
    group.begin(0, COLUMNS, Limit(evaluations=2), 1)
    assert group.searches.rng[0].tolist() == stream(1).tolist()

"""The gain map: fitted to results, monotone, and equal to the mean of equal values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicent.learn.gain_map import fit_gain_map


def pairs(count: int, seed: int) -> list[tuple[float, int]]:
    """Return values from -20 to 20, and results that are more often won for larger values."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-20, 20, count)
    won = rng.random(count) < 1 / (1 + np.exp(-values / 4))
    return [(float(value), 1 if win else -1) for value, win in zip(values, won, strict=True)]


def test_the_gain_map_is_fitted_to_results() -> None:
    fitted = fit_gain_map(pairs(20_000, 1))
    assert fitted is not None
    for value in np.linspace(-18, 18, 19):
        assert fitted(value) == pytest.approx(np.tanh(value / 8), abs=0.09)


@given(
    given=st.lists(
        st.tuples(st.one_of(st.floats(-30, 30), st.integers(-3, 3).map(float)), st.sampled_from([-1, 0, 1])),
        max_size=400,
    )
)
def test_the_gain_map_is_monotone_for_any_results(given: list[tuple[float, int]]) -> None:
    fitted = fit_gain_map(given)
    if len(given) < 66:
        assert fitted is None
        return
    assert fitted is not None
    assert all(a < b for a, b in zip(fitted.values, fitted.values[1:], strict=False))
    assert all(a < b for a, b in zip(fitted.gains, fitted.gains[1:], strict=False))
    assert all(-1 <= gain <= 1 for gain in fitted.gains)
    found = [fitted(v) for v in np.linspace(-40, 40, 200)]
    assert (np.diff(found) >= -1e-12).all()
    mean = np.mean([result for _, result in given])  # the fit preserves weights, so it preserves the mean
    assert min(found) - 1e-9 <= mean <= max(found) + 1e-9


def test_equal_values_have_the_mean_of_their_results() -> None:
    fitted = fit_gain_map([(2.0, 1 if i % 4 else -1) for i in range(400)])
    assert fitted is not None
    assert fitted(2.0) == pytest.approx(0.5)
    several = fit_gain_map([(float(i % 3), 1 if i % 5 > i % 3 else -1) for i in range(900)])
    assert several is not None
    assert several(1.0) == pytest.approx(0.2, abs=0.02)

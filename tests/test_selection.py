"""How likely each action is while learning: by rank, by chance, by value."""

from collections.abc import Callable

import numpy as np
import pytest
from dicent.search.selection import epsilon_greedy, ordinal_law, softmax
from hypothesis import given
from hypothesis import strategies as st

from dicent import DicentError

Law = Callable[[int, float], np.ndarray]

counts = st.integers(1, 200)
shares = st.floats(0, 1)
values = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50)
temperatures = st.floats(1e-3, 1e6)


def is_distribution(probabilities: np.ndarray) -> bool:
    return bool((probabilities >= 0).all()) and probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_six_actions_half_exploited() -> None:
    expected = [0.583, 0.250, 0.104, 0.042, 0.016, 0.005]
    assert ordinal_law(6, 0.5) == pytest.approx(expected, abs=5e-4)


@given(n=counts, exploitation=shares)
def test_ordinal_law_takes_its_share_of_what_better_actions_leave(n: int, exploitation: float) -> None:
    probabilities = ordinal_law(n, exploitation)
    assert probabilities.shape == (n,)
    assert is_distribution(probabilities)
    for i in range(n):
        share = exploitation + (1 - exploitation) / (n - i)
        assert probabilities[i] == pytest.approx(share * (1 - probabilities[:i].sum()), abs=1e-12)


@given(n=counts, exploitation=shares)
def test_ordinal_law_prefers_better_actions(n: int, exploitation: float) -> None:
    assert (np.diff(ordinal_law(n, exploitation)) <= 1e-12).all()


@given(n=counts, lower=shares, higher=shares)
def test_more_exploitation_plays_the_best_action_more(n: int, lower: float, higher: float) -> None:
    lower, higher = sorted((lower, higher))
    assert ordinal_law(n, lower)[0] <= ordinal_law(n, higher)[0] + 1e-12


@pytest.mark.parametrize("n", [1, 2, 6, 40])
@pytest.mark.parametrize(
    ("law", "greedy", "uniform"), [(ordinal_law, 1, 0), (epsilon_greedy, 0, 1)], ids=["ordinal", "epsilon"]
)
def test_limits_are_greedy_and_uniform(law: Law, greedy: float, uniform: float, n: int) -> None:
    assert law(n, greedy).tolist() == [1.0] + [0.0] * (n - 1)
    assert law(n, uniform) == pytest.approx(np.full(n, 1 / n))


@given(n=counts, epsilon=shares)
def test_epsilon_greedy_shares_epsilon_among_all(n: int, epsilon: float) -> None:
    probabilities = epsilon_greedy(n, epsilon)
    assert probabilities.shape == (n,)
    assert is_distribution(probabilities)
    assert probabilities[0] == pytest.approx(1 - epsilon + epsilon / n)
    assert (probabilities[1:] == epsilon / n).all()


@given(values=values, temperature=temperatures)
def test_softmax_is_a_distribution_in_the_order_of_the_values(
    values: list[float], temperature: float
) -> None:
    probabilities = softmax(values, temperature)
    assert probabilities.shape == (len(values),)
    assert is_distribution(probabilities)
    assert (np.diff(probabilities[np.argsort(values)]) >= 0).all()


@given(values=values, temperature=temperatures, shift=st.floats(-1e3, 1e3))
def test_softmax_sees_differences_only(values: list[float], temperature: float, shift: float) -> None:
    moved = [value + shift for value in values]
    assert softmax(moved, temperature) == pytest.approx(softmax(values, temperature), abs=1e-8)


def test_softmax_by_hand() -> None:
    assert softmax([0, np.log(2), np.log(5)], 1) == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert softmax([0, 2 * np.log(3)], 2) == pytest.approx([1 / 4, 3 / 4])


def test_softmax_limits() -> None:
    assert softmax([0.1, 0.3, 0.2], 1e-12).tolist() == [0, 1, 0]
    assert softmax([0.5, 0.5, -1], 1e-300).tolist() == [0.5, 0.5, 0]  # equals share
    assert softmax([0.1, 0.3, 0.2], 1e12) == pytest.approx([1 / 3] * 3)
    assert softmax([-1, 1], float("inf")).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("law", [ordinal_law, epsilon_greedy])
@pytest.mark.parametrize(("n", "share"), [(0, 0.5), (-1, 0.5), (3, -0.1), (3, 1.1), (3, float("nan"))])
def test_laws_refuse_what_makes_no_distribution(law: Law, n: int, share: float) -> None:
    with pytest.raises(DicentError):
        law(n, share)


@pytest.mark.parametrize(
    ("values", "temperature"),
    [([], 1), ([[1, 2]], 1), ([1, 2], 0), ([1, 2], -1), ([1, 2], float("nan"))],
)
def test_softmax_refuses_what_makes_no_distribution(values: list[float], temperature: float) -> None:
    with pytest.raises(DicentError):
        softmax(values, temperature)

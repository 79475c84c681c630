"""Selection laws: action probabilities in self-play, by rank, value or visits, for many moves at once."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicent import DicentError
from dicent.learn.selection import (
    SELECTIONS,
    ByVisits,
    EpsilonGreedy,
    Ordinal,
    Selection,
    Softmax,
    epsilon_greedy,
    ordinal_law,
    softmax,
)

Law = Callable[..., np.ndarray]

counts = st.integers(1, 200)
shares = st.floats(0, 1)
values = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50)
temperatures = st.floats(1e-3, 1e6)
rows = st.lists(st.tuples(st.integers(1, 12), shares), min_size=1, max_size=8)  # counts and exploitation
EVERY: list[Selection] = [*SELECTIONS.values(), ByVisits(), ByVisits(0.01), Softmax(0.1)]


def is_distribution(probabilities: np.ndarray) -> bool:
    return bool((probabilities >= 0).all()) and probabilities.sum() == pytest.approx(1, abs=1e-12)


def one(law: Law, n: int, share: float) -> np.ndarray:
    """Return the probabilities of a single move."""
    found = law(n, share)
    assert found.shape == (1, n)
    return found[0]


def soft(given: list[float], temperature: float) -> np.ndarray:
    found = softmax([given], len(given), temperature)
    assert found.shape == (1, len(given))
    return found[0]


# The laws


def test_ordinal_law_of_six_actions_at_half_exploitation() -> None:
    expected = [0.583, 0.250, 0.104, 0.042, 0.016, 0.005]
    assert one(ordinal_law, 6, 0.5) == pytest.approx(expected, abs=5e-4)


@given(n=counts, exploitation=shares)
def test_ordinal_law_follows_its_recursion(n: int, exploitation: float) -> None:
    probabilities = one(ordinal_law, n, exploitation)
    assert is_distribution(probabilities)
    for i in range(n):
        share = exploitation + (1 - exploitation) / (n - i)
        assert probabilities[i] == pytest.approx(share * (1 - probabilities[:i].sum()), abs=1e-12)


@given(n=counts, exploitation=shares)
def test_ordinal_law_prefers_better_actions(n: int, exploitation: float) -> None:
    assert (np.diff(one(ordinal_law, n, exploitation)) <= 1e-12).all()


@given(n=counts, lower=shares, higher=shares)
def test_more_exploitation_plays_the_best_action_more(n: int, lower: float, higher: float) -> None:
    lower, higher = sorted((lower, higher))
    assert one(ordinal_law, n, lower)[0] <= one(ordinal_law, n, higher)[0] + 1e-12


@pytest.mark.parametrize("n", [1, 2, 6, 40])
@pytest.mark.parametrize(
    ("law", "greedy", "uniform"), [(ordinal_law, 1, 0), (epsilon_greedy, 0, 1)], ids=["ordinal", "epsilon"]
)
def test_limits_are_greedy_and_uniform(law: Law, greedy: float, uniform: float, n: int) -> None:
    assert one(law, n, greedy).tolist() == [1.0] + [0.0] * (n - 1)
    assert one(law, n, uniform) == pytest.approx(np.full(n, 1 / n))


@given(n=counts, epsilon=shares)
def test_epsilon_greedy_spreads_epsilon_over_all_actions(n: int, epsilon: float) -> None:
    probabilities = one(epsilon_greedy, n, epsilon)
    assert is_distribution(probabilities)
    assert probabilities[0] == pytest.approx(1 - epsilon + epsilon / n)
    assert (probabilities[1:] == epsilon / n).all()


@given(values=values, temperature=temperatures)
def test_softmax_is_a_distribution_in_the_order_of_the_values(
    values: list[float], temperature: float
) -> None:
    probabilities = soft(values, temperature)
    assert is_distribution(probabilities)
    assert (np.diff(probabilities[np.argsort(values)]) >= 0).all()


@given(values=values, temperature=temperatures, shift=st.floats(-1e3, 1e3))
def test_softmax_depends_on_differences_only(values: list[float], temperature: float, shift: float) -> None:
    moved = [value + shift for value in values]
    assert soft(moved, temperature) == pytest.approx(soft(values, temperature), abs=1e-8)


def test_softmax_by_hand() -> None:
    assert soft([0, np.log(2), np.log(5)], 1) == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert soft([0, 2 * np.log(3)], 2) == pytest.approx([1 / 4, 3 / 4])


def test_softmax_limits() -> None:
    assert soft([0.1, 0.3, 0.2], 1e-12).tolist() == [0, 1, 0]
    assert soft([0.5, 0.5, -1], 1e-300).tolist() == [0.5, 0.5, 0]  # equal values share the probability
    assert soft([0.1, 0.3, 0.2], 1e12) == pytest.approx([1 / 3] * 3)
    assert soft([-1, 1], float("inf")).tolist() == [0.5, 0.5]
    assert softmax([[-1, 1, 7]], 2, float("inf")).tolist() == [[0.5, 0.5, 0]]


# Many moves at once


@given(rows=rows)
@pytest.mark.parametrize("law", [ordinal_law, epsilon_greedy])
def test_rows_are_independent(law: Law, rows: list[tuple[int, float]]) -> None:
    n, share = [row[0] for row in rows], [row[1] for row in rows]
    together = law(n, share, 15)
    assert together.shape == (len(rows), 15)
    for found, (count, e) in zip(together, rows, strict=True):
        assert found[:count] == pytest.approx(one(law, count, e), abs=1e-15)
        assert (found[count:] == 0).all()


@given(rows=rows, data=st.data())
@pytest.mark.parametrize("law", EVERY, ids=lambda law: type(law).__name__)
def test_laws_give_probability_to_legal_actions_only(
    law: Selection, rows: list[tuple[int, float]], data: st.DataObject
) -> None:
    """Entries beyond the counts hold arbitrary values from earlier moves."""
    n = np.array([row[0] for row in rows])
    exploitation = np.array([row[1] for row in rows])
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    ordered = -np.sort(-rng.uniform(-1, 1, (len(rows), 12)), axis=1)
    visits = -np.sort(-rng.integers(0, 50, (len(rows), 12)).astype(float), axis=1)
    visits[:, 0] += 1
    beyond = np.arange(12) >= n[:, None]
    ordered[beyond], visits[beyond] = 7.0, 1e6
    found = law.probabilities(ordered, visits, n, exploitation)
    assert found.shape == (len(rows), 12)
    assert (found[beyond] == 0).all()
    for row, count in zip(found, n, strict=True):
        assert is_distribution(row)
        assert (np.diff(row[:count]) <= 1e-12).all()  # better actions are more likely


def test_exploitation_one_is_greedy_and_zero_uniform() -> None:
    given, visits = np.array([[0.5, 0.2, -1.0]]), np.zeros((1, 3))
    for law in (Ordinal(), EpsilonGreedy(), Softmax()):
        greedy = law.probabilities(given, visits, np.array([3]), np.ones(1))
        assert greedy[0] == pytest.approx([1, 0, 0], abs=1e-12)
    for law in (Ordinal(), EpsilonGreedy(), Softmax(1e9)):
        any_of_them = law.probabilities(given, visits, np.array([3]), np.zeros(1))
        assert any_of_them[0] == pytest.approx([1 / 3] * 3, abs=1e-6)


@pytest.mark.parametrize(
    ("temperature", "weights"),
    [(1.0, [8, 4, 2, 0]), (0.5, [64, 16, 4, 0]), (2.0, [8**0.5, 2, 2**0.5, 0]), (1e-3, [1, 0, 0, 0])],
)
def test_visits_to_the_power_of_the_inverse_temperature(temperature: float, weights: list[float]) -> None:
    visits, nothing = np.array([[8.0, 4, 2, 0]]), np.zeros((1, 4))
    found = ByVisits(temperature).probabilities(nothing, visits, np.array([4]), np.array([0.3]))
    assert found[0] == pytest.approx(np.array(weights) / sum(weights))


@given(visits=st.lists(st.integers(0, 10_000), min_size=1, max_size=12))
def test_only_visited_action_is_played_at_any_temperature(visits: list[int]) -> None:
    alone = np.array([[max(visits) + 1.0, *[0.0] * (len(visits) - 1)]])
    for temperature in (0.01, 1.0, 10.0):
        found = ByVisits(temperature).probabilities(0 * alone, alone, np.array([len(visits)]), np.ones(1))
        assert found.tolist() == [[1.0, *[0.0] * (len(visits) - 1)]]


# Invalid arguments


@pytest.mark.parametrize("law", [ordinal_law, epsilon_greedy])
@pytest.mark.parametrize(
    ("n", "share"),
    [(0, 0.5), (-1, 0.5), (3, -0.1), (3, 1.1), (3, float("nan")), ([2, 0], 0.5), ([2, 3], [0.5, 2.0])],
)
def test_laws_refuse_invalid_arguments(law: Law, n: int, share: float) -> None:
    with pytest.raises(DicentError):
        law(n, share)


@pytest.mark.parametrize(
    ("values", "count", "temperature"),
    [
        ([[]], 0, 1),
        ([1, 2], 2, 1),
        ([[1, 2]], [2, 2], 1),
        ([[1, 2]], 0, 1),
        ([[1, 2]], 2, 0),
        ([[1, 2]], 2, -1),
        ([[1, 2]], 2, float("nan")),
    ],
)
def test_softmax_refuses_invalid_arguments(values: list[list[float]], count: int, temperature: float) -> None:
    with pytest.raises(DicentError):
        softmax(values, count, temperature)

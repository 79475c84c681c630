"""Samples of decisions with exact values from games with cycles and scores, and what is measured by them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dicent
from dicent.evaluate.terminal_value import TerminalValue
from dicent.exact.accuracy import values_aimed_at
from dicent.exact.sample import exact_sample, whole_game_sample
from dicent.exact.solution import ValueKind
from dicent.exact.solver import Solver
from dicent.exact.tablebase import probe
from dicent.learn import measure

GAMES: list[tuple[str, ValueKind]] = [
    ("pig:target=8,sides=3", "gain"),
    ("hypergammon:checkers=1", "gain"),
    ("hypergammon:checkers=1", "score"),
]
pytestmark = pytest.mark.usefixtures("uncompiled")


class Known(dicent.Evaluator):
    """Exact values, all of them off by the same amount."""

    has_policy = False

    def __init__(self, game: dicent.Game, values: ValueKind, off: float = 0.0) -> None:
        self.solver = Solver(game, values=values)
        self.terminal = TerminalValue(values)
        self.off = off

    def evaluate(self, game: dicent.Game, states: Any) -> Any:
        return np.array([self.solver.value_of(game.state(state)) for state in states]) + self.off


@pytest.mark.parametrize(("name", "values"), GAMES)
def test_exact_evaluator_has_no_error_and_loses_nothing(name: str, values: ValueKind) -> None:
    game = dicent.make(name)
    sample = whole_game_sample(game, positions=20, values=values)
    assert len(sample) == 20
    player = Known(game, values)
    [bare] = dicent.accuracy(player, sample)
    assert bare.worst < 1e-9
    [played] = dicent.accuracy(dicent.Greedy(player), sample, dicent.Limit(depth=1))
    assert played.optimal is not None
    assert played.regret is not None
    assert (played.optimal.mean, played.worst < 1e-9, played.regret.mean < 1e-9) == (1.0, True, True)


@pytest.mark.parametrize(("values", "error"), [("gain", 0.05), ("score", 0.1)])
def test_error_is_in_points_if_values_are(values: ValueKind, error: float) -> None:
    """A tenth of a point is a twentieth of a win probability."""
    game = dicent.make("hypergammon:checkers=1")
    sample = exact_sample(game, positions=10, values=values)
    [row] = dicent.accuracy(Known(game, values, off=0.1), sample)
    assert row.error.mean == pytest.approx(error, abs=0.01)  # values outside of -1 to 1 are cut
    assert values_aimed_at([Known(game, values)]) == values


def test_points_and_win_probabilities_are_not_compared() -> None:
    game = dicent.make("hypergammon:checkers=1")
    sample = whole_game_sample(game, positions=5, values="score")
    with pytest.raises(
        dicent.DicentError, match="this player aims at gain, and the sample has values of score"
    ):
        dicent.accuracy(Known(game, "gain"), sample)


@pytest.mark.parametrize(("name", "values"), GAMES)
def test_learning_curves_use_cyclic_games(name: str, values: ValueKind) -> None:
    game = dicent.make(name)
    sample = measure.exact_positions(game, values)
    assert len(sample) > 10
    network: Any = Known(game, values, off=0.25)
    found = measure.exactness(network, sample[:10])
    assert found["best moves"] == 1.0
    assert found["error"] > 0.05
    other: Callable[..., Any] = Known
    if values == "score":
        assert measure.exactness(other(game, "gain"), sample) == {}


def test_probe_solves_for_points_or_gains() -> None:
    position = dicent.make("hypergammon:checkers=1,start=first").initial_state()
    assert probe(position).value == pytest.approx(0.4527731370419, abs=1e-10)
    gain = probe(position, values="gain")
    assert gain.win == pytest.approx((1 + gain.value) / 2)
    assert gain.value != pytest.approx(0.4527731370419, abs=1e-3)

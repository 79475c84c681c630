"""Exact values of backgammon and hypergammon: from GNU Backgammon, and from independent programs."""

import csv
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

import dicent
from dicent.exact.solver import Solver

DATA = Path(__file__).parent / "data" / "backgammon_gnubg.csv"
# Equity of who wins the opening roll, and of who is on roll with any dice, from an independent program.
# Three checkers: Tom Keith 2018, bkgm.com/articles/Keith/Hyper06, cubeless, for the opening roll.
HYPERGAMMON = {1: (0.3142563394574, 0.4527731370419), 2: (0.1133299672859, 0.1522439124838)}
OPENING_OF_THREE = 0.0836795444708631


@lru_cache
def recorded() -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    with DATA.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            values.setdefault(row["game"], {})[row["position"]] = float(row["value"])
    return values


def opening_equity(solver: Solver) -> float:
    """Return the mean equity of the first player after the opening rolls that let them begin."""
    start = solver.game.initial_state()
    rolled = [start.apply_outcome(o) for o, _ in start.outcomes]
    return sum(solver.value_of(s) for s in rolled if s.to_play == dicent.MAX) / 15


def check_hypergammon(checkers: int, compiled: bool) -> None:
    game = dicent.make(f"hypergammon:checkers={checkers}")
    solver = Solver(game, compiled=compiled)
    assert solver.value_of(game.initial_state()) == pytest.approx(0, abs=1e-10)
    won, on_roll = HYPERGAMMON[checkers]
    assert opening_equity(solver) == pytest.approx(won, abs=2e-10)
    assert solver.value_of(game.parse(str(first_on_roll(checkers)))) == pytest.approx(on_roll, abs=2e-10)
    for text, value in recorded()[f"hypergammon:checkers={checkers}"].items():
        assert solver.value_of(game.parse(text)) == pytest.approx(value, abs=1e-6)
    assert solver.report is not None
    assert solver.report.forced == 0


def first_on_roll(checkers: int) -> dicent.State:
    return dicent.make(f"hypergammon:checkers={checkers},start=first").initial_state()


def test_hypergammon_with_one_checker_agrees_with_gnu_backgammon() -> None:
    check_hypergammon(1, compiled=False)


def test_bear_off_agrees_with_gnu_backgammon() -> None:
    """The records are exact to 16 bits a step."""
    game = dicent.make("backgammon")
    solver = Solver(game, compiled=False)
    positions = list(recorded()["backgammon"].items())
    few = [(text, value) for text, value in positions if sum(letter.isalpha() for letter in text) == 2]
    assert len(few) > 5
    for text, value in few:
        assert solver.value_of(game.parse(text)) == pytest.approx(value, abs=1e-4)


def test_last_checker_on_the_six_point_wins_three_times_in_four() -> None:
    position = dicent.make("backgammon").parse("------A-----------------a- 1 -")
    for values, value in (("gain", 0.5), ("score", 0.5)):
        assert dicent.solve(position, compiled=False, values=values).value == pytest.approx(value, abs=1e-12)
    assert dicent.solve(position, compiled=False, values="gain").win == pytest.approx(0.75, abs=1e-12)


def test_a_gammon_counts_two_points() -> None:
    """MAX bears off the last checker, and MIN still has all fifteen, outside MAX's home."""
    position = dicent.make("backgammon").parse("-A------------------o----- 1 -")
    assert dicent.solve(position, compiled=False).value == 2.0
    assert dicent.solve(position, compiled=False, values="gain").value == 1.0


def test_score_beyond_the_stated_largest_is_refused(edited: Callable[..., Path]) -> None:
    """One checker that hits and gets home wins a gammon or a backgammon."""
    path = edited("backgammon", ("MAX_SCORE = 3.0", "MAX_SCORE = 1.5"))
    game = dicent.make(f"{path}:variant=hyper,checkers=1")
    with pytest.raises(
        dicent.DicentError, match=r"has a score of 3, and MAX_SCORE is 1\.5: set MAX_SCORE to 3"
    ):
        dicent.solve(game, compiled=False)


def test_cyclic_game_with_points_needs_their_largest(edited: Callable[..., Path]) -> None:
    path = edited("backgammon", ("MAX_SCORE = 3.0", ""))
    game = dicent.make(f"{path}:variant=hyper,checkers=1")
    with pytest.raises(dicent.DicentError, match="set it to the largest absolute value of score"):
        dicent.solve(game, compiled=False)


def test_checkers_of_backgammon_are_refused() -> None:
    with pytest.raises(dicent.DicentError, match="checkers is an option of hypergammon"):
        dicent.make("backgammon:checkers=1")

"""Exact and committed samples of backgammon: bear-offs, and decisions rated by another program."""

from collections import Counter
from pathlib import Path

import pytest

import dicent
from dicent.errors import DicentError
from dicent.exact.decision_file import read_decisions
from dicent.exact.sample import Decision, exact_sample
from dicent.exact.solver import Solver
from dicent.kernels.constants import MAX

GAME = dicent.make("backgammon")
FIRST_MOVES_LOSE = 148.74  # millipoints per decision of the benchmark
BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "backgammon.jsonl.gz"


def test_bear_offs_have_exact_points() -> None:
    sample = exact_sample(GAME, positions=20, pieces=6, values="score")
    groups = Counter(decision.group for decision in sample)
    assert set(groups) <= {f"{a} v {b}" for a in (1, 2, 3) for b in (1, 2, 3)}
    assert groups["3 v 3"] == 20
    solver = Solver(GAME, values="score")
    for decision in sample[::10]:
        state = decision.state
        best = max if state.to_play == MAX else min
        assert decision.values == "score"
        assert decision.value == best(solver.value_of(state.apply(a)) for a in state.legal_actions)
        assert abs(decision.value) <= 1  # both sides have borne off: there is no gammon
    assert sample == exact_sample(GAME, positions=20, pieces=6, values="score")


def test_a_bear_off_by_hand() -> None:
    # MAX has checkers on 6 and 1: 51 bears off one of them, and MIN bears off its last one with any roll.
    state = GAME.parse("-A----A-----------------a- 1 51")
    assert Solver(GAME, values="score").value_of(state) == -1.0
    two = GAME.parse("-AA---------------------a- 1 21")
    assert Solver(GAME, values="score").value_of(two) == 1.0


def test_bear_offs_have_up_to_three_checkers_of_each_player() -> None:
    with pytest.raises(DicentError, match=r"2 to 6 checkers \(got pieces=8\)"):
        exact_sample(GAME, pieces=8, values="score")


@pytest.fixture(scope="module")
def committed() -> list[Decision]:
    return read_decisions(BENCHMARK, GAME)


def test_the_committed_benchmark_has_its_decisions(committed: list[Decision]) -> None:
    assert Counter(decision.group for decision in committed) == {"contact": 1200, "crashed": 497, "race": 419}
    for decision in committed[::50]:
        assert set(decision.moves) == set(decision.state.legal_actions)
        assert decision.values == "score"
        assert max(abs(value) for value in decision.moves.values()) <= 3
        best = max if decision.state.to_play == MAX else min
        assert decision.value == best(decision.moves.values())


def test_a_player_of_first_moves_loses_a_known_amount(committed: list[Decision]) -> None:
    lost = [decision.lost_by(decision.state.legal_actions[0]) for decision in committed]
    assert 1000 * sum(lost) / len(lost) == pytest.approx(FIRST_MOVES_LOSE, abs=0.05)
    assert all(
        decision.lost_by(min(decision.moves, key=decision.lost_by)) == 0 for decision in committed[::50]
    )

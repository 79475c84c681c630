"""Games in which players can repeat moves for ever: against all strategies of both, tried one by one."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent.exact.component import TOLERANCE
from dicent.exact.graph_solver import GraphSolver
from dicent.exact.solver import Solver

from .exact import written_out

Table = dict[str, tuple[str, list[tuple[str, float]]]]  # who plays, and the successors with probabilities
ENDS = {"win": 1.0, "draw": 0.0, "loss": -1.0}


def best_play(table: Table) -> dict[str, float]:
    """Return the values by trying all strategies; both players have one that does not depend on the past."""
    names = list(table)
    choices = {
        player: [
            dict(zip(own, chosen, strict=True))
            for own in [[name for name in names if table[name][0] == player]]
            for chosen in itertools.product(*[range(len(table[name][1])) for name in own])
        ]
        for player in ("max", "min")
    }
    values = np.array(
        [[play_out(table, names, mine | theirs) for theirs in choices["min"]] for mine in choices["max"]]
    )
    return dict(zip(names, values.min(axis=1).max(axis=0).tolist(), strict=True))


def play_out(table: Table, names: list[str], chosen: dict[str, int]) -> np.ndarray:
    """Return the expected results of two strategies; what never ends counts as a draw."""
    n = len(names)
    chain, ends = np.zeros((n, n)), np.zeros(n)
    for i, name in enumerate(names):
        player, successors = table[name]
        if player != "chance":
            successors = [(successors[chosen[name]][0], 1.0)]
        for child, p in successors:
            if child in ENDS:
                ends[i] += p * ENDS[child]
            else:
                chain[i, names.index(child)] += p
    # States that never reach an end: no path of any length leads there.
    leaves = 1 - chain.sum(axis=1) > 1e-9
    for _ in range(n):
        leaves |= (chain[:, leaves] > 0).any(axis=1)
    chain[~leaves] = 0.0
    return np.linalg.solve(np.eye(n) - chain, np.where(leaves, ends, 0.0))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Small games with loops of every kind; the first state leads to all of the others in the end."""
    n = draw(st.integers(2, 6))
    names = [f"s{i}" for i in range(n)]
    targets = st.sampled_from([*names, *ENDS])
    table: Table = {}
    for i, name in enumerate(names):
        player = draw(st.sampled_from(["max", "min", "chance"]))
        successors = draw(st.lists(targets, min_size=1, max_size=3, unique=True))
        if i + 1 < n and names[i + 1] not in successors:
            successors = [names[i + 1], *successors[:2]]
        weights = draw(st.lists(st.integers(1, 3), min_size=len(successors), max_size=len(successors)))
        table[name] = player, [(c, w / sum(weights)) for c, w in zip(successors, weights, strict=True)]
    return table


def text_of(table: Table) -> str:
    def successor(player: str, child: str, p: float) -> str:
        end = f"={ENDS[child]:.0f}" if child in ENDS else ""
        return f"{child}{end}" + (f":{p!r}" if player == "chance" else "")

    return "\n".join(
        " ".join([name, player, "0", *(successor(player, child, p) for child, p in successors)])
        for name, (player, successors) in table.items()
    )


@settings(max_examples=150)
@given(table=tables(), small=st.sampled_from([0, 1000]))
def test_values_are_those_of_best_play(
    table: Table, small: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Components are solved in both ways, as small ones and as large ones."""
    game, _ = written_out(tmp_path_factory.mktemp("game"), text_of(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dicent.exact.stages.SMALL", small)
        solver = GraphSolver(game, 1000, compiled=False)
        for name, value in best_play(table).items():
            low, high = solver.bounds_of(game.parse(name))
            assert low - 1e-9 <= value <= high + 1e-9
            assert high - low <= TOLERANCE


def test_endless_passing_is_a_draw(tmp_path: Path) -> None:
    """A player who wins by stopping stops. If stopping loses, both pass forever: the game is a draw."""
    game, _ = written_out(tmp_path, "a max 0 b win=1\nb min 0 a loss=-1")
    assert dicent.solve(game, compiled=False).value == 1.0
    game, _ = written_out(tmp_path, "a max 0 b loss=-1\nb min 0 a win=1")
    solution = dicent.solve(game, compiled=False)
    assert (solution.value, solution.bound) == (0.0, 0.0)
    assert solution.solver is not None
    assert solution.solver.report is not None
    assert (solution.solver.report.forced, solution.solver.report.repeated) == (0, 2)


@pytest.mark.parametrize(("exit", "value"), [("1", 0.0), ("-1", -1.0), ("0", 0.0)])
def test_a_player_who_can_stay_takes_the_better_of_exit_and_draw(
    tmp_path: Path, exit: str, value: float
) -> None:
    game, _ = written_out(tmp_path, f"a max 0 b\nb chance 0 c:0.5 d:0.5\nc min 0 d\nd min 0 b e={exit}")
    assert dicent.solve(game, compiled=False).value == pytest.approx(value, abs=1e-12)


def test_solution_reports_which_player_can_force_endless_play(tmp_path: Path) -> None:
    game, _ = written_out(tmp_path, "a max 0 b win=1\nb min 0 b c\nc chance 0 a:0.5 loss=-1:0.5")
    solver = GraphSolver(game, 100, compiled=False)
    assert solver.can_force_endless(game.parse("b")) == (False, True)
    assert solver.can_force_endless(game.parse("a")) == (False, False)
    assert solver.report.forced == 1
    assert "a player can force it from 1 states" in solver.report.in_words()


def test_nobody_can_force_endless_play_where_chance_ends_it() -> None:
    game = dicent.make("pig:target=8,sides=3")
    solver = Solver(game, compiled=False)
    solver.value_of(game.initial_state())
    assert solver.report is not None
    assert solver.report.forced == 0
    assert "no player can force it" in solver.report.in_words()

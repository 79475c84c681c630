"""Tests that take minutes, run by `make exact`: tablebases of four pieces, whole games, cyclic games."""

from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, Expectiminimax, Limit, RandomEvaluator, machine
from dicent.exact.solver import Solver
from dicent.exact.tablebase import Tablebase, build_tablebase
from dicent.learn.measure import exact_positions

from .endgames import all_endgames, class_records, random_endgames, small_game, start_with
from .test_backgammon_exact import OPENING_OF_THREE, check_hypergammon, opening_equity, recorded
from .test_search_exact import close, make, pieces, position, recorded_moves, records

CLASSES = [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1)]


@pytest.fixture(scope="module", params=["ewn", "ewn:rules=paper"])
def tablebase(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tablebase:
    return build_tablebase(make(request.param), 4, tmp_path_factory.mktemp("tables"))


def test_means_of_whole_classes_agree_with_records(tablebase: Tablebase) -> None:
    """Look up all 120 million positions; compare counts, means and sure results."""
    for record in class_records(tablebase.game.name):
        mine, theirs = record["mover_pieces"], record["other_pieces"]
        count = wins = losses = 0
        total = 0.0
        for states in all_endgames(tablebase.game, mine, theirs):
            values = tablebase.values(states)
            count += len(values)
            total += float(values.sum())
            wins += int((values == 1).sum())
            losses += int((values == -1).sum())
        assert count == record["nonterminal_positions"]
        assert (total / count + 1) / 2 == pytest.approx(record["mean_p_win_to_move"], abs=tablebase.error)
        assert (wins, losses) == (record["sure_wins"], record["sure_losses"])


def test_recorded_endgames_have_their_recorded_values(tablebase: Tablebase) -> None:
    for record in records(tablebase.game.name):
        assert pieces(record) <= 4
        win = tablebase.probe(position(record)).win
        assert win == pytest.approx(record["p_win_to_move"], abs=tablebase.error)
        for die, after in record["after_roll"].items():
            rolled = tablebase.probe(position(record, die))
            assert rolled.win == pytest.approx(after["v"], abs=tablebase.error)
            moves = {move.text: move.value for move in rolled.moves}
            assert moves == pytest.approx(recorded_moves(record, die), abs=2 * tablebase.error)


@pytest.mark.parametrize(("mine", "theirs"), CLASSES)
def test_solver_and_tablebase_agree(tablebase: Tablebase, mine: int, theirs: int) -> None:
    solver, worst = Solver(tablebase.game), 0.0
    for i, state in enumerate(random_endgames(tablebase.game, mine, theirs, 1000, seed=1, die=True)):
        if solver.states > 2_000_000:
            solver = Solver(tablebase.game)
        exact = solver.value_of(state)
        worst = max(worst, abs(tablebase.value_of(state) - exact))
        if i % 20 == 0:
            for image in state.symmetries[1::5]:
                assert image.sign * solver.value_of(image.state) == pytest.approx(exact, abs=1e-12)
    assert worst <= 2 * tablebase.error


@pytest.mark.parametrize(("mine", "theirs"), CLASSES)
def test_searches_prove_the_tablebase_values(tablebase: Tablebase, mine: int, theirs: int) -> None:
    """Compare positions with up to 15 steps left; searches take too long farther from the end."""
    searches, solver, seen = [Expectiminimax(RandomEvaluator(1)), Descent(RandomEvaluator(1))], None, 0
    solver = Solver(tablebase.game)
    for state in random_endgames(tablebase.game, mine, theirs, 1000, seed=2, die=True):
        if steps_left(state) > 15:
            continue
        exact = solver.value_of(state)
        for search in searches:
            analysis = search.analyse(state, Limit(nodes=10_000_000))
            assert analysis.proved
            assert analysis.value == close(exact)
        seen += 1
    assert seen > 100


def steps_left(state: dicent.State) -> int:
    module = state.game.rules.module
    cells = state.cells[: 2 * module.PIECES].astype(int)
    there = cells != module.OFF
    steps = cells // module.SIZE + cells % module.SIZE
    steps[: module.PIECES] = 2 * (module.SIZE - 1) - steps[: module.PIECES]
    return int(steps[there].sum())


def test_small_game_has_its_recorded_value_from_every_start() -> None:
    game, record = make("ewn:size=4,pieces=3"), small_game("4x4")
    solver = Solver(game)
    for first, row in zip(record["placements"], record["p_first_wins"], strict=True):
        for second, p in zip(record["placements"], row, strict=True):
            assert solver.solve(start_with(game, first, second)).win == close(p)


def test_larger_game_has_its_recorded_value_from_every_start(tmp_path: Path) -> None:
    """Three pieces a side on the 5x5 board: the tablebase covers all 102 million positions."""
    game, record = make("ewn:pieces=3"), small_game("5x5")
    tablebase = build_tablebase(game, 6, tmp_path)
    for first, row in zip(record["placements"], record["p_first_wins"], strict=True):
        for second, p in zip(record["placements"], row, strict=True):
            win = tablebase.probe(start_with(game, first, second)).win
            assert win == pytest.approx(p, abs=tablebase.error)


def test_tablebase_of_a_whole_small_game_agrees_with_the_solver(tmp_path: Path) -> None:
    game = make("ewn:size=4,pieces=3")
    tablebase = build_tablebase(game, 6, tmp_path)
    solver = Solver(game)
    solver.value_of(game.initial_state(1))
    states, values = solver.stored()
    assert np.abs(tablebase.values(states) - values).max() <= 2 * tablebase.error


@pytest.mark.parametrize(
    ("game", "win", "states"),
    [
        ("ur:pieces=3", 0.516201102238, 263_121),
        ("ur:pieces=4", 0.516159233557, 2_602_822),
        ("ur:rules=blitz,pieces=2", 0.505027398163, 20_314),
        ("ur:rules=masters,pieces=2", 0.510354915527, 18_992),
    ],
)
def test_ur_with_more_pieces(game: str, win: float, states: int) -> None:
    """Independent programs."""
    solution = dicent.solve(dicent.make(game))
    assert solution.win == pytest.approx(win, abs=1e-10)
    assert solution.states == states


@pytest.mark.parametrize(("target", "win"), [(10, 0.70942), (30, 0.56791)])
def test_pig_to_small_targets(target: int, win: float) -> None:
    """Independent value iteration; holding with no points is not allowed."""
    assert dicent.solve(dicent.make("pig", target=target)).win == pytest.approx(win, abs=5e-6)


def test_pig_to_a_hundred() -> None:
    """53.06 % (Neller and Presser 2004); the further digits are from an independent program."""
    solution = dicent.solve(dicent.make("pig"))
    assert solution.win == pytest.approx(0.530592725274, abs=1e-10)


def test_default_pig_has_exact_positions_in_training() -> None:
    assert len(exact_positions(dicent.make("pig"))) == 200


def test_hypergammon_with_two_checkers() -> None:
    check_hypergammon(2, compiled=True)


def test_whole_bear_off() -> None:
    game = dicent.make("backgammon")
    solver = Solver(game)
    for text, value in recorded()["backgammon"].items():
        assert solver.value_of(game.parse(text)) == pytest.approx(value, abs=1e-4)


@pytest.mark.skipif((machine.free_memory() or 0) < 12e9, reason="it takes 8 GB")
def test_hypergammon() -> None:
    """The published equity of who wins the opening roll."""
    game = dicent.make("hypergammon")
    solver = Solver(game)
    assert opening_equity(solver) == pytest.approx(OPENING_OF_THREE, abs=1e-10)

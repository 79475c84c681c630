"""The solver compared with another program, brute force and known results; games it must refuse."""

import math
import random
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import DicentError
from dicent.exact.progress import SolveProgress
from dicent.exact.solver import Solver, start_states

from .endgames import random_endgames, small_game, start_with
from .exact import Exact, written_out
from .test_search_exact import OPTIONS, close, make, position, recorded_moves, records


@pytest.mark.parametrize("variant", list(OPTIONS.values()))
def test_recorded_endgames_agree_for_each_roll_and_move(variant: str) -> None:
    solver = Solver(make(variant))
    for record in records(variant):
        solution = solver.solve(position(record))
        assert solution.win == close(record["p_win_to_move"])
        assert solution.value == close(2 * record["p_win_to_move"] - 1)
        assert solution.moves == ()
        by_die = {o.text: (1 + o.value) / 2 for o in solution.outcomes}
        assert by_die == close({die: after["v"] for die, after in record["after_roll"].items()})
        for die, after in record["after_roll"].items():
            rolled = solver.solve(position(record, die))
            assert rolled.win == close(after["v"])
            assert {m.text: m.value for m in rolled.moves} == close(recorded_moves(record, die))
            assert rolled.moves[0].value == rolled.value
            assert rolled.outcomes == ()


@pytest.mark.parametrize("rules", ["official", "paper"])
def test_a_small_game_by_placement(rules: str) -> None:
    """With three numbers both rules for missing numbers agree."""
    game = dicent.make(f"ewn:size=3,pieces=3,rules={rules}")
    record, solver = small_game("3x3"), Solver(game)
    for first, row in zip(record["placements"], record["p_first_wins"], strict=True):
        for second, p in zip(record["placements"], row, strict=True):
            assert solver.solve(start_with(game, first, second)).win == close(p)


def test_a_whole_game_is_the_mean_of_its_deals() -> None:
    solution = dicent.solve(dicent.make("ewn:size=3,pieces=3"))
    values = np.array(small_game("3x3")["p_first_wins"])
    assert solution.state is None
    assert solution.win == close(values.mean())
    assert len(solution.outcomes) == 36
    assert sum(o.p for o in solution.outcomes) == pytest.approx(1)
    game = dicent.make("ewn:size=3,pieces=3")
    for outcome in solution.outcomes[::7]:
        assert solution.value_of(game.parse(outcome.text)) == outcome.value


@pytest.mark.parametrize("setup", ["sequential", "mirrored"])
def test_pieces_that_are_placed_by_choice(setup: str) -> None:
    """Several decisions in a row, then dice."""
    game = dicent.make(f"ewn:size=3,pieces=3,setup={setup}")
    record = small_game("3x3")
    values = np.array(record["p_first_wins"])
    if setup == "sequential":  # the second player places after the first
        best = values.min(axis=1).max()
    else:  # the mirror image swaps the cells next to the corner
        mirror = [record["placements"].index(p[0] + p[2] + p[1]) for p in record["placements"]]
        best = max(values[i, j] for i, j in enumerate(mirror))
    assert dicent.solve(game).win == close(best)


def test_dice_nim_has_its_known_value() -> None:
    for stones in (1, 5, 15, 60):  # 120 plies: longer than the solver's initial stack
        state = dicent.make(f"dice-nim:stones={stones}").initial_state()
        value = dicent.solve(state, compiled=False).value
        assert value == pytest.approx(Exact().value(state), abs=1e-12)


def test_games_without_chance_give_whole_numbers() -> None:
    game = dicent.make("tic-tac-toe")
    solution = dicent.solve(game, compiled=False)
    assert (solution.value, solution.win, solution.states) == (0.0, 0.5, 4520)
    assert [move.value for move in solution.moves] == [0.0] * 9
    assert solution.solver is not None
    _, values = solution.solver.stored()
    assert set(values.tolist()) == {-1.0, 0.0, 1.0}
    chooser, exact, state = random.Random(1), Exact(), game.initial_state()
    while state.result is None:
        assert solution.value_of(state) == exact.value(state)
        state = state.apply(chooser.choice(state.legal_actions))
    assert solution.value_of(state) == state.result


def test_sure_wins_are_exactly_one() -> None:
    """Rounding must not matter: six times a rounded sixth is not one."""
    assert dicent.solve(make("ewn").parse("5/1A3/5/2a2/5 2 -")).value == 1.0


def test_every_order_of_players_and_chance(tmp_path: Path) -> None:
    table = """
    start   max     0  left right
    left    max     0  a b=-1
    a       chance  0  roll:0.25 c:0.75
    roll    chance  0  c:0.5 d=1:0.5
    c       min     0  e f=1
    e       max     0  g=0 h=-1
    right   chance  0  c:0.9 b=-1:0.1
    """
    game, _ = written_out(tmp_path, table)
    solution = dicent.solve(game, compiled=False)
    exact = Exact()
    for name in ("start", "left", "a", "roll", "c", "e", "right"):
        assert solution.value_of(game.parse(name)) == pytest.approx(exact.value(game.parse(name)), abs=1e-15)
    assert solution.value == 0.125


def test_symmetric_positions_agree() -> None:
    game = make("ewn")
    solver = Solver(game)
    for mine, theirs in ((1, 2), (2, 1), (2, 2)):
        for state in random_endgames(game, mine, theirs, 4, seed=3, die=True):
            value = solver.value_of(state)
            for image in state.symmetries:
                assert image.sign * solver.value_of(image.state) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("text", ["ewn F4/5/3a1/3A1/5 1 -", "ewn 5/5/1AB2/2a2/5 2 4", "dice-nim:stones=6"])
def test_compiled_and_uncompiled_values_are_equal(text: str) -> None:
    name, _, written = text.partition(" ")
    game = make(name)
    state = game.parse(written) if written else game.initial_state()
    native, plain = (dicent.solve(state, compiled=compiled) for compiled in (True, False))
    assert native == plain
    assert native.states == plain.states > 0


def test_cycle_that_chance_breaks_is_solved(tmp_path: Path) -> None:
    """In each cycle from b, MAX wins with 1/4 and MIN with 1/2: 1/3 and 2/3 in total."""
    game, _ = written_out(tmp_path, "a max 0 b\nb chance 0 win=1:0.25 loss=-1:0.5 c:0.25\nc min 0 b")
    solution = dicent.solve(game, compiled=False)
    assert solution.value == pytest.approx(-1 / 3, abs=1e-10)
    assert 0 < solution.bound <= 1e-10


def test_large_games_are_refused_with_a_count() -> None:
    with pytest.raises(DicentError, match=r"connect-four is too large .* more than 10,000 states follow"):
        dicent.solve(dicent.make("connect-four"), max_states=10_000, compiled=False)
    with pytest.raises(DicentError, match="deals more than 1,000 starts: give a position"):
        dicent.solve(make("ewn"))
    with pytest.raises(DicentError, match=r"max_states must be 1 or more \(got 0\)"):
        Solver(make("ewn"), max_states=0)


def test_states_of_another_game_are_refused() -> None:
    with pytest.raises(DicentError, match="for ewn, not for dice-nim"):
        Solver(make("ewn")).value_of(make("dice-nim").initial_state())


def test_progress_is_reported_and_an_interrupt_ends_the_solver() -> None:
    game = dicent.make("ewn:size=3,pieces=3")
    state, solver, seen = start_states(game)[0], Solver(game), []

    def stop(progress: SolveProgress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.value_of(state, stop)
    assert [p.states for p in seen] == sorted({p.states for p in seen})
    assert all(0 <= p.share <= 1 for p in seen)
    assert solver.states == 0
    assert solver.value_of(state) == dicent.solve(state).value
    assert solver.value_of(state, seen.append) == dicent.solve(state).value
    assert seen[-1].share == 1.0


def test_finished_position_has_its_result() -> None:
    solution = dicent.solve(make("ewn").parse("5/5/2a2/5/4A 2 -"))
    assert (solution.value, solution.moves, solution.outcomes) == (1.0, (), ())


SCORED = """
start  max     0  small=1 roll
roll   chance  0  large=1:0.5 low=-1:0.5
"""


def with_score(folder: Path) -> dicent.Game:
    """A game without cycles: one point now, or three points won or one lost, by a coin."""
    game, _ = written_out(folder, SCORED)
    source = game.rules.path.read_text(encoding="utf-8")
    path = folder / "scored.py"
    path.write_text(
        source + "\nMAX_SCORE = 3.0\nPOINTS = np.array([0.0, 0.0, 1.0, 3.0, -1.0])\n\n\n"
        "def score(s):\n    return POINTS[s[0]]\n",
        encoding="utf-8",
    )
    return dicent.load(path)


def test_score_is_solved_for_by_default(tmp_path: Path) -> None:
    game = with_score(tmp_path)
    solution = dicent.solve(game, compiled=False)
    assert (solution.values, solution.value, solution.equity) == ("score", 1.0, 1.0)
    assert math.isnan(solution.win)
    assert {move.text: move.value for move in solution.moves} == {"small": 1.0, "roll": 1.0}
    written = solution.to_dict()
    assert (written["values"], written["value"], written["win"]) == ("score", 1.0, None)
    gain = dicent.solve(game, compiled=False, values="gain")
    assert (gain.values, gain.value, gain.win, gain.best) == ("gain", 1.0, 1.0, 0)
    assert {move.text: move.value for move in gain.moves} == {"small": 1.0, "roll": 0.0}


def test_equity_is_that_of_the_player_to_move() -> None:
    position = dicent.make("backgammon").parse("-A----------------------A- 2 -".replace("A- 2", "a- 2"))
    solution = dicent.solve(position, compiled=False)
    assert (solution.value, solution.equity) == (-1.0, 1.0)


def test_values_that_a_game_does_not_have_are_refused() -> None:
    with pytest.raises(DicentError, match="dice-nim has no score: its values can only be gain"):
        dicent.solve(dicent.make("dice-nim"), values="score")
    with pytest.raises(DicentError, match=r"values must be score or gain \(got 'points'\)"):
        Solver(dicent.make("dice-nim"), values="points")  # type: ignore[arg-type]

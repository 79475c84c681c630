"""Solutions in files: saved, loaded, refused, and used by players and measurements."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import dicent
from dicent.exact.sample import whole_game_sample
from dicent.exact.solution_file import ExactEvaluator, StoredSolution, load_solution, save_solution
from dicent.exact.solver import Solver
from dicent.files import replaced

pytestmark = pytest.mark.usefixtures("uncompiled")


def saved(path: Path, name: str, **options: object) -> tuple[Solver, StoredSolution]:
    game = dicent.make(name)
    solver = Solver(game, compiled=False, **options)  # type: ignore[arg-type]
    solver.value_of(game.initial_state())
    save_solution(path, solver)
    return solver, load_solution(path)


@pytest.mark.parametrize("name", ["dice-nim:stones=7", "pig:target=6,sides=3", "ur:pieces=1", "tic-tac-toe"])
def test_loaded_values_are_those_of_the_solver(tmp_path: Path, name: str) -> None:
    """Of chance states and decisions along random games, whether the game has cycles or not."""
    solver, solution = saved(tmp_path / "solution", name)
    assert solution.states == solver.states
    rng = np.random.default_rng(1)
    for _ in range(5):
        state = solver.game.initial_state()
        for _ in range(40):
            assert solution.value_of(state) == pytest.approx(solver.value_of(state), abs=1e-12)
            if state.result is not None:
                break
            if state.is_chance:
                state = state.apply_outcome(int(rng.choice([o for o, _ in state.outcomes])))
            else:
                state = state.apply(int(rng.choice(state.legal_actions)))
    assert 0 <= solution.bound <= 1e-10


def test_scores_are_kept_as_scores(tmp_path: Path) -> None:
    solver, solution = saved(tmp_path / "points", "hypergammon:checkers=1,start=first")
    start = solver.game.initial_state()
    assert solution.kind == "score"
    assert solution.solution_of(start).equity == pytest.approx(0.4527731370419, abs=2e-10)
    with pytest.raises(dicent.DicentError, match=r"has values of score, and values of gain are needed"):
        whole_game_sample(solver.game, 3, values="gain", solution=solution)
    sample = whole_game_sample(solver.game, 3, values="score", solution=solution)
    [row] = dicent.accuracy(dicent.Greedy(ExactEvaluator(solution)), sample)
    assert row.regret is not None
    assert row.regret.mean == 0
    assert row.error.mean == pytest.approx(0, abs=1e-9)


def test_player_with_a_solution_plays_without_regret(tmp_path: Path) -> None:
    path = tmp_path / "nim"
    _, solution = saved(path, "dice-nim:stones=7")
    sample = whole_game_sample(solution.game, 5, solution=solution)
    player = dicent.parse_player(f"greedy:solution={path}")
    assert player.search.evaluator is not None
    [row] = dicent.accuracy(player.search, sample, player.limit)
    assert row.regret is not None
    assert row.regret.mean == 0
    with pytest.raises(dicent.DicentError, match="is the solution of dice-nim:stones=7, not of pig"):
        player.search.evaluator.evaluate(dicent.make("pig"), np.zeros((1, 4), np.int8))


def test_player_with_the_solution_of_a_game_file_gets_the_game_from_the_match(tmp_path: Path) -> None:
    """The file names a game file, which it may not choose; the user names it for the match."""
    rules = dicent.make("dice-nim").rules.source.replace('NAME = "dice-nim"', 'NAME = "stones"')
    (tmp_path / "stones.py").write_text(rules, encoding="utf-8")
    game = dicent.load(tmp_path / "stones.py", stones=7)
    solver = Solver(game, compiled=False)
    solver.value_of(game.initial_state())
    save_solution(tmp_path / "solution", solver)
    player = dicent.parse_player(f"greedy:solution={tmp_path / 'solution'}")
    assert dicent.play_match(player, "random", game, games=20).score > 0.5
    with pytest.raises(dicent.DicentError, match=r"is the solution of .*stones.py:stones=7, not of pig"):
        player.require(dicent.make("pig"))
    (tmp_path / "stones.py").write_text(
        rules.replace("p[o] = 1 / 6", "p[o] = (o + 1) / 21"), encoding="utf-8"
    )
    with pytest.raises(dicent.DicentError, match=r"the rules of .*stones=7 have changed since .* was solved"):
        load_solution(tmp_path / "solution", dicent.load(tmp_path / "stones.py", stones=7))


def test_unreachable_state_is_refused(tmp_path: Path) -> None:
    _, solution = saved(tmp_path / "nim", "dice-nim:stones=7")
    state = dicent.make("dice-nim:stones=7").parse("7 2 -")
    with pytest.raises(dicent.DicentError, match="does not have 7 2 -, which no game from the start reaches"):
        solution.value_of(state)


def test_files_of_other_rules_and_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nim"
    saved(path, "dice-nim:stones=7")
    with pytest.raises(
        dicent.DicentError, match=r"is the solution of dice-nim:stones=7, not of dice-nim:stones=8: solve it"
    ):
        load_solution(path, dicent.make("dice-nim:stones=8"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(dicent.DicentError, match="is not a solution of Dicent, or damaged"):
        load_solution(path)
    with pytest.raises(dicent.DicentError, match=r"cannot be read|is not a solution"):
        load_solution(tmp_path / "nothing")
    path.write_bytes(content)
    save_file(load_file(path), tmp_path / "bare")
    with pytest.raises(dicent.DicentError, match="is not a solution of Dicent, or damaged"):
        load_solution(tmp_path / "bare")


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), replaced(path):  # nothing is written
        pass
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]

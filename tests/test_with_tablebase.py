"""Evaluators with a tablebase: exact values in searches, proofs, and evaluators that are refused."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import (
    Descent,
    Determinized,
    DicentError,
    Expectiminimax,
    Greedy,
    Limit,
    Puct,
    RandomEvaluator,
    Unbounded,
    WithTablebase,
)
from dicent.evaluate.native import ConstantEvaluator
from dicent.evaluate.terminal_value import TerminalValue
from dicent.exact.accuracy import mean_of, share_of
from dicent.exact.sample import endgame_sample, exact_sample
from dicent.exact.tablebase import Tablebase, build_tablebase
from dicent.nets.residual import ResidualNetwork
from dicent.play.chooser import Positions, chooser_of

from .endgames import random_endgames
from .exact import Asked, check_order, check_usable
from .test_search_exact import make

SEARCHES = {
    "descent": Descent,
    "plain descent": lambda evaluator: Descent(evaluator, completion=False),
    "unbounded": Unbounded,
    "expectiminimax": Expectiminimax,
    "greedy": Greedy,
}


@pytest.fixture(scope="module")
def tablebase(tmp_path_factory: pytest.TempPathFactory) -> Tablebase:
    return build_tablebase(make("ewn"), 3, tmp_path_factory.mktemp("tables"))


@pytest.fixture
def evaluator(tablebase: Tablebase) -> WithTablebase:
    return WithTablebase(RandomEvaluator(1), tablebase)


def test_values_of_covered_states_are_exact(evaluator: WithTablebase, tablebase: Tablebase) -> None:
    game = tablebase.game
    states = [*random_endgames(game, 1, 2, 5, seed=1), *random_endgames(game, 2, 2, 5, seed=1, die=True)]
    cells = np.array([state.cells for state in states])
    values, exact = evaluator.evaluate_marked(game, cells)
    assert exact is not None
    assert exact.tolist() == [True] * 5 + [False] * 5
    assert (values[:5] == tablebase.values(cells[:5])).all()
    assert (values[5:] == RandomEvaluator(1).evaluate(game, cells[5:])).all()
    assert (evaluator.evaluate(game, cells) == values).all()
    plain, marks = RandomEvaluator(1).evaluate_marked(game, cells)
    assert marks is None
    assert len(plain) == 10


def test_other_games_are_left_to_the_evaluator(evaluator: WithTablebase) -> None:
    game = make("dice-nim")
    states = game.initial_state().cells[None]
    assert (evaluator.evaluate(game, states) == RandomEvaluator(1).evaluate(game, states)).all()


@pytest.mark.parametrize("search", list(SEARCHES))
def test_positions_of_the_tablebase_are_proved_at_once(
    search: str, evaluator: WithTablebase, tablebase: Tablebase
) -> None:
    built = SEARCHES[search](evaluator)
    for mine, theirs in ((1, 1), (1, 2), (2, 1)):
        for state in random_endgames(tablebase.game, mine, theirs, 8, seed=2, die=mine == 1):
            analysis = built.analyse(state, Limit(nodes=200))
            check_usable(analysis)
            check_order(search, analysis)
            assert analysis.value == pytest.approx(tablebase.value_of(state), abs=1e-6)
            if search != "plain descent":
                assert analysis.proved
                assert analysis.nodes <= 7
                best = analysis.moves[0] if analysis.moves else None
                assert best is None or best.proved


@pytest.mark.parametrize("search", ["descent", "unbounded", "expectiminimax"])
def test_searches_prove_larger_endgames_sooner(search: str, evaluator: WithTablebase) -> None:
    game = make("ewn")
    for text in ("5/5/1AB2/2ab1/5 1 -", "5/1C3/2A2/2ab1/5 2 3"):
        state = game.parse(text)
        exact = dicent.solve(state).value
        sooner = SEARCHES[search](evaluator).analyse(state, Limit(nodes=3_000_000))
        later = SEARCHES[search](RandomEvaluator(1)).analyse(state, Limit(nodes=3_000_000))
        assert sooner.proved
        assert later.proved
        assert sooner.value == pytest.approx(exact, abs=1e-5)
        assert sooner.nodes < later.nodes


def test_reused_tree_continues_at_a_state_of_the_tablebase(evaluator: WithTablebase) -> None:
    game, search = make("ewn"), Descent(evaluator)
    state = game.parse("5/1A3/2b2/2ac1/5 1 1")
    first = search.analyse(state, Limit(nodes=50))
    later = state.apply(game.parse_action(state, "b4c3"))  # after a capture three pieces are left
    second = search.analyse(later, Limit(nodes=50), after=first)
    check_usable(second)
    assert second.proved
    assert len(second.by_outcome) == 6
    assert second.value == pytest.approx(dicent.solve(later).value, abs=1e-5)


class Counted(dicent.Evaluator):
    """Random values, of which every one is counted."""

    def __init__(self) -> None:
        self.states = self.batches = 0

    def evaluate(self, game: dicent.Game, states: Any) -> Any:
        self.states += len(states)
        self.batches += 1
        return RandomEvaluator(1).evaluate(game, states)


def test_only_the_last_layer_is_evaluated_beside_a_tablebase(tablebase: Tablebase) -> None:
    """A match evaluates no inner layer, and plays the moves of a search that evaluates them all."""
    game = tablebase.game
    states = [
        game.parse(text) for text in ("5/1A3/1B2b/2ac1/5 1 1", "A4/2D2/5/3d1/2a2 2 4", "A4/1B3/4c/3bd/5 1 1")
    ]
    cells = np.array([state.cells for state in states])
    given = Positions(cells, *np.zeros((3, len(cells)), np.int64))
    counts, moves = {}, {}
    for depth in (2, 5):
        for name in ("every layer", "last layer", "no tablebase"):
            inner = Counted()
            search = Expectiminimax(inner if name == "no tablebase" else WithTablebase(inner, tablebase))
            limit = Limit(depth=depth)
            if name == "every layer":
                found = [search.play(state, limit) for state in states]
            else:
                found = chooser_of(dicent.Player(search, limit), game, 1).choose(given).tolist()
            counts[name, depth], moves[name, depth] = inner, found
        assert moves["last layer", depth] == moves["every layer", depth]
        assert counts["last layer", depth].states < 0.9 * counts["every layer", depth].states
        assert counts["last layer", depth].states <= counts["no tablebase", depth].states
        assert counts["last layer", depth].batches <= counts["no tablebase", depth].batches


def test_a_player_text_names_the_tablebase(
    tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    player = dicent.parse_player("expectiminimax:random=1,depth=3,tablebase")
    monkeypatch.setenv("DICENT_HOME", str(tmp_path))
    with pytest.raises(DicentError, match="build one with `dicent tablebase build ewn`"):
        player.require(tablebase.game)
    with pytest.raises(DicentError, match="dice-nim has no tablebase"):
        dicent.play_match(player, "random", "dice-nim", 2)
    (tmp_path / "tables").symlink_to(tablebase.path.parent)
    player.require(tablebase.game)
    state = tablebase.game.parse("5/1A3/5/2ac1/5 1 1")
    analysis = player.search.analyse(state, player.budget)
    assert analysis.proved
    assert analysis.value == pytest.approx(tablebase.value_of(state), abs=1e-6)
    with pytest.raises(DicentError, match=r"native code.*WithTablebase"):
        dicent.parse_player("expectiminimax:random=1,prune,tablebase")
    with pytest.raises(DicentError, match="of another kind"):
        dicent.parse_player("greedy:rollout=2,terminal=score,tablebase")


def test_determinized_searches_do_not_treat_means_as_proofs(evaluator: WithTablebase) -> None:
    state = make("ewn").parse("5/1A3/5/2ac1/5 1 1")
    analysis = Determinized(Descent(evaluator), 1).analyse(state, Limit(nodes=300))
    check_usable(analysis)
    plain = Determinized(Descent(RandomEvaluator(1)), 1).analyse(state, Limit(nodes=3000))
    assert plain.proved
    if analysis.proved:
        assert analysis.value == plain.value


def test_policies_are_the_evaluators_own(tablebase: Tablebase, evaluator: WithTablebase) -> None:
    state = make("ewn").parse("5/1A3/5/2ac1/5 1 1")
    search = Puct(WithTablebase(Asked(), tablebase))
    check_usable(search.analyse(state, Limit(evaluations=30)))
    with pytest.raises(DicentError, match="RandomEvaluator has no policy"):
        Puct(evaluator).analyse(state, Limit(evaluations=30))


def test_other_terminal_values_are_refused(tablebase: Tablebase) -> None:
    inner = RandomEvaluator(1)
    inner.terminal = TerminalValue("depth", 40)
    with pytest.raises(DicentError, match=r"of another kind \(depth\)"):
        WithTablebase(inner, tablebase)


# Accuracy


def test_samples_depend_on_their_numbers_only(tablebase: Tablebase) -> None:
    game = make("ewn")
    sample = endgame_sample(game, positions=10, pieces=3, seed=1)
    assert [d.group for d in sample] == ["1 v 1"] * 10 + ["1 v 2"] * 10 + ["2 v 1"] * 10
    assert endgame_sample(game, positions=10, pieces=3, seed=1) == sample
    assert endgame_sample(game, positions=10, pieces=3, seed=2) != sample
    looked_up = endgame_sample(game, positions=10, pieces=3, seed=1, tablebase=tablebase)
    for decision, other in zip(sample, looked_up, strict=True):
        assert decision.state == other.state
        assert other.moves == pytest.approx(decision.moves, abs=1e-5)
        values = decision.moves.values()
        assert max(values) - min(values) > 1e-5
        assert decision.value == (max(values) if decision.state.to_play == dicent.MAX else min(values))
        assert min(decision.lost_by(action) for action in decision.moves) == 0


def test_a_perfect_player_makes_no_mistakes(evaluator: WithTablebase, tablebase: Tablebase) -> None:
    sample = endgame_sample(make("ewn"), positions=20, pieces=3)
    for player in (Greedy(evaluator), Descent(evaluator)):
        rows = dicent.accuracy(player, sample, Limit(nodes=100))
        assert [row.group for row in rows] == ["1 v 1", "1 v 2", "2 v 1", "all"]
        for row in rows:
            assert row.optimal is not None
            assert row.regret is not None
            assert row.optimal.mean == 1
            assert row.regret.mean < 1e-5
            assert row.worst < 1e-5
    [*_, bare] = dicent.accuracy(evaluator, sample)
    assert bare.worst < 1e-5
    assert bare.optimal is None
    assert bare.regret is None


def test_weak_player_has_a_low_accuracy() -> None:
    sample = endgame_sample(make("ewn"), positions=50, pieces=3)
    done: list[int] = []
    [*_, random] = dicent.accuracy(dicent.Random(1), sample, progress=done.append)
    assert random.optimal is not None
    assert random.regret is not None
    by_hand = [d.lost_by(dicent.Random(1).play(d.state, Limit(nodes=1))) for d in sample]
    assert random.regret.mean == pytest.approx(np.mean(by_hand))
    assert random.optimal.mean == np.mean([lost < 1e-5 for lost in by_hand])
    assert random.regret.low < random.regret.mean < random.regret.high
    assert random.error.mean == pytest.approx(np.mean([abs(d.worth - 0.5) for d in sample]))
    assert done == list(range(1, 151))
    [*_, constant] = dicent.accuracy(ConstantEvaluator(), sample)
    assert constant.error == random.error


def test_policy_player_is_measured_by_its_policy() -> None:
    class Policy(Asked):
        def evaluate_with_policy(self, game: dicent.Game, states: Any) -> Any:
            logits = np.zeros((len(states), game.num_actions), np.float32)
            logits[:, 2::3] = 1  # diagonally
            return np.zeros(len(states)), logits

    sample = endgame_sample(make("ewn"), positions=30, pieces=2)
    [_, row] = dicent.accuracy(Policy(), sample)
    assert row.optimal is not None
    assert 0 < row.optimal.mean < 1


def test_small_games_are_measured_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = exact_sample(make("ewn:size=3,pieces=3"), positions=15, seed=1)
    groups = [f"{a} v {b}" for a in (1, 2, 3) for b in (1, 2, 3)]
    assert list(dict.fromkeys(d.group for d in sample)) == groups
    for decision in sample[::20]:
        assert decision.value == pytest.approx(dicent.solve(decision.state).value, abs=1e-12)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    nim = exact_sample(make("dice-nim"), positions=15)
    [row] = dicent.accuracy(ConstantEvaluator(), nim)
    assert row.group == "all"


def test_intervals() -> None:
    share = share_of(8, 10)
    assert (share.mean, share.low, share.high) == pytest.approx((0.8, 0.490162, 0.943318), abs=1e-6)
    assert share_of(10, 10).high == pytest.approx(1)
    mean = mean_of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (mean.mean, mean.high - mean.mean) == pytest.approx((2.5, 1.959964 * 1.290994 / 2), abs=1e-5)
    with pytest.raises(DicentError, match="no decision"):
        dicent.accuracy(RandomEvaluator(), [])


def test_too_many_pieces_for_the_board_are_refused() -> None:
    with pytest.raises(DicentError, match=r"a tablebase has from 2 to 2 pieces \(got 4\)"):
        endgame_sample(make("ewn:size=3,pieces=1"))


# Commands


def test_a_network_from_a_file_can_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dicent.cli import main
    from dicent.evaluate.network_file import Description, save_network

    network = ResidualNetwork(make("ewn").input_shape, filters=4, blocks=1)
    file = tmp_path / "network.safetensors"
    save_network(file, network, Description("ewn"))
    assert main(["accuracy", str(file), "--pieces", "2", "--positions", "5"]) == 0
    printed = capsys.readouterr().out.replace("\n", "")  # a long path wraps the title
    assert "network.safetensors, by itself" in printed
    assert "greedy:" in printed


# The measures of benchmarks/exact_positions.py


@pytest.fixture(scope="module")
def measures() -> Any:
    path = Path(__file__).parent.parent / "benchmarks" / "exact_positions.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def test_measures_separate_exact_values_from_their_opposite(measures: Any, tablebase: Tablebase) -> None:
    game = make("ewn")
    for positions in (measures.recorded(game), measures.drawn(game, 2)):
        few = positions[np.isfinite(tablebase.values(positions))]
        assert len(few) > 10
        truth = measures.measure(game, WithTablebase(RandomEvaluator(1), tablebase), tablebase, few)
        assert [truth[key].mean for key in ("error", "best", "regret")] == [0, 1, 0]
        wrong = measures.measure(game, Opposite(tablebase), tablebase, few)
        assert wrong["error"].mean == pytest.approx(2 * np.abs(tablebase.values(few)).mean())
        assert wrong["best"].mean < 0.8
        assert wrong["regret"].mean > 0.1


def test_recorded_positions_have_their_recorded_values(measures: Any, tablebase: Tablebase) -> None:
    recorded = 2 * np.array([record["p_win_to_move"] for record in measures.records()]) - 1
    found = tablebase.values(measures.recorded(make("ewn")))
    few = np.isfinite(found)
    assert few.sum() == 18
    assert found[few] == pytest.approx(recorded[few], abs=1e-5)


class Opposite(dicent.Evaluator):
    """An evaluator with the signs of all values swapped."""

    def __init__(self, tablebase: Tablebase) -> None:
        self.tablebase = tablebase

    def evaluate(self, game: dicent.Game, states: Any) -> Any:
        return -self.tablebase.values(states)

"""Runs with components of the caller, other planes, pretraining and measurements."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import DicentError, load_network
from dicent.evaluate.terminal_value import TerminalValue
from dicent.learn.learner import Learner
from dicent.learn.measure import scores as measure
from dicent.learn.replay import SmoothReplayBuffer
from dicent.learn.selection import EpsilonGreedy
from dicent.learn.train import train
from dicent.nets.dense import DenseNetwork
from dicent.nets.residual import ResidualNetwork

from .running import TINY, checkpoints, quiet, rows

pytestmark = pytest.mark.usefixtures("quick_preflight")

# Before the first game


@pytest.mark.parametrize("terminal", [TerminalValue(), TerminalValue("depth", 15)])
def test_pretraining_learns_the_ends_of_random_games(
    terminal: TerminalValue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[Any] = []
    real = Learner.phase

    def phase(learner: Learner, data: Any, *others: Any) -> float:
        phases.append(data)
        return real(learner, data, *others)

    monkeypatch.setattr(Learner, "phase", phase)
    quiet(TINY.replace(pretraining=100, games=1), tmp_path, terminal=terminal)
    game = dicent.make("dice-nim")
    first, ends = phases[0], dicent.rollouts(game, 100, seed=TINY.seed)
    assert rows(tmp_path)[0]["kind"] == "pretraining"
    states = [game.state(cells) for cells in first.states]
    assert [state.result for state in states] == ends.results.tolist()
    assert first.values.tolist() == [
        terminal.value(state, ply) for state, ply in zip(states, ends.plies.tolist(), strict=True)
    ]
    assert {1, -1} == set(ends.results.tolist())


# Custom components


def test_custom_components_are_used(tmp_path: Path) -> None:
    calls: list[str] = []

    class Mine(EpsilonGreedy):
        def probabilities(self, *arguments: Any) -> Any:
            calls.append("selection")
            return super().probabilities(*arguments)

    class Memory(SmoothReplayBuffer):
        def sample(self, rng: np.random.Generator) -> Any:
            calls.append("replay")
            return super().sample(rng)

    def search(evaluator: dicent.Evaluator) -> dicent.Descent:
        calls.append("search")
        return dicent.Unbounded(evaluator)

    terminal = TerminalValue("halves", 5, function=lambda result, ply: result / 2)
    module = ResidualNetwork(dicent.make("dice-nim").input_shape, filters=4, blocks=1, hidden=8)
    path = quiet(
        TINY.replace(games=8),
        tmp_path,
        search=search,
        selection=Mine(),
        replay=Memory(10, 2.0),
        terminal=terminal,
        module=module,
    )
    assert set(calls) == {"selection", "replay", "search"}
    loaded = load_network(path)
    assert loaded.terminal.name == "halves"
    assert loaded.terminal.table()[2].tolist() == [0.5] * 7
    assert isinstance(loaded.module, ResidualNetwork)
    with pytest.raises(DicentError, match="grows no tree to learn from"):
        train(TINY, tmp_path / "other", search=dicent.Greedy)


@pytest.mark.parametrize("begun", ["with", "without"])
def test_resume_with_other_components_is_refused(begun: str, tmp_path: Path) -> None:
    class Mine(EpsilonGreedy):
        pass

    first, then = ({"selection": Mine()}, {}) if begun == "with" else ({}, {"selection": Mine()})
    config = TINY.replace(games=8)
    quiet(config, tmp_path, **first)
    for name in ("metrics.jsonl", "games.jsonl"):  # as if killed after its last checkpoint
        with open(tmp_path / name, "a") as file:
            file.write("{}\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*l")}
    told = r"started with other components \((selection Mine, )?module DenseNetwork\) than are given now"
    with pytest.raises(DicentError, match=told):
        quiet(config.replace(games=1000), tmp_path, **then)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.*l")}
    quiet(config.replace(games=16), tmp_path, **first)


def test_custom_searches_and_terminal_values_are_distinguished(tmp_path: Path) -> None:
    def halves(name: str) -> TerminalValue:
        return TerminalValue(name, 5, function=lambda result, ply: result / 2)

    config = TINY.replace(games=8)
    quiet(config, tmp_path, search=lambda e: dicent.Descent(e), terminal=halves("mine"))
    for search, name in ((dicent.Unbounded, "mine"), (dicent.Descent, "another")):
        with pytest.raises(DicentError, match="started with other components"):
            quiet(config, tmp_path, search=lambda e, search=search: search(e), terminal=halves(name))
    quiet(config, tmp_path, search=lambda e: dicent.Descent(e), terminal=halves("mine"))


def test_depth_network_maps_values_to_win_probabilities(tmp_path: Path) -> None:
    quiet(TINY.replace(terminal="depth", games=40), tmp_path)
    loaded = load_network(tmp_path)
    assert loaded.terminal == TerminalValue("depth", 15)
    assert loaded.gain_map is not None
    assert -1 <= loaded.gain(-15.0) < loaded.gain(15.0) <= 1
    assert loaded.gain(0.0) == pytest.approx(0, abs=0.8)


# Measurements, extras and planes


@pytest.mark.parametrize("search", ["descent", "puct"])
def test_measurement_evaluates_only_states_that_were_learned(
    search: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Self-play with a policy learns only decisions; values of chance states must not matter."""
    quiet(TINY.replace(search=search, games=4), tmp_path)
    network, game = load_network(tmp_path), dicent.make("dice-nim")
    scores = measure(network, game, 8, 0, 1)
    assert set(scores) == {"random", "greedy", "uct:100", "uct:1000"}
    assert all(0 <= score <= 1 and games == 8 and not cut for score, games, cut in scores.values())
    evaluate = dicent.Network.evaluate

    def worst_at_chance(self: dicent.Network, game: dicent.Game, states: Any) -> Any:
        values, cells = evaluate(self, game, states), [game.state(s) for s in states]
        chance = [state.is_chance for state in cells]
        values[chance] = np.random.default_rng(states.sum()).uniform(-1, 1, sum(chance))
        return values

    monkeypatch.setattr(dicent.Network, "evaluate", worst_at_chance)
    assert (measure(network, game, 8, 0, 1) == scores) == (search == "puct")
    assert measure(network, game, 1, 0, 1) == {}


def test_missing_tensorboard_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    config = TINY.replace(games=4, tensorboard=True)
    with pytest.raises(DicentError, match="pip install tensorboard"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("planes", ["pieces", "moves"])
def test_run_with_other_planes_names_the_game_to_resume(planes: str, tmp_path: Path) -> None:
    """A run from before the option existed is refused too, even if its weights would fit."""
    config = TINY.replace(game=f"ewn:pieces=3,size=4,planes={planes}", games=8)
    train(config, tmp_path, warn=quiet)
    text = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(text.replace(f",planes={planes}", ""))
    before = {path: path.read_bytes() for path in checkpoints(tmp_path)[-1].iterdir()}
    with pytest.raises(
        DicentError, match=f'write game = "ewn:size=4,pieces=3,planes={planes}" into its config'
    ):
        train(config.replace(game="ewn:pieces=3,size=4", games=16), tmp_path, warn=quiet)
    assert {path: path.read_bytes() for path in checkpoints(tmp_path)[-1].iterdir()} == before
    (tmp_path / "config.toml").write_text(text)
    train(config.replace(games=16), tmp_path, warn=quiet)


def test_module_for_other_planes_is_refused(tmp_path: Path) -> None:
    module = DenseNetwork(dicent.make("ewn:planes=pieces").input_shape, hidden=8)
    with pytest.raises(DicentError, match=r"planes of shape \(20, 5, 5\); ewn has \(33, 5, 5\)"):
        train(TINY.replace(game="ewn"), tmp_path, module=module, warn=quiet)

"""Sparse networks: native code computes what torch does, in every search, and they learn."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import dicent
from dicent.errors import DicentError, NetworkFileError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import Description, network_bytes, save_network
from dicent.evaluate.sparse import SparseEvaluator
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game import Cells, Game
from dicent.game.registry import built_in_names
from dicent.kernels.features import MOST_UNITS
from dicent.learn.config_sections import Distillation
from dicent.learn.distil import Progress, distil
from dicent.learn.factories import SparseInTraining
from dicent.learn.learner import Learner
from dicent.nets.sparse import SparseNetwork
from dicent.search.tree_search import Search

from .learning import BATCH, EWN, examples, learn, states_of, weights_of
from .pretended_cuda import PretendedDevice

NIM = dicent.make("dice-nim:stones=6")
DIFFERENCE = 1e-5


def sparse_network(game: Game, seed: int = 1, **settings: object) -> SparseNetwork:
    """Return a network with large weights, so that values differ from state to state."""
    torch.manual_seed(seed)
    sizes = {"units": 12, "second_units": 8, **settings}
    module = SparseNetwork(game.input_shape, seen_by_mover=game.seen_by_mover, **sizes)
    with torch.no_grad():
        for weights in module.parameters():
            weights.mul_(3)
    return module


class Outside(Evaluator):
    """The same values, from Python and in batches."""

    def __init__(self, inner: SparseEvaluator) -> None:
        self.inner = inner

    def evaluate(self, game: Game, states: Cells) -> Values:
        return self.inner.evaluate(game, states)


# Values


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", built_in_names())
@pytest.mark.parametrize("third", [0, 5])
def test_values_equal_those_of_torch(name: str, third: int) -> None:
    game = dicent.make(name)
    module = sparse_network(game, third_units=third)
    states = states_of(game, 12)
    values = SparseEvaluator.of(module).evaluate(game, states)
    assert np.ptp(values) > 0.01
    assert np.allclose(values, Network(module).evaluate(game, states), rtol=0, atol=DIFFERENCE)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("dice-nim:stones=6", {"third_units": 20}),
        ("ewn", {"units": 256, "second_units": 32}),  # as shipped; the game lists its features
    ],
)
def test_compiled_values_equal_uncompiled_ones(name: str, sizes: dict[str, object]) -> None:
    game = dicent.make(name)
    states = states_of(game, 200)
    evaluator = SparseEvaluator.of(sparse_network(game, **sizes))
    native = evaluator.evaluate(game, states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        plain = evaluator.evaluate(game, states)
    assert np.ptp(native) > 0.01
    assert np.array_equal(native, plain)


@pytest.mark.usefixtures("uncompiled")
def test_unbounded_values_and_planes_of_other_encodings() -> None:
    shown, played = dicent.make("ewn:planes=moves"), dicent.make("ewn")
    module = sparse_network(shown, bounded=False)
    with torch.no_grad():
        module.value.bias.fill_(3.0)
    states = states_of(played, 12)
    values = SparseEvaluator.of(module).evaluate(played, states)
    assert np.abs(values).max() > 1
    assert np.allclose(values, Network(module).evaluate(played, states), rtol=0, atol=DIFFERENCE)


@pytest.mark.usefixtures("uncompiled")
def test_planes_with_any_numbers_count(edited: Callable[..., Path]) -> None:
    half = ("planes[STONES + int(s[DIE])] = 1.0", "planes[STONES + int(s[DIE])] = -0.5")
    game = dicent.make(str(edited("dice_nim", half)))
    module = sparse_network(game)
    states = states_of(game, 12)
    values = SparseEvaluator.of(module).evaluate(game, states)
    assert np.allclose(values, Network(module).evaluate(game, states), rtol=0, atol=DIFFERENCE)


def test_a_game_with_other_planes_is_refused() -> None:
    evaluator = SparseEvaluator.of(sparse_network(NIM))
    game = dicent.make("tic-tac-toe")
    with pytest.raises(DicentError, match=r"needs planes of shape .* tic-tac-toe has \(3, 3, 3\)"):
        evaluator.evaluate(game, game.initial_state(0).cells[None])


# Searches


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    "make",
    [
        dicent.Greedy,
        dicent.Descent,
        dicent.Unbounded,
        dicent.Expectiminimax,
        lambda evaluator: dicent.Determinized(dicent.Descent(evaluator), seed=3),
    ],
    ids=["greedy", "descent", "unbounded", "expectiminimax", "determinized"],
)
def test_searches_find_the_same_with_values_from_outside(make: Callable[[Evaluator], Search]) -> None:
    game = dicent.make("ewn:size=4,pieces=3")
    inside = SparseEvaluator.of(sparse_network(game))
    state, limit = game.initial_state(2).apply_outcome(1), dicent.Limit(evaluations=60)
    ours, theirs = (make(evaluator).analyse(state, limit) for evaluator in (inside, Outside(inside)))
    assert (ours.value, ours.evaluations) == (theirs.value, theirs.evaluations)
    assert [(m.action, m.value, m.visits) for m in ours.moves] == [
        (m.action, m.value, m.visits) for m in theirs.moves
    ]


@pytest.mark.usefixtures("uncompiled")
def test_pruning_keeps_the_value() -> None:
    game = dicent.make("ewn:size=4,pieces=3")
    evaluator = SparseEvaluator.of(sparse_network(game))
    state, limit = game.initial_state(2).apply_outcome(1), dicent.Limit(depth=3)
    pruned = dicent.Expectiminimax(evaluator, prune=True).analyse(state, limit)
    whole = dicent.Expectiminimax(evaluator).analyse(state, limit)
    assert pruned.value == pytest.approx(whole.value, abs=1e-12)
    with pytest.raises(DicentError, match="from -1 to 1"):
        dicent.Expectiminimax(SparseEvaluator.of(sparse_network(game, bounded=False)), prune=True)


# Files


def test_files_keep_the_network_and_what_it_has_learned(tmp_path: Path) -> None:
    module, path = sparse_network(NIM), tmp_path / "net.safetensors"
    terminal = TerminalValue("depth", horizon=9)
    save_network(path, module, Description(NIM.name, terminal))
    loaded = dicent.load_network(path)
    assert isinstance(loaded, SparseEvaluator)
    assert np.array_equal(loaded.native.weights, SparseEvaluator.of(module).native.weights)
    assert loaded.description == Description(NIM.name, terminal)
    assert loaded.terminal == terminal
    player = dicent.parse_player(f"descent:{path},evaluations=20")
    assert player.game == NIM.name
    with pytest.raises(DicentError, match="has learned dice-nim"):
        player.require(dicent.make("tic-tac-toe"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"units": 16}, "has weights of shapes"),
        ({"units": 0}, "needs layers of 1 to"),
        ({"second_units": MOST_UNITS + 1}, "needs layers of 1 to"),
        ({"units": None}, "must be whole numbers"),
        ({"input_shape": [3, 3]}, "needs three sizes of planes"),
        ({"bounded": ...}, "lack 'bounded'"),
    ],
)
def test_files_with_wrong_sizes_are_refused(change: dict[str, object], problem: str, tmp_path: Path) -> None:
    path = rewritten(tmp_path, settings=change)
    with pytest.raises(NetworkFileError, match=problem):
        dicent.load_network(path)


def test_files_with_wrong_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NetworkFileError, match="finite"):
        dicent.load_network(rewritten(tmp_path, weights={"first.bias": torch.full((12,), torch.nan)}))
    with pytest.raises(NetworkFileError, match="has weights of shapes"):
        dicent.load_network(rewritten(tmp_path, weights={"fourth.bias": torch.zeros(3)}))


def rewritten(folder: Path, settings: dict[str, object] | None = None, weights: object = None) -> Path:
    """Write a network file with some settings or weights changed; a setting of ... is left out."""
    content = network_bytes(sparse_network(NIM), Description(NIM.name))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["dicent"])
    changed = header["settings"] | (settings or {})
    header["settings"] = {name: value for name, value in changed.items() if value is not ...}
    tensors = safetensors.torch.load(content) | dict(weights or {})  # type: ignore[call-overload]
    path = folder / "changed.safetensors"
    path.write_bytes(safetensors.torch.save(tensors, {"dicent": json.dumps(header)}))
    return path


# Learning


def settings_of_run(game: str) -> dicent.Config:
    return dicent.config(
        game=game,
        network="sparse",
        units=8,
        second_units=8,
        games=6,
        games_at_once=2,
        games_per_update=2,
        evaluations_per_move=8,
        replay_states=1000,
        max_plies=40,
        measurements=0,
        seed=4,
    )


@pytest.mark.usefixtures("uncompiled", "quick_preflight")
@pytest.mark.parametrize("name", ["dice-nim", "tic-tac-toe", "pig:target=20"])
def test_games_learn_without_code_of_their_own(name: str, tmp_path: Path) -> None:
    path = dicent.train(settings_of_run(name), tmp_path / "run")
    learned = dicent.load_network(path)
    assert isinstance(learned, SparseEvaluator)
    training = learned.description.training if learned.description else {}
    assert training["games"] >= 6
    assert training["evaluations"] > 100


@pytest.mark.usefixtures("uncompiled", "quick_preflight")
def test_the_same_seed_learns_the_same_weights(tmp_path: Path) -> None:
    paths = [dicent.train(settings_of_run("dice-nim"), tmp_path / name) for name in ("one", "two")]
    one, two = (dicent.load_network(path).native.weights for path in paths)
    assert np.array_equal(one, two)
    assert len(np.unique(one)) > 100


def test_new_weights_reach_the_kernels() -> None:
    evaluator = SparseInTraining(sparse_network(NIM))
    held = evaluator.native.weights  # as settings of searches hold them
    other = sparse_network(NIM, seed=2)
    evaluator.load(other.state_dict())
    assert np.array_equal(held, SparseEvaluator.of(other).native.weights)


def test_a_learner_on_a_gpu_learns_what_one_on_a_cpu_does() -> None:
    device, data = PretendedDevice(), examples(0)
    ours, cpu = (Learner(sparse_network(EWN), EWN, batch=BATCH, device=where) for where in (device, "cpu"))
    before = weights_of(cpu)
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=1e-4)
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)
    assert np.abs(weights_of(ours) - before).max() > 0.001


def test_searches_that_need_a_policy_are_refused(tmp_path: Path) -> None:
    chosen = settings_of_run("dice-nim").replace(search="puct")
    with pytest.raises(DicentError, match="needs a network with a policy"):
        dicent.train(chosen, tmp_path / "run")


@pytest.mark.usefixtures("uncompiled")
def test_a_student_learns_the_values_of_its_teacher(tmp_path: Path) -> None:
    teacher, student = tmp_path / "teacher.safetensors", tmp_path / "student.safetensors"
    terminal = TerminalValue("mix", horizon=9, weight=0.1)
    save_network(teacher, sparse_network(NIM), Description(NIM.name, terminal))
    seen: list[Progress] = []
    settings = Distillation(
        games=30, evaluations_per_move=10, passes=40, units=16, second_units=8, batch=32, learning_rate=0.01
    )
    assert distil(teacher, student, settings, seen.append) == student
    learned = dicent.load_network(student)
    assert isinstance(learned, SparseEvaluator)
    assert learned.description is not None
    assert (learned.description.game, learned.terminal) == (NIM.name, terminal)
    assert learned.description.training["teacher"] == teacher.name
    assert [p.share for p in seen if p.stage == "playing"][-1] == 1.0
    losses = [p.loss for p in seen if p.stage == "learning"]
    assert losses[-1] < losses[0] / 3
    again = tmp_path / "again.safetensors"
    distil(teacher, again, settings)
    other = dicent.load_network(again)
    assert np.array_equal(other.native.weights, learned.native.weights)


def test_settings_of_a_distillation_are_checked() -> None:
    with pytest.raises(DicentError, match="passes must be positive"):
        Distillation(passes=0)
    with pytest.raises(DicentError, match="random_starts must be at most 1"):
        Distillation(random_starts=1.5)

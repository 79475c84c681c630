"""N-tuple networks: native code computes what torch does, and files are checked."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import dicent
from dicent.errors import DicentError, NetworkFileError
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import Description, is_native, network_bytes, save_network
from dicent.evaluate.ntuple import NTupleEvaluator
from dicent.game import Game
from dicent.game.registry import built_in_names
from dicent.kernels.features import MOST_UNITS
from dicent.kernels.ntuple import LARGEST_SUM, MOST_BITS
from dicent.learn.factories import NTupleInTraining
from dicent.learn.learner import Learner
from dicent.nets.ntuple import NTupleNetwork, draw_keys

from .learning import BATCH, EWN, examples, learn, states_of, weights_of
from .pretended_cuda import PretendedDevice

NIM = dicent.make("dice-nim:stones=6")
DIFFERENCE = 1e-5


def ntuple_network(game: Game, seed: int = 1, **settings: object) -> NTupleNetwork:
    """Return a network with random tables; a new one has zeros."""
    torch.manual_seed(seed)
    sizes = {"tuples": 12, "table_bits": 8, **settings}
    module = NTupleNetwork(game.input_shape, seen_by_mover=game.seen_by_mover, **sizes)
    with torch.no_grad():
        module.tables.normal_(std=0.3)
        module.bias.fill_(0.1)
    return module


# Values


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", built_in_names())
def test_values_equal_those_of_torch(name: str) -> None:
    game = dicent.make(name)
    module = ntuple_network(game)
    states = states_of(game, 12)
    values = NTupleEvaluator.of(module).evaluate(game, states)
    assert np.ptp(values) > 0.1
    assert np.allclose(values, Network(module).evaluate(game, states), rtol=0, atol=DIFFERENCE)


def test_compiled_values_equal_uncompiled_ones() -> None:
    states = states_of(NIM, 200)
    evaluator = NTupleEvaluator.of(ntuple_network(NIM))
    native = evaluator.evaluate(NIM, states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        plain = evaluator.evaluate(NIM, states)
    assert np.array_equal(native, plain)


@pytest.mark.usefixtures("uncompiled")
def test_unbounded_values() -> None:
    module = ntuple_network(NIM, bounded=False)
    with torch.no_grad():
        module.bias.fill_(3.0)
    evaluator, states = NTupleEvaluator.of(module), states_of(NIM, 12)
    values = evaluator.evaluate(NIM, states)
    assert np.abs(values).max() > 1
    assert np.allclose(values, Network(module).evaluate(NIM, states), rtol=0, atol=DIFFERENCE)
    with pytest.raises(DicentError, match="from -1 to 1"):
        dicent.Expectiminimax(evaluator, prune=True)


@pytest.mark.usefixtures("uncompiled")
def test_a_negative_zero_in_the_planes_is_a_zero(edited: Callable[..., Path]) -> None:
    whole = ("planes[STONES + int(s[DIE])] = 1.0", "planes[:] += -0.0; planes[STONES + int(s[DIE])] = 1.0")
    cells = (
        "for cell in range(9):\n        if s[cell] != 0:\n            planes",
        "planes[:2] = -0.0\n    " + ("for cell in range(9):\n        if s[cell] != 0:\n            planes"),
    )
    for name, edit in (("dice_nim", whole), ("tic_tac_toe", cells)):
        game = dicent.make(str(edited(name, edit)))
        module, states = ntuple_network(game), states_of(game, 12)
        values = NTupleEvaluator.of(module).evaluate(game, states)
        assert np.allclose(values, Network(module).evaluate(game, states), rtol=0, atol=DIFFERENCE)


# Tuples


def test_a_tuple_is_a_connected_group_of_squares() -> None:
    rng, groups = np.random.default_rng(1), set()
    for _ in range(50):
        keys = draw_keys((4, 5, 6), 3, 256, rng).reshape(4, 30)
        squares = np.flatnonzero(keys.any(axis=0))
        assert len(squares) == 3
        assert ((keys[:, squares] >= 1) & (keys[:, squares] < 256)).all()
        rows, columns = squares // 6, squares % 6
        touching = (abs(rows[:, None] - rows) <= 1) & (abs(columns[:, None] - columns) <= 1)
        assert np.linalg.matrix_power(touching.astype(int), 3).all()
        groups.add(tuple(squares))
    assert len(groups) > 30


def test_tuples_follow_the_seed_and_are_in_the_weights() -> None:
    one, same, other = (ntuple_network(NIM, seed).state_dict()["keys"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_tuple_of_all_squares_gives_each_position_a_number_of_its_own() -> None:
    module = ntuple_network(NIM, tuples=1, table_bits=16, bounded=False)
    states = np.unique(states_of(NIM, 100), axis=0)
    values = Network(module).evaluate(NIM, states)
    assert len(np.unique(values)) == len(states) > 10


# Searches


@pytest.mark.usefixtures("uncompiled")
def test_pruning_keeps_the_value() -> None:
    game = dicent.make("ewn:size=4,pieces=3")
    evaluator = NTupleEvaluator.of(ntuple_network(game))
    state, limit = game.initial_state(2).apply_outcome(1), dicent.Limit(depth=3)
    pruned = dicent.Expectiminimax(evaluator, prune=True).analyse(state, limit)
    whole = dicent.Expectiminimax(evaluator).analyse(state, limit)
    assert pruned.value == pytest.approx(whole.value, abs=1e-12)


# Files


def test_files_keep_the_network(tmp_path: Path) -> None:
    module, path = ntuple_network(NIM), tmp_path / "net.safetensors"
    save_network(path, module, Description(NIM.name))
    assert is_native(path)
    loaded = dicent.load_network(path)
    assert isinstance(loaded, NTupleEvaluator)
    assert np.array_equal(loaded.native.weights, NTupleEvaluator.of(module).native.weights)
    states = states_of(NIM, 12)
    assert np.allclose(loaded.evaluate(NIM, states), Network(module).evaluate(NIM, states), atol=DIFFERENCE)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tuples": 13}, "has weights of shapes"),
        ({"tuples": 0}, "needs 1 to 1024 tuples"),
        ({"tuples": MOST_UNITS + 1}, "needs 1 to 1024 tuples"),
        ({"table_bits": 60}, "tables of 1 to 18 bits"),
        ({"table_bits": None}, "must be whole numbers"),
        ({"input_shape": [3, 3]}, "needs three sizes of planes"),
        ({"input_shape": [10**9, 10**9, 10**9]}, "has weights of shapes"),
    ],
)
def test_files_with_wrong_sizes_are_refused(change: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkFileError, match=problem):
        dicent.load_network(rewritten(tmp_path, settings=change))


@pytest.mark.parametrize("key", [-1.0, 0.5, float(LARGEST_SUM)])
def test_files_with_wrong_keys_are_refused(key: float, tmp_path: Path) -> None:
    keys = ntuple_network(NIM).keys.clone()
    keys[0, 0] = key
    with pytest.raises(NetworkFileError, match="keys of an n-tuple network must be whole"):
        dicent.load_network(rewritten(tmp_path, weights={"keys": keys}))


def rewritten(
    folder: Path, settings: dict[str, object] | None = None, weights: dict[str, torch.Tensor] | None = None
) -> Path:
    """Write a network file with some settings or weights changed."""
    content = network_bytes(ntuple_network(NIM), Description(NIM.name))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["dicent"])
    header["settings"] |= settings or {}
    path = folder / "changed.safetensors"
    tensors = safetensors.torch.load(content) | (weights or {})
    path.write_bytes(safetensors.torch.save(tensors, {"dicent": json.dumps(header)}))
    return path


def test_a_module_with_too_large_tables_is_refused() -> None:
    with pytest.raises(DicentError, match=rf"1 to {MOST_BITS} bits \(got 12 and {MOST_BITS + 1}\)"):
        ntuple_network(NIM, table_bits=MOST_BITS + 1)
    with pytest.raises(DicentError, match=r"1 to 13 bits"):
        NTupleNetwork((512, 2, 2), tuple_squares=4, table_bits=14)


# Learning


def settings_of_run(game: str) -> dicent.Config:
    return dicent.config(
        game=game,
        network="ntuple",
        tuples=8,
        table_bits=6,
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
def test_the_same_seed_learns_the_same_tables(tmp_path: Path) -> None:
    paths = [dicent.train(settings_of_run("dice-nim"), tmp_path / name) for name in ("one", "two")]
    one, two = (dicent.load_network(path) for path in paths)
    assert isinstance(one, NTupleEvaluator)
    assert np.array_equal(one.native.weights, two.native.weights)
    states = states_of(dicent.make("dice-nim"), 20)
    assert np.ptp(one.evaluate(dicent.make("dice-nim"), states)) > 0


@pytest.mark.usefixtures("uncompiled", "quick_preflight")
def test_a_game_seen_by_mover_learns(tmp_path: Path) -> None:
    path = dicent.train(settings_of_run("pig:target=20"), tmp_path / "run")
    game = dicent.make("pig:target=20")
    assert np.ptp(dicent.load_network(path).evaluate(game, states_of(game, 20))) > 0


def test_new_tables_reach_the_kernels() -> None:
    evaluator = NTupleInTraining(ntuple_network(NIM))
    held = evaluator.native.weights  # as settings of searches hold them
    other = ntuple_network(NIM, seed=2)
    evaluator.load(other.state_dict())
    assert np.array_equal(held, NTupleEvaluator.of(other).native.weights)


def test_a_learner_on_a_gpu_learns_what_one_on_a_cpu_does() -> None:
    device, data = PretendedDevice(), examples(0)
    ours, cpu = (Learner(ntuple_network(EWN), EWN, batch=BATCH, device=where) for where in (device, "cpu"))
    before = weights_of(cpu)
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=1e-4)
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)
    assert np.abs(weights_of(ours) - before).max() > 0.001

"""The network and its learner on a GPU; tests that need one are skipped without it."""

import gc
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import dicent
from dicent.errors import ContractError, GameError
from dicent.evaluate.network import Network
from dicent.game.binding import bind
from dicent.gpu import step as gpu_step
from dicent.gpu.device import CudaDevice
from dicent.kernels import encoding as encoding_kernels

from .learning import examples, learn, learner_on, network, states_of, weights_of

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")  # from torch's compiler
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
APART = 0.3  # share of the change of weights, for half precision; a missing or repeated step gives 0.4

FRACTIONS = """
\"\"\"Thirds: its planes hold fractions.\"\"\"
import numpy as np
from dicent import MAX, MIN, ONGOING

NAME = "thirds"
STATE_SIZE = 2
STATE_DTYPE = np.int8
NUM_ACTIONS = 2
NUM_OUTCOMES = 0
INPUT_SHAPE = (2, 1, 1)


def initial(s, rng):
    s[0] = 0
    s[1] = MAX


def to_play(s):
    return s[1]


def legal_actions(s, out):
    out[0] = 0
    out[1] = 1
    return 2


def apply_action(s, a):
    s[0] += 1 + a
    s[1] = -s[1]


def result(s):
    return -s[1] if s[0] >= 3 else ONGOING


def encode(s, planes):
    planes[0, 0, 0] = s[0] / 3
    if s[1] == MAX:
        planes[1, 0, 0] = 1.0
"""


@pytest.mark.parametrize("name", ["ewn", "ewn:setup=alternate", "tic-tac-toe", "connect-four"])
@pytest.mark.parametrize("compiled", [True, False])
def test_planes_in_bytes_equal_planes_in_floats(name: str, compiled: bool) -> None:
    game = dicent.make(name)
    states = states_of(game, 60)
    planes = np.full((60, *game.input_shape), 7, np.float32)
    packed = np.full((60, *game.input_shape), 7, np.uint8)
    for array in (planes, packed):
        bind(game, compiled).kernel(encoding_kernels.encode_batch)(states, array)
    assert (planes == packed).all()
    assert game.whole_planes


@pytest.mark.parametrize("compiled", [True, False])
def test_examples_are_written_at_their_places_only(compiled: bool) -> None:
    game, data, places = dicent.make("ewn"), examples(18, 3), np.array([5, 0, 3])
    shapes = game.input_shape, (), (18,)
    planes, values, policies = (np.full((7, *shape), 9, np.float32) for shape in shapes)
    encode = bind(game, compiled).kernel(encoding_kernels.encode_examples)
    encode(*data.arrays, np.zeros(3, np.int64), places, game.empty_cells(), planes, values, policies)
    for i, place in enumerate(places):
        assert np.array_equal(planes[place], game.state(data.states[i]).encode())
        assert values[place] == data.values[i]
        assert np.array_equal(policies[place], data.policies[i])
    others = np.setdiff1d(np.arange(7), places)
    assert all((array[others] == 9).all() for array in (planes, values, policies))


def test_planes_with_fractions_are_not_whole(tmp_path: Path) -> None:
    file = tmp_path / "thirds.py"
    file.write_text(FRACTIONS)
    assert not dicent.load(file).whole_planes
    dicent.check_game(dicent.load(file))
    file.write_text(FRACTIONS.replace("NUM_ACTIONS = 2", "NUM_ACTIONS = 2\nWHOLE_PLANES = True"))
    with pytest.raises(ContractError, match="more than whole numbers from 0 to 255, but WHOLE_PLANES"):
        dicent.check_game(dicent.load(file))
    file.write_text(FRACTIONS.replace("NUM_ACTIONS = 2", "NUM_ACTIONS = 2\nWHOLE_PLANES = 1"))
    with pytest.raises(GameError, match="WHOLE_PLANES must be True or False"):
        dicent.load(file)


class BrokenDevice(CudaDevice):
    def is_available(self) -> bool:
        return True

    def sum_of_ones(self) -> float:
        raise RuntimeError("CUDA error: device-side assert\nmore")


class WrongDevice(BrokenDevice):
    def sum_of_ones(self) -> float:
        return 63.0


class NoDevice(CudaDevice):
    def is_available(self) -> bool:
        return False


def test_a_broken_gpu_is_reported() -> None:
    assert BrokenDevice().problem() == "the GPU does not work: CUDA error: device-side assert"
    assert WrongDevice().problem() == "the GPU does not work: 64 ones add up to 63.0"


def test_the_compile_limit_is_set_in_every_thread() -> None:
    found: list[int] = []
    device = CudaDevice(compiler=lambda function, **_: function)
    call = device.compile(lambda: found.append(torch._dynamo.config.recompile_limit))
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert found == [256]


def test_a_compiler_that_fails_is_replaced_by_the_function_itself() -> None:
    def compiler(function: Callable[..., object], dynamic: bool | None) -> Callable[..., object]:
        def fail(*arguments: object) -> object:
            raise RuntimeError("first line\nno gcc here")

        return fail

    call = CudaDevice(compiler).compile(lambda x: x + 1)
    with pytest.warns(UserWarning, match="torch cannot compile here, so networks run slower: no gcc here"):
        assert call(1) == 2
    assert call(2) == 3


def test_without_a_gpu_networks_run_on_the_cpu_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dicent.gpu.device.cuda_device", NoDevice)
    game = dicent.make("ewn")
    states = states_of(game, 10)
    with pytest.warns(UserWarning, match="no GPU that torch can use: the network runs on the CPU"):
        network_of_player = dicent.parse_player("greedy:net-official,device=cuda").network
    assert network_of_player is not None
    expected = dicent.load_network("net-official").evaluate(game, states)
    assert (network_of_player.evaluate(game, states) == expected).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dicent.load_network("net-official", "auto").device == "cpu"
    with pytest.raises(dicent.DicentError, match="no device 'tpu'; possible are auto, cpu, cuda"):
        dicent.parse_player("greedy:net-official,device=tpu")


# With a GPU


@needs_gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("num_actions", [0, 18])
def test_values_of_a_gpu_equal_those_of_a_cpu(compiled: bool, num_actions: int) -> None:
    game = dicent.make("ewn")
    states = states_of(game, 3000)
    module = network(game, num_actions=num_actions, width=16)
    on_cpu = Network(module)
    expected = on_cpu.evaluate(game, states)
    on_gpu = Network(network(game, num_actions=num_actions, width=16), "cuda", threads=2, compiled=compiled)
    assert on_gpu.evaluate(game, states) == pytest.approx(expected, abs=3e-3)
    assert on_gpu.evaluate(game, states[:5]) == pytest.approx(expected[:5], abs=3e-3)
    if num_actions:
        logits = on_cpu.evaluate_with_policy(game, states)[1]
        assert on_gpu.evaluate_with_policy(game, states)[1] == pytest.approx(logits, abs=1e-2)
    other = {name: t * 1.1 for name, t in module.state_dict().items()}
    on_gpu.load(other)
    on_cpu.load(other)
    assert on_gpu.evaluate(game, states) == pytest.approx(on_cpu.evaluate(game, states), abs=5e-3)


@needs_gpu
def test_many_networks_evaluate_at_the_same_time() -> None:
    """There are more networks than torch has streams for; each records while others evaluate."""
    game = dicent.make("ewn")
    states = states_of(game, 3000)
    expected = Network(network(game)).evaluate(game, states)
    networks = [Network(network(game), "cuda") for _ in range(12)]
    with ThreadPoolExecutor(len(networks)) as threads:
        for size in (50, 200, 900, 2000, 3000):
            for values in threads.map(lambda n, size=size: n.evaluate(game, states[:size]), networks):
                assert values == pytest.approx(expected[:size], abs=3e-3)


@needs_gpu
def test_a_gpu_evaluates_planes_with_fractions(tmp_path: Path) -> None:
    (tmp_path / "thirds.py").write_text(FRACTIONS)
    game = dicent.load(tmp_path / "thirds.py")
    start = game.initial_state()
    states = np.stack([start.cells, start.apply(0).cells, start.apply(1).cells])
    expected = Network(network(game)).evaluate(game, states)
    on_gpu = Network(network(game), "cuda")
    assert on_gpu.evaluate(game, states) == pytest.approx(expected, abs=3e-3)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("num_actions", [0, 18])
def test_a_learner_resumes_from_what_another_saved(device: str, num_actions: int) -> None:
    data, first, other = examples(num_actions), *(learner_on(device, num_actions) for _ in range(2))
    other.warm_up(data)
    learn(first, data, 3)
    other.load(first.save())
    loss = first.phase(data, 1e-3, np.random.default_rng(9))
    assert other.phase(data, 1e-3, np.random.default_rng(9)) == pytest.approx(loss, abs=1e-4)
    assert first.steps == other.steps == 16


@needs_gpu
@pytest.mark.parametrize("num_actions", [0, 18])
@pytest.mark.parametrize("several", [1, 3, 4, 16])
def test_a_gpu_learns_the_same_as_a_cpu(
    num_actions: int, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phase has four steps; a call does one or several of them."""
    monkeypatch.setattr(gpu_step, "STEPS", several)
    data, changes, losses = examples(num_actions), {}, {}
    for device in ("cpu", "cuda"):
        learner = learner_on(device, num_actions)
        before = weights_of(learner)
        losses[device] = learn(learner, data)
        changes[device] = weights_of(learner) - before
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=0.02)
    apart = np.linalg.norm(changes["cuda"] - changes["cpu"]) / np.linalg.norm(changes["cpu"])
    assert apart < APART


@needs_gpu
def test_runs_on_a_gpu_resume_and_free_their_memory(tmp_path: Path) -> None:
    config = dicent.preset("gpu").replace(
        games_at_once=64,
        games_per_update=32,
        filters=8,
        width=16,
        blocks=1,
        hidden=16,
        ladder_games=4,
    )
    allocated, reserved = [], []
    for games in (300, 500, 700):
        path = dicent.train(config.replace(games=games), tmp_path / "run", warn=lambda text: None)
        gc.collect()
        torch.cuda.empty_cache()
        allocated.append(torch.cuda.memory_allocated())
        reserved.append(torch.cuda.memory_reserved())
    assert dicent.load_network(path).description is not None
    assert max(allocated) <= allocated[0] + (1 << 20)
    assert max(reserved) <= reserved[0] + (32 << 20)

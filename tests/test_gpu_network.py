"""A network on a pretended GPU: its values, its batch sizes, and the memory it frees.

`test_gpu.py` has the tests on a real GPU.
"""

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
import torch

import dicent
from dicent import DicentError
from dicent.evaluate.network import Network
from dicent.gpu import device as gpu_device
from dicent.gpu import network as gpu
from dicent.gpu.device import Device
from dicent.gpu.network import GpuNetwork, GpuStage

from .learning import EWN, network, states_of
from .pretended_cuda import ERRORS, PretendedDevice, Stream, learner_with

T = TypeVar("T")


@pytest.fixture
def device() -> PretendedDevice:
    return PretendedDevice()


@pytest.fixture
def twin(device: PretendedDevice) -> GpuNetwork:
    return GpuNetwork(network(EWN), EWN, device)


def test_the_pretended_device_has_the_interface_of_a_real_one(device: PretendedDevice) -> None:
    wanted = {name for name in vars(Device) if not name.startswith("_")} | set(Device.__annotations__)
    assert {name for name in wanted if not hasattr(device, name)} == set()
    assert {name for name in wanted if not hasattr(gpu_device.CudaDevice(), name)} == set()


def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the sizes of the graphs that are used from now on."""
    found, graph = [], GpuStage.graph

    def note(self: GpuStage, size: int) -> object:
        found.append(size)
        return graph(self, size)

    monkeypatch.setattr(GpuStage, "graph", note)
    return found


@pytest.mark.parametrize("num_actions", [0, 18])
@pytest.mark.parametrize(
    ("count", "asked"), [(1, [64]), (64, [64]), (65, [256]), (1500, [2048]), (20_000, [16384, 4096])]
)
def test_values_equal_those_of_a_cpu(
    device: PretendedDevice,
    num_actions: int,
    count: int,
    asked: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = np.resize(states_of(EWN, 1000), (count, EWN.state_size))
    module = network(EWN, num_actions=num_actions)
    twin, found = GpuNetwork(module, EWN, device), sizes(monkeypatch)
    values, logits = twin.forward(states)
    assert sorted(found) == sorted(asked)
    assert device.replays == len(asked)
    assert values == pytest.approx(Network(module).evaluate(EWN, states), abs=1e-5)
    if num_actions:
        expected = Network(module).evaluate_with_policy(EWN, states)[1]
        assert logits == pytest.approx(expected, abs=1e-5)
    else:
        assert logits is None


def test_load_replaces_the_weights(twin: GpuNetwork) -> None:
    states = states_of(EWN, 10)
    before = twin.forward(states)[0]
    with torch.no_grad():
        for parameter in twin.module.parameters():
            parameter *= 1.5
    assert np.array_equal(twin.forward(states)[0], before)
    twin.load()
    assert twin.forward(states)[0] == pytest.approx(Network(twin.module).evaluate(EWN, states), abs=1e-5)
    assert not np.allclose(twin.forward(states)[0], before, atol=1e-3)


def test_close_frees_graphs_before_the_cache_is_emptied(device: PretendedDevice) -> None:
    """Torch does not reuse memory held by graphs, and networks are in reference cycles."""
    states, learner = states_of(EWN, 10), learner_with(device, 0)
    evaluator = Network(network(EWN), device)
    expected = evaluator.evaluate(EWN, states)
    ours: list[weakref.ref[object]] = [weakref.ref(evaluator._on_gpu[EWN]), weakref.ref(learner._gpu_step)]
    left: list[int] = []
    device.on_empty_cache = lambda: left.append(sum(reference() is not None for reference in ours))
    gc.disable()
    try:
        evaluator.close()
        learner.close()
    finally:
        gc.enable()
    assert left == [1, 0]
    assert not device.held()
    assert np.array_equal(evaluator.evaluate(EWN, states), expected)


def test_workspaces_stay_as_long_as_graphs_live(device: PretendedDevice) -> None:
    """Graphs keep addresses inside the workspaces."""
    states = states_of(EWN, 10)
    first, other = (Network(network(EWN), device) for _ in range(2))
    expected = [n.evaluate(EWN, states) for n in (first, other)][1]
    first.close()
    assert device.held()["workspace"] > 0
    assert np.array_equal(other.evaluate(EWN, states), expected)
    other.close()
    assert not device.held()


def test_networks_that_follow_each_other_use_the_same_streams(device: PretendedDevice) -> None:
    """Libraries hold memory for every stream that was used."""
    for _ in range(3):
        Network(network(EWN), device).evaluate(EWN, states_of(EWN, 10))
        gc.collect()
    assert device.made == {0: 1, -1: gpu.STAGES}


def test_a_recording_keeps_other_threads_off_its_stream(
    device: PretendedDevice, twin: GpuNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch has 32 streams, so some of many networks record on a stream that others evaluate on."""
    states = states_of(EWN, 10)
    expected = twin.forward(states)[0]
    for _ in range(28):
        device.make_stream(-1)
    other = GpuNetwork(network(EWN), EWN, device)
    assert {s.stream.lock for s in other.stages} == {s.stream.lock for s in twin.stages}
    values = while_recording(device, lambda: other.forward(states), lambda: twin.forward(states))
    assert np.array_equal(values[0], expected)
    monkeypatch.setattr("dicent.gpu.network.SIZES", (32, *gpu.SIZES))  # another graph must be recorded
    while_recording(device, lambda: other.forward(states), twin.load)


def test_a_network_reserves_no_memory_while_another_one_records(
    device: PretendedDevice, twin: GpuNetwork
) -> None:
    """In a tournament networks move to the GPU when they first play, and others record at that time."""
    states = states_of(EWN, 10)
    while_recording(device, lambda: twin.forward(states), lambda: GpuNetwork(network(EWN), EWN, device))


@pytest.mark.parametrize("priority", [0, -1])
def test_a_learner_keeps_other_threads_off_its_stream(
    device: PretendedDevice, twin: GpuNetwork, priority: int
) -> None:
    """A learner records on the stream by which a network loads weights, or restores during a recording."""
    stream = twin.loads.stream
    assert isinstance(stream, Stream)
    while device.made[0] % 32 != stream.cuda_stream - 1:
        device.make_stream(0)
    if priority == 0:
        while_recording(device, lambda: learner_with(device, 0), twin.load)
        return
    learner = learner_with(device, 0)
    data = learner.save()
    while_recording(device, lambda: twin.forward(states_of(EWN, 10)), lambda: learner.load(data))


def while_recording(device: PretendedDevice, record: Callable[[], object], meanwhile: Callable[[], T]) -> T:
    """Return the result of `meanwhile`, which begins while `record` records a graph."""
    recording, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        recording.set()
        go_on.wait(600)

    device.before_recording = wait
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(record)
        assert recording.wait(600)
        second = threads.submit(meanwhile)
        with contextlib.suppress(TimeoutError):
            second.exception(0.05)  # long enough to fail if the stream were not locked
        go_on.set()
        first.result()
        return second.result()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("times", "most"), [(1, 8192), (3, 2048)])
def test_short_memory_makes_batches_smaller(
    device: PretendedDevice, twin: GpuNetwork, error: RuntimeError, times: int, most: int
) -> None:
    device.fail(error, times)
    states = states_of(EWN, 1500)
    values = twin.forward(states)[0]
    assert values == pytest.approx(Network(twin.module).evaluate(EWN, states), abs=1e-5)
    assert twin.batches.most == most


def test_a_gpu_without_any_memory_is_an_error(device: PretendedDevice, twin: GpuNetwork) -> None:
    device.fail(ERRORS[0], 1000)
    with pytest.raises(DicentError, match="no memory left: use device=cpu"):
        twin.forward(states_of(EWN, 50))


def test_other_errors_are_raised(device: PretendedDevice, twin: GpuNetwork) -> None:
    device.fail(RuntimeError("CUDA error: misaligned address"), 1)
    with pytest.raises(RuntimeError, match="misaligned"):
        twin.forward(states_of(EWN, 100))


@pytest.mark.usefixtures("quick_preflight")
def test_runs_that_follow_each_other_leave_nothing_on_the_gpu(
    device: PretendedDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dicent.gpu.device.cuda_device", lambda: device)
    monkeypatch.setattr("dicent.gpu.network.SIZES", (64, 256))
    config = dicent.preset("gpu").replace(
        game="dice-nim", games=24, games_at_once=8, groups=2, games_per_update=8, ladder_games=2, batch=64
    )
    config = config.replace(network="dense", hidden=8, layers=1, evaluations_per_move=10)
    seen = []
    for i in range(3):
        dicent.train(config, tmp_path / str(i), warn=lambda text: None)
        gc.collect()
        assert not device.held()
        seen.append(device.replays)
    assert 0 < seen[0] < seen[1] < seen[2]
    assert device.made == {0: 2, -1: gpu.STAGES}  # streams of networks, and of the learner


def test_a_run_that_fails_leaves_nothing_on_the_gpu(
    device: PretendedDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is handled by the caller, and its traceback refers to the run."""
    monkeypatch.setattr("dicent.gpu.device.cuda_device", lambda: device)
    monkeypatch.setattr("dicent.gpu.network.SIZES", (64, 256))
    config = dicent.preset("gpu").replace(game="dice-nim", games=24, games_at_once=8, groups=2, batch=64)
    config = config.replace(network="dense", hidden=8, layers=1, evaluations_per_move=10)

    def fail(status: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as error:
        dicent.train(config, tmp_path, watch=fail, warn=lambda text: None)
    assert error.value.__traceback__ is not None
    assert not device.held()

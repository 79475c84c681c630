"""A network as a GPU is asked for it, on a pretended one: what it says, of how many states at once.

What a GPU makes of it is in `test_gpu.py`.
"""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest
import torch

import dicent
from dicent import DicentError
from dicent.evaluate.network import Network
from dicent.gpu import network as gpu
from dicent.gpu.network import GpuNetwork, GpuStage

from .learning import network, states_of
from .pretended_cuda import ERRORS, Graph, Stream, pretend, pretending, without_memory

EWN = dicent.make("ewn")
T = TypeVar("T")


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)


@pytest.fixture
def twin() -> GpuNetwork:
    return GpuNetwork(network(EWN), EWN, compiled=False)


def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of the graphs that are asked for from now on."""
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
def test_it_says_what_a_cpu_says(
    num_actions: int, count: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    states = np.resize(states_of(EWN, 1000), (count, EWN.state_size))
    module = network(EWN, num_actions=num_actions)
    twin, found = GpuNetwork(module, EWN, compiled=False), sizes(monkeypatch)
    values, logits = twin.forward(states)
    assert sorted(found) == sorted(asked)
    assert Graph.replays == len(asked)
    assert values == pytest.approx(Network(module).evaluate(EWN, states), abs=1e-5)
    if num_actions:
        expected = Network(module).evaluate_with_policy(EWN, states)[1]
        assert logits == pytest.approx(expected, abs=1e-5)
    else:
        assert logits is None


def test_other_weights_are_taken_over(twin: GpuNetwork) -> None:
    states = states_of(EWN, 10)
    before = twin.forward(states)[0]
    with torch.no_grad():
        for parameter in twin.module.parameters():
            parameter *= 1.5
    assert np.array_equal(twin.forward(states)[0], before)
    twin.load()
    assert twin.forward(states)[0] == pytest.approx(Network(twin.module).evaluate(EWN, states), abs=1e-5)
    assert not np.allclose(twin.forward(states)[0], before, atol=1e-3)


def test_whoever_is_done_gives_the_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs leave theirs to nobody, and a network would keep its graphs until garbage is collected."""
    states, learner = states_of(EWN, 10), pretending(0)
    judge = Network(learner.module)
    judge.device = "cuda"
    expected = judge.evaluate(EWN, states)
    mine: list[weakref.ref[object]] = [weakref.ref(judge._on_gpu[EWN]), weakref.ref(learner._gpu_step)]
    left: list[int] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: left.append(sum(r() is not None for r in mine)))
    gc.disable()
    try:
        judge.close()
        learner.close()
    finally:
        gc.enable()
    assert left == [1, 0]
    assert np.array_equal(judge.evaluate(EWN, states), expected)


def test_whoever_records_on_a_stream_keeps_others_out(
    twin: GpuNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch has 32 streams, so of many networks some record while others judge on the same stream."""
    states = states_of(EWN, 10)
    expected = twin.forward(states)[0]
    for _ in range(28):
        torch.cuda.Stream(priority=-1)
    other = GpuNetwork(network(EWN), EWN, compiled=False)
    assert {s.stream.lock for s in other.stages} == {s.stream.lock for s in twin.stages}
    values = while_recording(monkeypatch, lambda: other.forward(states), lambda: twin.forward(states))
    assert np.array_equal(values[0], expected)
    monkeypatch.setattr("dicent.gpu.network.SIZES", (32, *gpu.SIZES))  # another graph is to be recorded
    while_recording(monkeypatch, lambda: other.forward(states), twin.load)


@pytest.mark.parametrize("priority", [0, -1])
def test_whoever_learns_keeps_others_out(
    twin: GpuNetwork, priority: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner records on the stream by which a network takes over weights; or restores meanwhile."""
    while Stream.made[0] % 32 != twin.loads.stream.cuda_stream[1]:
        torch.cuda.Stream()
    if priority == 0:
        while_recording(monkeypatch, lambda: pretending(0), twin.load)
        return
    learner = pretending(0)
    data = learner.save()
    while_recording(monkeypatch, lambda: twin.forward(states_of(EWN, 10)), lambda: learner.load(data))


def while_recording(patch: pytest.MonkeyPatch, record: Callable[[], T], meanwhile: Callable[[], T]) -> T:
    """What `meanwhile` returns, which begins while `record` records a graph."""
    recording, go_on = threading.Event(), threading.Event()

    class Slow(Graph):
        def __setattr__(self, name: str, value: object) -> None:
            recording.set()
            go_on.wait(10)
            super().__setattr__(name, value)

    patch.setattr(torch.cuda, "CUDAGraph", Slow)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(record)
        assert recording.wait(10)
        second = threads.submit(meanwhile)
        time.sleep(0.05)  # for it to come to the stream
        go_on.set()
        first.result()
        return second.result()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("times", "most"), [(1, 8192), (3, 2048)])
def test_without_memory_fewer_states_are_judged_at_once(
    twin: GpuNetwork, error: RuntimeError, times: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, gpu, error, times)
    states = states_of(EWN, 1500)
    values = twin.forward(states)[0]
    assert values == pytest.approx(Network(twin.module).evaluate(EWN, states), abs=1e-5)
    assert twin.batches.most == most


def test_a_gpu_without_any_memory_is_told(twin: GpuNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory(monkeypatch, gpu, ERRORS[0], 1000)
    with pytest.raises(DicentError, match="no memory left: use device=cpu"):
        twin.forward(states_of(EWN, 50))


def test_other_errors_are_not_taken_for_a_lack_of_memory(
    twin: GpuNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, gpu, RuntimeError("CUDA error: misaligned address"), 1)
    with pytest.raises(RuntimeError, match="misaligned"):
        twin.forward(states_of(EWN, 100))

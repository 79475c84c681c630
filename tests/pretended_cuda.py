"""A pretended GPU, which is the CPU: graphs are played back at once, in single precision."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from dicent.gpu import network as gpu
from dicent.gpu import step as gpu_step
from dicent.learn.learner import Learner

from .learning import BATCH, learner_on


class Stream:
    """One of 32, like torch's: whoever wants more is given the same again."""

    made: ClassVar[Counter[int]] = Counter()  # by priority
    recording: ClassVar[set[tuple[int, int]]] = set()
    here = threading.local()

    def __init__(self, priority: int = 0) -> None:
        self.cuda_stream = (priority, Stream.made[priority] % 32)
        Stream.made[priority] += 1

    def check(self) -> None:
        """What is asked of a stream on which something is recorded fails."""
        if self.cuda_stream in Stream.recording:
            raise RuntimeError("operation not permitted when stream is capturing")

    def synchronize(self) -> None:
        self.check()

    def wait_stream(self, stream: "Stream") -> None:
        self.check()
        stream.check()

    def wait_event(self, event: object) -> None:
        self.check()


DEFAULT = Stream()


def current_stream() -> Stream:
    found: Stream = getattr(Stream.here, "stream", DEFAULT)
    return found


@contextlib.contextmanager
def in_stream(stream: Stream) -> Iterator[None]:
    before, Stream.here.stream = current_stream(), stream
    try:
        yield
    finally:
        Stream.here.stream = before


def wait_for_all() -> None:
    if Stream.recording:
        raise RuntimeError("operation not permitted when stream is capturing")


class Event:
    """Everything is done when it is asked for, so there is nothing to wait for."""

    def __init__(self, blocking: bool = False) -> None:
        pass

    def record(self) -> None:
        current_stream().check()

    def synchronize(self) -> None:
        pass


class Graph:
    """Does what was recorded."""

    replays = 0
    work: Callable[[], object]

    def replay(self) -> None:
        current_stream().check()
        Graph.replays += 1
        self.work()


def record(graph: Graph, work: Callable[[], object], pool: object) -> None:
    stream = current_stream()
    stream.check()
    Stream.recording.add(stream.cuda_stream)
    graph.work = work
    Stream.recording.remove(stream.cuda_stream)


def pretend(patch: pytest.MonkeyPatch) -> None:
    """Let whatever goes to a GPU stay here."""
    moved, zeros, empty = Tensor.to, torch.zeros, torch.empty

    def to(self: Tensor, where: Any, *more: Any, **how: Any) -> Tensor:
        if where == "cuda":
            return self.clone()
        return moved(self, torch.float32 if where is torch.bfloat16 else where, *more, **how)

    def here(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def call(*shape: Any, pin_memory: bool = False, device: str = "cpu", **how: Any) -> Tensor:
            return make(*shape, **how)

        return call

    patch.setattr(Tensor, "to", to)
    patch.setattr(Tensor, "half", Tensor.float)
    patch.setattr(nn.Module, "half", nn.Module.float)
    patch.setattr(torch, "zeros", here(zeros))
    patch.setattr(torch, "empty", here(empty))
    patch.setattr(torch, "autocast", lambda *_: contextlib.nullcontext())
    pretences = {"stream": in_stream, "current_stream": current_stream}
    for name, pretence in {"CUDAGraph": Graph, "Stream": Stream, "Event": Event, **pretences}.items():
        patch.setattr(torch.cuda, name, pretence)
    patch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    for name in ("synchronize", "empty_cache"):
        patch.setattr(torch.cuda, name, wait_for_all)
    patch.setattr(torch.cuda, "is_initialized", lambda: True)
    patch.setattr(Graph, "replays", 0)
    for module in (gpu, gpu_step):
        patch.setattr(module, "compile_function", lambda function, **_: function)
        patch.setattr(module, "record", record)


def pretending(num_actions: int) -> Learner:
    """A learner that takes its steps on the pretended GPU."""
    learner = learner_on("cpu", num_actions)
    learner.optimizer = torch.optim.Adam(
        learner.module.parameters(), lr=torch.tensor(1e-3), weight_decay=1e-4, foreach=False
    )
    learner._gpu_step = gpu_step.GpuStep(learner.module, learner.optimizer, learner.game, BATCH)
    return learner


def without_memory(patch: pytest.MonkeyPatch, module: Any, error: RuntimeError, times: int) -> None:
    """The module's recording ends in an error so many times, after whatever came before it."""
    record, left = module.record, [times]

    def fail(graph: Any, work: Any, pool: Any) -> None:
        record(graph, work, pool)
        if left[0]:
            left[0] -= 1
            raise error

    patch.setattr(module, "record", fail)


ERRORS = [torch.cuda.OutOfMemoryError("none left"), RuntimeError("CUDA error: out of memory")]

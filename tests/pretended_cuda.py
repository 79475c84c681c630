"""A pretended GPU: a device on the CPU that replays graphs at once, in single precision.

It counts the objects that it handed out, and holds memory for each stream, as cuBLAS does.
"""

import contextlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from dicent.gpu.graphs import Streams
from dicent.learn.learner import Learner

from .learning import BATCH, EWN, network

R = TypeVar("R")
STREAMS = 32  # streams of one priority; torch reuses them after this many
CAPTURING = "operation not permitted when stream is capturing"
ERRORS = [torch.cuda.OutOfMemoryError("none left"), RuntimeError("CUDA error: out of memory")]


class Stream:
    def __init__(self, device: "PretendedDevice", number: int) -> None:
        self.device, self.cuda_stream = device, number

    def check(self) -> None:
        """Fail if a graph is being recorded on this stream."""
        if self.cuda_stream in self.device.recorded:
            raise RuntimeError(CAPTURING)

    def synchronize(self) -> None:
        self.check()

    def wait_stream(self, stream: "Stream") -> None:
        self.check()
        stream.check()

    def wait_event(self, event: object) -> None:
        self.check()


class Event:
    """An event that never waits, since work is done as soon as it is sent."""

    def __init__(self, device: "PretendedDevice") -> None:
        self.device = device

    def record(self) -> None:
        self.device.current_stream().check()

    def synchronize(self) -> None:
        pass


class Graph:
    def __init__(self, device: "PretendedDevice", work: Callable[[], object]) -> None:
        self.device, self.work = device, work

    def replay(self) -> None:
        self.device.current_stream().check()
        self.device.replays += 1
        self.work()


class PretendedDevice:
    """Implements `dicent.gpu.device.Device`.

    `before_recording` is called while a stream is captured. `fail` lets recordings end in an error.
    """

    name = "cuda"
    evaluation_type = torch.float32
    learning_type = torch.float32

    def __init__(self) -> None:
        self.recording = threading.RLock()
        self.streams = Streams(self.make_stream, self.in_stream)
        self.made: Counter[int] = Counter()  # streams, by priority
        self.recorded: set[int] = set()  # streams on which a graph is recorded
        self.workspaces: set[int] = set()  # streams for which a library holds memory
        self.replays = 0
        self.before_recording: Callable[[], object] = lambda: None
        self.on_empty_cache: Callable[[], object] = lambda: None
        self._default, self._here = Stream(self, 0), threading.local()
        self._handed_out: list[tuple[str, weakref.ref[object]]] = []
        self._failures, self._error = 0, RuntimeError()

    def description(self) -> str:
        return "pretended GPU"

    # Queries for tests

    def held(self) -> Counter[str]:
        """Count the objects that the device handed out and that are still alive."""
        found = Counter(kind for kind, reference in self._handed_out if reference() is not None)
        return found + Counter({"workspace": len(self.workspaces)})

    def fail(self, error: RuntimeError, times: int) -> None:
        """Let the next `times` recordings end in an error."""
        self._failures, self._error = times, error

    def _count(self, kind: str, thing: R) -> R:
        self._handed_out.append((kind, weakref.ref(thing)))
        return thing

    def _forget(self, thing: object) -> None:
        self._handed_out = [pair for pair in self._handed_out if pair[1]() is not thing]

    # The interface

    def problem(self) -> str:
        return ""

    def move_in(self, module: nn.Module) -> None:
        self.move_out(module)
        for parameter in module.parameters():
            self._count("weights", parameter)

    def move_out(self, module: nn.Module) -> None:
        for parameter in module.parameters():
            self._forget(parameter)

    def copy(self, tensor: Tensor) -> Tensor:
        return self._count("tensor", tensor.clone())

    def zeros(self, *shape: int) -> Tensor:
        return self._count("tensor", torch.zeros(shape))

    def pinned_zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        if self.recorded:
            raise RuntimeError(CAPTURING)
        return self._count("pinned", torch.zeros(*shape, dtype=dtype))

    def make_stream(self, priority: int) -> Stream:
        number = 1 + self.made[priority] % STREAMS - 100 * priority
        self.made[priority] += 1
        return Stream(self, number)

    def current_stream(self) -> Stream:
        found: Stream = getattr(self._here, "stream", self._default)
        return found

    @contextlib.contextmanager
    def in_stream(self, stream: Stream) -> Iterator[None]:
        before, self._here.stream = self.current_stream(), stream
        try:
            yield
        finally:
            self._here.stream = before

    def event(self) -> Event:
        return Event(self)

    def graph_pool(self) -> object:
        return None

    def record(self, work: Callable[[], object], pool: object) -> Graph:
        stream = self.current_stream()
        stream.check()
        self.workspaces.add(stream.cuda_stream)
        self.recorded.add(stream.cuda_stream)
        try:
            self.before_recording()
            graph = self._count("graph", Graph(self, work))
        finally:
            self.recorded.remove(stream.cuda_stream)
        if self._failures:
            self._failures -= 1
            raise type(self._error)(*self._error.args)  # a new one, whose traceback is freed
        return graph

    def live_graphs(self) -> int:
        return self.held()["graph"]

    def compile(self, function: Callable[..., R], dynamic: bool | None = None) -> Callable[..., R]:
        return function

    def synchronize(self) -> None:
        if self.recorded:
            raise RuntimeError(CAPTURING)

    def clear_workspaces(self) -> None:
        assert self.live_graphs() == 0
        self.workspaces.clear()

    def empty_cache(self) -> None:
        self.synchronize()
        self.on_empty_cache()

    def memory(self) -> int:
        return self.held().total()

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, torch.cuda.OutOfMemoryError) or "out of memory" in str(error)


def learner_with(device: PretendedDevice, num_actions: int) -> Learner:
    """Return a learner that has recorded its steps on the pretended GPU."""
    learner = Learner(network(EWN, num_actions=num_actions), EWN, batch=BATCH, device=device)
    learner._on_gpu()
    return learner

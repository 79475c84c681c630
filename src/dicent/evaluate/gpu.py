"""A network on a GPU: in half precision, compiled, as CUDA graphs, fed from pinned memory.

Threads encode their states in bytes and queue them. One thread sends whatever has queued up as one batch,
while the batch before is judged, in pieces of a few sizes, for each of which there is a graph.
"""

from __future__ import annotations

import copy
import queue
import threading
import warnings
from collections import deque
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dicent.binding import bind
from dicent.errors import DicentError
from dicent.game import Cells, Game

SIZES = (1024, 4096, 8192, 16384)  # states to a graph
WORTH = 0.75  # the share of a graph that must be filled before smaller ones do better
IN_FLIGHT = 2  # batches: one is judged, one waits on the device
LAST = torch.channels_last


class Graph(NamedTuple):
    """The network recorded for one size of batch."""

    planes: Tensor  # [size, C, H, W]
    values: Tensor  # [size]
    logits: Tensor | None  # [size, A]
    recorded: torch.cuda.CUDAGraph


class Slot(NamedTuple):
    """Room for one thread's states on their way, in pinned memory."""

    planes: Tensor  # [n, C, H, W]
    values: Tensor  # [n]
    logits: Tensor | None  # [n, A]


class Request:
    """States that are to be judged."""

    def __init__(self, slot: Slot, count: int) -> None:
        self.slot, self.count = slot, count
        self.sent = threading.Event()
        self.done: torch.cuda.Event | None = None
        self.error: BaseException | None = None


class Stage(NamedTuple):
    """Room on the device for a batch."""

    planes: Tensor
    values: Tensor
    logits: Tensor | None
    arrived: torch.cuda.Event
    done: torch.cuda.Event


class GpuNetwork:
    """The half-precision twin of a module, which `load` brings up to date. `close` ends its thread."""

    def __init__(self, module: nn.Module, game: Game, compiled: bool) -> None:
        self.module, self.game = module, game
        self.half = copy.deepcopy(module).half()
        self.half.to(memory_format=LAST)  # type: ignore[call-overload]  # not in torch's stubs
        self.judge = compile_function(_judge) if compiled else _judge
        self.policy = getattr(self.half, "policy", None)
        self.dtype = plane_type(game)
        self.graphs: dict[int, Graph] = {}
        self.slots: list[Slot] = []  # free ones
        self.stages: list[Stage] = []
        self.flying: deque[Stage] = deque()
        self.work, self.copies = torch.cuda.Stream(priority=-1), torch.cuda.Stream()
        self.lock = threading.Lock()
        self.queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self.load()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """End the thread that sends batches."""
        self.queue.put(None)

    def load(self) -> None:
        """Take over the weights of the module; batches sent before are judged by the old ones."""
        with self.lock, torch.no_grad():
            self.work.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.work):
                pairs = zip(self.half.state_dict().values(), self.module.state_dict().values(), strict=True)
                for mine, theirs in pairs:
                    mine.copy_(theirs)
            self.work.synchronize()

    def prepare(self) -> None:
        """Compile and record every size."""
        with self.lock:
            for size in SIZES:
                self._graph(size)

    def forward(self, states: Cells) -> tuple[Any, Any]:
        """Values [B] and logits [B, A], or None, of states [B, S]."""
        n = len(states)
        slot = self._slot(n)
        encode = bind(self.game).kernel("encoding.encode_batch")
        encode(np.ascontiguousarray(states), slot.planes.numpy()[:n])
        request = Request(slot, n)
        self.queue.put(request)
        request.sent.wait()
        if request.error is not None:
            raise request.error
        assert request.done is not None
        request.done.synchronize()
        values = slot.values[:n].numpy().astype(np.float64)
        logits = None if slot.logits is None else slot.logits[:n].numpy().copy()
        with self.lock:
            self.slots.append(slot)
        return values, logits

    def _slot(self, n: int) -> Slot:
        """A free slot with room for n states."""
        with self.lock:
            while self.slots:
                slot = self.slots.pop()
                if len(slot.planes) >= n:
                    return slot
        room = 1 << max(8, (n + n // 4).bit_length())
        return Slot(*self._tensors(room, pin_memory=True))

    def _tensors(self, room: int, **where: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        """Planes, values, and logits where there is a policy."""
        planes = torch.empty((room, *self.game.input_shape), dtype=self.dtype, **where)
        logits = None if self.policy is None else torch.empty(room, self.policy.out_features, **where)
        return planes, torch.empty(room, **where), logits

    # The thread that sends

    def _serve(self) -> None:
        """Send what is queued, as long as there is anybody."""
        while True:
            request = self.queue.get()
            if len(self.flying) >= IN_FLIGHT:  # meanwhile more may queue up
                self.flying.popleft().done.synchronize()
            requests, total = [], 0
            while request is not None:
                requests.append(request)
                total += request.count
                if total >= SIZES[-1] or self.queue.empty():
                    break
                request = self.queue.get()
            try:
                if requests:
                    with self.lock, torch.no_grad():
                        self._send(requests, total)
            except Exception as error:
                for one in requests:
                    one.error = error
            for one in requests:
                one.sent.set()
            if request is None:
                return

    def _send(self, requests: list[Request], total: int) -> None:
        """Judge the states of several requests as one batch."""
        stage = self._stage(total)
        offsets = np.cumsum([0, *(one.count for one in requests)]).tolist()
        with torch.cuda.stream(self.copies):
            for one, first in zip(requests, offsets, strict=False):
                there = stage.planes[first : first + one.count]
                there.copy_(one.slot.planes[: one.count], non_blocking=True)
            stage.arrived.record(self.copies)
        with torch.cuda.stream(self.work):
            self.work.wait_event(stage.arrived)
            self._judge_pieces(stage, total)
            for one, first in zip(requests, offsets, strict=False):
                some = slice(first, first + one.count)
                one.slot.values[: one.count].copy_(stage.values[some], non_blocking=True)
                if one.slot.logits is not None and stage.logits is not None:
                    one.slot.logits[: one.count].copy_(stage.logits[some], non_blocking=True)
            stage.done.record(self.work)
        for one in requests:
            one.done = stage.done
        self.flying.append(stage)

    def _judge_pieces(self, stage: Stage, total: int) -> None:
        first = 0
        for size in pieces(total):
            graph, last = self._graph(size), min(total, first + size)
            graph.planes[: last - first].copy_(stage.planes[first:last])
            graph.recorded.replay()
            stage.values[first:last].copy_(graph.values[: last - first])
            if graph.logits is not None and stage.logits is not None:
                stage.logits[first:last].copy_(graph.logits[: last - first])
            first = last

    def _stage(self, total: int) -> Stage:
        """Room on the device that no batch in flight uses. Its `done` is recorded once for each batch."""
        flying = [stage.planes.data_ptr() for stage in self.flying]
        for stage in self.stages:
            if len(stage.planes) >= total and stage.planes.data_ptr() not in flying:
                return stage._replace(done=torch.cuda.Event(blocking=True))
        torch.cuda.synchronize()  # nothing in flight may use what goes
        self.flying.clear()
        self.stages.clear()
        for _ in range(IN_FLIGHT + 1):
            events = torch.cuda.Event(), torch.cuda.Event(blocking=True)
            self.stages.append(Stage(*self._tensors(total + total // 4, device="cuda"), *events))
        return self.stages[0]

    def _graph(self, size: int) -> Graph:
        """The network recorded for a batch of `size`; held by the lock."""
        if size not in self.graphs:
            planes = torch.zeros((size, *self.game.input_shape), dtype=self.dtype, device="cuda")
            torch.cuda.synchronize()
            with torch.no_grad(), torch.cuda.stream(self.work):
                for _ in range(2):  # compiles, and chooses algorithms
                    self.judge(self.half, planes)
                self.work.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=self.work, capture_error_mode="thread_local"):
                    values, logits = self.judge(self.half, planes)
            self.graphs[size] = Graph(planes, values, logits, graph)
        return self.graphs[size]


def plane_type(game: Game) -> torch.dtype:
    """What planes are sent in: bytes where the game says that these are enough."""
    return torch.uint8 if game.whole_planes else torch.float32


def pieces(n: int) -> list[int]:
    """The sizes of graphs that judge n states, with little room left over."""
    found = []
    while n > 0:
        size = next((s for s in reversed(SIZES) if n >= WORTH * s), SIZES[0])
        found.append(size)
        n -= size
    return found


def _judge(module: nn.Module, planes: Tensor) -> tuple[Tensor, Tensor | None]:
    answer = module(planes.half().contiguous(memory_format=LAST))
    values, logits = answer if isinstance(answer, tuple) else (answer, None)
    return values.float(), None if logits is None else logits.float()


def compile_function(function: Any) -> Any:
    """A function compiled for each size; as it is, where that cannot be done."""
    torch.backends.cudnn.benchmark = True  # does as well as torch's own tuning, in a tenth of the time
    torch._dynamo.config.recompile_limit = 256  # sizes times networks
    compiled = torch.compile(function, dynamic=False)
    failed = False

    def call(*arguments: Any) -> Any:
        nonlocal failed
        if not failed:
            try:
                return compiled(*arguments)
            except torch.cuda.OutOfMemoryError:
                raise
            except Exception as error:  # whatever a compiler may meet on somebody's machine
                failed = True
                short = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                warnings.warn(f"torch cannot compile here, so networks run slower: {short[0]}", stacklevel=2)
        return function(*arguments)

    return call


def usable_gpu() -> str:
    """An empty text if there is a GPU that works, else what is wrong with it."""
    if not torch.cuda.is_available():
        return "there is no GPU that torch can use"
    try:
        one = torch.ones(64, 64, device="cuda", dtype=torch.float16)
        if float((one @ one)[0, 0]) != 64.0:
            raise DicentError("it computes wrongly")
    except (RuntimeError, DicentError) as error:
        return f"the GPU does not work: {str(error).strip().splitlines()[0]}"
    return ""

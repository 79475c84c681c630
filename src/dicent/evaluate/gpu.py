"""A network on a GPU: in half precision, compiled, as CUDA graphs, fed from pinned memory.

A batch is encoded in bytes, sent, and judged in pieces of a few sizes, for each of which there is a graph.
Several threads may ask at once: one batch is encoded and sent while another is judged.
"""

from __future__ import annotations

import copy
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dicent.binding import bind
from dicent.errors import DicentError
from dicent.game import Cells, Game

SIZES = (1024, 4096, 8192, 16384)  # states to a graph
WORTH = 0.75  # the share of a graph that must be filled before smaller ones do better
A_THREAD = 256  # states to encode that are worth a thread
LAST = torch.channels_last


class Graph(NamedTuple):
    """The network recorded for one size of batch."""

    planes: Tensor  # [size, C, H, W]
    values: Tensor  # [size]
    logits: Tensor | None  # [size, A]
    recorded: torch.cuda.CUDAGraph


class Slot(NamedTuple):
    """Room for a batch on its way, here in pinned memory and on the device."""

    planes: Tensor  # [n, C, H, W], pinned
    values: Tensor  # [n], pinned
    logits: Tensor | None
    on_device: Tensor  # planes
    sent: torch.cuda.Event
    done: torch.cuda.Event


class GpuNetwork:
    """The half-precision twin of a module, which `load` brings up to date."""

    def __init__(self, module: nn.Module, game: Game, compiled: bool, threads: int) -> None:
        self.module, self.game = module, game
        self.half = copy.deepcopy(module).half().to(memory_format=LAST)  # type: ignore[call-overload]
        self.judge = compile_function(_judge) if compiled else _judge
        self.dtype = torch.uint8  # of planes on their way
        self.graphs: dict[int, Graph] = {}
        self.slots: list[Slot] = []  # free ones
        self.work, self.copies = torch.cuda.Stream(priority=-1), torch.cuda.Stream()
        self.lock = threading.Lock()
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.load()

    def load(self) -> None:
        """Take over the weights of the module; batches sent before are judged by the old ones."""
        with self.lock, torch.no_grad():
            self.work.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.work):
                for mine, theirs in zip(
                    self.half.state_dict().values(), self.module.state_dict().values(), strict=True
                ):
                    mine.copy_(theirs)
            self.work.synchronize()

    def prepare(self) -> None:
        """Compile and record every size."""
        with self.lock:
            for size in SIZES:
                self._graph(size)

    def forward(self, states: Cells) -> tuple[Any, Any]:
        """Values [B] and logits [B, A], or None, of states [B, S]."""
        slot = self._slot(len(states))
        if not self._encode(states, slot):
            with self.lock:  # this game needs more than bytes
                self.dtype, self.graphs, self.slots = torch.float32, {}, []
            return self.forward(states)
        self._send(len(states), slot)
        slot.done.synchronize()
        n = len(states)
        values = slot.values[:n].numpy().astype(np.float64)
        logits = None if slot.logits is None else slot.logits[:n].numpy().copy()
        with self.lock:
            if slot.planes.dtype == self.dtype:
                self.slots.append(slot)
        return values, logits

    def _send(self, n: int, slot: Slot) -> None:
        with self.lock, torch.no_grad():
            with torch.cuda.stream(self.copies):
                slot.on_device[:n].copy_(slot.planes[:n], non_blocking=True)
                slot.sent.record(self.copies)
            with torch.cuda.stream(self.work):
                self.work.wait_event(slot.sent)
                first = 0
                for size in pieces(n):
                    graph, last = self._graph(size), min(n, first + size)
                    graph.planes[: last - first].copy_(slot.on_device[first:last])
                    graph.recorded.replay()
                    slot.values[first:last].copy_(graph.values[: last - first], non_blocking=True)
                    if graph.logits is not None and slot.logits is not None:
                        slot.logits[first:last].copy_(graph.logits[: last - first], non_blocking=True)
                    first = last
                slot.done.record(self.work)

    def _encode(self, states: Cells, slot: Slot) -> bool:
        """Write the planes of states into a slot; False if bytes cannot hold them."""
        bound, planes = bind(self.game), slot.planes.numpy()
        states = np.ascontiguousarray(states)

        def part(first: int, last: int) -> bool:
            if self.dtype == torch.float32:
                bound.kernel("encoding.encode_batch")(states[first:last], planes[first:last])
                return True
            scratch = np.empty(self.game.input_shape, np.float32)
            return bool(
                bound.kernel("encoding.encode_bytes")(states[first:last], planes[first:last], scratch)
            )

        parts = min(self.threads, len(states) // A_THREAD)
        if self.pool is None or parts < 2:
            return part(0, len(states))
        bounds = np.linspace(0, len(states), parts + 1).astype(int).tolist()
        return all(list(self.pool.map(part, bounds[:-1], bounds[1:])))

    def _slot(self, n: int) -> Slot:
        """A free slot with room for n states."""
        with self.lock:
            for i, slot in enumerate(self.slots):
                if len(slot.planes) >= n:
                    return self.slots.pop(i)
            self.slots.clear()  # too small ones would pile up
        room = 1 << max(8, (n - 1).bit_length())
        shape = (room, *self.game.input_shape)
        policy: Any = getattr(self.half, "policy", None)
        return Slot(
            planes=torch.empty(shape, dtype=self.dtype, pin_memory=True),
            values=torch.empty(room, pin_memory=True),
            logits=None if policy is None else torch.empty(room, policy.out_features, pin_memory=True),
            on_device=torch.empty(shape, dtype=self.dtype, device="cuda"),
            sent=torch.cuda.Event(),
            done=torch.cuda.Event(blocking=True),
        )

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

"""A network on a GPU: in half precision, compiled, as CUDA graphs, fed from pinned memory.

Threads encode their states as bytes, directly in the memory that the GPU reads (`batches.py`). One call
evaluates a batch: its graph copies the planes to the GPU, runs the network and copies the values back. Each
stage has its own stream, so the copies of one batch overlap with the evaluation of another.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.gpu.batches import Answer, Batches
from dicent.gpu.device import Device
from dicent.gpu.graphs import Event, Graph, Stream, release
from dicent.kernels import encoding as encoding_kernels

SIZES = (64, 256, 1024, 2048, 4096, 6144, 8192, 12288, 16384)  # states in a graph
STAGES = 4  # batches in progress: evaluated, next on the device, being filled, being read
LAST = torch.channels_last

T = TypeVar("T")


class GpuNetwork:
    """The half-precision copy of a module; `load` updates it."""

    def __init__(self, module: nn.Module, game: Game, device: Device, compiled: bool = False) -> None:
        self.module, self.game, self.device = module, game, device
        self.half = copy.deepcopy(module).to(device.evaluation_type)
        self.half.to(memory_format=LAST)  # type: ignore[call-overload]  # not in torch's stubs
        self.evaluate = device.compile(_evaluate) if compiled else _evaluate
        self.evaluate_full = device.compile(_evaluate_full, dynamic=False) if compiled else _evaluate
        self.encode = bind(game).kernel(encoding_kernels.encode_batch)
        with device.recording:  # no memory is reserved while another thread records
            device.move_in(self.half)
            self.stages = [GpuStage(self) for _ in range(STAGES)]
        self.loads = device.streams.borrow()
        self.batches = Batches(self.stages)
        self.load()

    def load(self) -> None:
        """Copy the weights of the module; batches sent earlier are evaluated with the old ones."""
        here = self.device.current_stream()
        self.batches.call(lambda: self._load(here)).synchronize()

    def _load(self, changed: Stream) -> Event:
        with torch.no_grad(), self.loads.in_use() as loads:
            loads.wait_stream(changed)
            for stage in self.stages:
                with stage.stream.in_use() as stream:
                    loads.wait_stream(stream)
            mine, theirs = (list(m.state_dict().values()) for m in (self.half, self.module))
            torch._foreach_copy_(mine, theirs)
            done = self.device.event()
            done.record()
        for stage in self.stages:
            with stage.stream.in_use() as stream:
                stream.wait_event(done)
        return done

    def prepare(self) -> None:
        """Compile and record every size that there is memory for."""

        def record() -> None:
            for size in SIZES:
                for stage in self.stages:
                    if size <= self.batches.most:
                        stage.graph(size)

        self._within_memory(lambda: self.batches.call(record))

    def forward(self, states: Cells) -> Answer:
        """Return the values [B] of states [B, S], and logits [B, A] or None."""
        states = np.ascontiguousarray(states)

        def write(first: int, last: int, planes: npt.NDArray[np.generic]) -> None:
            self.encode(states[first:last], planes)

        return self._within_memory(lambda: self.batches.evaluate(len(states), write))

    def _within_memory(self, work: Callable[[], T]) -> T:
        """Call `work`; halve the batches and repeat as long as the device runs out of memory."""
        while True:
            most = self.batches.most
            try:
                return work()
            except RuntimeError as error:
                if not self.device.is_out_of_memory(error):
                    raise
                if most <= SIZES[0]:
                    raise DicentError("the GPU has no memory left: use device=cpu") from None
            self.batches.most = min(self.batches.most, most // 2)  # another thread may have been faster
            release(self.device)


class GpuStage:
    """Pinned memory for a batch, and the graphs that read the planes and write the values there."""

    def __init__(self, network: GpuNetwork) -> None:
        self.network, self.device = network, network.device
        shape, rows = network.game.input_shape, SIZES[-1]
        policy = getattr(network.half, "policy", None)
        self.inputs = self.device.pinned_zeros((rows, *shape), plane_type(network.game))
        self.outputs = [self.device.pinned_zeros((rows,), torch.float32)]
        if policy is not None:
            self.outputs.append(self.device.pinned_zeros((rows, policy.out_features), torch.float32))
        self.planes, self.values = self.inputs.numpy(), self.outputs[0].numpy()
        self.logits = self.outputs[1].numpy() if policy is not None else None
        self.stream = self.device.streams.borrow(priority=-1)
        self.pool = self.device.graph_pool()  # for all graphs: they never run at the same time
        self.graphs: dict[int, Graph] = {}

    def send(self, count: int) -> Event:
        """Begin to evaluate the first `count` rows."""
        graph = self.graph(next(size for size in SIZES if size >= count))
        done = self.device.event()
        with self.stream.in_use():
            graph.replay()
            done.record()
        return done

    def graph(self, size: int) -> Graph:
        """Return the graph that evaluates `size` rows; record it first if need be."""
        if size not in self.graphs:
            with self.device.recording, torch.no_grad():
                # The first call compiles and chooses algorithms; other threads need not wait for that.
                with self.device.in_stream(self.stream.stream):
                    for _ in range(2):
                        self._evaluate(size)
                    self.stream.stream.synchronize()
                with self.stream.in_use():
                    graph = self.device.record(lambda: self._evaluate(size), self.pool)
            self.graphs[size] = graph
        return self.graphs[size]

    def _evaluate(self, size: int) -> None:
        planes = self.device.copy(self.inputs[:size])
        evaluate = self.network.evaluate_full
        if size < SIZES[-1]:  # compiled once for all of these, which is a sixth slower than for one size
            evaluate = self.network.evaluate
            torch._dynamo.maybe_mark_dynamic(planes, 0)
        answers = evaluate(self.network.half, planes, self.device.evaluation_type)
        for here, there in zip(self.outputs, answers, strict=False):
            if there is not None:
                here[:size].copy_(there, non_blocking=True)


def plane_type(game: Game) -> torch.dtype:
    """Return the type in which planes are sent: bytes if the game says that bytes are enough."""
    return torch.uint8 if game.whole_planes else torch.float32


def _evaluate(module: nn.Module, planes: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    answer = module(planes.to(dtype).contiguous(memory_format=LAST))
    values, logits = answer if isinstance(answer, tuple) else (answer, None)
    return values.float(), None if logits is None else logits.float()


def _evaluate_full(module: nn.Module, planes: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    # Torch caches compiled code by the function's code: the one full size is compiled apart.
    return _evaluate(module, planes, dtype)

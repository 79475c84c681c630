"""GpuStep: a step of Adam on a GPU, compiled and recorded as CUDA graphs, fed from pinned memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.binding import bind
from dicent.gpu.network import (
    LAST,
    RECORDING,
    GpuStream,
    compile_function,
    is_out_of_memory,
    plane_type,
    record,
    release,
)
from dicent.kernels import encoding as encoding_kernels

SLOTS = 3  # calls under way
ROWS = 16_384  # states in one call at the most, unless a batch is larger
STEPS = 16  # in one call at the most
SMALLEST = 64  # states that a GPU must have memory for


Arrays = Sequence[npt.NDArray[Any]]  # states [n, S], values [n], policies [n, A]


class Slot(NamedTuple):
    """Pinned memory for some batches, and graphs that read it."""

    tensors: list[Tensor]  # planes, values, policies, weights
    steps: dict[int, torch.cuda.CUDAGraph]  # on the first batch, the first two, the first four...
    gradients: torch.cuda.CUDAGraph  # adds up those of a piece of a batch
    done: torch.cuda.Event


class GpuStep:
    """Steps of `optimizer`, which must be capturable, on batches of up to `batch` states.

    Several steps go in one call, since after each call the learner may have to wait for Python's lock. Where
    memory is short one goes in a call, or even a piece of a batch, and the gradients of its pieces add up.
    """

    def __init__(self, module: nn.Module, optimizer: torch.optim.Adam, game: Game, batch: int) -> None:
        self.module, self.optimizer, self.game = module, optimizer, game
        self.batch = self.piece = batch
        self.several = _power_of_two(min(STEPS, max(1, ROWS // batch)))  # steps in one call
        self.actions = game.num_actions if getattr(module, "policy", None) is not None else 0
        self.loss = compile_function(_loss)
        self.encode = bind(game).kernel(encoding_kernels.encode_examples)
        self.image = game.empty_cells()
        self.stream = GpuStream()
        self.total = torch.zeros((), device="cuda")  # of the losses
        self.next_slot = 0
        self._record()

    def learn(self, data: Arrays, kinds: npt.NDArray[np.int64], bounds: list[int]) -> float:
        """A step on each batch, from one of `bounds` to the next, its states in images of these kinds.

        Returns the mean of their losses, once all are done.
        """
        steps, done = len(bounds) - 1, 0
        with self.stream.in_use():
            while done < steps:
                n = _power_of_two(min(self.several, steps - done))
                some = bounds[done : done + n + 1]
                if self.piece < self.batch:
                    self._step_in_pieces(data, kinds, *some)
                else:
                    slot = self._fill(data, kinds, some, np.diff(some))
                    slot.steps[n].replay()
                    slot.done.record()
                done += n
            total = float(self.total)
            self.total.zero_()
        return total / steps

    def set_rate(self, rate: float) -> None:
        """Learn by this rate from now on."""
        with self.stream.in_use():
            self.optimizer.param_groups[0]["lr"].fill_(rate)

    def _step_in_pieces(self, data: Arrays, kinds: npt.NDArray[np.int64], first: int, last: int) -> None:
        """One step on the batch from `first` to `last`."""
        for begin in range(first, last, self.piece):
            some = [begin, min(last, begin + self.piece)]
            slot = self._fill(data, kinds, some, np.array([last - first]))
            slot.gradients.replay()
            slot.done.record()
        self.update.replay()

    def _fill(
        self, data: Arrays, kinds: npt.NDArray[np.int64], bounds: list[int], batches: npt.NDArray[np.int64]
    ) -> Slot:
        """Write pieces of these batches into the next slot, each at its place; empty rows weigh nothing."""
        slot = self.slots[self.next_slot]
        self.next_slot = (self.next_slot + 1) % SLOTS
        sizes, (first, last) = np.diff(bounds), (bounds[0], bounds[-1])
        gaps = self.piece * np.arange(len(sizes)) - (np.array(bounds[:-1]) - first)
        places = np.arange(last - first) + np.repeat(gaps, sizes)
        slot.done.synchronize()
        *shown, weights = (tensor.numpy() for tensor in slot.tensors)
        self.encode(*(array[first:last] for array in data), kinds[first:last], places, self.image, *shown)
        weights[:] = 0.0
        weights[places] = np.repeat(1.0 / batches, sizes)
        return slot

    def _record(self) -> None:
        """Record the steps, and leave weights and optimiser as they are."""
        weights = [p.detach().clone() for p in self.module.parameters()]
        memory = [{k: t.clone() for k, t in s.items()} for s in self.optimizer.state.values()]
        while True:
            try:
                with RECORDING:
                    return self._record_slots()
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                release()
                if self.several == 1 and self.piece <= SMALLEST:
                    raise DicentError("the GPU has no memory left for learning: use --device cpu") from None
                if self.several == 1:
                    self.piece //= 2
                self.several = 1
            finally:
                self.restore(weights, memory)

    def _record_slots(self) -> None:
        slots = [self._new_slot() for _ in range(SLOTS)]
        torch.cuda.synchronize()
        pool = torch.cuda.graph_pool_handle()  # for all graphs: they run one after the other
        self.update = torch.cuda.CUDAGraph()
        with self.stream.in_use() as stream:
            for _ in range(3):
                self._steps(slots[0], 1)
            stream.synchronize()
            if self.piece < self.batch:
                record(self.update, self._update, pool)
            for slot in slots:
                if self.piece < self.batch:
                    record(slot.gradients, partial(self._gradients, slot, 0), pool)
                else:
                    for n, graph in slot.steps.items():
                        record(graph, partial(self._steps, slot, n), pool)
        self.slots = slots

    def _new_slot(self) -> Slot:
        rows = self.piece * self.several
        shapes = (rows, *self.game.input_shape), (rows,), (rows, self.actions), (rows,)
        types = plane_type(self.game), torch.float32, torch.float32, torch.float32
        return Slot(
            [torch.zeros(s, dtype=t, pin_memory=True) for s, t in zip(shapes, types, strict=True)],
            {1 << i: torch.cuda.CUDAGraph() for i in range(self.several.bit_length())},
            torch.cuda.CUDAGraph(),
            torch.cuda.Event(blocking=True),
        )

    def restore(self, weights: list[Tensor], memory: list[dict[str, Tensor]]) -> None:
        """Put weights and what Adam remembers back in place, where the graphs look for them."""
        with RECORDING, torch.no_grad():  # a device cannot be waited for while something is recorded
            torch.cuda.synchronize()  # whatever other streams are at
            for parameter, old in zip(self.module.parameters(), weights, strict=True):
                parameter.copy_(old)
            for i, state in enumerate(self.optimizer.state.values()):
                for name, tensor in state.items():
                    tensor.copy_(memory[i][name]) if memory else tensor.zero_()
            self.total.zero_()
            torch.cuda.synchronize()

    def _steps(self, slot: Slot, count: int) -> None:
        for i in range(count):
            self._gradients(slot, i)
            self._update()

    def _gradients(self, slot: Slot, i: int) -> None:
        rows = slice(i * self.piece, (i + 1) * self.piece)
        inputs = [tensor[rows].to("cuda", non_blocking=True) for tensor in slot.tensors]
        loss = self.loss(self.module, *inputs)
        torch.autograd.backward(loss)
        self.total.add_(loss.detach())

    def _update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)  # the graphs know where the gradients are


def _loss(module: nn.Module, planes: Tensor, values: Tensor, policies: Tensor, weights: Tensor) -> Tensor:
    with torch.autocast("cuda", torch.bfloat16):
        answer = module(planes.to(torch.bfloat16).contiguous(memory_format=LAST))
    value = answer[0] if isinstance(answer, tuple) else answer
    loss: Tensor = weights @ (value.float() - values) ** 2
    if isinstance(answer, tuple):
        each = nn.functional.cross_entropy(answer[1].float(), policies, reduction="none")
        loss = loss + weights @ each
    return loss


def _power_of_two(most: int) -> int:
    """The largest one up to `most`."""
    return 1 << (most.bit_length() - 1)

"""GpuStep: a step of Adam on a GPU, compiled and recorded as CUDA graphs, fed from pinned memory."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dicent.binding import bind
from dicent.errors import DicentError
from dicent.evaluate.gpu import LAST, RECORDING, compile_function, is_out_of_memory, plane_type, record
from dicent.game import Game
from dicent.learn.data import Dataset

SLOTS = 3  # calls under way
ROWS = 16_384  # states in one call at the most, unless a batch is larger
STEPS = 16  # in one call at the most
SMALLEST = 64  # states that a GPU must have memory for


class Slot(NamedTuple):
    """Pinned memory for one or several batches, and graphs that read it. One adds up the gradients of a piece
    of a batch; the other takes a step on each of several batches.
    """

    tensors: list[Tensor]  # planes, values, policies, weights
    gradients: torch.cuda.CUDAGraph
    steps: torch.cuda.CUDAGraph
    done: torch.cuda.Event


class GpuStep:
    """Steps of `optimizer`, which must be capturable, on batches of up to `batch` states.

    Several steps go in one call, since after each call the learner may have to wait for Python's lock; those
    that are left over go one by one. Where memory is short all do, or even pieces of a batch, whose gradients
    add up.
    """

    def __init__(self, module: nn.Module, optimizer: torch.optim.Adam, game: Game, batch: int) -> None:
        self.module, self.optimizer, self.game = module, optimizer, game
        self.piece = batch
        self.several = min(STEPS, max(1, ROWS // batch))  # steps in one call
        self.actions = game.num_actions if getattr(module, "policy", None) is not None else 0
        self.loss = compile_function(_loss)
        self.encode = bind(game).kernel("encoding.encode_examples")
        self.image = game.empty_cells()
        self.stream = torch.cuda.Stream()
        self.total = torch.zeros((), device="cuda")  # of the losses
        self.next_slot = 0
        self._record()

    def learn(self, data: Dataset, kinds: npt.NDArray[np.int64], bounds: list[int]) -> float:
        """A step on each batch, from one of `bounds` to the next, its states in images of these kinds.

        Returns the mean of their losses, once all are done.
        """
        steps = len(bounds) - 1
        alone = steps % self.several if self.several > 1 else steps
        with torch.cuda.stream(self.stream):
            for i in range(alone):
                self._step(data, kinds, *bounds[i : i + 2])
            for i in range(alone, steps, self.several):
                some = bounds[i : i + self.several + 1]
                slot = self._fill(data, kinds, some, np.diff(some))
                slot.steps.replay()
                slot.done.record(self.stream)
            total = float(self.total)
            self.total.zero_()
        return total / steps

    def set_rate(self, rate: float) -> None:
        """Learn by this rate from now on."""
        with torch.cuda.stream(self.stream):
            self.optimizer.param_groups[0]["lr"].fill_(rate)

    def _step(self, data: Dataset, kinds: npt.NDArray[np.int64], first: int, last: int) -> None:
        """One step on the batch from `first` to `last`, in pieces where memory is short."""
        for begin in range(first, last, self.piece):
            some = [begin, min(last, begin + self.piece)]
            slot = self._fill(data, kinds, some, np.array([last - first]))
            slot.gradients.replay()
            slot.done.record(self.stream)
        self.update.replay()

    def _fill(
        self, data: Dataset, kinds: npt.NDArray[np.int64], bounds: list[int], batches: npt.NDArray[np.int64]
    ) -> Slot:
        """Write pieces of these batches into the next slot, each at its place; empty rows weigh nothing."""
        slot = self.slots[self.next_slot]
        self.next_slot = (self.next_slot + 1) % SLOTS
        sizes, (first, last) = np.diff(bounds), (bounds[0], bounds[-1])
        gaps = self.piece * np.arange(len(sizes)) - (np.array(bounds[:-1]) - first)
        places = np.arange(last - first) + np.repeat(gaps, sizes)
        slot.done.synchronize()
        *shown, weights = (tensor.numpy() for tensor in slot.tensors)
        self.encode(*data.part(first, last).arrays, kinds[first:last], places, self.image, *shown)
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
                torch.cuda.empty_cache()
                if self.several == 1 and self.piece <= SMALLEST:
                    raise DicentError("the GPU has no memory left for learning: use --device cpu") from None
                if self.several == 1:
                    self.piece //= 2
                self.several = 1
            finally:
                self.restore(weights, memory)

    def _record_slots(self) -> None:
        rows = self.piece * self.several
        shapes = (rows, *self.game.input_shape), (rows,), (rows, self.actions), (rows,)
        types = plane_type(self.game), torch.float32, torch.float32, torch.float32
        slots = [
            Slot(
                [torch.zeros(s, dtype=t, pin_memory=True) for s, t in zip(shapes, types, strict=True)],
                torch.cuda.CUDAGraph(),
                torch.cuda.CUDAGraph(),
                torch.cuda.Event(blocking=True),
            )
            for _ in range(SLOTS)
        ]
        torch.cuda.synchronize()
        pool = torch.cuda.graph_pool_handle()  # for all graphs: they run one after the other
        self.update = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._gradients(slots[0], 0)
                self._update()
            self.stream.synchronize()
            for slot in slots:
                record(slot.gradients, partial(self._gradients, slot, 0), pool)
                if self.several > 1:
                    record(slot.steps, partial(self._steps, slot), pool)
            record(self.update, self._update, pool)
        self.slots = slots

    def restore(self, weights: list[Tensor], memory: list[dict[str, Tensor]]) -> None:
        """Put weights and what Adam remembers back in place, where the graphs look for them."""
        torch.cuda.synchronize()  # whatever other streams are at
        with torch.no_grad():
            for parameter, old in zip(self.module.parameters(), weights, strict=True):
                parameter.copy_(old)
            for i, state in enumerate(self.optimizer.state.values()):
                for name, tensor in state.items():
                    tensor.copy_(memory[i][name]) if memory else tensor.zero_()
            self.total.zero_()
            torch.cuda.synchronize()

    def _steps(self, slot: Slot) -> None:
        for i in range(self.several):
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

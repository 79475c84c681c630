"""GpuStep: steps of Adam on a GPU, compiled and recorded as CUDA graphs, fed from pinned memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.binding import bind
from dicent.gpu.device import Device
from dicent.gpu.graphs import Event, Graph, release
from dicent.gpu.network import LAST, plane_type
from dicent.kernels import encoding as encoding_kernels

SLOTS = 3  # calls in progress
ROWS = 16_384  # most states in one call, unless a batch is larger
STEPS = 16  # most steps in one call
SMALLEST = 64  # states that a GPU must have memory for


Arrays = Sequence[npt.NDArray[np.generic]]  # states [n, S], values [n], policies [n, A]


class Slot(NamedTuple):
    """Pinned memory for some batches, and the graphs that read it."""

    tensors: list[Tensor]  # planes, values, policies, weights
    steps: dict[int, Graph]  # on the first batch, the first two, the first four...
    gradients: list[Graph]  # at most one: adds up the gradients of a piece of a batch
    done: Event


class GpuStep:
    """Steps of `optimizer`, which must be capturable, on batches of up to `batch` states.

    One call does several steps, since the learner may have to wait for Python's lock after each call. If
    memory is short, a call does one step, or even a piece of a batch, and the gradients of the pieces add up.
    """

    def __init__(
        self, module: nn.Module, optimizer: torch.optim.Adam, game: Game, batch: int, device: Device
    ) -> None:
        self.module, self.optimizer, self.game, self.device = module, optimizer, game, device
        self.batch = self.piece = batch
        self.several = _power_of_two(min(STEPS, max(1, ROWS // batch)))  # steps in one call
        self.actions = game.num_actions if getattr(module, "policy", None) is not None else 0
        self.loss = device.compile(_loss)
        self.encode = bind(game).kernel(encoding_kernels.encode_examples)
        self.image = game.empty_cells()
        self.stream = device.streams.borrow()
        self.total = device.zeros()  # of the losses
        self.next_slot = 0
        self._record()

    def learn(self, data: Arrays, kinds: npt.NDArray[np.int64], bounds: list[int]) -> float:
        """Do a step on each batch, from one of `bounds` to the next; return the mean loss.

        `kinds` names the symmetry in whose image each state is learned.
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
        """Set the learning rate of further steps."""
        with self.stream.in_use():
            self.optimizer.param_groups[0]["lr"].fill_(rate)

    def _step_in_pieces(self, data: Arrays, kinds: npt.NDArray[np.int64], first: int, last: int) -> None:
        """Do one step on the batch from `first` to `last`."""
        for begin in range(first, last, self.piece):
            some = [begin, min(last, begin + self.piece)]
            slot = self._fill(data, kinds, some, np.array([last - first]))
            slot.gradients[0].replay()
            slot.done.record()
        assert self.update is not None
        self.update.replay()

    def _fill(
        self, data: Arrays, kinds: npt.NDArray[np.int64], bounds: list[int], batches: npt.NDArray[np.int64]
    ) -> Slot:
        """Write pieces of these batches into the next slot, each at its place; empty rows have weight 0."""
        slot = self.slots[self.next_slot]
        self.next_slot = (self.next_slot + 1) % SLOTS
        sizes, (first, last) = np.diff(bounds), (bounds[0], bounds[-1])
        gaps = self.piece * np.arange(len(sizes)) - (np.array(bounds[:-1]) - first)
        places = np.arange(last - first) + np.repeat(gaps, sizes)
        slot.done.synchronize()
        *inputs, weights = (tensor.numpy() for tensor in slot.tensors)
        self.encode(*(array[first:last] for array in data), kinds[first:last], places, self.image, *inputs)
        weights[:] = 0.0
        weights[places] = np.repeat(1.0 / batches, sizes)
        return slot

    def _record(self) -> None:
        """Record the steps, and leave weights and optimizer as they are."""
        weights = [p.detach().clone() for p in self.module.parameters()]
        memory = [{k: t.clone() for k, t in s.items()} for s in self.optimizer.state.values()]
        while not self._record_or_fail(weights, memory):
            release(self.device)
            if self.several == 1 and self.piece <= SMALLEST:
                raise DicentError("the GPU has no memory left for learning: use --device cpu")
            if self.several == 1:
                self.piece //= 2
            self.several = 1

    def _record_or_fail(self, weights: list[Tensor], memory: list[dict[str, Tensor]]) -> bool:
        """Return False if memory is short; the error and all that it refers to are gone by then."""
        try:
            with self.device.recording:
                self._record_slots()
        except RuntimeError as error:
            if not self.device.is_out_of_memory(error):
                raise
            return False
        finally:
            self.restore(weights, memory)
        return True

    def _record_slots(self) -> None:
        slots = [self._new_slot() for _ in range(SLOTS)]
        self.device.synchronize()
        pool = self.device.graph_pool()  # for all graphs: they run one after the other
        record = self.device.record
        with self.stream.in_use() as stream:
            for _ in range(3):
                self._steps(slots[0], 1)
            stream.synchronize()
            update = record(self._update, pool) if self.piece < self.batch else None
            for slot in slots:
                if self.piece < self.batch:
                    slot.gradients.append(record(partial(self._gradients, slot, 0), pool))
                else:
                    for n in (1 << i for i in range(self.several.bit_length())):
                        slot.steps[n] = record(partial(self._steps, slot, n), pool)
        self.slots, self.update = slots, update

    def _new_slot(self) -> Slot:
        rows = self.piece * self.several
        shapes = (rows, *self.game.input_shape), (rows,), (rows, self.actions), (rows,)
        types = plane_type(self.game), torch.float32, torch.float32, torch.float32
        tensors = [self.device.pinned_zeros(s, t) for s, t in zip(shapes, types, strict=True)]
        return Slot(tensors, {}, [], self.device.event())

    def restore(self, weights: list[Tensor], memory: list[dict[str, Tensor]]) -> None:
        """Write weights and Adam's state back in place, where the graphs read them."""
        with self.device.recording, torch.no_grad():  # waiting for the device fails during a recording
            self.device.synchronize()  # for the work of other streams
            for parameter, old in zip(self.module.parameters(), weights, strict=True):
                parameter.copy_(old)
            for i, state in enumerate(self.optimizer.state.values()):
                for name, tensor in state.items():
                    tensor.copy_(memory[i][name]) if memory else tensor.zero_()
            self.total.zero_()
            self.device.synchronize()

    def _steps(self, slot: Slot, count: int) -> None:
        for i in range(count):
            self._gradients(slot, i)
            self._update()

    def _gradients(self, slot: Slot, i: int) -> None:
        rows = slice(i * self.piece, (i + 1) * self.piece)
        inputs = [self.device.copy(tensor[rows]) for tensor in slot.tensors]
        loss = self.loss(self.module, *inputs, self.device.learning_type)
        torch.autograd.backward(loss)
        self.total.add_(loss.detach())

    def _update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)  # the graphs have the gradients' addresses


def _loss(
    module: nn.Module, planes: Tensor, values: Tensor, policies: Tensor, weights: Tensor, dtype: torch.dtype
) -> Tensor:
    with torch.autocast(planes.device.type, dtype, enabled=dtype != torch.float32):
        answer = module(planes.to(dtype).contiguous(memory_format=LAST))
    value = answer[0] if isinstance(answer, tuple) else answer
    loss: Tensor = weights @ (value.float() - values) ** 2
    if isinstance(answer, tuple):
        each = nn.functional.cross_entropy(answer[1].float(), policies, reduction="none")
        loss = loss + weights @ each
    return loss


def _power_of_two(most: int) -> int:
    """Return the largest power of two up to `most`."""
    return 1 << (most.bit_length() - 1)

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
from dicent.evaluate.gpu import LAST, RECORDING, compile_function, plane_type, record
from dicent.game import Game
from dicent.learn.data import Dataset

SLOTS = 3  # batches on their way
SMALLEST = 64  # states that a GPU must have memory for


class Slot(NamedTuple):
    """A batch on its way: pinned memory, and a graph that reads it and adds up the gradients."""

    tensors: list[Tensor]  # planes, values, policies, weights
    gradients: torch.cuda.CUDAGraph
    done: torch.cuda.Event


class GpuStep:
    """Steps of `optimizer`, which must be capturable, on batches of up to `batch` states.

    A batch goes through in one piece, or where memory is short in several whose gradients add up.
    """

    def __init__(self, module: nn.Module, optimizer: torch.optim.Adam, game: Game, batch: int) -> None:
        self.module, self.optimizer, self.game = module, optimizer, game
        self.piece = batch
        self.actions = game.num_actions if getattr(module, "policy", None) is not None else 0
        self.loss = compile_function(_loss)
        self.encode = bind(game).kernel("encoding.encode_examples")
        self.image = game.empty_cells()
        self.stream = torch.cuda.Stream()
        self.total = torch.zeros((), device="cuda")  # of the losses
        self.next_slot = 0
        self._record()

    def __call__(self, data: Dataset, kinds: npt.NDArray[np.int64]) -> None:
        """One step on a batch, each state in an image of its kind; it is under way when this returns."""
        with torch.cuda.stream(self.stream):
            for first in range(0, len(data), self.piece):
                some = slice(first, first + self.piece)
                self._add(Dataset(*(array[some] for array in data.arrays)), kinds[some], len(data))
            self.update.replay()

    def set_rate(self, rate: float) -> None:
        """Learn by this rate from now on."""
        with torch.cuda.stream(self.stream):
            self.optimizer.param_groups[0]["lr"].fill_(rate)

    def take_loss(self) -> float:
        """Wait until all steps are done; the sum of their losses since this was asked last."""
        with torch.cuda.stream(self.stream):
            total = float(self.total)
            self.total.zero_()
        return total

    def _add(self, piece: Dataset, kinds: npt.NDArray[np.int64], batch: int) -> None:
        """Add up the gradients of a piece; rows that stay empty weigh nothing."""
        slot, n = self.slots[self.next_slot], len(piece)
        self.next_slot = (self.next_slot + 1) % SLOTS
        slot.done.synchronize()
        *shown, weights = (tensor.numpy() for tensor in slot.tensors)
        self.encode(*piece.arrays, kinds, self.image, *(array[:n] for array in shown))
        weights[:n] = 1.0 / batch
        weights[n:] = 0.0
        slot.gradients.replay()
        slot.done.record(self.stream)

    def _record(self) -> None:
        """Record the step, and leave weights and optimiser as they are."""
        while True:
            try:
                with RECORDING:
                    return self._record_piece()
            except torch.cuda.OutOfMemoryError:
                torch.cuda.empty_cache()
                if self.piece <= SMALLEST:
                    raise DicentError("the GPU has no memory left for learning: use --device cpu") from None
                self.piece //= 2

    def _record_piece(self) -> None:
        shapes = (
            (self.piece, *self.game.input_shape),
            (self.piece,),
            (self.piece, self.actions),
            (self.piece,),
        )
        types = plane_type(self.game), torch.float32, torch.float32, torch.float32
        slots = [
            Slot(
                [torch.zeros(s, dtype=t, pin_memory=True) for s, t in zip(shapes, types, strict=True)],
                torch.cuda.CUDAGraph(),
                torch.cuda.Event(blocking=True),
            )
            for _ in range(SLOTS)
        ]
        before = [p.detach().clone() for p in self.module.parameters()]
        memory = [{k: t.clone() for k, t in s.items()} for s in self.optimizer.state.values()]
        torch.cuda.synchronize()
        pool = torch.cuda.graph_pool_handle()  # for all graphs: they run one after the other
        self.update = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._gradients(slots[0])
                self._update()
            self.stream.synchronize()
            for slot in slots:
                record(slot.gradients, partial(self._gradients, slot), pool)
            record(self.update, self._update, pool)
            self.restore(before, memory)
        self.slots = slots

    def restore(self, weights: list[Tensor], memory: list[dict[str, Tensor]]) -> None:
        """Put weights and what Adam remembers back in place, where the graphs look for them."""
        with torch.no_grad():
            for parameter, old in zip(self.module.parameters(), weights, strict=True):
                parameter.copy_(old)
            for i, state in enumerate(self.optimizer.state.values()):
                for name, tensor in state.items():
                    tensor.copy_(memory[i][name]) if memory else tensor.zero_()
            self.total.zero_()
            torch.cuda.synchronize()

    def _gradients(self, slot: Slot) -> None:
        inputs = [tensor.to("cuda", non_blocking=True) for tensor in slot.tensors]
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

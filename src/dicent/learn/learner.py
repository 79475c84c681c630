"""Learner: updates the network, one phase at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.binding import bind
from dicent.gpu.device import Device, as_device
from dicent.gpu.graphs import release
from dicent.gpu.step import GpuStep
from dicent.kernels import encoding as encoding_kernels
from dicent.learn.dataset import Dataset

# Torch has no types for these two. Each is one call for any number of tensors: after every call another
# thread may take Python's lock.
_flatten: Callable[[list[Tensor]], Tensor] = _flatten_dense_tensors
_unflatten: Callable[[Tensor, list[Tensor]], tuple[Tensor, ...]] = _unflatten_dense_tensors


class Phase(NamedTuple):
    """The result of a learning phase."""

    loss: float
    seconds: float
    states: int  # used in all phases so far
    weights: dict[str, Tensor]  # a copy, which further learning does not change


class Learner:
    """Adam on the mean squared error of values, and for AlphaZero the cross entropy of policies.

    With `symmetric` each state is replaced by its image under a random symmetry of the game, and its value
    by the image's value.
    """

    def __init__(
        self,
        module: nn.Module,
        game: Game,
        batch: int = 3000,
        weight_decay: float = 1e-4,
        symmetric: bool = True,
        device: str | Device = "cpu",
    ) -> None:
        self.module, self.game, self.batch, self.symmetric = module, game, batch, symmetric
        self.gpu = as_device(device)
        self._move_in()
        # Graphs read the rate from the GPU's memory.
        rate = 1e-3 if self.gpu is None else self.gpu.zeros().fill_(1e-3)
        self.optimizer = torch.optim.Adam(
            module.parameters(),
            lr=rate,
            weight_decay=weight_decay,
            fused=True,
            capturable=self.gpu is not None,
        )
        self._gpu_step: GpuStep | None = None
        self.steps = 0  # of the optimizer
        self.states = 0  # learned so far, with repetitions

    def phase(self, data: Dataset, learning_rate: float, rng: np.random.Generator) -> float:
        """Do one pass over `data` in batches; return the mean loss."""
        step = self._on_gpu()
        if step is not None:
            step.set_rate(learning_rate)
        else:
            self.optimizer.param_groups[0]["lr"] = learning_rate
        self.module.train()
        data = Dataset(*map(np.ascontiguousarray, data.arrays))
        kinds = rng.integers(0, self.game.num_symmetries if self.symmetric else 1, len(data))
        bounds = _bounds(len(data), -(-len(data) // self.batch))
        if step is not None:
            loss = step.learn(data.arrays, kinds, bounds)
        else:
            batches = pairwise(bounds)
            losses = [self._step(data.part(a, b), kinds[a:b]) * (b - a) for a, b in batches]
            loss = sum(losses) / len(data)
        self.module.eval()
        self.steps += len(bounds) - 1
        self.states += len(data)
        if not (np.isfinite(loss) and _all_finite(list(self.module.parameters()))):
            raise DicentError(
                f"the loss is {loss} or weights are not finite after {self.steps} steps. The last checkpoint "
                "is intact; start a new run with a lower learning_rate or a larger batch"
            )
        return loss

    def warm_up(self, data: Dataset) -> None:
        """Compile everything that a phase needs; change no weight."""
        self._encode(data, np.zeros(len(data), np.int64))
        self._on_gpu()

    def close(self) -> None:
        """Free everything that the learner has on a GPU; the next phase allocates it again."""
        if self.gpu is None:
            return
        self._gpu_step = None
        self.optimizer.zero_grad(set_to_none=True)
        self.gpu.move_out(self.module)
        self._move_optimizer(lambda tensor: tensor.to("cpu", copy=True))
        release(self.gpu)

    def _move_in(self) -> None:
        """Move the module to its device, in the memory layout that is fastest there."""
        if self.gpu is None:
            self.module.to("cpu")
        else:
            self.gpu.move_in(self.module)
            self.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in torch's stubs

    def _move_optimizer(self, move: Callable[[Tensor], Tensor]) -> None:
        """Replace the tensors of the optimizer."""
        for group in (self.optimizer.defaults, *self.optimizer.param_groups):
            group["lr"] = move(group["lr"])
        for state in self.optimizer.state.values():
            for name, tensor in state.items():
                state[name] = move(tensor)

    def _on_gpu(self) -> GpuStep | None:
        if self.gpu is not None and self._gpu_step is None:
            self._move_in()
            self._move_optimizer(self.gpu.copy)
            self._gpu_step = GpuStep(self.module, self.optimizer, self.game, self.batch, self.gpu)
        return self._gpu_step

    def _step(self, data: Dataset, kinds: npt.NDArray[np.int64]) -> float:
        """Do one step of Adam; return its loss."""
        planes, values, policies = self._encode(data, kinds)
        self.optimizer.zero_grad(set_to_none=True)
        answer = self.module(planes)
        value = answer[0] if isinstance(answer, tuple) else answer
        loss = nn.functional.mse_loss(value, values)
        if isinstance(answer, tuple):
            loss = loss + nn.functional.cross_entropy(answer[1], policies)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return float(loss.detach())

    def _encode(self, data: Dataset, kinds: npt.NDArray[np.int64]) -> list[Tensor]:
        """Return planes, values and policies of the images of states under the symmetries `kinds`."""
        shapes = (len(data), *self.game.input_shape), data.values.shape, data.policies.shape
        arrays = [np.empty(shape, np.float32) for shape in shapes]
        kernel = bind(self.game).kernel(encoding_kernels.encode_examples)
        kernel(*data.arrays, kinds, np.arange(len(data)), self.game.empty_cells(), *arrays)
        return [torch.from_numpy(array) for array in arrays]

    def weights(self) -> dict[str, Tensor]:
        """Return a copy of the network's weights, which further learning does not change."""
        copies = _copies(self.module.state_dict(keep_vars=True))
        if self.gpu is not None:
            self.gpu.current_stream().synchronize()  # steps have their own stream and would not wait
        return copies

    def save(self) -> dict[str, Tensor]:
        """Return a copy of the weights, Adam's state and the counters."""
        saved = {f"weight.{name}": t for name, t in self.module.state_dict().items()}
        for i, state in self.optimizer.state_dict()["state"].items():
            saved |= {f"adam.{i}.{name}": torch.as_tensor(t) for name, t in state.items()}
        saved["count"] = torch.tensor([self.steps, self.states])
        return {name: t.detach().to("cpu", copy=True).contiguous() for name, t in saved.items()}

    def load(self, saved: dict[str, Tensor]) -> None:
        """Resume from what `save` returned."""
        self.module.load_state_dict(
            {name.removeprefix("weight."): t for name, t in saved.items() if name.startswith("weight.")}
        )
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in saved.items():
            if name.startswith("adam."):
                _, i, key = name.split(".")
                state.setdefault(int(i), {})[key] = tensor
        if self._gpu_step is not None:
            assert self.gpu is not None
            memory = [{name: self.gpu.copy(t) for name, t in state[i].items()} for i in sorted(state)]
            self._gpu_step.restore([p.detach().clone() for p in self.module.parameters()], memory)
        else:
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        self.steps, self.states = saved["count"].tolist()


def _all_finite(tensors: list[Tensor]) -> bool:
    """Return whether all numbers in the tensors are finite."""
    with torch.no_grad():
        return bool(_flatten(tensors).isfinite().all())


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors with few calls of torch."""
    copies: dict[str, Tensor] = {}
    for dtype in {tensor.dtype for tensor in tensors.values()}:
        same = [name for name, tensor in tensors.items() if tensor.dtype == dtype]
        those = [tensors[name] for name in same]
        with torch.no_grad():
            flat = _flatten(those).clone()  # flattening a single tensor does not copy
        copies |= zip(same, _unflatten(flat, those), strict=True)
    return {name: copies[name] for name in tensors}


def _bounds(states: int, batches: int) -> list[int]:
    """Return the first states of batches of about equal size, and the end of the last one."""
    return [i * (states // batches) + min(i, states % batches) for i in range(batches + 1)]

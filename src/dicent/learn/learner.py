"""Learner: the network's update, one phase at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from dicent.binding import bind
from dicent.errors import DicentError
from dicent.game import Game
from dicent.learn.data import Dataset


class Learner:
    """Adam on the mean squared error of values, and for AlphaZero the cross entropy of policies.

    `symmetric` shows each state in the image of a random symmetry of the game, with its value's sign.
    """

    def __init__(
        self,
        module: nn.Module,
        game: Game,
        batch: int = 3000,
        weight_decay: float = 1e-4,
        symmetric: bool = True,
        device: str = "cpu",
    ) -> None:
        self.module = module.to(device)
        self.game, self.batch, self.symmetric, self.device = game, batch, symmetric, device
        self.optimizer = torch.optim.Adam(
            self.module.parameters(), lr=1e-3, weight_decay=weight_decay, fused=True
        )
        self.steps = 0  # of the optimiser
        self.states = 0  # used so far, each as often as it was

    def phase(self, data: Dataset, learning_rate: float, rng: np.random.Generator) -> float:
        """One pass over `data` in batches; returns the mean loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.module.train()
        total = 0.0
        batches = max(1, round(len(data) / self.batch))
        for rows in np.array_split(np.arange(len(data)), batches):
            total += self._step(data.take(rows), rng) * len(rows)
        self.module.eval()
        self.states += len(data)
        loss = total / len(data)
        if not np.isfinite(loss) or not all(bool(p.isfinite().all()) for p in self.module.parameters()):
            raise DicentError(
                f"the loss is {loss}, or weights are no numbers, after {self.steps} steps. The last "
                "checkpoint is whole; start a new run with a lower learning_rate or a larger batch"
            )
        return loss

    def warm_up(self, data: Dataset) -> None:
        """Compile what a phase needs, and change nothing."""
        self._inputs(data, np.random.default_rng(0))

    def _step(self, data: Dataset, rng: np.random.Generator) -> float:
        planes, values, policies = self._inputs(data, rng)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device == "cuda"):
            answer = self.module(planes)
        value = answer[0] if isinstance(answer, tuple) else answer
        loss = nn.functional.mse_loss(value.float(), values)
        if policies is not None:
            loss = loss + nn.functional.cross_entropy(answer[1].float(), policies)
        torch.autograd.backward(loss)
        self.optimizer.step()
        self.steps += 1
        return float(loss.detach())

    def _inputs(self, data: Dataset, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor | None]:
        """Planes, values and policies of a batch, seen through random symmetries."""
        bound = bind(self.game)
        planes = np.empty((len(data), *self.game.input_shape), np.float32)
        values = data.values.copy()
        policies = np.zeros_like(data.policies)
        kinds = rng.integers(0, self.game.num_symmetries if self.symmetric else 1, len(data))
        bound.kernel("encoding.encode_images")(
            np.ascontiguousarray(data.states),
            kinds,
            data.policies,
            planes,
            values,
            policies,
            self.game.empty_cells(),
        )
        tensors = [torch.from_numpy(a).to(self.device, non_blocking=True) for a in (planes, values, policies)]
        return tensors[0], tensors[1], tensors[2] if policies.shape[1] else None

    def save(self) -> dict[str, Tensor]:
        """Weights, and what Adam remembers of each."""
        saved = {f"weight.{name}": t for name, t in self.module.state_dict().items()}
        for i, state in self.optimizer.state_dict()["state"].items():
            saved |= {f"adam.{i}.{name}": torch.as_tensor(t) for name, t in state.items()}
        saved["count"] = torch.tensor([self.steps, self.states])
        return {name: t.detach().cpu().contiguous() for name, t in saved.items()}

    def load(self, saved: dict[str, Tensor]) -> None:
        """Go on from what `save` gave."""
        self.module.load_state_dict(
            {name.removeprefix("weight."): t for name, t in saved.items() if name.startswith("weight.")}
        )
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in saved.items():
            if name.startswith("adam."):
                _, i, key = name.split(".")
                state.setdefault(int(i), {})[key] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        self.steps, self.states = saved["count"].tolist()

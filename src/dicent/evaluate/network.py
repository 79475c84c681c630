"""Network: any torch module as an evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dicent.binding import bind
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator, Values
from dicent.game import Cells, Game

if TYPE_CHECKING:
    import torch

    from dicent.evaluate.network_file import Description


class Network(PolicyEvaluator):
    """A torch module that maps planes [B, C, H, W] to values [B], or to values and logits [B, A].

    It runs in float32 on a CPU. `largest` is the largest batch that goes through it at once.
    """

    description: Description | None = None  # of a network that comes from a file

    def __init__(self, module: torch.nn.Module, device: str = "cpu", largest: int = 16384) -> None:
        self.module = module.to(device).eval()
        self.device = device
        self.largest = largest

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        return self._forward(game, states)[0]

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Values [B] and the logits [B, A] of all actions."""
        values, logits = self._forward(game, states)
        if logits is None:
            raise DicentError("this network has no policy; build it with num_actions")
        return values, logits

    def _forward(self, game: Game, states: Cells) -> tuple[Values, Any]:
        import torch

        encode = bind(game).kernel("encoding.encode_batch")
        values = np.empty(len(states), np.float64)
        logits = None
        for first in range(0, len(states), self.largest):
            part = slice(first, first + self.largest)
            planes = np.empty((len(states[part]), *game.input_shape), np.float32)
            encode(np.ascontiguousarray(states[part]), planes)
            with torch.no_grad():
                answer = self.module(torch.from_numpy(planes).to(self.device))
            value, policy = answer if isinstance(answer, tuple) else (answer, None)
            values[part] = value.float().cpu().numpy()
            if policy is not None:
                logits = np.empty((len(states), policy.shape[1]), np.float32) if logits is None else logits
                logits[part] = policy.float().cpu().numpy()
        return values, logits


class Function(Evaluator):
    """A plain function as an evaluator: it takes the planes [B, C, H, W] and returns values [B]."""

    def __init__(self, function: Callable[[npt.NDArray[np.float32]], npt.ArrayLike]) -> None:
        self.function = function

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        planes = np.empty((len(states), *game.input_shape), np.float32)
        bind(game).kernel("encoding.encode_batch")(np.ascontiguousarray(states), planes)
        return np.asarray(self.function(planes), np.float64)

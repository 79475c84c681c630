"""A fully connected network: much cheaper than convolutions, and strong enough on small boards."""

import torch
from torch import Tensor, nn

from dicent.files import JsonObject
from dicent.nets.side import as_mover_sees


class DenseNetwork(nn.Module):
    """Maps input planes to a value for MAX, and optionally to a logit for each action.

    The planes are flattened. There are `layers` hidden layers of `hidden` units with ReLU; all but the first
    have a residual connection. `bounded` ends in tanh, for values from -1 to 1. `seen_by_mover` is for games
    that encode states from the mover's side.
    """

    def __init__(
        self,
        input_shape: tuple[int, int, int],
        hidden: int = 256,
        layers: int = 3,
        num_actions: int = 0,
        bounded: bool = True,
        seen_by_mover: bool = False,
    ) -> None:
        super().__init__()
        self.settings: JsonObject = {
            "input_shape": tuple(input_shape),
            "hidden": hidden,
            "layers": layers,
            "num_actions": num_actions,
            "bounded": bounded,
            "seen_by_mover": seen_by_mover,
        }
        channels, height, width = input_shape
        channels -= seen_by_mover
        self.bounded, self.seen_by_mover = bounded, seen_by_mover
        self.first = nn.Linear(channels * height * width, hidden)
        self.rest = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers - 1))
        self.value = nn.Linear(hidden, 1)
        self.policy = nn.Linear(hidden, num_actions) if num_actions else None

    def forward(self, planes: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return values [B], and logits [B, A] if there is a policy, for planes [B, C, H, W]."""
        side: Tensor | None = None
        if self.seen_by_mover:
            planes, side = as_mover_sees(planes)
        x = torch.relu(self.first(planes.flatten(1)))
        for layer in self.rest:
            x = x + torch.relu(layer(x))
        value = self.value(x).squeeze(1)
        if self.bounded:
            value = torch.tanh(value)
        if side is not None:
            value = value * side
        return value if self.policy is None else (value, self.policy(x))

"""A sparse network: small enough for kernels to evaluate it inside a search, without torch."""

import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.kernels.features import MOST_UNITS
from dicent.nets.side import as_mover_sees


class SparseNetwork(nn.Module):
    """Maps input planes to a value for MAX.

    Most cells of the planes are 0, so kernels compute the first layer of `units` by adding the weights of the
    others (`kernels/sparse.py`). A layer of `second_units` follows, and another one of `third_units` unless
    that is 0, with ReLU before each. `bounded` ends in tanh, for values from -1 to 1. `seen_by_mover` is for
    games that encode states from the mover's side.
    """

    def __init__(
        self,
        input_shape: tuple[int, int, int],
        units: int = 64,
        second_units: int = 32,
        third_units: int = 0,
        bounded: bool = True,
        seen_by_mover: bool = False,
    ) -> None:
        super().__init__()
        self.settings: JsonObject = {
            "input_shape": tuple(input_shape),
            "units": units,
            "second_units": second_units,
            "third_units": third_units,
            "bounded": bounded,
            "seen_by_mover": seen_by_mover,
        }
        if max(units, second_units, third_units) > MOST_UNITS:
            sizes = units, second_units, third_units
            raise DicentError(f"a layer of a sparse network has at most {MOST_UNITS} units (got {sizes})")
        channels, height, width = input_shape
        channels -= seen_by_mover
        self.bounded, self.seen_by_mover = bounded, seen_by_mover
        self.first = nn.Linear(channels * height * width, units)
        self.second = nn.Linear(units, second_units)
        self.third = nn.Linear(second_units, third_units) if third_units else None
        self.value = nn.Linear(third_units or second_units, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Return values [B] for planes [B, C, H, W]."""
        side: Tensor | None = None
        if self.seen_by_mover:
            planes, side = as_mover_sees(planes)
        x = torch.relu(self.first(planes.flatten(1)))
        x = torch.relu(self.second(x))
        if self.third is not None:
            x = torch.relu(self.third(x))
        value: Tensor = self.value(x).squeeze(1)
        if self.bounded:
            value = torch.tanh(value)
        return value if side is None else value * side

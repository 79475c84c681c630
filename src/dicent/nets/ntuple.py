"""An n-tuple network: tables indexed by the contents of small groups of squares, and no layers."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.kernels.features import MOST_UNITS
from dicent.kernels.ntuple import LARGEST_SUM, MOST_BITS
from dicent.nets.side import as_mover_sees


class NTupleNetwork(nn.Module):
    """Maps input planes to a value for MAX: the sum of one number from each of `tuples` tables.

    A tuple is a group of `tuple_squares` adjacent squares. The contents of all planes on them, hashed to
    `table_bits` bits, are the place in its table (`kernels/ntuple.py`). A cell counts as 0 or not 0. Torch's
    seed decides which squares the tuples have; files hold them as `keys`. `bounded` ends in tanh, for values
    from -1 to 1. `seen_by_mover` is for games that encode states from the mover's side.
    """

    keys: Tensor  # [cells, tuples]

    def __init__(
        self,
        input_shape: tuple[int, int, int],
        tuples: int = 64,
        tuple_squares: int = 3,
        table_bits: int = 14,
        bounded: bool = True,
        seen_by_mover: bool = False,
    ) -> None:
        super().__init__()
        self.settings: JsonObject = {
            "input_shape": tuple(input_shape),
            "tuples": tuples,
            "tuple_squares": tuple_squares,
            "table_bits": table_bits,
            "bounded": bounded,
            "seen_by_mover": seen_by_mover,
        }
        channels, height, width = input_shape
        channels -= seen_by_mover
        squares = min(tuple_squares, height * width)
        most = min(MOST_BITS, (LARGEST_SUM // (channels * squares)).bit_length() - 1)
        if not (1 <= tuples <= MOST_UNITS and 1 <= table_bits <= most):
            raise DicentError(
                f"an n-tuple network with {squares} squares of {channels} planes has 1 to {MOST_UNITS} "
                f"tuples and 1 to {most} bits (got {tuples} and {table_bits})"
            )
        self.bounded, self.seen_by_mover = bounded, seen_by_mover
        rng = np.random.default_rng(torch.initial_seed() % 2**63)
        keys = [draw_keys((channels, height, width), squares, 1 << table_bits, rng) for _ in range(tuples)]
        self.register_buffer("keys", torch.from_numpy(np.stack(keys, axis=-1)))
        self.tables = nn.Parameter(torch.zeros(tuples << table_bits, 1))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, planes: Tensor) -> Tensor:
        """Return values [B] for planes [B, C, H, W]."""
        side: Tensor | None = None
        if self.seen_by_mover:
            planes, side = as_mover_sees(planes)
        active = (planes != 0).flatten(1).double()  # sums of keys are exact
        tuples, size = self.settings["tuples"], 1 << self.settings["table_bits"]
        first = size * torch.arange(tuples, device=planes.device)
        places = (active @ self.keys.double()).long() % size + first
        value = nn.functional.embedding(places, self.tables).sum(dim=(1, 2)) + self.bias
        if self.bounded:
            value = torch.tanh(value)
        return value if side is None else value * side


def draw_keys(
    shape: tuple[int, int, int], squares: int, size: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Draw one tuple: keys [C * H * W] from 1 to `size` - 1 for the cells of its squares, else 0.

    The first square is any; each further one touches one of those before it, or a corner of it.
    """
    channels, height, width = shape
    rows, columns = np.divmod(np.arange(height * width), width)
    chosen = np.zeros(height * width, np.bool_)
    chosen[rng.integers(height * width)] = True
    for _ in range(squares - 1):
        near = abs(rows[:, None] - rows[chosen]) <= 1
        near &= abs(columns[:, None] - columns[chosen]) <= 1
        chosen[rng.choice(np.flatnonzero(near.any(axis=1) & ~chosen))] = True
    keys = rng.integers(1, size, (channels, height * width))
    return np.where(chosen, keys, 0).astype(np.float32).reshape(-1)

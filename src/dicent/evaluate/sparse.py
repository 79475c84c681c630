"""SparseEvaluator: a sparse network as kernels evaluate it, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Values
from dicent.game import Cells, Game
from dicent.game.arrays import new_scratch
from dicent.game.binding import Bound, bind
from dicent.game.registry import ways_to_show
from dicent.kernels import values as values_kernels
from dicent.kernels.sparse import LANES, MOST_UNITS
from dicent.kernels.values import SPARSE, Native

if TYPE_CHECKING:
    import torch

    from dicent.evaluate.network_file import Description

KIND = "sparse"  # the name of these networks in files and settings
Weights = Mapping[str, npt.ArrayLike]  # by name, as torch has them
Matrix = npt.NDArray[np.float64]


class SparseEvaluator(Evaluator):
    """A sparse network that native code evaluates inside searches: no batches, no Python, no torch.

    `settings` are the arguments of `SparseNetwork`, and `weights` its weights by name, as a network file has
    them.
    """

    description: Description | None = None  # of a network that comes from a file
    has_policy = False

    def __init__(self, settings: Mapping[str, Any], weights: Weights) -> None:
        self.shape = Shape.read(settings)
        self.native = Native(
            kind=SPARSE,
            units=_padded(self.shape.units),
            second=_padded(self.shape.second),
            third=_padded(self.shape.third),
            bounded=int(self.shape.bounded),
            weights=pack(weights, self.shape),
        )
        self._shown: dict[Game, Game] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_shown": {}}  # games of this machine

    @classmethod
    def of(cls, module: torch.nn.Module) -> SparseEvaluator:
        """Return the evaluator of a `SparseNetwork`; later changes of the module do not change it."""
        settings: Any = module.settings
        return cls(settings, as_arrays(module.state_dict()))

    @property
    def is_bounded(self) -> bool:
        """Whether values stay from -1 to 1."""
        return self.shape.bounded

    def load(self, weights: Weights) -> None:
        """Replace the weights, also in the searches that have them; none of them may be running."""
        self.native.weights[:] = pack(weights, self.shape)

    def shown(self, game: Game) -> Game:
        """Return the game with the encoding that the network has learned, if there are several."""
        if game not in self._shown:
            self._shown[game] = self._fitting(game)
        return self._shown[game]

    def _fitting(self, game: Game) -> Game:
        wanted = self.shape.input_shape, self.shape.seen_by_mover
        for way in ways_to_show(game):
            if (way.input_shape, way.seen_by_mover) == wanted:
                return way
        raise DicentError(
            f"this network needs planes of shape {wanted[0]}, seen by mover: {wanted[1]}; "
            f"{game.name} has {game.input_shape}, seen by mover: {game.seen_by_mover}"
        )

    def bind(self, game: Game, compiled: bool | None = None) -> Bound:
        """Return the kernels of the game with the encoding that the network has learned."""
        return bind(self.shown(game), compiled)

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        self.terminal.require(game)
        values = np.empty(len(states), np.float64)
        bound = self.bind(game)
        bound.kernel(values_kernels.leaf_values)(
            np.ascontiguousarray(states), values, self.native, self.in_points, new_scratch(bound)
        )
        return values

    def prepare(self, game: Game) -> None:
        """Compile the evaluation of a game's states."""
        self.evaluate(game, game.initial_state(0).cells[None])

    def close(self) -> None:
        """Do nothing: there is no memory on a device to free."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a sparse network."""

    input_shape: tuple[int, int, int]
    units: int
    second: int
    third: int  # 0: there is no third layer
    bounded: bool
    seen_by_mover: bool

    @staticmethod
    def read(settings: Mapping[str, Any]) -> Shape:
        """Return the sizes that the settings of a network say."""
        try:
            shape: tuple[int, int, int] = tuple(settings["input_shape"])
            units = tuple(settings[name] for name in ("units", "second_units", "third_units"))
            bounded, seen_by_mover = settings["bounded"], settings["seen_by_mover"]
        except KeyError as error:
            raise DicentError(f"the settings of a sparse network lack {error}") from error
        whole = all(type(n) is int for n in (*shape, *units)) and len(shape) == 3
        if not whole or min(*shape, *units[:2]) < 1 or units[2] < 0 or max(units) > MOST_UNITS:
            raise DicentError(
                f"a sparse network needs three sizes of planes and layers of 1 to {MOST_UNITS} units, the "
                f"last one 0 or more (got {shape} and {units})"
            )
        return Shape(shape, units[0], units[1], units[2], bool(bounded), bool(seen_by_mover))

    def layers(self) -> dict[str, tuple[int, int]]:
        """Return the inputs and outputs of each layer by its name."""
        channels, height, width = self.input_shape
        sizes = [(channels - self.seen_by_mover) * height * width, self.units, self.second, self.third, 1]
        names = ["first", "second", "third", "value"]
        if not self.third:
            del sizes[3], names[2]
        return {name: (sizes[i], sizes[i + 1]) for i, name in enumerate(names)}


def pack(weights: Weights, shape: Shape) -> npt.NDArray[np.float32]:
    """Return all weights in one array, as `kernels/sparse.py` reads them."""
    arrays = _checked(weights, shape)
    channels, height, width = shape.input_shape
    cells = np.zeros((channels, height * width, shape.units))
    seen = channels - shape.seen_by_mover  # the plane of the side has no weights
    cells[:seen] = arrays["first.weight"].T.reshape(seen, height * width, shape.units)
    planes, blank = cells.sum(axis=1), np.zeros((1, shape.units))
    parts = [_wide(np.concatenate([*cells, planes, blank])), _wide(arrays["first.bias"][None])]
    for name in list(shape.layers())[1:]:
        matrix, bias = arrays[f"{name}.weight"].T, arrays[f"{name}.bias"][None]
        matrix = np.pad(matrix, ((0, _padded(len(matrix)) - len(matrix)), (0, 0)))
        parts += [matrix, bias] if name == "value" else [_wide(matrix), _wide(bias)]
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32)


def _checked(weights: Weights, shape: Shape) -> dict[str, Matrix]:
    """Return the weights as arrays; raise an error unless they are those of a network of this shape."""
    wanted: dict[str, tuple[int, ...]] = {}
    for name, (inputs, outputs) in shape.layers().items():
        wanted |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    arrays = {name: np.asarray(array, np.float64) for name, array in weights.items()}
    found = {name: array.shape for name, array in arrays.items()}
    if found != wanted:
        raise DicentError(f"a sparse network of this size has weights of shapes {wanted} (got {found})")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise DicentError("not all weights of the network are finite")
    return arrays


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, npt.NDArray[np.float32]]:
    """Return tensors as arrays."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}


def _padded(units: int) -> int:
    """Return the next multiple of LANES."""
    return -(-units // LANES) * LANES


def _wide(matrix: Matrix) -> Matrix:
    """Add columns of zeros, up to a multiple of LANES."""
    return np.pad(matrix, ((0, 0), (0, _padded(matrix.shape[1]) - matrix.shape[1])))

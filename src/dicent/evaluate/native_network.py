"""NativeNetwork: a network that kernels evaluate inside searches, without torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.native import NativeEvaluator
from dicent.game import Game
from dicent.game.binding import Bound, bind
from dicent.game.registry import ways_to_show
from dicent.kernels.features import LANES
from dicent.kernels.values import Native

if TYPE_CHECKING:
    import torch

    from dicent.evaluate.network_file import Description

Weights = Mapping[str, npt.ArrayLike]  # by name, as torch has them
Matrix = npt.NDArray[np.float64]
PlanesShape = tuple[int, int, int]


class NativeNetwork(NativeEvaluator):
    """A network that native code evaluates inside searches: no batches, no Python, no torch.

    `settings` are the arguments of its torch module, and `weights` its weights by name, as a network file has
    them. `kind` is the name of such networks in files and settings.
    """

    kind: str
    description: Description | None = None  # of a network that comes from a file
    has_policy = False

    def __init__(self, settings: Mapping[str, object], weights: Weights) -> None:
        super().__init__()
        self.input_shape, self.bounded, self.seen_by_mover = _common(self.kind, settings)
        self.native = self._native(settings, weights)
        self._encoded: dict[Game, Game] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_encoded": {}}  # games of this machine

    @abstractmethod
    def _native(self, settings: Mapping[str, object], weights: Weights) -> Native:
        """Check the sizes and return the network as kernels read it."""

    @abstractmethod
    def pack(self, weights: Weights) -> npt.NDArray[np.float32]:
        """Return all weights in one array, as kernels read them."""

    @classmethod
    def of(cls, module: torch.nn.Module) -> NativeNetwork:
        """Return the evaluator of a torch module; later changes of the module do not change it."""
        settings: Any = module.settings
        return cls(settings, as_arrays(module.state_dict()))

    def load(self, weights: Weights) -> None:
        """Replace the weights, also in the searches that have them; none of them may be running."""
        self.native.weights[:] = self.pack(weights)

    def with_encoding(self, game: Game) -> Game:
        """Return the game with the encoding that the network has learned, if there are several."""
        if game not in self._encoded:
            self._encoded[game] = self._fitting(game)
        return self._encoded[game]

    def _fitting(self, game: Game) -> Game:
        wanted = self.input_shape, self.seen_by_mover
        for way in ways_to_show(game):
            if (way.input_shape, way.seen_by_mover) == wanted:
                return way
        raise DicentError(
            f"this network needs planes of shape {wanted[0]}, seen by mover: {wanted[1]}; "
            f"{game.name} has {game.input_shape}, seen by mover: {game.seen_by_mover}"
        )

    def bind(self, game: Game, compiled: bool | None = None) -> Bound:
        """Return the kernels of the game with the encoding that the network has learned."""
        return bind(self.with_encoding(game), compiled)

    def prepare(self, game: Game) -> None:
        """Compile the evaluation of a game's states."""
        self.evaluate(game, game.initial_state(0).cells[None])

    def close(self) -> None:
        """Do nothing: there is no memory on a device to free."""

    def rows(self, matrix: Matrix) -> Matrix:
        """Return the rows of all features from those of the cells [C - side, H * W, N].

        The row of a whole plane is the sum of its cells' rows. The last row, of padding, is 0.
        """
        channels, height, width = self.input_shape
        columns = padded(matrix.shape[-1])
        cells = np.zeros((channels, height * width, columns))
        cells[: channels - self.seen_by_mover, :, : matrix.shape[-1]] = matrix
        return np.concatenate([*cells, cells.sum(axis=1), np.zeros((1, columns))])


def checked(kind: str, weights: Weights, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, Matrix]:
    """Return the weights as arrays; raise an error unless they have these shapes and are finite."""
    arrays = {name: np.asarray(array, np.float64) for name, array in weights.items()}
    found = {name: array.shape for name, array in arrays.items()}
    if found != wanted:
        raise DicentError(f"a {kind} network of this size has weights of shapes {wanted} (got {found})")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise DicentError("not all weights of the network are finite")
    return arrays


def whole_numbers(kind: str, settings: Mapping[str, object], *names: str) -> list[int]:
    """Return settings that must be whole numbers."""
    found = [settings.get(name) for name in names]
    whole = [n for n in found if type(n) is int]
    if len(whole) < len(found):
        raise DicentError(f"{', '.join(names)} of a {kind} network must be whole numbers (got {found})")
    return whole


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, npt.NDArray[np.float32]]:
    """Return tensors as arrays."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in tensors.items()}


def padded(units: int) -> int:
    """Return the next multiple of LANES."""
    return -(-units // LANES) * LANES


def _common(kind: str, settings: Mapping[str, object]) -> tuple[PlanesShape, bool, bool]:
    """Return the settings that all native networks have: the shape of the planes, bounded, seen by mover."""
    try:
        shape, bounded, seen_by_mover = (settings[n] for n in ("input_shape", "bounded", "seen_by_mover"))
    except KeyError as error:
        raise DicentError(f"the settings of a {kind} network lack {error}") from error
    match shape:
        case [int(channels), int(height), int(width)] if min(shape) > 0:
            return (channels, height, width), bool(bounded), bool(seen_by_mover)
    raise DicentError(f"a {kind} network needs three sizes of planes (got {shape})")

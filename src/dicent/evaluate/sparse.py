"""SparseEvaluator: a sparse network as kernels evaluate it, without torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.native_network import Matrix, NativeNetwork, Weights, checked, padded, whole_numbers
from dicent.kernels.features import MOST_UNITS
from dicent.kernels.values import SPARSE, Native


class SparseEvaluator(NativeNetwork):
    """A `SparseNetwork` that native code evaluates inside searches."""

    kind = "sparse"

    def _native(self, settings: Mapping[str, object], weights: Weights) -> Native:
        units = whole_numbers(self.kind, settings, "units", "second_units", "third_units")
        if min(units[:2]) < 1 or units[2] < 0 or max(units) > MOST_UNITS:
            raise DicentError(
                f"a sparse network needs layers of 1 to {MOST_UNITS} units, the last one 0 or more "
                f"(got {units})"
            )
        self.layers = self._layers(*units)
        first, second, third = map(padded, units)
        return Native(
            SPARSE,
            units=first,
            second=second,
            third=third,
            bounded=int(self.bounded),
            weights=self.pack(weights),
        )

    def _layers(self, units: int, second: int, third: int) -> dict[str, tuple[int, int]]:
        """Return the inputs and outputs of each layer by its name; there may be no third layer."""
        channels, height, width = self.input_shape
        sizes = [(channels - self.seen_by_mover) * height * width, units, second, third, 1]
        names = ["first", "second", "third", "value"]
        if not third:
            del sizes[3], names[2]
        return {name: (sizes[i], sizes[i + 1]) for i, name in enumerate(names)}

    def pack(self, weights: Weights) -> npt.NDArray[np.float32]:
        """Return all weights in one array, as `kernels/sparse.py` reads them."""
        wanted: dict[str, tuple[int, ...]] = {}
        for name, (inputs, outputs) in self.layers.items():
            wanted |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
        arrays = checked(self.kind, weights, wanted)
        _, height, width = self.input_shape
        cells = arrays["first.weight"].T.reshape(-1, height * width, self.layers["first"][1])
        parts = [self.rows(cells), _wide(arrays["first.bias"][None])]
        for name in list(self.layers)[1:]:
            matrix, bias = arrays[f"{name}.weight"].T, arrays[f"{name}.bias"][None]
            matrix = np.pad(matrix, ((0, padded(len(matrix)) - len(matrix)), (0, 0)))
            parts += [matrix, bias] if name == "value" else [_wide(matrix), _wide(bias)]
        return np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32)


def _wide(matrix: Matrix) -> Matrix:
    """Add columns of zeros, up to a multiple of LANES."""
    return np.pad(matrix, ((0, 0), (0, padded(matrix.shape[1]) - matrix.shape[1])))

"""NTupleEvaluator: an n-tuple network as kernels evaluate it, without torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.native_network import NativeNetwork, Weights, checked, padded, whole_numbers
from dicent.kernels.features import MOST_UNITS
from dicent.kernels.ntuple import LARGEST_SUM, MOST_BITS
from dicent.kernels.values import NTUPLE, Native


class NTupleEvaluator(NativeNetwork):
    """An `NTupleNetwork` that native code evaluates inside searches."""

    kind = "ntuple"

    def _native(self, settings: Mapping[str, object], weights: Weights) -> Native:
        self.tuples, bits = whole_numbers(self.kind, settings, "tuples", "table_bits")
        if not (1 <= self.tuples <= MOST_UNITS and 1 <= bits <= MOST_BITS):
            raise DicentError(
                f"an n-tuple network needs 1 to {MOST_UNITS} tuples, and tables of 1 to {MOST_BITS} bits "
                f"(got {self.tuples} and {bits})"
            )
        self.table_size = 1 << bits
        return Native(
            NTUPLE,
            units=padded(self.tuples),
            second=self.table_size,
            bounded=int(self.bounded),
            weights=self.pack(weights),
        )

    def pack(self, weights: Weights) -> npt.NDArray[np.float32]:
        """Return keys, tables and bias in one array, as `kernels/ntuple.py` reads them."""
        channels, height, width = self.input_shape
        cells = (channels - self.seen_by_mover) * height * width
        wanted = {
            "keys": (cells, self.tuples),
            "tables": (self.tuples * self.table_size, 1),
            "bias": (),
        }
        arrays = checked(self.kind, weights, wanted)
        keys = arrays["keys"]
        if (keys < 0).any() or (keys != keys.round()).any() or keys.sum(axis=0).max() >= LARGEST_SUM:
            raise DicentError(
                "the keys of an n-tuple network must be whole, 0 or more, and the sum of a tuple's keys less "
                f"than {LARGEST_SUM:,}"
            )
        tables = np.zeros(padded(self.tuples) * self.table_size)
        tables[: self.tuples * self.table_size] = arrays["tables"][:, 0]
        parts = self.rows(keys.reshape(-1, height * width, self.tuples)), tables, arrays["bias"]
        return np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32)

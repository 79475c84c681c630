"""Dataset: states with the values to learn for them; and Finished: a match with its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.game import Cells
from dicent.game.binding import Bound
from dicent.kernels import targets as targets_kernels
from dicent.kernels.constants import NONE


@dataclass(frozen=True)
class Dataset:
    """States [n, S], their values for MAX [n], and for AlphaZero the policy [n, A] (else A is 0)."""

    states: Cells
    values: npt.NDArray[np.float32]
    policies: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """States, values and policies."""
        return self.states, self.values, self.policies

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def empty(self, size: int) -> Dataset:
        """Room for so many rows of this kind."""
        return Dataset(*(np.empty((size, *array.shape[1:]), array.dtype) for array in self.arrays))

    def part(self, first: int, last: int) -> Dataset:
        """The rows from `first` up to `last`, in the same memory."""
        return Dataset(*(array[first:last] for array in self.arrays))

    def take(self, rows: npt.NDArray[np.int64]) -> Dataset:
        """Some of the rows, in that order."""
        taken = [np.take(array, rows, axis=0) for array in self.arrays]  # lets other threads go on
        return Dataset(*taken)


def values_only(states: Cells, values: npt.ArrayLike) -> Dataset:
    """A dataset without policies."""
    return Dataset(states, np.asarray(values, np.float32), np.empty((len(states), 0), np.float32))


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """Several datasets in one."""
    return Dataset(
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.policies for part in parts]),
    )


@dataclass(frozen=True)
class Searched:
    """The states of one search: their plies, where these matter, and how deep it looked below each."""

    data: Dataset
    plies: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]

    def part(self, first: int, last: int) -> Searched:
        """The states from `first` up to `last`, in the same memory."""
        return Searched(self.data.part(first, last), self.plies[first:last], self.left[first:last])


def deepest_of_each(searches: Sequence[Searched], bound: Bound) -> Searched:
    """Each state of a ply once, with the value of the search that looked deepest, the last of equals."""
    data = concatenate([one.data for one in searches])
    plies = np.concatenate([one.plies for one in searches])
    left = np.concatenate([one.left for one in searches])
    slots, chosen = np.full(1 << (2 * len(data)).bit_length(), NONE), np.zeros(len(data), np.bool_)
    bound.kernel(targets_kernels.deepest)(data.states, plies, left, slots, chosen)
    rows = np.flatnonzero(chosen)
    return Searched(data.take(rows), plies[rows], left[rows])


@dataclass(frozen=True)
class Finished:
    """A match of self-play that has ended."""

    number: int
    result: int  # +1, 0, -1 for MAX; 0 also if it was stopped for its length
    plies: int
    start: Cells  # [S]
    chosen: npt.NDArray[np.int32]  # actions and outcomes, in turn
    root_values: npt.NDArray[np.float64]  # [plies]  what the searches found
    data: Dataset

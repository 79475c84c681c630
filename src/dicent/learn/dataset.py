"""Dataset: states with the values to learn for them; FinishedGame: a self-play game with its dataset."""

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
        """Return states, values and policies."""
        return self.states, self.values, self.policies

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def empty(self, size: int) -> Dataset:
        """Return an uninitialized dataset with `size` rows of the same shapes."""
        return Dataset(*(np.empty((size, *array.shape[1:]), array.dtype) for array in self.arrays))

    def part(self, first: int, last: int) -> Dataset:
        """Return the rows from `first` up to `last` as a view."""
        return Dataset(*(array[first:last] for array in self.arrays))

    def take(self, rows: npt.NDArray[np.int64]) -> Dataset:
        """Return copies of some rows, in that order."""
        return Dataset(*(np.take(array, rows, axis=0) for array in self.arrays))  # releases the GIL


def values_only(states: Cells, values: npt.ArrayLike) -> Dataset:
    """Return a dataset without policies."""
    return Dataset(states, np.asarray(values, np.float32), np.empty((len(states), 0), np.float32))


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """Join several datasets."""
    return Dataset(
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.policies for part in parts]),
    )


@dataclass(frozen=True)
class SearchedStates:
    """The states of one search: their values, their plies where these matter, and the depth below each."""

    dataset: Dataset
    plies: npt.NDArray[np.int64]
    depths: npt.NDArray[np.int64]  # plies searched below the state

    def part(self, first: int, last: int) -> SearchedStates:
        """Return the states from `first` up to `last` as views."""
        return SearchedStates(self.dataset.part(first, last), self.plies[first:last], self.depths[first:last])


def join(searches: Sequence[SearchedStates]) -> SearchedStates:
    """Join the states of several searches."""
    return SearchedStates(
        concatenate([search.dataset for search in searches]),
        np.concatenate([search.plies for search in searches]),
        np.concatenate([search.depths for search in searches]),
    )


def deepest_values(searches: Sequence[SearchedStates], bound: Bound) -> SearchedStates:
    """Return each state of a ply once, with the value of the deepest search, the latest among equals."""
    everything = join(searches)
    count = len(everything.dataset)
    slots, chosen = np.full(1 << (2 * count).bit_length(), NONE), np.zeros(count, np.bool_)
    kernel = bound.kernel(targets_kernels.deepest)
    kernel(everything.dataset.states, everything.plies, everything.depths, slots, chosen)
    rows = np.flatnonzero(chosen)
    return SearchedStates(everything.dataset.take(rows), everything.plies[rows], everything.depths[rows])


@dataclass(frozen=True)
class FinishedGame:
    """A self-play game that has ended."""

    number: int
    result: int | None  # +1, 0, -1 for MAX; None if the game was cut
    plies: int
    start: Cells  # [S]
    chosen: npt.NDArray[np.int32]  # actions and outcomes, in order
    root_values: npt.NDArray[np.float64]  # [plies]  values of the searched states
    dataset: Dataset
    seconds: float = 0.0  # from its deal to its end

"""Replay: which states of past matches a learning phase uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.learn.dataset import Dataset

Arrays = dict[str, npt.NDArray[Any]]


class Replay(ABC):
    """A memory of datasets, one for each match."""

    @abstractmethod
    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """Remember what is to be learned of one more match; what it draws for that, it draws by `seed`."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Dataset | None:
        """What the next learning phase uses, in random order; None if there is nothing yet."""

    @abstractmethod
    def save(self) -> Arrays:
        """Everything that it remembers, for a checkpoint."""

    @abstractmethod
    def load(self, saved: Arrays) -> None:
        """Remember what a checkpoint holds."""

    @property
    @abstractmethod
    def size(self) -> int:
        """States remembered."""

    @abstractmethod
    def memory(self, sample: Dataset) -> int:
        """Bytes that it may come to hold, if matches are like `sample`."""


class SmoothReplay(Replay):
    """The last `matches` matches; each state is used `duplication` times, spread evenly over that time.

    Each phase takes the next slice of every match's shuffled states, so that a phase has a little of each
    match and no state comes again before all others of its match (the paper's smooth experience replay,
    with 100 matches and duplication 3).
    """

    def __init__(self, matches: int = 100, duplication: float = 3.0) -> None:
        if matches < 1 or not duplication > 0:
            raise DicentError("smooth replay needs a memory of at least one match and a positive duplication")
        self.capacity, self.duplication = matches, duplication
        self.rows: Dataset | None = None  # of all matches, one after the other, with room behind them
        self.begin = self.end = 0  # of what is remembered in it
        self.lengths: deque[int] = deque()  # of the matches in it
        self.ages: deque[int] = deque()  # matches that came since each, of those used so far
        self.new = 0  # matches since the last phase

    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """See `Replay.add`."""
        self._append(data, np.random.default_rng(seed).permutation(len(data)))
        self.lengths.append(len(data))
        self.ages.append(0)
        self.new += 1
        if len(self.lengths) > self.capacity:
            self.begin += self.lengths.popleft()
            self.ages.popleft()

    def _append(self, data: Dataset, order: npt.NDArray[np.int64]) -> None:
        """Write a match behind the others, after making room for it."""
        if self.rows is None or self.end + len(data) > len(self.rows):
            self.rows = self._with_room(data)
            self.begin, self.end = 0, self.size
        for rows, array in zip(self.rows.arrays, data.arrays, strict=True):
            rows[self.end : self.end + len(data)] = array[order]
        self.end += len(data)

    def _with_room(self, data: Dataset) -> Dataset:
        """What is remembered, at the front of rows that hold twice as much as there is with `data`."""
        moved = data.empty(2 * (self.size + len(data)))
        if self.rows is not None:
            for new, old in zip(moved.arrays, self.rows.arrays, strict=True):
                new[: self.size] = old[self.begin : self.end]
        return moved

    def sample(self, rng: np.random.Generator) -> Dataset | None:
        """See `Replay.sample`."""
        new, self.new = min(self.new, self.capacity), 0
        lengths, ages = np.array(self.lengths, np.int64), np.array(self.ages, np.int64)
        self.ages = deque((ages + new).tolist())
        first, last = self._used(lengths, ages), self._used(lengths, ages + new)
        counts = last - first
        if self.rows is None or not counts.any():
            return None
        starts = self.begin + np.cumsum(lengths) - lengths
        each = np.repeat(np.arange(len(counts)), counts)  # the match of each state
        place = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts) + first[each]
        return self.rows.take(rng.permutation(starts[each] + place % lengths[each]))

    def _used(self, states: npt.NDArray[np.int64], ages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many states were used, counted as often as they were, of matches of these ages."""
        return (self.duplication * ages * states / self.capacity + 1e-9).astype(np.int64)

    def save(self) -> Arrays:
        """See `Replay.save`."""
        if self.rows is None:
            return {}
        rows = self.rows.take(np.arange(self.begin, self.end))
        return {
            "states": rows.states,
            "values": rows.values,
            "policies": rows.policies,
            "lengths": np.array(self.lengths),
            "ages": np.array(self.ages),
            "new": np.array([self.new]),
        }

    def load(self, saved: Arrays) -> None:
        """See `Replay.load`."""
        if not saved:
            return
        self.rows = Dataset(saved["states"], saved["values"], saved["policies"])
        self.begin, self.end = 0, len(self.rows)
        self.lengths, self.ages = deque(saved["lengths"].tolist()), deque(saved["ages"].tolist())
        self.new = int(saved["new"][0])

    @property
    def size(self) -> int:
        """States remembered."""
        return self.end - self.begin

    def memory(self, sample: Dataset) -> int:
        """See `Replay.memory`."""
        return 2 * self.capacity * sample.nbytes


class PlainReplay(Replay):
    """The last `capacity` states; a phase draws `duplication` of them for each one that is new."""

    def __init__(self, capacity: int = 200_000, duplication: float = 1.0) -> None:
        if capacity < 1 or not duplication > 0:
            raise DicentError("plain replay needs room for at least one state and a positive duplication")
        self.capacity, self.duplication = capacity, duplication
        self.data: Dataset | None = None  # rows in the order of a ring
        self.filled = self.next = 0
        self.new = 0.0  # draws that are due

    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """See `Replay.add`."""
        if self.data is None:
            rows = np.zeros((self.capacity, data.states.shape[1]), data.states.dtype)
            policies = np.zeros((self.capacity, data.policies.shape[1]), np.float32)
            self.data = Dataset(rows, np.zeros(self.capacity, np.float32), policies)
        begin = max(0, len(data) - self.capacity)
        while begin < len(data):  # up to the end of the ring, then from its start
            end = min(len(data), begin + self.capacity - self.next)
            for ring, rows in zip(self.data.arrays, data.arrays, strict=True):
                ring[self.next : self.next + end - begin] = rows[begin:end]
            self.filled = max(self.filled, self.next + end - begin)
            self.next = (self.next + end - begin) % self.capacity
            begin = end
        self.new += self.duplication * len(data)

    def sample(self, rng: np.random.Generator) -> Dataset | None:
        """See `Replay.sample`."""
        draws, self.new = int(self.new), self.new - int(self.new)
        if self.data is None or draws == 0:
            return None
        return self.data.take(rng.integers(0, self.filled, draws))

    def save(self) -> Arrays:
        """See `Replay.save`."""
        if self.data is None:
            return {}
        rows = self.data.take(np.arange(self.filled))
        place = np.array([self.next, self.new])
        return {"states": rows.states, "values": rows.values, "policies": rows.policies, "place": place}

    def load(self, saved: Arrays) -> None:
        """See `Replay.load`."""
        if not saved:
            return
        rows = Dataset(saved["states"], saved["values"], saved["policies"])
        self.add(rows, ())
        self.next, self.new = int(saved["place"][0]), float(saved["place"][1])

    @property
    def size(self) -> int:
        """States remembered."""
        return self.filled

    def memory(self, sample: Dataset) -> int:
        """See `Replay.memory`."""
        return self.capacity * sample.nbytes // max(1, len(sample))

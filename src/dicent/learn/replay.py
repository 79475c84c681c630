"""Replay buffers: the choice of states of past games for a learning phase."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.learn.dataset import Dataset
from dicent.search.search_kernels import Arrays


class ReplayBuffer(ABC):
    """A memory of datasets, one for each game."""

    @abstractmethod
    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """Add the dataset of one more game; random numbers for that come from `seed`."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Dataset | None:
        """Return the states for the next learning phase, in random order; None if there are none yet."""

    @abstractmethod
    def save(self) -> Arrays:
        """Return the whole content for a checkpoint."""

    @abstractmethod
    def load(self, saved: Arrays) -> None:
        """Restore the content from a checkpoint."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of states in the buffer."""

    @abstractmethod
    def memory(self, sample: Dataset) -> int:
        """Return the most bytes it will need if games are like `sample`."""


class SmoothReplayBuffer(ReplayBuffer):
    """The last `games` games; each state is used `duplication` times, spread evenly over that time.

    Each phase takes the next slice of every game's shuffled states. So a phase has a few states of each
    game, and no state is repeated before all others of its game (the paper's smooth experience replay,
    with 100 games and duplication 3).
    """

    def __init__(self, games: int = 100, duplication: float = 3.0) -> None:
        if games < 1 or not duplication > 0:
            raise DicentError(
                "a smooth replay buffer needs at least one game and a positive duplication "
                f"(got {games} and {duplication})"
            )
        self.capacity, self.duplication = games, duplication
        self.rows: Dataset | None = None  # of all games, one after the other, with room at the end
        self.begin = self.end = 0  # of the rows in use
        self.lengths: deque[int] = deque()  # states of each game
        self.ages: deque[int] = deque()  # games added since each, up to the latest phase
        self.new = 0  # games since the latest phase

    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """See `ReplayBuffer.add`."""
        self._append(data, np.random.default_rng(seed).permutation(len(data)))
        self.lengths.append(len(data))
        self.ages.append(0)
        self.new += 1
        if len(self.lengths) > self.capacity:
            self.begin += self.lengths.popleft()
            self.ages.popleft()

    def _append(self, data: Dataset, order: npt.NDArray[np.int64]) -> None:
        """Append a game, after making room for it."""
        if self.rows is None or self.end + len(data) > len(self.rows):
            self.rows = self._with_room(data)
            self.begin, self.end = 0, self.size
        for rows, array in zip(self.rows.arrays, data.arrays, strict=True):
            rows[self.end : self.end + len(data)] = array[order]
        self.end += len(data)

    def _with_room(self, data: Dataset) -> Dataset:
        """Return the content in new rows that have room for twice the content and `data`."""
        moved = data.empty(2 * (self.size + len(data)))
        if self.rows is not None:
            for new, old in zip(moved.arrays, self.rows.arrays, strict=True):
                new[: self.size] = old[self.begin : self.end]
        return moved

    def sample(self, rng: np.random.Generator) -> Dataset | None:
        """See `ReplayBuffer.sample`."""
        new, self.new = min(self.new, self.capacity), 0
        lengths, ages = np.array(self.lengths, np.int64), np.array(self.ages, np.int64)
        self.ages = deque((ages + new).tolist())
        first, last = self._used(lengths, ages), self._used(lengths, ages + new)
        counts = last - first
        if self.rows is None or not counts.any():
            return None
        starts = self.begin + np.cumsum(lengths) - lengths
        each = np.repeat(np.arange(len(counts)), counts)  # the game of each state
        place = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts) + first[each]
        return self.rows.take(rng.permutation(starts[each] + place % lengths[each]))

    def _used(self, states: npt.NDArray[np.int64], ages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many states of games of these ages were used, counted as often as they were."""
        return (self.duplication * ages * states / self.capacity + 1e-9).astype(np.int64)

    def save(self) -> Arrays:
        """See `ReplayBuffer.save`."""
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
        """See `ReplayBuffer.load`."""
        if not saved:
            return
        self.rows = Dataset(saved["states"], saved["values"], saved["policies"])
        self.begin, self.end = 0, len(self.rows)
        self.lengths, self.ages = deque(saved["lengths"].tolist()), deque(saved["ages"].tolist())
        self.new = int(saved["new"][0])

    @property
    def size(self) -> int:
        """Return the number of states in the buffer."""
        return self.end - self.begin

    def memory(self, sample: Dataset) -> int:
        """See `ReplayBuffer.memory`."""
        return 2 * self.capacity * sample.nbytes


class PlainReplayBuffer(ReplayBuffer):
    """The last `capacity` states; a phase draws `duplication` of them for each new one."""

    def __init__(self, capacity: int = 200_000, duplication: float = 1.0) -> None:
        if capacity < 1 or not duplication > 0:
            raise DicentError(
                "a plain replay buffer needs room for at least one state and a positive duplication "
                f"(got {capacity} and {duplication})"
            )
        self.capacity, self.duplication = capacity, duplication
        self.data: Dataset | None = None  # rows of a ring
        self.filled = self.next = 0
        self.new = 0.0  # draws due in the next phase

    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        """See `ReplayBuffer.add`."""
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
        """See `ReplayBuffer.sample`."""
        draws, self.new = int(self.new), self.new - int(self.new)
        if self.data is None or draws == 0:
            return None
        return self.data.take(rng.integers(0, self.filled, draws))

    def save(self) -> Arrays:
        """See `ReplayBuffer.save`."""
        if self.data is None:
            return {}
        rows = self.data.take(np.arange(self.filled))
        place = np.array([self.next, self.new])
        return {"states": rows.states, "values": rows.values, "policies": rows.policies, "place": place}

    def load(self, saved: Arrays) -> None:
        """See `ReplayBuffer.load`."""
        if not saved:
            return
        rows = Dataset(saved["states"], saved["values"], saved["policies"])
        self.add(rows, ())
        self.next, self.new = int(saved["place"][0]), float(saved["place"][1])

    @property
    def size(self) -> int:
        """Return the number of states in the buffer."""
        return self.filled

    def memory(self, sample: Dataset) -> int:
        """See `ReplayBuffer.memory`."""
        return self.capacity * sample.nbytes // max(1, len(sample))

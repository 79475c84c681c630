"""Workers: play the self-play games of a run, in threads of this process or on the machines of a cluster."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dicent.learn.dataset import FinishedGame
from dicent.learn.self_play import SelfPlay
from dicent.learn.status import WorkerStatus

if TYPE_CHECKING:
    from torch import Tensor


class Workers(ABC):
    """The players of a run's self-play games; the training loop is the same for all of them."""

    seconds = 0.0  # of self-play so far
    waited = 0.0  # seconds in which nothing could play; the clock of the run does not count them
    is_deterministic = False  # whether nothing that is played depends on the speed of threads
    plays: Sequence[SelfPlay] = ()  # the groups in this process: checkpoints hold their games in flight

    @property
    @abstractmethod
    def counts(self) -> dict[str, int]:
        """The counts of all searches of this session so far, by the names in COUNTED."""

    @property
    def is_idle(self) -> bool:
        """Whether all games have ended, and the next ones wait for `deal`."""
        return False

    @abstractmethod
    def deal(self) -> None:
        """Start games wherever none is being played."""

    @abstractmethod
    def play_on(self, progress: float) -> list[FinishedGame]:
        """Play for a moment; return the games that have ended. `progress` is the run's, from 0 to 1."""

    @abstractmethod
    def use(self, weights: Mapping[str, Tensor]) -> None:
        """Play with new weights of the network from now on."""

    @property
    def takes_weights(self) -> bool:
        """Whether no game in flight would be too far behind after the next `use`."""
        return True

    @abstractmethod
    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which no group of this process plays or waits for the network."""

    def status(self) -> tuple[WorkerStatus, ...]:
        """Return what each worker of a cluster does; nothing for the threads of this process."""
        return ()

    def machines(self) -> tuple[str, ...]:
        """Return the machines of a cluster in words, with the workers that they will have."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """End all threads, and release the cluster."""

"""Places for workers of a cluster, and what the driver knows about the worker in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dicent.errors import DicentError
from dicent.learn.cluster_worker import GAMES_OF_WORKER, Answer
from dicent.learn.in_flight import COUNTED
from dicent.learn.status import LEFT, WAITING, WorkerStatus
from dicent.learn.worker_slots import Slot

LONGEST = 3600.0  # seconds that a sound worker may report for one request
FASTEST = 10**9  # more of anything than a worker counts in a second


class GameNumbersSeen:
    """The numbers of the games that a worker has finished; it numbers its games without gaps."""

    def __init__(self, worker: int) -> None:
        self._low = worker * GAMES_OF_WORKER  # all games of the worker below this number have ended
        self._end = self._low + GAMES_OF_WORKER
        self._above: set[int] = set()  # few: the games that ended before an older one

    def add(self, numbers: list[int]) -> None:
        """Add finished games; raises if one has ended before, or if it is another worker's."""
        new = set(numbers)
        if len(new) < len(numbers) or new & self._above or not all(self._low <= n < self._end for n in new):
            raise DicentError("a worker sent a game twice, or another worker's game")
        self._above |= new
        while self._low in self._above:
            self._above.remove(self._low)
            self._low += 1


@dataclass
class Place:
    """A slot with its worker; without a slot, the sum of places on machines that have left."""

    slot: Slot | None
    state: str = WAITING
    restarts: int = 0
    rejected: int = 0  # answers that made no sense, or came too late
    failures: int = 0  # one after the other, without an answer in between
    actor: Any = None
    seen: GameNumbersSeen = field(default_factory=lambda: GameNumbersSeen(0))
    answers: int = 0  # of this worker
    lag: int = 0  # of its last answer
    games: int = 0
    evaluations: int = 0
    bytes: int = 0  # received
    heard: float = 0.0  # when it last answered or failed, in seconds that the driver has listened
    rate: float = 0.0  # evaluations per second, as measured last
    rated: int = 0  # evaluations at that time

    @property
    def machine(self) -> str:
        """The address of the machine."""
        return self.slot.node.address if self.slot else "machines that have left"

    def add(self, place: Place) -> None:
        """Add the counts of a place whose machine has left."""
        self.state = LEFT
        self.restarts += place.restarts
        self.rejected += place.rejected
        self.games += place.games
        self.bytes += place.bytes

    def status(self) -> WorkerStatus:
        """Return the status for observers."""
        return WorkerStatus(
            node=self.machine,
            device=self.slot.device if self.slot else "",
            games=self.games,
            evaluations_per_second=self.rate,
            lag=self.lag,
            restarts=self.restarts,
            rejected=self.rejected,
            bytes=self.bytes,
            state=self.state,
        )


class Request(NamedTuple):
    """A request in flight."""

    place: Place
    method: str  # of `ClusterWorker`
    version: int | None = None  # of the network to play with


def sound_counts(answer: Answer) -> bool:
    """Return whether the numbers of an answer can come from a sound worker."""
    if not 0 <= answer.seconds < LONGEST:  # also if it is NaN
        return False
    most = FASTEST * (1 + answer.seconds)
    return all(type(answer.counts[name]) is int and 0 <= answer.counts[name] <= most for name in COUNTED)

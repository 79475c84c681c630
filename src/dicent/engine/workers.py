"""A round-robin scheduler: a few threads advance many jobs, one time slice after another.

No job waits for another to end. Owners, such as the connections of a server, get equal shares of time. The
jobs of one owner run by priority; jobs of equal priority alternate.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dicent.engine.session import SessionCache

LEAST = 0.02  # seconds that the shortest slice counts for
PATIENCE = 5.0  # seconds to wait for a thread in `close`; it may wait for another program


class Job(ABC):
    """A task that runs in time slices."""

    def __init__(self, owner: object, priority: int = 0, heavy: bool = False) -> None:
        self.owner = owner
        self.priority = priority
        self.heavy = heavy  # counts towards the limit of jobs under way
        self.turn = 0  # number of its last slice; 0: none yet
        self.used = 0.0  # seconds used, starting from the least that older jobs have used
        self.is_advanced = False  # a thread is running it now

    @abstractmethod
    def advance(self) -> bool:
        """Run one slice; return whether there is more to do. Must not raise."""


@dataclass
class _Owner:
    used: float  # as for a job
    turn: int = 0


class Workers:
    """Run jobs on `threads` threads, at most `most` heavy ones at the same time."""

    def __init__(
        self, threads: int = 2, most: int = 8, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.threads, self.most, self.clock = threads, most, clock
        self.sessions = SessionCache(most)
        self._jobs: list[Job] = []
        self._turn = 0
        self._owners: dict[int, _Owner] = {}  # owners that have jobs
        self._changed = threading.Condition()
        self._running: list[threading.Thread] = []
        self._closed = False

    def add(self, job: Job) -> None:
        """Add a job; the first one starts the threads."""
        with self._changed:
            if self._closed:
                return
            if id(job.owner) not in self._owners:
                used = min((other.used for other in self._owners.values()), default=0.0)
                self._owners[id(job.owner)] = _Owner(used)
            job.used = min((other.used for other in self._jobs if other.owner is job.owner), default=0.0)
            self._jobs.append(job)
            if not self._running:
                self._running = [
                    threading.Thread(target=self._work, name=f"worker-{i}", daemon=True)
                    for i in range(self.threads)
                ]
                for thread in self._running:
                    thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Stop each thread after its slice, and drop the remaining jobs."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._running:
            if thread is not threading.current_thread():
                thread.join(PATIENCE)

    def _work(self) -> None:
        while (job := self._take()) is not None:
            begin = self.clock()
            more = job.advance()
            used = max(LEAST, self.clock() - begin)
            with self._changed:
                job.is_advanced = False
                job.used += used
                self._owners[id(job.owner)].used += used
                if not more:
                    self._jobs.remove(job)
                    if all(other.owner is not job.owner for other in self._jobs):
                        del self._owners[id(job.owner)]
                self._changed.notify()

    def _take(self) -> Job | None:
        """Wait for a job to run and return it; None after `close`."""
        with self._changed:
            while not self._closed:
                if (job := self._next()) is not None:
                    self._turn += 1
                    job.turn = self._owners[id(job.owner)].turn = self._turn
                    job.is_advanced = True
                    return job
                self._changed.wait()
            return None

    def _next(self) -> Job | None:
        room = sum(job.heavy and job.turn > 0 for job in self._jobs) < self.most
        free = [job for job in self._jobs if not job.is_advanced and (room or job.turn > 0 or not job.heavy)]
        return min(free, key=self._order, default=None)

    def _order(self, job: Job) -> tuple[float, int, int, float, int]:
        owner = self._owners[id(job.owner)]
        return owner.used, owner.turn, -job.priority, job.used, job.turn

"""Workers: a few threads that advance many jobs, a slice at a time.

No job waits for another to end. Owners (the connections of a server, say) take turns, each the same time, so
that none can crowd out the others; the jobs of one owner go by priority, and those of the same priority
take turns.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dicent.engine.session import SessionCache

LEAST = 0.02  # seconds that a slice counts for, however short
PATIENCE = 5.0  # seconds to wait for a thread at the end; it may have asked another program


class Job(ABC):
    """Work that is done in slices."""

    def __init__(self, owner: object, priority: int = 0, heavy: bool = False) -> None:
        self.owner = owner
        self.priority = priority
        self.heavy = heavy  # does it count among those of which only some may run at once?
        self.turn = 0  # when it was advanced last; 0: never
        self.used = 0.0  # seconds that it has had, or would have had with those that were here before
        self.is_advanced = False  # by some thread, now

    @abstractmethod
    def advance(self) -> bool:
        """Go on for a slice; is there more to do? Raises nothing."""


@dataclass
class _Owner:
    used: float  # as for a job
    turn: int = 0


class Workers:
    """`threads` threads, and at most `most` heavy jobs under way at once; others wait for their start."""

    def __init__(
        self, threads: int = 2, most: int = 8, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.threads, self.most, self.clock = threads, most, clock
        self.sessions = SessionCache(most)
        self._jobs: list[Job] = []
        self._turn = 0
        self._owners: dict[int, _Owner] = {}  # those that have jobs
        self._changed = threading.Condition()
        self._running: list[threading.Thread] = []
        self._closed = False

    def add(self, job: Job) -> None:
        """Take on a job; the threads start with the first one."""
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
        """End the threads, each after its slice; jobs that are left are dropped."""
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
        """The next job to advance, when there is one; None when it is time to end."""
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

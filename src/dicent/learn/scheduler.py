"""Schedulers: advance several groups of self-play games, round-robin or each in its own thread."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from dicent.learn.dataset import FinishedGame
from dicent.learn.self_play import SelfPlay

SWITCH = 0.0005  # seconds between thread switches: the thread that feeds the GPU must not wait long
PATIENCE = 0.2  # seconds to wait for finished games before the run does something else
ENOUGH = 8  # a group plays its moves when one in so many of its searches has ended
BACKLOG = 4  # batches of finished games per group that may wait in the queue


class Scheduler(ABC):
    """Advances several `SelfPlay` groups."""

    seconds = 0.0  # of self-play so far

    @abstractmethod
    def play_on(self, progress: float) -> list[FinishedGame]:
        """Advance the groups; return games that have ended. `progress` is the run's, from 0 to 1."""

    @abstractmethod
    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which no group plays or waits for the network."""

    @abstractmethod
    def before_new_network(self) -> None:
        """Prepare for new weights of the network."""

    @abstractmethod
    def close(self) -> None:
        """End all threads."""


class RoundRobinScheduler(Scheduler):
    """Advances one group after the other: while the network evaluates one group, the others search.

    Runs are deterministic, since nothing depends on the speed of threads.
    """

    def __init__(self, plays: Sequence[SelfPlay]) -> None:
        self.plays = plays
        self.evaluation = ThreadPoolExecutor(1)

    def play_on(self, progress: float) -> list[FinishedGame]:
        """Advance each group once."""
        begin = time.monotonic()
        finished = []
        for play in self.plays:
            play.take_in()
            finished += play.play_on(progress)
            play.advance()
            play.ask(self.evaluation)
        self.seconds += time.monotonic() - begin
        return finished

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """See `Scheduler.paused`."""
        self.before_new_network()
        yield

    def before_new_network(self) -> None:
        """Give every group the answers of the network that it asked."""
        for play in self.plays:
            play.take_in()

    def close(self) -> None:
        """End the evaluation thread."""
        self.evaluation.shutdown()


class ThreadedScheduler(Scheduler):
    """Runs each group in its own thread, for a network that evaluates the batches of several together."""

    def __init__(self, plays: Sequence[SelfPlay]) -> None:
        self.plays = plays
        self.locks = [threading.Lock() for _ in plays]  # held by groups that play
        self.open = threading.Event()  # cleared while groups must pause
        self.open.set()
        # If learning is slower than self-play, the queue fills up and groups wait.
        self.finished: queue.Queue[list[FinishedGame] | BaseException] = queue.Queue(BACKLOG * len(plays))
        self.progress = 0.0
        self.usual_switch = sys.getswitchinterval()
        self.ending = False
        self.threads: list[threading.Thread] = []
        self._counted = 0.0

    def play_on(self, progress: float) -> list[FinishedGame]:
        """Return the games that the groups have finished since the last call."""
        self.progress = progress
        self._count()
        if not self.threads:
            sys.setswitchinterval(SWITCH)
            parts = zip(self.plays, self.locks, strict=True)
            self.threads = [threading.Thread(target=self._run, args=part, daemon=True) for part in parts]
            for thread in self.threads:
                thread.start()
        games: list[FinishedGame] = []
        with contextlib.suppress(queue.Empty):
            found = self.finished.get(timeout=PATIENCE)
            while True:
                if isinstance(found, BaseException):
                    raise found
                games += found
                found = self.finished.get_nowait()
        return games

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """See `Scheduler.paused`."""
        self.open.clear()
        self._count()
        try:
            with contextlib.ExitStack() as stack:
                for lock in self.locks:
                    stack.enter_context(lock)
                yield
        finally:
            self._counted = time.monotonic()
            self.open.set()

    def before_new_network(self) -> None:
        """Do nothing: batches keep the network that they were sent to."""

    def close(self) -> None:
        """End the threads of all groups."""
        self.ending = True
        while any(thread.is_alive() for thread in self.threads):
            with contextlib.suppress(queue.Empty):  # threads may wait for room in the queue
                self.finished.get(timeout=0.01)
        sys.setswitchinterval(self.usual_switch)

    def _count(self) -> None:
        """Add the time since the last call."""
        now = time.monotonic()
        self.seconds += now - self._counted if self.threads else 0.0
        self._counted = now

    def _run(self, play: SelfPlay, lock: threading.Lock) -> None:
        try:
            while not self.ending:
                self.open.wait()
                with lock:
                    play.advance()
                    waited = play.value_waiting()
                    enough = not waited or ENOUGH * play.group.ended >= play.group.size
                    games = play.play_on(self.progress) if enough else []
                if games:
                    self.finished.put(games)
        except BaseException as error:
            self.finished.put(error)


def make_scheduler(plays: Sequence[SelfPlay], threads: int) -> Scheduler:
    """Make a round-robin scheduler, or a threaded one for more than one thread."""
    return RoundRobinScheduler(plays) if threads == 1 else ThreadedScheduler(plays)

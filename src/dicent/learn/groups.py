"""Groups of matches that take turns in one thread, or play side by side in threads of their own."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from dicent.learn.dataset import Finished
from dicent.learn.self_play import SelfPlay

SWITCH = 0.0005  # seconds that a thread may keep others from Python: the one that feeds the GPU must not wait
PATIENCE = 0.2  # seconds to wait for a group before the run looks after other things
ENOUGH = 8  # a group plays on when one in so many of its searches has ended
BACKLOG = 4  # times that a group may play on before the run has taken in what it finished


class Groups(ABC):
    """Several `SelfPlay`s under way."""

    seconds = 0.0  # for which they have played

    @abstractmethod
    def play_on(self, progress: float) -> list[Finished]:
        """Matches that have ended; `progress` is the run's, from 0 to 1."""

    @abstractmethod
    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Inside this context no group plays or waits for the network."""

    @abstractmethod
    def before_new_network(self) -> None:
        """Get ready for other weights of the network."""

    @abstractmethod
    def close(self) -> None:
        """End all threads."""


class TakingTurns(Groups):
    """One group after the other: while the network judges one of them, the others search.

    The same seed gives the same run, since nothing depends on which of two threads is faster.
    """

    def __init__(self, plays: Sequence[SelfPlay]) -> None:
        self.plays = plays
        self.evaluation = ThreadPoolExecutor(1)

    def play_on(self, progress: float) -> list[Finished]:
        """Each group once."""
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
        """See `Groups.paused`."""
        self.before_new_network()
        yield

    def before_new_network(self) -> None:
        """Let everybody have the answer of the network that they asked."""
        for play in self.plays:
            play.take_in()

    def close(self) -> None:
        """End the thread of the network."""
        self.evaluation.shutdown()


class SideBySide(Groups):
    """Each group in a thread of its own, for a network that judges the batches of several together."""

    def __init__(self, plays: Sequence[SelfPlay]) -> None:
        self.plays = plays
        self.locks = [threading.Lock() for _ in plays]  # held by those that play
        self.open = threading.Event()  # they may play
        self.open.set()
        # Where learning does not keep up, the queue is full, and groups wait.
        self.finished: queue.Queue[list[Finished] | BaseException] = queue.Queue(BACKLOG * len(plays))
        self.progress = 0.0
        self.usual_switch = sys.getswitchinterval()
        self.ending = False
        self.threads: list[threading.Thread] = []
        self._counted = 0.0

    def play_on(self, progress: float) -> list[Finished]:
        """What the groups have finished meanwhile."""
        self.progress = progress
        self._count()
        if not self.threads:
            sys.setswitchinterval(SWITCH)
            parts = zip(self.plays, self.locks, strict=True)
            self.threads = [threading.Thread(target=self._run, args=part, daemon=True) for part in parts]
            for thread in self.threads:
                thread.start()
        matches: list[Finished] = []
        with contextlib.suppress(queue.Empty):
            found = self.finished.get(timeout=PATIENCE)
            while True:
                if isinstance(found, BaseException):
                    raise found
                matches += found
                found = self.finished.get_nowait()
        return matches

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """See `Groups.paused`."""
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
        """Nothing: batches keep the network that they were sent to."""

    def close(self) -> None:
        """End the threads of the groups."""
        self.ending = True
        while any(thread.is_alive() for thread in self.threads):
            with contextlib.suppress(queue.Empty):  # some may wait for room in the queue
                self.finished.get(timeout=0.01)
        sys.setswitchinterval(self.usual_switch)

    def _count(self) -> None:
        """Count the time since it was counted last."""
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
                    matches = play.play_on(self.progress) if enough else []
                if matches:
                    self.finished.put(matches)
        except BaseException as error:
            self.finished.put(error)


def make_groups(plays: Sequence[SelfPlay], threads: int) -> Groups:
    """Groups that play in so many threads."""
    return TakingTurns(plays) if threads == 1 else SideBySide(plays)

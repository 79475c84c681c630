"""LocalWorkers: groups of self-play games in this process, round-robin or each in its own thread."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import single_threads
from dicent.learn.dataset import FinishedGame
from dicent.learn.in_flight import COUNTED
from dicent.learn.self_play import SelfPlay
from dicent.learn.workers import Workers

if TYPE_CHECKING:
    from torch import Tensor

    from dicent.learn.factories import PlayingNetwork

SWITCH = 0.0005  # seconds between thread switches: the thread that feeds the GPU must not wait long
PATIENCE = 0.2  # seconds to wait for finished games before the run does something else
ENOUGH = 8  # a group plays its moves when one in so many of its searches has ended
BACKLOG = 4  # batches of finished games per group that may wait in the queue


class LocalWorkers(Workers):
    """Groups of self-play games in this process that share one network."""

    def __init__(self, evaluator: PlayingNetwork, plays: Sequence[SelfPlay]) -> None:
        self.evaluator, self.plays = evaluator, plays

    @property
    def counts(self) -> dict[str, int]:
        """See `Workers.counts`."""
        return {name: sum(getattr(play, name) for play in self.plays) for name in COUNTED}

    @property
    def is_idle(self) -> bool:
        """See `Workers.is_idle`."""
        return all(play.is_idle for play in self.plays)

    def deal(self) -> None:
        """See `Workers.deal`."""
        for play in self.plays:
            play.deal()

    def use(self, weights: Mapping[str, Tensor]) -> None:
        """See `Workers.use`."""
        self.evaluator.load(dict(weights))

    def hold(self) -> None:
        """Let no thread begin a step until the next `play_on`."""


class RoundRobinWorkers(LocalWorkers):
    """Advances one group after the other: while the network evaluates one group, the others search.

    Runs are deterministic, since nothing depends on the speed of threads.
    """

    is_deterministic = True

    def __init__(self, evaluator: PlayingNetwork, plays: Sequence[SelfPlay]) -> None:
        super().__init__(evaluator, plays)
        self.evaluation = single_threads(1)

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
        """See `Workers.paused`."""
        self._take_in()
        yield

    def use(self, weights: Mapping[str, Tensor]) -> None:
        """Give every group the answers of the network that it asked, then change the network."""
        self._take_in()
        super().use(weights)

    def _take_in(self) -> None:
        for play in self.plays:
            play.take_in()

    def close(self) -> None:
        """End the evaluation thread."""
        self.evaluation.shutdown()


class ThreadedWorkers(LocalWorkers):
    """Runs each group in its own thread.

    A network on a GPU evaluates the batches of several groups together; batches keep the network that they
    were sent to. Native networks evaluate inside searches, which pause while the weights change.
    """

    def __init__(self, evaluator: PlayingNetwork, plays: Sequence[SelfPlay]) -> None:
        super().__init__(evaluator, plays)
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
        self.open.set()
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

    def hold(self) -> None:
        """See `LocalWorkers.hold`."""
        self.open.clear()

    def use(self, weights: Mapping[str, Tensor]) -> None:
        """See `Workers.use`."""
        if isinstance(self.evaluator, NativeNetwork):
            with self.paused():
                super().use(weights)
        else:
            super().use(weights)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """See `Workers.paused`."""
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

    def close(self) -> None:
        """End the threads of all groups."""
        self.ending = True
        self.open.set()
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
                    if not self.open.is_set():
                        continue
                    play.advance()
                    waited = play.value_waiting()
                    enough = not waited or ENOUGH * play.group.ended >= play.group.size
                    games = play.play_on(self.progress) if enough else []
                if games:
                    self.finished.put(games)
        except BaseException as error:
            self.finished.put(error)


def make_local_workers(evaluator: PlayingNetwork, plays: Sequence[SelfPlay], threads: int) -> LocalWorkers:
    """Make round-robin workers, or threaded ones for more than one thread."""
    return RoundRobinWorkers(evaluator, plays) if threads == 1 else ThreadedWorkers(evaluator, plays)

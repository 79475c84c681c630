"""Threads that search for moves and reviews, so that a slow search delays no other user."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dicent import machine
from dicent.web.error_answers import ProblemError

T = TypeVar("T")
MOVES, REVIEWS, PREPARATION = "dicent-moves", "dicent-reviews", "dicent-preparation"  # names of threads
PATIENCE = 3.0  # seconds to wait for running searches when the server stops
NICENESS = 10  # of background threads


class SearchThreads:
    """Threads that search for moves, and one of lower priority that reviews games."""

    def __init__(self, threads: int | None = None, most: int = 256) -> None:
        self.most = most  # maximum of moves and hints, running and waiting
        self.waiting = 0
        self.is_closed = False
        self.moves = ThreadPoolExecutor(threads or max(2, machine.cores()), MOVES)
        self.reviews = ThreadPoolExecutor(
            1, REVIEWS, initializer=machine.lower_priority, initargs=(NICENESS,)
        )

    async def move(self, search: Callable[[], T]) -> T:
        """Run a search that a player waits for."""
        if self.waiting >= self.most:
            raise ProblemError(503, f"the server is busy with {self.most} moves; try again in a moment")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.moves, search)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Cancel waiting searches, and wait shortly for running ones; reviews stop at `is_closed`."""
        self.is_closed = True
        for pool in (self.moves, self.reviews):
            pool.shutdown(wait=False, cancel_futures=True)
        waiting = threading.Thread(target=self._wait, daemon=True)
        waiting.start()
        waiting.join(PATIENCE)  # a running compilation cannot be interrupted

    def _wait(self) -> None:
        for pool in (self.moves, self.reviews):
            pool.shutdown()


def has_running_search() -> bool:
    """Return whether a thread of a server in this process is alive."""
    return any(thread.name.startswith((MOVES, REVIEWS, PREPARATION)) for thread in threading.enumerate())

"""Threads that search for moves and reviews, so that a slow search delays no other user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dicent import machine
from dicent.web.problems import ProblemError

T = TypeVar("T")
MOVES, REVIEWS = "dicent-moves", "dicent-reviews"  # names of threads
PATIENCE = 3.0  # seconds to wait for what is under way when the server ends
NICER = 10  # how far threads that nobody waits for step back behind those of moves


class SearchThreads:
    """Threads for moves, and one for reviews that gives way to them."""

    def __init__(self, threads: int | None = None, most: int = 256) -> None:
        self.most = most  # moves and hints under way or waiting
        self.waiting = 0
        self.is_closed = False
        self.moves = ThreadPoolExecutor(threads or max(2, machine.cores()), MOVES)
        self.reviews = ThreadPoolExecutor(1, REVIEWS, initializer=step_back)

    async def move(self, search: Callable[[], T]) -> T:
        """Do something that a player waits for."""
        if self.waiting >= self.most:
            raise ProblemError(503, f"{self.most} moves are being thought about: try again in a moment")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.moves, search)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Drop what has not begun, and wait a little for the rest; a review ends when it sees `is_closed`."""
        self.is_closed = True
        for pool in (self.moves, self.reviews):
            pool.shutdown(wait=False, cancel_futures=True)
        waiting = threading.Thread(target=self._wait, daemon=True)
        waiting.start()
        waiting.join(PATIENCE)  # native code may be compiled, which nothing can break off

    def _wait(self) -> None:
        for pool in (self.moves, self.reviews):
            pool.shutdown()


def is_at_work() -> bool:
    """Is any thread of a server in this process alive?"""
    return any(thread.name.startswith((MOVES, REVIEWS)) for thread in threading.enumerate())


def step_back() -> None:
    """Let this thread run only when others have nothing to do, where the system has such a thing."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICER)

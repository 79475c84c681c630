"""Threads that run kernels on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from dicent import machine

R = TypeVar("R")

BLOCKS = 16  # of a round and of a large component, for any number of cores: the result must not depend on it


class Threads:
    """Threads that run kernels on parts of a job. The first call of a kernel compiles, in one thread."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(min(BLOCKS, machine.cores()))
        self._called: set[Callable[..., object]] = set()

    def map(self, kernel: Callable[..., R], jobs: Sequence[tuple[object, ...]]) -> list[R]:
        """Return the results of a kernel for the arguments of each job."""
        if kernel not in self._called or len(jobs) == 1:
            self._called.add(kernel)
            return [kernel(*job) for job in jobs]
        return list(self._pool.map(lambda job: kernel(*job), jobs))

    def exhaust(self, jobs: Sequence[Iterable[None]]) -> Iterator[None]:
        """Run iterators to their ends, each in a thread; all stop early if the caller does."""
        stopped = False

        def run(job: Iterable[None]) -> None:
            for _ in job:
                if stopped:
                    return

        futures = [self._pool.submit(run, job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
                yield
        finally:
            stopped = True
            for future in futures:
                future.cancel()

"""Stop: how the driver asks the processes on all machines to save what they have and to return."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from dicent.cluster.connection import Connection, ray

LOOK = 2.0  # seconds between two looks of a process


class Flag:
    """Whether the driver stops; an actor on its machine."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Set the flag."""
        self._is_set = True

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set


class Stop:
    """A flag that the driver sets, and that other processes look at from time to time."""

    def __init__(self, connection: Connection) -> None:
        ours = next(node.id for node in connection.nodes() if node.is_ours)
        affinity = ray().util.scheduling_strategies.NodeAffinitySchedulingStrategy(ours, soft=False)
        self._flag: Any = ray().remote(Flag).options(num_cpus=0, scheduling_strategy=affinity).remote()

    def ask(self) -> None:
        """Ask all processes to stop."""
        self._flag.set.remote()

    @contextlib.contextmanager
    def watched(self) -> Iterator[threading.Event]:
        """Return a context with an event that is set as soon as the driver has asked.

        A thread looks at the flag: if the main thread of a call waits for Ray, Ray lends its cores to others.
        """
        asked, looked, ended = threading.Event(), threading.Event(), threading.Event()

        def look() -> None:
            while not (asked.is_set() or ended.is_set()):
                with contextlib.suppress(ray().exceptions.RayError):  # the driver is lost; this process ends
                    if ray().get(self._flag.is_set.remote(), timeout=LOOK):
                        asked.set()
                looked.set()
                ended.wait(LOOK)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        looked.wait(2 * LOOK)
        try:
            yield asked
        finally:
            ended.set()
            thread.join()

"""Stop: how the driver asks the processes on all machines to save what they have and to return."""

from __future__ import annotations

import contextlib
import math
import time
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
        self._looked, self._is_asked = -math.inf, False

    def ask(self) -> None:
        """Ask all processes to stop."""
        self._flag.set.remote()

    def is_asked(self) -> bool:
        """Return whether the driver has asked."""
        if not self._is_asked and time.monotonic() - self._looked > LOOK:
            with contextlib.suppress(ray().exceptions.RayError):  # the driver is lost, and this process soon
                self._is_asked = ray().get(self._flag.is_set.remote(), timeout=LOOK)
            self._looked = time.monotonic()
        return self._is_asked

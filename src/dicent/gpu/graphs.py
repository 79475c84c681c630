"""Streams that one thread uses at a time, and the release of the memory that CUDA graphs hold.

Torch hands out 32 streams for each priority and then the same ones again. Work that another thread sends to
a stream during a recording fails, or becomes part of the recording. Every use of a stream therefore holds
the lock of that stream.
"""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dicent.gpu.device import Device


class Event(Protocol):
    """A point in a stream's work."""

    def record(self) -> None:
        """Mark this point in the current stream."""

    def synchronize(self) -> None:
        """Wait until the device has reached the point."""


class Stream(Protocol):
    """A queue of work on a device."""

    @property
    def cuda_stream(self) -> int:
        """The handle, which is the same for two objects that are the same stream."""

    def synchronize(self) -> None:
        """Wait until the queue is empty."""

    def wait_stream(self, stream: Stream) -> None:
        """Let further work wait for everything that is in `stream` now."""

    def wait_event(self, event: Event) -> None:
        """Let further work wait for `event`."""


class Graph(Protocol):
    """Recorded work."""

    def replay(self) -> None:
        """Send the work to the current stream."""


class LockedStream:
    """A stream with its lock, borrowed from `Streams` as long as this object lives."""

    def __init__(
        self,
        stream: Stream,
        lock: threading.RLock,
        use: Callable[[Stream], contextlib.AbstractContextManager[object]],
    ) -> None:
        self.stream, self.lock, self._use = stream, lock, use

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Stream]:
        """Send this thread's work to the stream, and keep other threads out."""
        with self.lock, self._use(self.stream):
            yield self.stream


class Streams:
    """Lends streams, first those that were given back.

    Libraries of the device hold memory for each stream they have met: cuBLAS holds 32 MiB on a Hopper GPU.
    New streams for every network would let that memory grow.
    """

    def __init__(
        self,
        make: Callable[[int], Stream],
        use: Callable[[Stream], contextlib.AbstractContextManager[object]],
    ) -> None:
        self._make, self._use = make, use  # a stream by priority; a context with a current stream
        self._free: dict[int, list[Stream]] = {}  # by priority
        self._locks: dict[int, threading.RLock] = {}  # by the stream's handle
        self._lock = threading.Lock()

    def borrow(self, priority: int = 0) -> LockedStream:
        """Return a stream; it is given back when the returned object dies."""
        with self._lock:
            free = self._free.setdefault(priority, [])
            stream = free.pop() if free else self._make(priority)
            lock = self._locks.setdefault(stream.cuda_stream, threading.RLock())
        locked = LockedStream(stream, lock, self._use)
        weakref.finalize(locked, free.append, stream).atexit = False
        return locked


def release(device: Device) -> None:
    """Return to the device all memory that nothing uses any more.

    Torch does not reuse memory held by CUDA graphs. A caller that handles an error must leave its handler
    first: the error's traceback keeps the variables of the failed function alive.
    """
    with device.recording:
        gc.collect()  # a network and its stages refer to each other
        if device.live_graphs() == 0:  # graphs keep addresses inside the workspaces
            device.clear_workspaces()
        device.empty_cache()

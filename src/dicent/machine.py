"""Properties of this machine and its system, asked for in one place."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

if sys.platform != "win32":
    with contextlib.suppress(ImportError):
        import resource

# Where Linux states a container's memory: the folder, its limit and what is used.
CONTAINERS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(numbered_cores()) or os.cpu_count() or 1


def numbered_cores() -> list[int]:
    """Return the numbers of the cores that this process may use; none where the system does not say."""
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # systems other than Linux
        return []


def pin_to_cores(chosen: Collection[int]) -> None:
    """Keep this process to some cores, on systems that can do that."""
    if chosen and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, chosen)


@contextlib.contextmanager
def pinned_to_cores(chosen: Collection[int]) -> Iterator[None]:
    """Keep this process to some cores inside a context."""
    before = numbered_cores()
    pin_to_cores(chosen)
    try:
        yield
    finally:
        pin_to_cores(before)


def lower_priority(niceness: int) -> None:
    """Lower the priority of this thread. Only Linux supports that; other systems ignore the call."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def open_file_limit() -> int | None:
    """Return how many files this process may have open; None without a known limit."""
    try:
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except NameError:  # the system has no such module
        return None
    return None if most == resource.RLIM_INFINITY else int(most)


def parent_watch() -> Callable[[], bool]:
    """Return a function that returns whether the process that started this one has ended.

    Windows does not give orphans another parent: there the function always returns False.
    """
    parent = os.getppid()
    return lambda: os.getppid() != parent


def free_memory() -> int | None:
    """Return how many bytes this process can still allocate; None if the system does not say.

    On Linux that is what the kernel calls available, or less in a container with a limit.
    """
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    for folder, limit, used in CONTAINERS:
        with contextlib.suppress(OSError, ValueError):  # no container, or the limit is the text `max`
            most, now = (int((folder / name).read_text()) for name in (limit, used))
            lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cached = next(
                (int(n) for name, n in lines if name in ("inactive_file", "total_inactive_file")), 0
            )
            free = min(free, most - now + cached)
    return max(0, free)


def ending_signals() -> list[signal.Signals]:
    """Return the signals by which a user or the system asks a process to end."""
    names = ("SIGINT", "SIGTERM", "SIGBREAK")  # the last one only on Windows
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C and requests to end inside a context; a second one acts as usual."""
    stop: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def receive(number: int, frame: object) -> None:
        stop.append(number)
        restore()

    before = {number: signal.signal(number, receive) for number in ending_signals()}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield stop
    finally:
        restore()

"""Properties of this machine and its system, asked for in one place."""

import contextlib
import os
import signal
from pathlib import Path

# Where Linux states a container's memory: the folder, its limit and what is used.
CONTAINERS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # systems other than Linux
        return os.cpu_count() or 1


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

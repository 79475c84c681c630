"""Properties of this machine and its system, asked for in one place."""

import os
import signal


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # systems other than Linux
        return os.cpu_count() or 1


def ending_signals() -> list[signal.Signals]:
    """Return the signals by which a user or the system asks a process to end."""
    names = ("SIGINT", "SIGTERM", "SIGBREAK")  # the last one only on Windows
    return [getattr(signal, name) for name in names if hasattr(signal, name)]

"""Facts about this machine, asked for in one place."""

import os


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # systems other than Linux
        return os.cpu_count() or 1

"""Ctrl-C and requests to end, heard between two turns of a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects Ctrl-C and requests to end, so that a run stops between two turns; the second one acts."""
    stop: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def heard(number: int, frame: object) -> None:
        stop.append(number)
        restore()

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield stop
    finally:
        restore()

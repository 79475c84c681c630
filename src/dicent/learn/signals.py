"""Handle Ctrl-C and SIGTERM between two turns of a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that a run can stop between two turns; a second signal acts at once."""
    stop: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def collect(number: int, frame: object) -> None:
        stop.append(number)
        restore()

    before = {number: signal.signal(number, collect) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield stop
    finally:
        restore()

"""Ctrl-C and requests to end, delivered between two steps of a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from dicent import machine


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

    before = {number: signal.signal(number, receive) for number in machine.ending_signals()}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield stop
    finally:
        restore()

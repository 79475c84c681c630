"""Connections: limits for clients that open many, send slowly or send nothing, and for what they make us log.

All of this happens before a request has reached the application, so before its token is checked.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from dicent import machine

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol
else:
    Protocol = AutoHTTPProtocol  # of the package that is installed

HEADER_SECONDS = 10.0  # for the headers of a request to arrive
ANSWER_SECONDS = 30.0  # for a client that does not read to begin again
MOST = 512  # connections at the same time
RESERVED = 64  # file handles for everything else
BACKLOG = 128  # connections that the system holds until the server accepts them, and accepts at once
MESSAGES, PERIOD = 20, 60.0  # messages of a logger in a period of seconds
LOGGERS = ("asyncio", "uvicorn.error", "dicent.web")


def most_connections() -> int:
    """Return how many connections the server keeps: fewer if this process may open few files."""
    files = machine.open_file_limit()
    return MOST if files is None else max(8, min(MOST, (files - RESERVED) // 2))


def limited(
    header_seconds: float = HEADER_SECONDS, most: int | None = None, answer_seconds: float = ANSWER_SECONDS
) -> type[asyncio.Protocol]:
    """Return the class of connections with these limits."""
    most_open = most_connections() if most is None else most

    class Limited(Protocol):
        """A connection that is closed unless requests arrive, and answers are read, in time."""

        _deadline: asyncio.TimerHandle | None = None  # for the headers of the next request
        _reading: asyncio.TimerHandle | None = None  # for the client to read

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most_open:
                transport.abort()
            else:
                self._expect_headers()

        def data_received(self, data: bytes) -> None:
            if self._deadline is None and not self._is_answering():
                self._expect_headers()
            super().data_received(data)
            if self._is_answering():
                self._stop_waiting()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._reading = self.loop.call_later(answer_seconds, self._abort_unread)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_reading()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._stop_reading()
            super().connection_lost(exc)

        def _is_answering(self) -> bool:
            """Return whether a request is being answered, or the connection has become a WebSocket."""
            if self.transport.get_protocol() is not self:
                return True
            return self.cycle is not None and not self.cycle.response_complete

        def _abort_unread(self) -> None:
            if self.transport.get_protocol() is self:  # else a WebSocket, which has a deadline of its own
                self.transport.abort()

        def _stop_reading(self) -> None:
            if self._reading is not None:
                self._reading.cancel()
                self._reading = None

        def _expect_headers(self) -> None:
            self._deadline = self.loop.call_later(header_seconds, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Limited


class LogRateLimit(logging.Filter):
    """Lets `most` messages pass in a period of seconds, and counts the others."""

    def __init__(
        self, most: int = MESSAGES, period: float = PERIOD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.most, self.period, self.clock = most, period, clock
        self._count, self._end = 0, clock() + period
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a message; the first one of a period says how many were left out."""
        with self._lock:
            now = self.clock()
            if now >= self._end:
                left_out = self._count - self.most
                self._count, self._end = 0, now + self.period
                if left_out > 0:
                    record.msg = (
                        f"{record.getMessage()} ({left_out:,} messages before this one were left out)"
                    )
                    record.args = ()
            self._count += 1
            return self._count <= self.most


@contextmanager
def rate_limited_logs() -> Iterator[None]:
    """Limit how much the loggers write that clients can trigger."""
    filters = {name: LogRateLimit() for name in LOGGERS}
    for name, limit in filters.items():
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name, limit in filters.items():
            logging.getLogger(name).removeFilter(limit)

"""Batches: the states of many threads, evaluated together by one device.

A thread takes rows of the open batch, writes its states there, and waits for their values. A batch goes to
the device as soon as the device has room: a full one first, else the open one as it is. Batches therefore
grow while the device is busy. The thread that wrote the last row sends a batch, or a thread that learned
that an earlier batch is done; no thread must wake up only to send.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

IN_FLIGHT = 2  # batches: one is evaluated, one waits on the device

Planes = npt.NDArray[np.generic]
Values = npt.NDArray[np.float32]
Write = Callable[[int, int, Planes], object]
T = TypeVar("T")
Answer = tuple[npt.NDArray[np.float64], npt.NDArray[np.float32] | None]


class Done(Protocol):
    """The end of a batch's evaluation."""

    def synchronize(self) -> None:
        """Wait for it."""


class Stage(Protocol):
    """Memory for a batch, and the device that evaluates its content."""

    planes: Planes  # [n, C, H, W]
    values: Values  # [n]
    logits: Values | None  # [n, A]

    def send(self, count: int) -> Done:
        """Begin to evaluate the first `count` rows."""


class Batch:
    """One use of a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.count = 0  # rows taken
        self.writers = 0  # threads that still write
        self.readers = 0  # threads that wait for values
        self.sent = threading.Event()
        self.done: Done | None = None
        self.landed = False  # a thread has seen that the evaluation is done
        self.error: BaseException | None = None


@dataclass(frozen=True)
class Rows:
    """The rows that one thread has in a batch, from `row`; they hold its states from `first`."""

    batch: Batch
    row: int
    first: int
    count: int


class Batches:
    """Batches of up to `most` rows in a few stages."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.most = len(stages[0].planes)
        self.free = list(stages)
        self.open: Batch | None = None
        self.full: deque[Batch] = deque()
        self.flying = 0  # batches on the device
        self.turn = threading.Lock()  # held by the thread that sends
        self.lock = threading.Lock()  # of all other attributes
        self.room = threading.Condition(self.lock)  # there is a free stage

    def call(self, function: Callable[[], T]) -> T:
        """Call a function between two batches and return its result."""
        try:
            with self.turn:
                return function()
        finally:
            self._send_ready()

    def evaluate(self, count: int, write: Write) -> Answer:
        """Return values and logits of `count` states; `write(first, last, planes)` encodes some of them."""
        values, logits = np.empty(count), None
        waiting: deque[Rows] = deque()
        first = 0
        try:
            while first < count or waiting:
                rows = self._take(first, count - first, wait=not waiting) if first < count else None
                if rows is not None:
                    waiting.append(rows)
                    self._write(rows, write)
                    first += rows.count
                    continue
                rows = waiting.popleft()
                some, more = self._read(rows)
                states = slice(rows.first, rows.first + rows.count)
                values[states] = some
                if more is not None:
                    logits = np.empty((count, more.shape[1]), np.float32) if logits is None else logits
                    logits[states] = more
        except BaseException:
            for rows in waiting:  # nobody will read them
                self._leave(rows.batch)
            raise
        return values, logits

    def _take(self, first: int, count: int, wait: bool) -> Rows | None:
        """Return rows for up to `count` states; None if all stages are in use and `wait` is false."""
        with self.lock:
            if self.open is not None and self.open.count >= self.most:  # `most` may have become less
                self._shut()
            while self.open is None:
                if self.free:
                    self.open = Batch(self.free.pop())
                elif wait:
                    self.room.wait()
                else:
                    return None
            batch = self.open
            rows = Rows(batch, batch.count, first, min(count, self.most - batch.count))
            batch.count += rows.count
            batch.writers += 1
            batch.readers += 1
            if batch.count >= self.most:
                self._shut()
        return rows

    def _shut(self) -> None:
        """Close the open batch to further rows."""
        assert self.open is not None
        self.full.append(self.open)
        self.open = None

    def _write(self, rows: Rows, write: Write) -> None:
        try:
            planes = rows.batch.stage.planes[rows.row : rows.row + rows.count]
            write(rows.first, rows.first + rows.count, planes)
        finally:
            with self.lock:
                rows.batch.writers -= 1
            self._send_ready()

    def _send_ready(self) -> None:
        """Send ready batches while the device has room.

        If another thread is already sending, this one returns: the other rechecks the queue.
        """
        while self._is_ready() and self.turn.acquire(blocking=False):
            try:
                with self.lock:
                    batch = self._next()
                if batch is not None:
                    self._send(batch)
            finally:
                self.turn.release()

    def _is_ready(self) -> bool:
        """Return whether a batch can be sent; the open one waits for its writers."""
        with self.lock:
            first = self.full[0] if self.full else self.open
            return first is not None and first.writers == 0 and self.flying < IN_FLIGHT

    def _next(self) -> Batch | None:
        """Remove the next batch from the queue, count it as sent and return it."""
        if not self.full and self.open is not None and self.open.writers == 0:
            self._shut()
        if not self.full or self.full[0].writers or self.flying >= IN_FLIGHT:
            return None
        self.flying += 1
        return self.full.popleft()

    def _send(self, batch: Batch) -> None:
        try:
            batch.done = batch.stage.send(batch.count)
        except BaseException as error:
            batch.error = error
            self._land(batch)
            if not isinstance(error, Exception):  # Ctrl-C is for this thread too
                raise
        finally:
            with self.lock:
                batch.sent.set()
                abandoned = batch.readers == 0
            if abandoned:
                self._recycle(batch)

    def _read(self, rows: Rows) -> tuple[Values, Values | None]:
        """Wait for the values and logits of some rows and return them."""
        batch, places = rows.batch, slice(rows.row, rows.row + rows.count)
        try:
            batch.sent.wait()
            if batch.error is not None:
                raise batch.error
            assert batch.done is not None
            batch.done.synchronize()
            self._land(batch)
            self._send_ready()
            logits = batch.stage.logits
            return batch.stage.values[places].copy(), None if logits is None else logits[places].copy()
        finally:
            self._leave(batch)

    def _land(self, batch: Batch) -> None:
        """Note that a batch is done; only the first call for a batch counts."""
        with self.lock:
            self.flying -= not batch.landed
            batch.landed = True

    def _leave(self, batch: Batch) -> None:
        """Note that one thread fewer reads a batch."""
        with self.lock:
            batch.readers -= 1
            last = batch.readers == 0 and batch.sent.is_set()
        if last:
            self._recycle(batch)

    def _recycle(self, batch: Batch) -> None:
        """Free the stage of a batch without readers, once the device is done with it."""
        if batch.done is not None and not batch.landed:
            batch.done.synchronize()
            self._land(batch)
        with self.lock:
            self.free.append(batch.stage)
            self.room.notify()
        self._send_ready()

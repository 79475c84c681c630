"""Batches: the states of many threads, judged together by one device.

A thread takes rows of the batch that is open, writes its states there, and waits for their values. A batch
goes to the device as soon as that has room for it: a full one, or else whatever has come together, so that
batches grow while the device is busy and no row of a full one stays empty. It is sent by the thread that
wrote its last row, or by one that was told that an earlier batch is done: nobody must wake up for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

IN_FLIGHT = 2  # batches: one is judged, one waits on the device

Write = Callable[[int, int, npt.NDArray[Any]], object]
T = TypeVar("T")
Answer = tuple[npt.NDArray[np.float64], npt.NDArray[np.float32] | None]


class Done(Protocol):
    """Tells when something is done."""

    def synchronize(self) -> None:
        """Wait until it is."""


class Stage(Protocol):
    """Memory for a batch, and the device that judges what is in it."""

    planes: npt.NDArray[Any]  # [n, C, H, W]
    values: npt.NDArray[np.float32]  # [n]
    logits: npt.NDArray[np.float32] | None  # [n, A]

    def send(self, count: int) -> Done:
        """Begin to judge the first `count` rows."""


class Batch:
    """One use of a stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.count = 0  # rows taken
        self.writers = 0  # threads that are not ready to send
        self.readers = 0  # threads that want values
        self.sent = threading.Event()
        self.done: Done | None = None
        self.landed = False  # somebody knows that it is done
        self.error: BaseException | None = None


@dataclass(frozen=True)
class Share:
    """The rows of a batch that are one thread's, from `row` on: its states from `first` on."""

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
        self.turn = threading.Lock()  # held by who sends
        self.lock = threading.Lock()  # of all the rest
        self.room = threading.Condition(self.lock)  # there is a free stage

    def call(self, chore: Callable[[], T]) -> T:
        """Do something between two batches; returns what that returns."""
        try:
            with self.turn:
                return chore()
        finally:
            self._send_ready()

    def judge(self, count: int, write: Write) -> Answer:
        """Values and logits of `count` states; `write(first, last, planes)` encodes some of them."""
        values, logits = np.empty(count), None
        shares: deque[Share] = deque()
        first = 0
        try:
            while first < count or shares:
                share = self._take(first, count - first, wait=not shares) if first < count else None
                if share is not None:
                    shares.append(share)
                    self._write(share, write)
                    first += share.count
                    continue
                share = shares.popleft()
                some, more = self._read(share)
                rows = slice(share.first, share.first + share.count)
                values[rows] = some
                if more is not None:
                    logits = np.empty((count, more.shape[1]), np.float32) if logits is None else logits
                    logits[rows] = more
        except BaseException:
            for share in shares:  # nobody will read them
                self._leave(share.batch)
            raise
        return values, logits

    def _take(self, first: int, count: int, wait: bool) -> Share | None:
        """Rows for up to `count` states; None where all stages are in use, and the caller is not to wait."""
        with self.lock:
            if self.open is not None and self.open.count >= self.most:  # which may have become less
                self._shut()
            while self.open is None:
                if self.free:
                    self.open = Batch(self.free.pop())
                elif wait:
                    self.room.wait()
                else:
                    return None
            batch = self.open
            share = Share(batch, batch.count, first, min(count, self.most - batch.count))
            batch.count += share.count
            batch.writers += 1
            batch.readers += 1
            if batch.count >= self.most:
                self._shut()
        return share

    def _shut(self) -> None:
        """Let nobody else into the batch that is open."""
        assert self.open is not None
        self.full.append(self.open)
        self.open = None

    def _write(self, share: Share, write: Write) -> None:
        try:
            planes = share.batch.stage.planes[share.row : share.row + share.count]
            write(share.first, share.first + share.count, planes)
        finally:
            with self.lock:
                share.batch.writers -= 1
            self._send_ready()

    def _send_ready(self) -> None:
        """Send what is ready while the device has room, unless another thread is at it: that looks again."""
        while self._is_ready() and self.turn.acquire(blocking=False):
            try:
                with self.lock:
                    batch = self._next()
                if batch is not None:
                    self._send(batch)
            finally:
                self.turn.release()

    def _is_ready(self) -> bool:
        """Could a batch be sent? One that is not full waits for those who are writing."""
        with self.lock:
            first = self.full[0] if self.full else self.open
            return first is not None and first.writers == 0 and self.flying < IN_FLIGHT

    def _next(self) -> Batch | None:
        """The next batch to send, which counts as sent."""
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

    def _read(self, share: Share) -> tuple[Any, Any]:
        """The values and logits of a share, once they are there."""
        batch, rows = share.batch, slice(share.row, share.row + share.count)
        try:
            batch.sent.wait()
            if batch.error is not None:
                raise batch.error
            assert batch.done is not None
            batch.done.synchronize()
            self._land(batch)
            self._send_ready()
            logits = batch.stage.logits
            return batch.stage.values[rows].copy(), None if logits is None else logits[rows].copy()
        finally:
            self._leave(batch)

    def _land(self, batch: Batch) -> None:
        """A batch is done, which the first of its threads tells."""
        with self.lock:
            self.flying -= not batch.landed
            batch.landed = True

    def _leave(self, batch: Batch) -> None:
        """One thread fewer wants to read a batch."""
        with self.lock:
            batch.readers -= 1
            last = batch.readers == 0 and batch.sent.is_set()
        if last:
            self._recycle(batch)

    def _recycle(self, batch: Batch) -> None:
        """Nobody wants to read a batch any more: its stage is free once the device is."""
        if batch.done is not None and not batch.landed:
            batch.done.synchronize()
            self._land(batch)
        with self.lock:
            self.free.append(batch.stage)
            self.room.notify()
        self._send_ready()

"""Batches: the states of many threads, judged together by one device.

A thread takes rows of the batch that is open, writes its states there, and waits for their values. One more
thread sends a batch when the device has room for it: a full one, or else whatever has come together, so that
batches grow while the device is busy and no row of a full one stays empty.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

IN_FLIGHT = 2  # batches: one is judged, one waits on the device

Write = Callable[[int, int, npt.NDArray[Any]], object]
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
        self.error: BaseException | None = None


@dataclass(frozen=True)
class Share:
    """The rows of a batch that are one thread's, from `row` on: its states from `first` on."""

    batch: Batch
    row: int
    first: int
    count: int


class Batches:
    """Batches of up to `most` rows in a few stages. `close` ends the thread that sends them."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.most = len(stages[0].planes)
        self.free = list(stages)
        self.open: Batch | None = None
        self.full: deque[Batch] = deque()
        self.flying: deque[Done] = deque()
        self.chores: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self.ending = False
        self.lock = threading.Lock()
        self.room = threading.Condition(self.lock)  # there is a free stage
        self.work = threading.Condition(self.lock)  # there is something to send or to do
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the thread that sends; what was asked before is still answered."""
        with self.lock:
            self.ending = True
            self.work.notify()

    def call(self, chore: Callable[[], Any]) -> Any:
        """Let the thread that sends do something between two batches; returns what that returns."""
        future: Future[Any] = Future()
        with self.lock:
            self.chores.append((chore, future))
            self.work.notify()
        return future.result()

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

    # Threads that ask

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
                if share.batch.writers == 0:
                    self.work.notify()

    def _read(self, share: Share) -> tuple[Any, Any]:
        """The values and logits of a share, once they are there."""
        batch, rows = share.batch, slice(share.row, share.row + share.count)
        try:
            batch.sent.wait()
            if batch.error is not None:
                raise batch.error
            assert batch.done is not None
            batch.done.synchronize()
            logits = batch.stage.logits
            return batch.stage.values[rows].copy(), None if logits is None else logits[rows].copy()
        finally:
            self._leave(batch)

    def _leave(self, batch: Batch) -> None:
        """One thread fewer wants to read a batch."""
        with self.lock:
            batch.readers -= 1
            if batch.readers == 0 and batch.sent.is_set():
                self._recycle(batch)

    def _recycle(self, batch: Batch) -> None:
        self.free.append(batch.stage)
        self.room.notify()

    # The thread that sends

    def _serve(self) -> None:
        while True:
            if len(self.flying) >= IN_FLIGHT:  # meanwhile more may come together
                self.flying.popleft().synchronize()
            batch = None
            with self.lock:
                while not self.chores and (batch := self._next()) is None:
                    if self.ending and self.open is None and not self.full:
                        return
                    self.work.wait()
            if self.chores:
                _do(*self.chores.popleft())
            elif batch is not None:
                self._send(batch)

    def _next(self) -> Batch | None:
        """The next batch to send. One that is not full waits for those who are writing."""
        if not self.full and self.open is not None and self.open.writers == 0:
            self._shut()
        return self.full.popleft() if self.full and self.full[0].writers == 0 else None

    def _send(self, batch: Batch) -> None:
        try:
            batch.done = batch.stage.send(batch.count)
            self.flying.append(batch.done)
        except Exception as error:
            batch.error = error
        with self.lock:
            batch.sent.set()
            abandoned = batch.readers == 0
        if abandoned:
            if batch.done is not None:
                batch.done.synchronize()
            with self.lock:
                self._recycle(batch)


def _do(chore: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(chore())
    except Exception as error:
        future.set_exception(error)

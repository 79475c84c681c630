"""Building endgame tables, part by part in threads; an interrupted build goes on where it was.

Positions with fewer pieces come first. Within a part, that is a pair of label classes, positions come
in the order of the steps that all pieces have left: every move lowers it, so what a position needs is
known by then. The values grow in a file under another name; beside it a list says which parts are
done. When all are, the file gets its header and its own name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dicent import machine
from dicent.errors import TableFileError
from dicent.exact.ewn_index import EwnIndex, Fill, Part, new_position
from dicent.exact.ewn_tables import Tables, built, facts_of, open_tables
from dicent.exact.table_file import FORMAT, HEADER, WIDTH, Bytes, Facts, header, read_values, tables_folder
from dicent.files import allocate, lock, sync
from dicent.game import Game
from dicent.game.binding import Bound, bind
from dicent.kernels import endgame as endgame_kernels

PAIRS = 20_000  # arrangements of both sides to a call of the kernel, well under 50 ms
NOTE = 2.0  # seconds after which finished parts are noted


@dataclass(frozen=True)
class BuildProgress:
    """How far a build has come."""

    values: int
    total: int


def build_tables(
    game: Game,
    pieces: int,
    folder: Path | None = None,
    threads: int | None = None,
    progress: Callable[[BuildProgress], object] | None = None,
    compiled: bool | None = None,
) -> Tables:
    """Build the table of a game's positions with up to `pieces` pieces, unless it is there already."""
    facts_of(game, pieces)
    bound = bind(game, compiled)
    index = EwnIndex(bound, pieces)
    facts = facts_of(game, pieces, index.values)
    place = tables_folder(folder)
    path = place / facts.name
    try:
        return Tables(game, index, read_values(path, facts), compiled)
    except TableFileError:
        pass  # not there, or of no use
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock_file = place / f".{facts.name}.lock"
        with lock(lock_file, "another process is building this table"):
            _Build(game, bound, index, facts, place, progress).run(threads or machine.cores())
            lock_file.unlink(missing_ok=True)
    except OSError as error:
        size = (HEADER + WIDTH * facts.values) / 1e6
        raise TableFileError(f"{place} cannot take the {size:,.1f} MB of this table: {error}") from error
    return Tables(game, index, read_values(path, facts, verify=False), compiled)


class _Build:
    """One build under way."""

    def __init__(
        self,
        game: Game,
        bound: Bound,
        index: EwnIndex,
        facts: Facts,
        place: Path,
        progress: Callable[[BuildProgress], object] | None,
    ) -> None:
        self.game, self.bound, self.index, self.facts, self.place = game, bound, index, facts, place
        self.progress = progress or (lambda _: None)
        self.path = place / f".{facts.name}.new"
        self.list = place / f".{facts.name}.done"
        self.title = f"format {FORMAT}: {facts!r}"  # the first line of the list
        self.done: set[str] = set()
        self.stop = threading.Event()

    def run(self, threads: int) -> None:
        """Work out all parts that are not done, and finish the file."""
        self._open()
        noted = time.perf_counter()
        values = sum(part.stop - part.start for part in self.index.parts if self._is_done(part))
        with ThreadPoolExecutor(threads) as pool:
            try:
                for total in range(2, self.index.pieces + 1):
                    parts = [p for p in self.index.parts if p.pieces == total and not self._is_done(p)]
                    for work in as_completed([pool.submit(self._work_out, part) for part in parts]):
                        part = work.result()
                        self.done.add(part.name)
                        values += part.stop - part.start
                        self.progress(BuildProgress(values, self.index.values))
                        if time.perf_counter() - noted > NOTE:
                            self._note()
                            noted = time.perf_counter()
            except BaseException:
                self.stop.set()
                pool.shutdown(cancel_futures=True)
                raise
            finally:
                self._note()
        self._finish()

    def _is_done(self, part: Part) -> bool:
        return part.name in self.done

    def _open(self) -> None:
        """Map the file that grows: one that is there already, or a new one with what smaller tables know."""
        size = HEADER + WIDTH * self.index.values
        lines = self.list.read_text(encoding="utf-8").splitlines() if self.list.exists() else []
        if lines[:1] == [self.title] and self.path.exists() and self.path.stat().st_size == size:
            self.done = set(lines[1:])
        else:
            self.list.unlink(missing_ok=True)
            allocate(self.path, size)  # fails now if there is no room, not later
        self.data = np.memmap(self.path, np.uint8, "r+", HEADER)
        if not self.done:
            self._take_over()

    def _take_over(self) -> None:
        """A smaller table is the beginning of a larger one."""
        smaller = [n for n in built(self.game, self.place) if n < self.index.pieces]
        for pieces in sorted(smaller, reverse=True):
            try:
                tables = open_tables(self.game, pieces, self.place)
            except TableFileError:
                continue
            self.data[: WIDTH * tables.positions] = tables._data
            self.done = {part.name for part in self.index.parts if part.pieces <= pieces}
            return

    def _note(self) -> None:
        """Write down which parts are done, after their values."""
        self.data.flush()
        lines = [self.title, *sorted(self.done)]
        temporary = self.list.with_suffix(".tmp")
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        temporary.replace(self.list)

    def _finish(self) -> None:
        with open(self.path, "r+b") as file:
            file.write(header(self.facts, self.data))
            sync(file)
        self.path.replace(self.place / self.facts.name)
        self.list.unlink(missing_ok=True)

    def _work_out(self, part: Part) -> Part:
        """All positions of a part, those nearest to the end first."""
        sweeps = [_Sweep(self.bound, self.index, self.data, fill) for fill in part.fills]
        for steps in range(2 * (self.index.size - 1) * part.pieces + 1):
            for sweep in sweeps:
                for first in sweep.chunks(steps):
                    if self.stop.is_set():
                        raise CancelledError
                    sweep.work_out(steps, first)
        return part


class _Sweep:
    """Works out the positions of a pair of classes, in short calls."""

    def __init__(self, bound: Bound, index: EwnIndex, data: Bytes, fill: Fill) -> None:
        self.kernel = bound.kernel(endgame_kernels.fill)
        self.memory = index.arrays, data, new_position(bound)
        for side, c in enumerate((index.labels.classes[fill.a], index.labels.classes[fill.b])):
            self.memory[2].labels[side], self.memory[2].number[side] = c.labels, c.count
        self.rows = index.rows(fill.a)
        self.others, self.starts = index.others(fill.b).by_distance
        self.both = int(fill.both)
        self.chunk = max(1, PAIRS // int(np.diff(self.starts).max()))

    def chunks(self, steps: int) -> range:
        """The first rows of the calls for positions with so many steps left; none if there is no such row."""
        left = steps - self.rows.distance
        some = ((left >= 0) & (left < len(self.starts) - 1)).any()
        return range(0, len(self.rows.cells) if some else 0, self.chunk)

    def work_out(self, steps: int, first: int) -> None:
        """One call."""
        rows, others = self.rows, self.others
        last = min(first + self.chunk, len(rows.cells))
        self.kernel(
            *(*self.memory, rows.cells, rows.mask, rows.distance),
            *(others.cells, others.mask, self.starts, steps, self.both, first, last),
        )

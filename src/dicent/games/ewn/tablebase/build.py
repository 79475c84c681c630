"""Build a tablebase in threads, part by part; an interrupted build resumes.

Positions with fewer pieces come first. Within a part, a pair of label classes, positions are ordered by the
number of steps that all pieces have left. Every move lowers that number, so the next positions are computed
before they are needed. The values grow in a file under a temporary name; a list beside it names the parts
that are done. When all are, the file gets its header and its final name.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed

import numpy as np

from dicent import machine
from dicent.errors import TablebaseFileError
from dicent.exact.tablebase import BuildProgress, BuildSettings
from dicent.files import allocate, lock, sync
from dicent.game import Game
from dicent.game.binding import Bound, bind
from dicent.games.ewn.tablebase import kernel
from dicent.games.ewn.tablebase.file import FORMAT, HEADER, WIDTH, Bytes, Contents, header, read_values
from dicent.games.ewn.tablebase.index import Fill, Part, TablebaseIndex, new_position
from dicent.games.ewn.tablebase.tablebase import EwnTablebase, built, contents_of, open_file

PAIRS = 20_000  # arrangements of both sides per call of the kernel, well under 50 ms
NOTE = 2.0  # seconds after which finished parts are noted


def build(game: Game, pieces: int, settings: BuildSettings) -> EwnTablebase:
    """Build the tablebase of positions with up to `pieces` pieces, or open it if it is built."""
    contents_of(game, pieces)
    bound = bind(game, settings.compiled)
    index = TablebaseIndex(bound, pieces)
    contents = contents_of(game, pieces, index.values)
    folder = settings.folder
    path = folder / contents.name
    try:
        return EwnTablebase(game, index, read_values(path, contents), path, settings.compiled)
    except TablebaseFileError:
        pass  # there is no such file, or it is damaged
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock_file = folder / f".{contents.name}.lock"
        with lock(lock_file, "another process is building this tablebase"):
            _Build(game, bound, index, contents, settings).run(settings.threads or machine.cores())
            lock_file.unlink(missing_ok=True)
    except OSError as error:
        size = (HEADER + WIDTH * contents.values) / 1e6
        raise TablebaseFileError(
            f"{folder} cannot take the {size:,.1f} MB of this tablebase: {error}"
        ) from error
    return EwnTablebase(game, index, read_values(path, contents, verify=False), path, settings.compiled)


class _Build:
    """A build that is running."""

    def __init__(
        self,
        game: Game,
        bound: Bound,
        index: TablebaseIndex,
        contents: Contents,
        settings: BuildSettings,
    ) -> None:
        self.game, self.bound, self.index, self.contents = game, bound, index, contents
        self.folder = settings.folder
        self.progress = settings.progress or (lambda _: None)
        self.path = self.folder / f".{contents.name}.new"
        self.list = self.folder / f".{contents.name}.done"
        self.title = f"format {FORMAT}: {contents.signed}"  # the first line of the list
        self.done: set[str] = set()
        self.stop = threading.Event()

    def run(self, threads: int) -> None:
        """Compute all parts that are not done, and finish the file."""
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
        """Map the unfinished file, or a new one that begins with the values of a smaller tablebase."""
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
        """Copy the largest smaller tablebase, which is the beginning of this one."""
        smaller = [n for n in built(self.game, self.folder) if n < self.index.pieces]
        for pieces in sorted(smaller, reverse=True):
            try:
                tablebase = open_file(self.game, pieces, self.folder)
            except TablebaseFileError:
                continue
            self.data[: WIDTH * tablebase.positions] = tablebase.data
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
            file.write(header(self.contents, self.data))
            sync(file)
        self.path.replace(self.folder / self.contents.name)
        self.list.unlink(missing_ok=True)

    def _work_out(self, part: Part) -> Part:
        """Compute all positions of a part, those nearest to the end of the game first."""
        sweeps = [_Sweep(self.bound, self.index, self.data, fill) for fill in part.fills]
        for steps in range(2 * (self.index.size - 1) * part.pieces + 1):
            for sweep in sweeps:
                for first in sweep.chunks(steps):
                    if self.stop.is_set():
                        raise CancelledError
                    sweep.work_out(steps, first)
        return part


class _Sweep:
    """Computes the positions of a pair of classes, in short calls."""

    def __init__(self, bound: Bound, index: TablebaseIndex, data: Bytes, fill: Fill) -> None:
        self.kernel = bound.kernel(kernel.fill)
        self.memory = index.arrays, data, new_position(bound)
        for side, c in enumerate((index.labels.classes[fill.a], index.labels.classes[fill.b])):
            self.memory[2].labels[side], self.memory[2].number[side] = c.labels, c.count
        self.rows = index.rows(fill.a)
        self.others, self.starts = index.others(fill.b).by_distance
        self.both = int(fill.both)
        self.chunk = max(1, PAIRS // int(np.diff(self.starts).max()))

    def chunks(self, steps: int) -> range:
        """Return the first row of each call for positions with `steps` left; empty if there is none."""
        left = steps - self.rows.distance
        some = ((left >= 0) & (left < len(self.starts) - 1)).any()
        return range(0, len(self.rows.cells) if some else 0, self.chunk)

    def work_out(self, steps: int, first: int) -> None:
        """Compute one chunk of rows."""
        rows, others = self.rows, self.others
        last = min(first + self.chunk, len(rows.cells))
        self.kernel(
            *(*self.memory, rows.cells, rows.mask, rows.distance),
            *(others.cells, others.mask, self.starts, steps, self.both, first, last),
        )

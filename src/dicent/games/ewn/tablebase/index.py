"""The index of a tablebase: which positions are equivalent, and where each lies.

Three things make positions equivalent. The sides may swap, so a value is for the side to move. The board
may be reflected. And a side's numbers matter only by which rolls let which pieces move, now and
after losses. Sets of numbers that agree in this form one class, perhaps with the pieces in the
opposite order; in a symmetric class both orders agree.

A tablebase is a sequence of blocks, one for each pair of classes and side to move. A block has a row for each
arrangement of the larger side (of the mover if they are equal), up to symmetry, and
in it a place for each arrangement of the smaller side on the free cells. So a place is computed
without a search. Apart from the few arrangements that are their own reflections, no
position has two places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import perm

import numpy as np
import numpy.typing as npt

from dicent.game.binding import Bound
from dicent.games.ewn.tablebase import kernel

Ints = npt.NDArray[np.int64]
Key = tuple[tuple[tuple[tuple[int, ...], int], ...], tuple[tuple[int, int], ...]]  # of equivalent sets


@dataclass(frozen=True)
class LabelClass:
    """Equivalent sets of numbers; `labels` is one of them, a bit for each number."""

    count: int
    symmetric: bool
    labels: int


class Labels:
    """The classes of the sets of numbers that one side may have."""

    def __init__(self, faces: int, moved: Ints) -> None:
        self.faces = faces
        self.classes: list[LabelClass] = []
        sets = 1 << faces
        self.label_class = np.zeros(sets, np.int64)
        self.flipped = np.zeros(sets, np.int64)
        self.rolls = [_rolls(labels, faces, moved) for labels in range(sets)]
        for count in range(1, faces + 1):
            self._classify([labels for labels in range(1, sets) if labels.bit_count() == count])

    def _classify(self, sets: list[int]) -> None:
        """Classify the sets of one size; smaller sets come first."""
        keys = {labels: self._key(labels) for labels in sets}
        numbers: dict[object, int] = {}
        for labels in sets:
            key, mirrored = keys[labels], keys[_mirrored(labels, self.faces)]
            if min(key, mirrored) not in numbers:
                numbers[min(key, mirrored)] = len(self.classes)
                like = labels if key <= mirrored else _mirrored(labels, self.faces)
                self.classes.append(LabelClass(labels.bit_count(), key == mirrored, like))
            self.label_class[labels] = numbers[min(key, mirrored)]
            self.flipped[labels] = key > mirrored

    def _key(self, labels: int) -> Key:
        """Return what makes sets equivalent: rolls, and classes after the loss of each piece."""
        smaller = [labels & ~(1 << face) for face in range(self.faces) if labels >> face & 1]
        after = [(int(self.label_class[s]), int(self.flipped[s])) for s in smaller]
        return tuple(sorted(self.rolls[labels].items())), tuple(after)

    def of_count(self, count: int) -> list[int]:
        """Return the classes of sides with `count` pieces."""
        return [c for c, found in enumerate(self.classes) if found.count == count]


def _rolls(labels: int, faces: int, moved: Ints) -> Counter[tuple[int, ...]]:
    """Count the rolls that let each choice of pieces move; pieces are given by rank."""
    present = [face for face in range(faces) if labels >> face & 1]
    rolls: Counter[tuple[int, ...]] = Counter()
    for face in range(faces):
        movers = [int(piece) for piece in moved[labels, face] if piece >= 0]
        rolls[tuple(present.index(mover) for mover in movers)] += 1
    return rolls


def _mirrored(labels: int, faces: int) -> int:
    return sum(1 << (faces - 1 - face) for face in range(faces) if labels >> face & 1)


@dataclass(frozen=True)
class Arrangements:
    """Ways to place a side's pieces, with their cells as bits and how far they have to go."""

    cells: Ints  # [R, n]
    mask: Ints  # [R]
    distance: Ints  # [R]

    @cached_property
    def by_distance(self) -> tuple[Arrangements, Ints]:
        """The same sorted by distance, and where each distance begins."""
        order = np.argsort(self.distance, kind="stable")
        parts = Arrangements(self.cells[order], self.mask[order], self.distance[order])
        return parts, np.searchsorted(parts.distance, np.arange(int(self.distance.max()) + 2))


@dataclass(frozen=True)
class Fill:
    """Positions computed together: MAX's class in rows, MIN's in places."""

    a: int
    b: int
    both: bool


@dataclass(frozen=True)
class Part:
    """A pair of classes. Its values need no others but those of positions with fewer pieces."""

    name: str
    pieces: int
    start: int  # of its values, all of them in a row
    stop: int
    fills: tuple[Fill, ...]


class TablebaseIndex:
    """Arrays that locate positions of up to `pieces` pieces, and the parts of the tablebase."""

    def __init__(self, bound: Bound, pieces: int) -> None:
        module = bound.game.rules.module
        self.pieces = pieces
        self.size, self.cells = int(module.SIZE), int(module.CELLS)
        self.labels = Labels(int(module.PIECES), module.MOVED)
        self.most = min(int(module.PIECES), pieces - 1)  # pieces of one side
        self.parts: list[Part] = []
        classes = len(self.labels.classes)
        self._base = np.full((classes, classes, 2), -1, np.int64)
        self._width = np.zeros((classes, classes, 2), np.int64)
        self._corner_row = np.zeros(classes, np.int64)
        self._place_start = np.zeros(classes, np.int64)
        self._rows: dict[tuple[int, bool], Arrangements] = {}
        place = self._place_all()
        self.values = self._lay_out()
        self.arrays = self._arrays(bound, place)

    def rows(self, c: int) -> Arrangements:
        """Return the larger side's arrangements from its own view, in the order of the rows."""
        found = self.labels.classes[c]
        return self._rows[found.count, found.symmetric]

    def others(self, c: int) -> Arrangements:
        """Return the smaller side's arrangements; its target is cell 0."""
        found = self.labels.classes[c]
        cells = np.array(list(permutations(range(1, self.cells), found.count)), np.int64)
        if found.symmetric and found.count > 1:
            cells = cells[cells[:, 0] < cells[:, -1]]
        distance = (cells // self.size + cells % self.size).sum(axis=1)
        return Arrangements(cells, (1 << cells).sum(axis=1), distance)

    def _place_all(self) -> npt.NDArray[np.int32]:
        """Number every arrangement of a larger side, one list for each size and kind of class."""
        lists, start = [], 0
        starts: dict[tuple[int, bool], tuple[int, int]] = {}
        for c, found in enumerate(self.labels.classes):
            kind = found.count, found.symmetric
            if found.count > self.most:
                continue
            if kind not in starts:
                place, self._rows[kind] = self._place(*kind)
                on_corner = (self._rows[kind].cells == 0).any(axis=1)
                starts[kind] = start, int((~on_corner).sum())
                lists.append(place)
                start += len(place)
            self._place_start[c], self._corner_row[c] = starts[kind]
        return np.concatenate(lists)

    def _place(self, count: int, symmetric: bool) -> tuple[npt.NDArray[np.int32], Arrangements]:
        """Return the row of each arrangement, by its cells read as a number, and the reverse."""
        size, base = self.size, self.cells - 1  # nobody stands on the target, the last cell
        codes = np.arange(base**count)
        weights = base ** np.arange(count - 1, -1, -1)
        cells = codes[:, None] // weights % base
        reflected = cells % size * size + cells // size
        orders = [slice(None), slice(None, None, -1)] if symmetric else [slice(None)]
        plain = np.min([cells[:, order] @ weights for order in orders], axis=0)
        mirror = np.min([reflected[:, order] @ weights for order in orders], axis=0)
        least = np.minimum(plain, mirror)
        ordered = np.sort(cells, axis=1)
        legal = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        own = codes[legal & (least == codes)]
        on_corner = (cells[own] == 0).any(axis=1)
        own = own[np.argsort(on_corner, kind="stable")]
        row = np.zeros(len(codes), np.int64)
        row[own] = np.arange(len(own))
        place = (2 * row[least] + (mirror < plain)).astype(np.int32)
        distance = 2 * (size - 1) * count - (cells[own] // size + cells[own] % size).sum(axis=1)
        return place, Arrangements(cells[own], (1 << cells[own]).sum(axis=1), distance)

    def _lay_out(self) -> int:
        """Give every block its place; returns how many values there are."""
        start = 0
        for total in range(2, self.pieces + 1):
            for larger in range((total + 1) // 2, min(self.most, total - 1) + 1):
                for a, b, fills in self._pairs(larger, total - larger):
                    name = f"{larger} v {total - larger}, classes {a} and {b}"
                    stop = start
                    for fill in fills:
                        for mover in (1, 0) if fill.both else (1,):
                            self._base[fill.a, fill.b, mover] = stop
                            stop += self._block(fill.a, fill.b)
                    self.parts.append(Part(name, total, start, stop, fills))
                    start = stop
        return start

    def _pairs(self, larger: int, smaller: int) -> Iterator[tuple[int, int, tuple[Fill, ...]]]:
        for a in self.labels.of_count(larger):
            for b in self.labels.of_count(smaller):
                if larger > smaller:
                    yield a, b, (Fill(a, b, True),)
                elif a == b:
                    yield a, b, (Fill(a, b, False),)
                elif a < b:
                    yield a, b, (Fill(a, b, False), Fill(b, a, False))

    def _block(self, a: int, b: int) -> int:
        """Set the widths of a block's rows; returns its size."""
        larger, smaller = self.labels.classes[a], self.labels.classes[b]
        halves = 2 if smaller.symmetric and smaller.count > 1 else 1
        free = self.cells - 1 - larger.count
        self._width[a, b] = perm(free, smaller.count) // halves, perm(free + 1, smaller.count) // halves
        rows, corner = len(self.rows(a).cells), int(self._corner_row[a])
        return corner * int(self._width[a, b, 0]) + (rows - corner) * int(self._width[a, b, 1])

    def _arrays(self, bound: Bound, place: npt.NDArray[np.int32]) -> kernel.Index:
        labels, module = self.labels, bound.game.rules.module
        single = np.zeros((1 << labels.faces, labels.faces), np.float64)
        either = np.zeros_like(single)
        for s, rolls in enumerate(labels.rolls):
            for movers, count in rolls.items():
                if movers:
                    (single if len(movers) == 1 else either)[s, movers[0]] = count
        board = np.arange(self.cells)
        return kernel.Index(
            label_class=labels.label_class,
            flipped=labels.flipped,
            symmetric=np.array([c.symmetric for c in labels.classes], np.int64),
            single=single,
            either=either,
            place=place,
            place_start=self._place_start,
            corner_row=self._corner_row,
            width=self._width,
            base=self._base,
            reflection=board % self.size * self.size + board // self.size,
            step=np.ascontiguousarray(module.STEP, np.int64),
            target=np.ascontiguousarray(module.TARGET, np.int64),
            faces=labels.faces,
            pieces=self.pieces,
        )


def new_position(bound: Bound) -> kernel.Position:
    """Return memory in which one thread looks positions up."""
    pieces = int(bound.game.rules.module.PIECES)
    return kernel.Position(
        cells=np.zeros((2, pieces), np.int64),
        labels=np.zeros(2, np.int64),
        number=np.zeros(2, np.int64),
        larger=np.zeros(pieces, np.int64),
        smaller=np.zeros(pieces, np.int64),
        best=np.zeros(pieces, np.float64),
    )

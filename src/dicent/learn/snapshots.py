"""Snapshots: when a run saves copies of its network, by seconds and by evaluations.

Several runs can then be compared after equal times and after equal evaluations. The points of both grids grow
by the same factor, so that few files cover a long run.
"""

from __future__ import annotations

import math
from pathlib import Path

from dicent.learn.run_state import RunState

FOLDER = "snapshots"
FACTOR = math.sqrt(2.0)  # from one point to the next
SECONDS, EVALUATIONS = "seconds", "evaluations"


class Snapshots:
    """The points of a run at which a snapshot is due."""

    def __init__(self, seconds: float | None, evaluations: float | None) -> None:
        first = {SECONDS: seconds, EVALUATIONS: evaluations}
        self.first = {unit: float(point) for unit, point in first.items() if point is not None}
        self.reached = dict.fromkeys(self.first, 0)  # points of each grid

    def begin(self, state: RunState) -> None:
        """Start, or resume, where the run is."""
        self.reached = {unit: self._count(unit, state) for unit in self.first}

    def due(self, state: RunState) -> list[str]:
        """Return the files to write now: of each grid the last point reached since the last call."""
        names = []
        for unit in self.first:
            count = self._count(unit, state)
            if count > self.reached[unit]:
                self.reached[unit] = count
                names.append(f"{FOLDER}/{file_name(unit, self.first[unit] * FACTOR ** (count - 1))}")
        return names

    def _count(self, unit: str, state: RunState) -> int:
        """Return how many points of a grid the run has reached."""
        done: float = getattr(state, unit) / self.first[unit]
        return 0 if done < 1 else 1 + int(math.log(done) / math.log(FACTOR) + 1e-9)


def file_name(unit: str, point: float) -> str:
    """Return the name of a snapshot."""
    return f"{unit}-{point:.0f}.safetensors"


def snapshots(run: Path, unit: str) -> dict[int, Path]:
    """Return the snapshots of a run folder by their points, in order."""
    found = (run / FOLDER).glob(f"{unit}-*.safetensors")
    return dict(sorted((int(path.stem.removeprefix(f"{unit}-")), path) for path in found))

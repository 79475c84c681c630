"""The progress of a solver, for those who wait."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SolveProgress:
    """The progress of a solver."""

    states: int
    share: float  # of the stage that is done, an estimate; NaN if nothing is known
    stage: str = "lines of play"


Report = Callable[[SolveProgress], object]

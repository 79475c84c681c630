"""Status: how a run stands, for whoever watches it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Status:
    """Counters and measurements of a run; the same object for as long as it lasts."""

    progress: float = 0.0
    seconds: float = 0.0
    matches: int = 0
    evaluations: int = 0
    states: int = 0  # learned, each as often as it was used
    phases: int = 0
    loss: float = math.nan
    evaluations_per_second: float = 0.0  # lately, while self-play ran
    self_play_seconds: float = 0.0
    learning_seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)  # against the ladder, as measured last
    exactness: dict[str, float] = field(default_factory=dict)


Watch = Callable[[Status], object]

"""Status: a snapshot of a run for observers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# States of a worker. It waits while other programs use its machine; a slot whose workers fail backs off.
WAITING, STARTING, PLAYING, FAILED = "waiting", "starting", "playing", "failed"
LEFT = "left"  # the workers on machines that have left the cluster, counted together


@dataclass(frozen=True)
class WorkerStatus:
    """The status of one worker of a cluster."""

    node: str  # the address of its machine
    device: str  # "4 cores", "cuda"
    games: int = 0  # finished games
    evaluations_per_second: float = 0.0
    lag: int = 0  # learning phases by which the network of its last answer was behind
    restarts: int = 0  # of the worker in this slot
    rejected: int = 0  # answers that made no sense, or came too late
    bytes: int = 0  # of the games that it has sent
    state: str = WAITING


@dataclass(frozen=True)
class Status:
    """Counters and measurements of a run at one moment."""

    progress: float = 0.0  # share of the budget that is spent
    seconds: float = 0.0
    games: int = 0
    cut_games: int = 0  # of these, games that were too long and have no result
    evaluations: int = 0
    states: int = 0  # learned, each counted as often as it was used
    phases: int = 0
    loss: float = math.nan
    evaluations_per_second: float = 0.0  # mean of self-play
    self_play_seconds: float = 0.0
    learning_seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)  # against fixed opponents, as measured last
    exactness: dict[str, float] = field(default_factory=dict)
    workers: tuple[WorkerStatus, ...] = ()  # of a cluster


Watch = Callable[[Status], object]

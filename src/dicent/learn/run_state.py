"""RunState: the counters, clocks and positions of a run that its checkpoints keep."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.learn import old_names
from dicent.learn.status import Status

FORMAT = 3
OLD_FORMAT = 2  # of version 0.1, with other names
MOST_RESULTS = 5_000  # values with their results, for the map from values to win probabilities
METRICS, RECORDS = "metrics.jsonl", "games.jsonl"


def _no_lines() -> dict[str, int]:
    return {METRICS: 0, RECORDS: 0}


@dataclass
class RunState:
    """How far a run has come, over all its sessions."""

    games: int = 0  # finished games
    cut_games: int = 0  # finished games that were too long and have no result
    evaluations: int = 0
    moves: int = 0  # moves that self-play has searched
    iterations: int = 0  # of the searches of these moves: descents or simulations
    depths: int = 0  # the sum of the depths that these searches reached
    game_seconds: float = 0.0  # the sum of the durations of the games that have ended
    states: int = 0  # learned, each counted as often as it was used
    phases: int = 0
    loss: float = math.nan  # of the latest phase
    seconds: float = 0.0  # wall time
    self_play_seconds: float = 0.0
    learning_seconds: float = 0.0
    next_games: list[int] = field(default_factory=list)  # the number of the next game, for each group
    games_since_update: int = 0
    measurements: int = 0
    scores: dict[str, float] = field(default_factory=dict)  # against fixed opponents, as measured last
    exactness: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=_no_lines)  # written to each file
    pending: tuple[float, float] | None = None  # loss and seconds of a phase that self-play does not use yet
    results: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=MOST_RESULTS))
    finished: bool = False

    @property
    def evaluations_per_second(self) -> float:
        """Mean speed of self-play."""
        return self.evaluations / max(1e-9, self.self_play_seconds)

    def progress(self, budget: Mapping[str, float], reserved_seconds: float = 0.0) -> float:
        """Return the share of the budget that is spent; the run ends at 1."""
        spent = {
            "minutes": (self.seconds + reserved_seconds) / 60,
            "games": self.games,
            "evaluations": self.evaluations,
        }
        return max(spent[name] / limit for name, limit in budget.items())

    def counters(self) -> dict[str, float]:
        """Return the counters that each line of the metrics carries."""
        return {
            "phase": self.phases,
            "games": self.games,
            "cut_games": self.cut_games,
            "evaluations": self.evaluations,
            "moves": self.moves,
            "iterations": self.iterations,
            "depths": self.depths,
            "game_seconds": round(self.game_seconds, 3),
            "states": self.states,
            "seconds": round(self.seconds, 3),
            "evaluations_per_second": round(self.evaluations_per_second),
        }

    def status(self, progress: float) -> Status:
        """Return a snapshot for observers."""
        return Status(
            progress=progress,
            seconds=self.seconds,
            games=self.games,
            cut_games=self.cut_games,
            evaluations=self.evaluations,
            states=self.states,
            phases=self.phases,
            loss=self.loss,
            evaluations_per_second=self.evaluations_per_second,
            self_play_seconds=self.self_play_seconds,
            learning_seconds=self.learning_seconds,
            scores=dict(self.scores),
            exactness=dict(self.exactness),
        )

    def to_dict(self) -> JsonObject:
        """Return everything for `state.json`."""
        return {**vars(self), "results": list(self.results)}


def read_state(saved: JsonObject) -> tuple[RunState, dict[str, str] | None]:
    """Return the state in a `state.json`, and the names of the run's components if the file has them.

    Raise only a DicentError: the file may come from anywhere.
    """
    try:
        state, components = _read(saved)
        _check(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, DicentError):
            raise
        raise DicentError(f"the state of the checkpoint is damaged: {error!r:.80}") from error
    return state, components


def _check(state: RunState) -> None:
    """Raise a TypeError for a field that has another type than in a new run."""
    for name, usual in vars(RunState()).items():
        value = getattr(state, name)
        kinds = (int, float) if isinstance(usual, float) else () if usual is None else (type(usual),)
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if (kinds and type(value) not in kinds) or any(type(item) not in (int, float) for item in items):
            raise TypeError(f"{name} is {str(value)[:40]}")
    if state.lines.keys() != _no_lines().keys():
        raise TypeError(f"lines are of {', '.join(state.lines)[:40]}")
    if state.pending is not None:
        _, _ = map(float, state.pending)


def _read(saved: JsonObject) -> tuple[RunState, dict[str, str] | None]:
    if saved["format"] == OLD_FORMAT:
        found = old_names.translate({**saved, **saved["counters"]}, old_names.STATE)
        found = {f.name: found[f.name] for f in dataclasses.fields(RunState) if f.name in found}
        components = saved.get("own")
    elif saved["format"] == FORMAT:
        found, components = dict(saved["run"]), saved["components"]
    else:
        raise DicentError(
            f"checkpoint has format {saved['format']!r}; this version reads {OLD_FORMAT} and {FORMAT}"
        )
    results = ((float(value), int(result)) for value, result in found["results"])
    found["results"] = deque(results, MOST_RESULTS)
    found["pending"] = None if found["pending"] is None else tuple(found["pending"])
    return RunState(**found), components


class GameNumbers(Iterator[int]):
    """The game numbers of one group: every n-th of n groups, so that groups need not coordinate.

    `next_games` has the next number of each group; it is advanced in place.
    """

    def __init__(self, next_games: list[int], group: int) -> None:
        self.next_games, self.group = next_games, group

    def __next__(self) -> int:
        number = self.next_games[self.group]
        self.next_games[self.group] += len(self.next_games)
        return number

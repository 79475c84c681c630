"""Scale: the sizes and budgets of a reproduction; Arm: a search and a terminal value to train with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dicent.errors import DicentError
from dicent.game.registry import PAPER_GAME
from dicent.learn.config import PRESETS, Config, config
from dicent.learn.config_sections import Setting
from dicent.search.limit import Limit

SEARCHES = {
    "determinized": "Descent with determinization",
    "expectiminimax": "Expectiminimax",
    "descent": "Descent Expectiminimax",
}
TERMINALS = ("gain", "depth")


@dataclass(frozen=True)
class Arm:
    """A search and a terminal value to train with; each training process is one sample of its arm."""

    search: str
    terminal: str = "gain"

    @property
    def name(self) -> str:
        """Return the short name, for folders and players."""
        return "alphazero" if self.search == "puct" else f"{self.search}-{self.terminal}"

    @property
    def title(self) -> str:
        """Return the name in reports."""
        if self.search == "puct":
            return "AlphaZero"
        return f"{SEARCHES[self.search]}, {'with' if self.terminal == 'depth' else 'without'} depth"


ARMS = tuple(Arm(search, terminal) for search in SEARCHES for terminal in TERMINALS)
ALPHAZERO = Arm("puct")


@dataclass(frozen=True)
class Run:
    """One training process."""

    arm: Arm
    number: int  # in its arm, from 1
    seed: int

    @property
    def name(self) -> str:
        """Return the name of its folder, and of its network in the matches."""
        return f"{self.arm.name}-{self.number}"


@dataclass(frozen=True)
class Scale:
    """The sizes and budgets of a reproduction; all other settings are the paper's."""

    name: str
    processes: int  # training processes for each of the six arms
    alphazero_processes: int
    games: int  # of each match between two networks
    play: Limit  # of Expectiminimax, for a move in a match
    simulations: int  # of AlphaZero, for a move in a match
    seconds: float | None = None  # of training, for each process
    self_play_games: int | None = None  # of each process; a budget that does not depend on the machine
    network: dict[str, Setting] = field(default_factory=dict)  # of all arms
    descent: dict[str, Setting] = field(default_factory=dict)  # settings beyond the preset `paper`
    alphazero: dict[str, Setting] = field(default_factory=dict)  # settings beyond the preset `alphazero`
    # Of a move in learning, by search: evaluations (a whole number), or seconds (any other).
    thinking: Mapping[str, float] = field(default_factory=dict)
    at_once: int = 1  # processes of an arm that learn at the same time, each with its share of the cores

    def __post_init__(self) -> None:
        if self.processes < 1 or self.alphazero_processes < 1:
            raise DicentError(
                "every arm needs at least one process "
                f"(got {self.processes} and {self.alphazero_processes} for AlphaZero)"
            )
        if self.games < 2 or self.games % 2:
            raise DicentError(
                f"games must be an even number, for pairs with sides swapped (got {self.games})"
            )
        if self.at_once < 1:
            raise DicentError(f"at_once must be 1 or more (got {self.at_once})")

    def runs(self, seed: int) -> list[Run]:
        """Return all training processes, each with its own seed."""
        counts = {**dict.fromkeys(ARMS, self.processes), ALPHAZERO: self.alphazero_processes}
        each = [(arm, number) for arm, count in counts.items() for number in range(1, count + 1)]
        return [Run(arm, number, 1000 * seed + i) for i, (arm, number) in enumerate(each)]

    def config(self, run: Run) -> Config:
        """Return the settings of a training process."""
        minutes = None if self.seconds is None else self.seconds / 60
        budget: dict[str, Setting] = {"minutes": minutes, "games": self.self_play_games}
        base = config("paper", search=run.arm.search, terminal=run.arm.terminal, **self.network)
        more = self.descent
        if run.arm == ALPHAZERO:
            base, more = config("alphazero", **self.network), self.alphazero
        given = {name: value for name, value in budget.items() if value is not None}
        return base.replace(**{**more, **given, **self._thinking(run)}, game=PAPER_GAME, seed=run.seed)

    def _thinking(self, run: Run) -> dict[str, Setting]:
        """Return the settings of thinking per move of a training process."""
        budget = self.thinking.get(run.arm.search)
        if budget is None:
            return {}
        if isinstance(budget, int):
            return {"evaluations_per_move": budget}
        return {"seconds_per_move": budget, "evaluations_per_move": None}

    def slots(self, runs: Sequence[Run]) -> list[list[Run]]:
        """Return the runs in the order of learning, those of a slot at the same time.

        A slot has runs of one arm: no arm takes time from another. All first slots of the arms come before
        all second ones, so that a slow phase of the machine affects every arm.
        """
        slots: dict[tuple[int, Arm], list[Run]] = {}
        for run in runs:
            slots.setdefault(((run.number - 1) // self.at_once, run.arm), []).append(run)
        return [slots[key] for key in sorted(slots, key=lambda key: key[0])]

    def replace(self, **changes: Any) -> Scale:
        """Return a copy with other sizes; None leaves a size unchanged."""
        return dataclasses.replace(self, **{k: v for k, v in changes.items() if v is not None})


FEW_FILES: dict[str, Setting] = {"keep_checkpoints": 1, "record_every": 1000}  # there are many runs
CONCURRENT: dict[str, Setting] = {"waves": False, "overlap": True}  # self-play does not wait for learning
# With these budgets a move costs about 124 evaluations in every arm: Descent Expectiminimax finishes its last
# descent, and PUCT meets ended games, which the network need not evaluate.
MATCHED = {"descent": 60, "determinized": 120, "expectiminimax": 125, "puct": 135}
SEVERAL_LEAVES: dict[str, Setting] = {"leaves": 8}  # fills the batches of AlphaZero
# The whole time budget goes to training.
UNDISTURBED: dict[str, Setting] = {"measurements": 0, "save_games_in_flight": False}
ONE_CORE: dict[str, Setting] = {
    "waves": False,
    "overlap": False,
    "threads": 1,
    "games_at_once": 16,
    "games_per_update": 4,
    "snapshot_evaluations": 100_000,
    **UNDISTURBED,
}
# The paper's time per action. Its rollouts of AlphaZero, 1,600 per move, are for matches.
EQUAL_SECONDS = dict.fromkeys((*SEARCHES, "puct"), 1.5)
RARELY: dict[str, Setting] = {"snapshot_evaluations": 10_000_000}
SMALL: dict[str, Setting] = {"network": "residual", "filters": 16, "blocks": 2, "hidden": 128}
FULL: dict[str, Setting] = {"network": "residual", "filters": 83, "blocks": 4, "hidden": 425}
PADDED = {name: PRESETS["gpu"][name] for name in ("width", "hidden_width", "device")}

SCALES = {
    "smoke": Scale(
        "smoke",
        processes=1,
        alphazero_processes=1,
        games=10,
        play=Limit(depth=2),
        simulations=10,
        seconds=1.5,
        network={"network": "residual", "filters": 8, "blocks": 1, "hidden": 32},
        descent={
            **FEW_FILES,
            **CONCURRENT,
            "snapshot_evaluations": 1000,
            "batch": 256,
            "games_at_once": 32,
            "games_per_update": 8,
            "measurements": 1,
            "ladder_games": 4,
        },
        alphazero={
            **FEW_FILES,
            **SEVERAL_LEAVES,
            "snapshot_evaluations": 1000,
            "games_at_once": 32,
            "measurements": 1,
            "ladder_games": 4,
        },
        thinking=MATCHED,
    ),
    "small": Scale(
        "small",
        processes=4,
        alphazero_processes=3,
        games=100,
        play=Limit(depth=3),
        simulations=60,
        seconds=220.0,
        network=SMALL,
        descent={
            **FEW_FILES,
            **CONCURRENT,
            "snapshot_evaluations": 250_000,
            "batch": 512,
            "games_at_once": 12,
            "games_per_update": 4,
            "measurements": 4,
            "ladder_games": 100,
        },
        alphazero={
            **FEW_FILES,
            **SEVERAL_LEAVES,
            "snapshot_evaluations": 250_000,
            "games_at_once": 12,
            "games_per_update": 4,
            "measurements": 4,
            "ladder_games": 100,
        },
        thinking=MATCHED,
    ),
    "gpu": Scale(
        "gpu",
        processes=4,
        alphazero_processes=4,
        games=60,
        play=Limit(depth=3),
        simulations=60,
        seconds=80.0,
        network={**FULL, **PADDED},
        descent={
            **FEW_FILES,
            **CONCURRENT,
            "snapshot_evaluations": 4_000_000,
            "replay_games": 320,
            "batch": 2048,
            "games_at_once": 192,  # so few that a game spans a small share of the run
            "groups": 3,
            "games_per_update": 32,
            **UNDISTURBED,
        },
        alphazero={
            **FEW_FILES,
            **SEVERAL_LEAVES,
            "snapshot_evaluations": 4_000_000,
            "replay_states": 400_000,
            "batch": 1024,
            "games_at_once": 192,
            "groups": 3,
            "games_per_update": 32,
            **UNDISTURBED,
        },
        thinking=MATCHED,
        at_once=4,
    ),
    "cpu": Scale(
        "cpu",
        processes=4,
        alphazero_processes=4,
        games=60,
        play=Limit(depth=3),
        simulations=60,
        seconds=75.0,
        network={"network": "dense", "hidden": 128, "layers": 4, "device": "cpu"},
        descent={
            **FEW_FILES,
            **ONE_CORE,
            "replay_games": 100,
            "batch": 512,
        },
        alphazero={
            **FEW_FILES,
            **ONE_CORE,
            **SEVERAL_LEAVES,
            "replay_states": 50_000,
            "batch": 512,
        },
        thinking=MATCHED,
        at_once=2,
    ),
    "paper": Scale(
        "paper",
        processes=4,
        alphazero_processes=3,
        games=4,
        play=Limit(time=1.5),
        simulations=1600,
        seconds=30 * 24 * 3600.0,
        network=FULL,
        descent={**FEW_FILES, **RARELY, "measurements": 30},
        alphazero={**FEW_FILES, **RARELY, "measurements": 30},
        thinking=EQUAL_SECONDS,
    ),
}


def scale_of(name: str) -> Scale:
    """Return the scale of that name."""
    if name not in SCALES:
        raise DicentError(f"scale must be one of {', '.join(SCALES)} (got {name!r})")
    return SCALES[name]

"""Scale: the sizes and budgets of a reproduction; Arm: a search and a terminal value to train with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from dicent.errors import DicentError
from dicent.learn.config import PRESETS, Config, config
from dicent.learn.config_sections import Setting
from dicent.search.limit import Limit

GAME = "ewn-paper"
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
        return base.replace(**more, **budget, game=GAME, seed=run.seed)

    def replace(self, **changes: Any) -> Scale:
        """Return a copy with other sizes; None leaves a size unchanged."""
        return dataclasses.replace(self, **{k: v for k, v in changes.items() if v is not None})


FEW_FILES: dict[str, Setting] = {"keep_checkpoints": 1, "record_every": 1000}  # there are many runs
CONCURRENT: dict[str, Setting] = {"waves": False, "overlap": True}  # self-play does not wait for learning
# The whole time budget goes to training.
UNDISTURBED: dict[str, Setting] = {"measurements": 0, "save_games_in_flight": False}
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
            "evaluations_per_move": 30,
            "batch": 256,
            "games_at_once": 32,
            "games_per_update": 8,
            "measurements": 1,
            "ladder_games": 4,
        },
        alphazero={
            **FEW_FILES,
            "evaluations_per_move": 30,
            "games_at_once": 32,
            "measurements": 1,
            "ladder_games": 4,
        },
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
            "evaluations_per_move": 60,
            "batch": 512,
            "games_at_once": 128,
            "games_per_update": 16,
            "measurements": 4,
            "ladder_games": 100,
        },
        alphazero={**FEW_FILES, "evaluations_per_move": 60, "measurements": 4, "ladder_games": 100},
    ),
    "gpu": Scale(
        "gpu",
        processes=4,
        alphazero_processes=4,
        games=160,
        play=Limit(depth=3),
        simulations=60,
        seconds=45.0,
        network={**FULL, **PADDED},
        descent={
            **FEW_FILES,
            **CONCURRENT,
            "evaluations_per_move": 60,
            "replay_games": 640,
            "batch": 2048,
            "games_at_once": 2048,  # few, so that hundreds end after seconds and learning can begin
            "groups": 3,
            "games_per_update": 64,
            **UNDISTURBED,
        },
        alphazero={
            **FEW_FILES,
            "evaluations_per_move": 60,
            "replay_states": 400_000,
            "batch": 1024,
            "games_at_once": 2048,
            "groups": 2,
            "games_per_update": 64,
            **UNDISTURBED,
        },
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
        descent={**FEW_FILES, "measurements": 30},
        alphazero={**FEW_FILES, "evaluations_per_move": 1600, "measurements": 30},
    ),
}


def scale_of(name: str) -> Scale:
    """Return the scale of that name."""
    if name not in SCALES:
        raise DicentError(f"scale must be one of {', '.join(SCALES)} (got {name!r})")
    return SCALES[name]

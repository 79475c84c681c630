"""Scale: how large a reproduction of the paper is; and its arms, each a way of learning."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from dicent.errors import DicentError
from dicent.learn.config import PRESETS, Config
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
    """A way of learning, of which every process of the arm is one try."""

    search: str
    terminal: str = "gain"

    @property
    def name(self) -> str:
        """Short, for folders and players."""
        return "alphazero" if self.search == "puct" else f"{self.search}-{self.terminal}"

    @property
    def title(self) -> str:
        """For people."""
        if self.search == "puct":
            return "AlphaZero"
        return f"{SEARCHES[self.search]}, {'with' if self.terminal == 'depth' else 'without'} depth"


ARMS = tuple(Arm(search, terminal) for search in SEARCHES for terminal in TERMINALS)
ALPHAZERO = Arm("puct")


@dataclass(frozen=True)
class Run:
    """One process of learning."""

    arm: Arm
    number: int  # in its arm, from 1
    seed: int

    @property
    def name(self) -> str:
        """Its folder, and its network's name in the matches."""
        return f"{self.arm.name}-{self.number}"


@dataclass(frozen=True)
class Scale:
    """The sizes and budgets of a reproduction; everything else is as in the paper."""

    name: str
    processes: int  # of learning, to each of the six arms
    alphazero_processes: int
    games: int  # between two networks
    play: Limit  # of Expectiminimax, for a move in a match
    simulations: int  # of AlphaZero, for a move in a match
    seconds: float | None = None  # of learning, to each process
    matches: int | None = None  # of learning; in place of seconds, so that nothing depends on the machine
    network: dict[str, Any] = field(default_factory=dict)  # of all arms
    descent: dict[str, Any] = field(default_factory=dict)  # settings beyond the preset `paper`
    alphazero: dict[str, Any] = field(default_factory=dict)  # settings beyond the preset `alphazero`

    def __post_init__(self) -> None:
        if self.processes < 1 or self.alphazero_processes < 1:
            raise DicentError("every arm needs at least one process")
        if self.games < 2 or self.games % 2:
            raise DicentError(
                f"games come in pairs with sides swapped: give an even number, not {self.games}"
            )

    def runs(self, seed: int) -> list[Run]:
        """All processes of learning, each with a seed of its own."""
        counts = {**dict.fromkeys(ARMS, self.processes), ALPHAZERO: self.alphazero_processes}
        each = [(arm, number) for arm, count in counts.items() for number in range(1, count + 1)]
        return [Run(arm, number, 1000 * seed + i) for i, (arm, number) in enumerate(each)]

    def config(self, run: Run) -> Config:
        """The settings of a process of learning."""
        minutes = None if self.seconds is None else self.seconds / 60
        own = {"game": GAME, "seed": run.seed, "minutes": minutes, "matches": self.matches}
        if run.arm == ALPHAZERO:
            return Config(**{**PRESETS["alphazero"], **self.network, **self.alphazero, **own})
        arm = {"search": run.arm.search, "terminal": run.arm.terminal}
        return Config(**{**PRESETS["paper"], **self.network, **self.descent, **own, **arm})

    def replace(self, **changes: Any) -> Scale:
        """The same with some sizes changed; None leaves one as it is."""
        return dataclasses.replace(self, **{k: v for k, v in changes.items() if v is not None})


KEPT = {"keep_checkpoints": 1, "record_every": 1000}  # many runs, so that each must be small
TOGETHER = {"waves": False, "overlap": True}  # matches start and end when they like; learning beside them
UNDISTURBED = {"measurements": 0, "save_matches": False}  # where seconds count, all of them go to learning
SMALL = {"network": "residual", "filters": 16, "blocks": 2, "hidden": 128}
FULL = {"network": "residual", "filters": 83, "blocks": 4, "hidden": 425}
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
            **KEPT,
            **TOGETHER,
            "evaluations_per_move": 30,
            "batch": 256,
            "at_once": 32,
            "matches_per_update": 8,
            "measurements": 1,
            "ladder_games": 4,
        },
        alphazero={**KEPT, "evaluations_per_move": 30, "at_once": 32, "measurements": 1, "ladder_games": 4},
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
            **KEPT,
            **TOGETHER,
            "evaluations_per_move": 60,
            "batch": 512,
            "at_once": 128,
            "matches_per_update": 16,
            "measurements": 4,
            "ladder_games": 100,
        },
        alphazero={**KEPT, "evaluations_per_move": 60, "measurements": 4, "ladder_games": 100},
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
            **KEPT,
            **TOGETHER,
            "evaluations_per_move": 60,
            "replay_matches": 640,
            "batch": 2048,
            "at_once": 2048,  # few enough that hundreds are over after seconds, and learning can begin
            "groups": 3,
            "matches_per_update": 64,
            **UNDISTURBED,
        },
        alphazero={
            **KEPT,
            "evaluations_per_move": 60,
            "replay_states": 400_000,
            "batch": 1024,
            "at_once": 2048,
            "groups": 2,
            "matches_per_update": 64,
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
        descent={**KEPT, "measurements": 30},
        alphazero={**KEPT, "evaluations_per_move": 1600, "measurements": 30},
    ),
}


def scale_of(name: str) -> Scale:
    """The scale of that name."""
    if name not in SCALES:
        raise DicentError(f"there is no scale {name!r}; possible are {', '.join(SCALES)}")
    return SCALES[name]

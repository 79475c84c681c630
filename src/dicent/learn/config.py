"""Config: every setting of a training run, as flags, as `config.toml`, and in Python."""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_type_hints

from dicent.errors import DicentError

BUDGETS = ("minutes", "matches", "evaluations")
CHOICES = {
    "search": ("descent", "unbounded", "expectiminimax", "determinized", "puct"),
    "data": ("tree", "root", "terminal"),
    "selection": ("ordinal", "epsilon-greedy", "softmax"),
    "schedule": ("annealed", "drawn"),
    "terminal": ("gain", "depth", "mix", "score"),
    "replay": ("smooth", "plain"),
    "network": ("residual", "dense"),
    "device": ("auto", "cpu", "cuda"),
}


@dataclass(frozen=True)
class Config:
    """The settings of a run. The defaults are the preset `laptop`."""

    game: str = "ewn"  # the game's name, or its file
    seed: int = 0  # same seed, same run, where the budget is in matches or evaluations
    minutes: float | None = None  # budget: wall time in all
    matches: int | None = None  # budget: matches of self-play
    evaluations: int | None = None  # budget: states that the network judges in self-play

    search: str = "descent"  # descent, unbounded, expectiminimax, determinized, or puct (AlphaZero)
    completion: bool = True  # prove what can be proved, and never visit it again
    evaluations_per_move: int = 60  # what a search may spend (simulations for puct)
    whole_descents: bool = False  # let the last descent of a move go on to its end, whatever it spends
    data: str = "tree"  # what is learned of a match: its whole tree, its root states, its result (terminal)
    selection: str = "ordinal"  # law of action selection: ordinal, epsilon-greedy, softmax
    random_starts: float = 0.0  # share of matches that begin anywhere, as the game can, or after random plies
    schedule: str = "drawn"  # exploitation: drawn afresh for each move, or annealed over the budget
    terminal: str = "gain"  # value of finished games: gain, depth, mix, score
    horizon: int | None = None  # usual maximum of plies, for depth and mix; by default the game's
    mix_weight: float = 0.1  # weight of depth in mix

    replay: str = "plain"  # smooth (by matches) or plain (a ring of states)
    replay_matches: int = 100  # memory of smooth replay
    replay_states: int = 200_000  # memory of plain replay
    duplication: float = 2.0  # how often each state is used on average
    batch: int = 512  # states to a step of Adam
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5  # reached evenly, at the end of the budget
    weight_decay: float = 0.0
    symmetries: bool = True  # show states in the images of the game's symmetries
    pretraining: int = 0  # random games whose last states are learned first

    network: str = "dense"  # residual (the paper's) or dense
    filters: int = 32  # of residual networks
    blocks: int = 2
    hidden: int = 128  # units of a hidden layer
    layers: int = 4  # of dense networks
    width: int | None = None  # filters padded to this number, where the hardware likes it
    hidden_width: int | None = None  # hidden units of residual networks, likewise

    at_once: int = 128  # matches that advance together
    groups: int = 1  # parts that take turns, so that search and evaluation overlap
    waves: bool = False  # matches start and end together, so that each keeps the network it started with
    matches_per_update: int = 16  # finished matches to a learning phase
    overlap: bool = True  # learn beside self-play; the new weights come with the next phase

    exploration: float = 1.25  # of puct, as are the following
    noise: float = 0.25  # share of the root's priors
    alpha: float = 0.3  # parameter of that noise
    temperature: float = 1.0  # tau: actions are chosen by visits to the power of 1 / tau

    device: str = "auto"  # cpu, cuda, or auto
    threads: int | None = None  # that search; by default as many as suits the machine
    measurements: int = 5  # how often the strength is estimated during the run
    ladder_games: int = 60  # games against each player of the ladder, each time
    tensorboard: bool = False  # write the metrics for TensorBoard too
    record_every: int = 100  # matches of which one is kept as a record
    checkpoint_seconds: float = 60.0
    keep_checkpoints: int = 3
    save_matches: bool = True  # checkpoints hold replay and matches in flight; else a stop costs these

    def __post_init__(self) -> None:
        hints = get_type_hints(Config)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            _check_type(field.name, value, hints[field.name])
            _check_range(field.name, value)

    @property
    def budget(self) -> dict[str, float]:
        """The parts of the budget that are set; whichever is reached first ends the run."""
        return {name: getattr(self, name) for name in BUDGETS if getattr(self, name) is not None}

    def replace(self, **changes: Any) -> Config:
        """The same with some settings changed."""
        return dataclasses.replace(self, **changes)

    def toml(self) -> str:
        """The text of `config.toml`; what is not set is left out."""
        lines = [
            f"{f.name} = {_toml_value(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if getattr(self, f.name) is not None
        ]
        return "\n".join(lines) + "\n"


PRESETS: dict[str, dict[str, Any]] = {
    "laptop": {},
    "paper": {  # one match at a time, and the paper's reading of everything
        "game": "ewn-paper",
        "completion": False,
        "evaluations_per_move": 2000,
        "whole_descents": True,
        "schedule": "annealed",
        "replay": "smooth",
        "duplication": 3.0,
        "batch": 3000,
        "final_learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "network": "residual",
        "filters": 83,
        "blocks": 4,
        "hidden": 425,
        "at_once": 1,
        "matches_per_update": 1,
        "waves": True,
        "overlap": False,
    },
    "alphazero": {  # root states only, so each is used more often
        "search": "puct",
        "evaluations_per_move": 60,
        "temperature": 0.5,
        "duplication": 30.0,
        "batch": 256,
        "at_once": 128,
    },
    "gpu": {
        "evaluations_per_move": 100,
        "random_starts": 0.5,
        "replay_states": 8_000_000,
        "duplication": 1.5,
        "batch": 4096,
        "network": "residual",
        "filters": 83,
        "width": 96,
        "blocks": 4,
        "hidden": 425,
        "hidden_width": 432,
        "at_once": 16384,
        "groups": 16,
        "matches_per_update": 1024,
        "device": "cuda",
        "ladder_games": 200,
    },
}


def preset(name: str) -> Config:
    """The settings of a preset: laptop, paper, alphazero or gpu."""
    if name not in PRESETS:
        raise DicentError(f"there is no preset {name!r}; possible are {', '.join(PRESETS)}")
    return Config(**PRESETS[name])


def read_config(path: Path) -> Config:
    """The settings in a `config.toml`."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DicentError(f"{path} is not TOML: {error}") from error
    return config_from(given, str(path))


def config_from(given: dict[str, Any], where: str) -> Config:
    """The settings that a mapping holds; `where` it is from is told in errors."""
    known = [f.name for f in dataclasses.fields(Config)]
    for key in given:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise DicentError(f"{where}: there is no setting {key!r}{hint}")
    try:
        return Config(**given)
    except DicentError as error:
        raise DicentError(f"{where}: {error}") from error


def _toml_value(value: object) -> str:
    """JSON, but for signs that TOML escapes otherwise."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_type(name: str, value: object, hint: Any) -> None:
    allowed: tuple[type, ...] = getattr(hint, "__args__", (hint,))
    if float in allowed and type(value) is int:
        return
    if type(value) not in allowed:
        wanted = " or ".join(t.__name__ for t in allowed if t is not NoneType)
        raise DicentError(f"{name} is {value!r}, but it should be {wanted}")


def _check_range(name: str, value: Any) -> None:
    if name in CHOICES and value not in CHOICES[name]:
        raise DicentError(f"{name} is {value!r}; possible are {', '.join(CHOICES[name])}")
    if isinstance(value, str | bool) or value is None:
        return
    zero = (
        "seed",
        "random_starts",
        "weight_decay",
        "pretraining",
        "noise",
        "exploration",
        "mix_weight",
        "measurements",
        "ladder_games",
        "blocks",
    )
    if not value > 0 and not (name in zero and value == 0):
        raise DicentError(f"{name} is {value}; it must be {'0 or more' if name in zero else 'positive'}")
    if not value < float("inf") or (name in ("noise", "random_starts") and value > 1):
        raise DicentError(f"{name} is {value}, which is too large")

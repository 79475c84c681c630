"""The sections of a run's settings, one frozen dataclass per concern, with the checks of single settings."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import NoneType
from typing import TypeVar, get_args, get_type_hints

from dicent.errors import DicentError
from dicent.learn.allowed_values import AUTO, CHOICES

Setting = str | int | float | bool | None
MAY_BE_ZERO = (
    *("seed", "random_starts", "weight_decay", "pretraining", "noise", "exploration", "mix_weight"),
    *("measurements", "ladder_games", "blocks", "third_units"),
)
SHARES = ("noise", "random_starts", "measured_share")  # at most 1


def check_type(name: str, value: object, hint: object) -> None:
    """Raise an error unless a setting has the type of its annotation."""
    allowed = get_args(hint) or (hint,)
    if float in allowed and type(value) is int:
        return
    if type(value) not in allowed:
        wanted = " or ".join(t.__name__ for t in allowed if t is not NoneType)
        raise DicentError(f"{name} must be {wanted} (got {value!r})")


def check_range(name: str, value: object) -> None:
    """Raise an error unless a setting is one of its choices or within its range."""
    if value is not None and name in CHOICES and value not in (choices := CHOICES[name]()):
        raise DicentError(f"{name} must be one of {', '.join(choices)} (got {value!r})")
    if type(value) not in (int, float):
        return
    assert isinstance(value, int | float)
    if not value > 0 and not (name in MAY_BE_ZERO and value == 0):
        raise DicentError(
            f"{name} must be {'0 or more' if name in MAY_BE_ZERO else 'positive'} (got {value})"
        )
    if not value < float("inf") or (name in SHARES and value > 1):
        raise DicentError(f"{name} must be {'at most 1' if name in SHARES else 'finite'} (got {value})")


V = TypeVar("V")


def settled(value: V | None) -> V:
    """Return a setting that `fit` has settled."""
    assert value is not None, "dicent.learn.fit settles the settings that depend on the game"
    return value


@dataclass(frozen=True)
class Section:
    """Settings of one concern, checked when they are made."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name, value in vars(self).items():
            check_type(name, value, hints[name])
            check_range(name, value)


@dataclass(frozen=True)
class SearchConfig(Section):
    """How self-play searches a move, and what a finished game is worth."""

    search: str = "descent"
    """Search algorithm: descent, unbounded, expectiminimax, determinized, puct (AlphaZero) or a registered
    one."""
    evaluations_per_move: int | None = None
    """Network evaluations of each search; simulations with puct. By default as the game needs."""
    seconds_per_move: float | None = None
    """Seconds of each search, in place of evaluations_per_move. With both, the first to be reached ends the
    search. Runs that count seconds are not repeatable."""
    completion: bool = True
    """Prove states whose value is certain, and never search them again."""
    whole_descents: bool = False
    """Finish the last descent of a move even if it exceeds evaluations_per_move."""
    terminal: str | None = None
    """Value of a finished game: gain, depth, mix, score or a registered one. By default score if the game has
    one, else gain."""
    horizon: int | None = None
    """Usual maximum length of a game in plies, for depth and mix; by default the game's own."""
    mix_weight: float = 0.1
    """Weight of depth in mix."""
    exploration: float = 1.25
    """Exploration constant of puct."""
    noise: float = 0.25
    """Share of Dirichlet noise in the root priors of puct."""
    alpha: float = 0.3
    """Concentration of that Dirichlet noise."""
    leaves: int = 1
    """States of a puct search that are evaluated together, by virtual loss; 1 is AlphaZero's search."""


@dataclass(frozen=True)
class SelfPlayConfig(Section):
    """How self-play games are played, and what they yield to learn."""

    games_at_once: int | None = None
    """Games that advance together. By default as the game needs."""
    groups: int = 1
    """Groups these games are split into, so that search and evaluation overlap."""
    waves: bool = False
    """Start and end games together, so that each game is played by one version of the network."""
    random_starts: float | None = None
    """Share of games that start from a random position. By default as the game needs."""
    max_plies: int | None = None
    """Cut a game after this many plies; by default twice the game's usual maximum, or as the game needs. A
    cut game has no result: its states are learned with their searched values."""
    targets: str = "tree"
    """States to learn from a game: tree (the whole search tree), root (its positions) or terminal
    (its positions, valued by the result)."""
    selection: str = "ordinal"
    """Law of action selection: ordinal, epsilon-greedy or softmax."""
    schedule: str = "drawn"
    """Exploitation of that law: drawn (at random for each move) or annealed (rising over the budget)."""
    temperature: float = 1.0
    """Temperature tau of puct: actions are chosen by visits to the power of 1 / tau."""


@dataclass(frozen=True)
class ReplayConfig(Section):
    """The choice of states of past games for a learning phase."""

    replay: str = "plain"
    """Replay buffer: smooth (the latest games, spread evenly) or plain (a ring of states)."""
    replay_games: int = 100
    """Games in a smooth replay buffer."""
    replay_states: int | None = None
    """States in a plain replay buffer. By default as the game needs."""
    duplication: float = 2.0
    """Average number of times that each state is used."""


@dataclass(frozen=True)
class NetworkConfig(Section):
    """The network and its size."""

    network: str = AUTO
    """Architecture: residual (the paper's), dense, sparse or ntuple (both evaluated inside searches), a
    registered one, or auto: on a GPU residual, but dense on a board of one row; else dense, but sparse on a
    board of one row."""
    hidden: int = 128
    """Units in each hidden layer of a residual or dense network."""
    layers: int = 4
    """Hidden layers of a dense network."""
    filters: int = 32
    """Filters in each convolution of a residual network."""
    blocks: int = 2
    """Blocks of a residual network."""
    width: int | None = None
    """Pad the filters of a residual network with zeros to this number, for faster hardware kernels."""
    hidden_width: int | None = None
    """Pad the hidden units of a residual network likewise."""
    units: int = 64
    """Units in the first layer of a sparse network, which sums the features of a position."""
    second_units: int = 32
    """Units in its second layer."""
    third_units: int = 0
    """Units in its third layer; 0 leaves that layer out."""
    tuples: int = 64
    """Tuples of an n-tuple network, each with a table of its own."""
    tuple_squares: int = 3
    """Adjacent squares of a tuple."""
    table_bits: int = 14
    """Size of each table, as a power of two."""


@dataclass(frozen=True)
class LearnerConfig(Section):
    """How the network learns."""

    games_per_update: int | None = None
    """Finished games before each learning phase. By default as the game needs."""
    batch: int = 512
    """States per step of Adam."""
    learning_rate: float = 1e-3
    """Learning rate at the start of the budget."""
    final_learning_rate: float = 1e-5
    """Learning rate at the end of the budget; it changes linearly."""
    weight_decay: float = 0.0
    """Weight decay of Adam."""
    symmetries: bool = True
    """Show each state in the image of a random symmetry of the game."""
    pretraining: int = 0
    """Random games whose last states are learned before self-play."""
    overlap: bool = True
    """Learn while self-play continues; new weights take effect at the next phase."""


@dataclass(frozen=True)
class RunConfig(Section):
    """Budget, machine, measurements and files of a run."""

    minutes: float | None = None
    """Budget: minutes of wall time."""
    games: int | None = None
    """Budget: self-play games."""
    evaluations: int | None = None
    """Budget: states that the network evaluates in self-play."""
    device: str = "auto"
    """Device of the network: auto, cpu or cuda."""
    threads: int | None = None
    """Search threads; by default as many as suit the machine."""
    measurements: int = 5
    """Strength measurements during the run."""
    ladder_games: int = 60
    """Games against each fixed opponent in a measurement."""
    measured_share: float = 0.1
    """Share of the minutes that measurements may take; they play fewer games if these take longer."""
    record_every: int = 100
    """Keep the record of one game in this many."""
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints."""
    keep_checkpoints: int = 3
    """Checkpoints to keep."""
    save_games_in_flight: bool = True
    """Save replay buffer and unfinished games in checkpoints; without them a resume starts new games."""
    snapshot_seconds: float | None = None
    """Save a snapshot of the network after this many seconds, and whenever they have grown by the square root
    of 2."""
    snapshot_evaluations: int | None = None
    """Save a snapshot of the network after this many evaluations, and whenever they have grown likewise."""
    max_lag: int = 2
    """On a cluster: learning phases by which the network of a worker's games may be behind."""
    tensorboard: bool = False
    """Write the metrics for TensorBoard too."""


@dataclass(frozen=True)
class Distillation(Section):
    """The settings of a distillation, which a run does not have."""

    games: int = 1000
    """Games that the teacher plays against itself."""
    evaluations_per_move: int = 100
    """Evaluations of the teacher's search for each move."""
    random_starts: float = 0.5
    """Share of games that start from a random position."""
    passes: int = 8
    """Times that the student learns each state."""
    units: int = 64
    """Units in the first layer of the student."""
    second_units: int = 32
    """Units in its second layer."""
    third_units: int = 0
    """Units in its third layer; 0 leaves that layer out."""
    batch: int = 512
    """States per step of Adam."""
    learning_rate: float = 2e-3
    """Learning rate at the start; it falls to a hundredth."""
    device: str = "auto"
    """Device of the teacher and the learner: auto, cpu or cuda."""
    seed: int = 0
    """Seed of the games and of the student's first weights."""


SECTIONS: dict[str, type[Section]] = {
    "search": SearchConfig,
    "self_play": SelfPlayConfig,
    "replay": ReplayConfig,
    "network": NetworkConfig,
    "learner": LearnerConfig,
    "run": RunConfig,
}
SECTION_OF = {f.name: section for section, kind in SECTIONS.items() for f in dataclasses.fields(kind)}

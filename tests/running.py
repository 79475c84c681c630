"""Small training runs for the tests, and readers of their results."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dicent import load_network
from dicent.learn.config import Config, config
from dicent.learn.factories import Overrides
from dicent.learn.run_folder import RunFolder
from dicent.learn.status import Status
from dicent.learn.train import Training, train

TINY = config(
    "laptop",
    game="dice-nim",
    seed=3,
    games=24,
    evaluations_per_move=10,
    network="dense",
    hidden=16,
    layers=2,
    games_at_once=4,
    games_per_update=4,
    batch=64,
    replay_states=2000,
    measurements=0,
    record_every=5,
    checkpoint_seconds=1e9,  # no checkpoints by the clock
    threads=1,
)
TIMES = ("seconds", "evaluations_per_second", "game_seconds")


def rows(folder: Path) -> list[dict[str, Any]]:
    """Return the metrics of a run, without timings."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]


def weights(folder: Path) -> dict[str, list[float]]:
    network = load_network(folder)
    return {name: tensor.flatten().tolist() for name, tensor in network.module.state_dict().items()}


def everything(folder: Path) -> tuple[Any, ...]:
    """Return everything that a repeated run must reproduce."""
    return rows(folder), weights(folder), (folder / "games.jsonl").read_text()


class StopHere(Exception):  # noqa: N818  not an error
    """Ends a run as if it were killed."""


def run_to(folder: Path, config: Config | None, turn: int, save: bool = True, **own: Any) -> None:
    """Train up to a turn, save a checkpoint, and end as if killed."""
    turns = 0

    def watch(status: Status) -> None:
        nonlocal turns
        turns += 1
        if turns == turn:
            if save:
                training.save()
            raise StopHere

    with RunFolder(folder, warn=pytest.fail) as run:
        training = Training(run.settle_config(config), run, Overrides(**own), watch)
        with pytest.raises(StopHere), closing(training):
            training.run()


def checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoints").iterdir())


def quiet(*arguments: Any, **settings: Any) -> Path:
    """Train, and fail on any warning."""
    return train(*arguments, **{"warn": pytest.fail, **settings})

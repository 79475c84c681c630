"""Arguments, JSON output and progress display that commands share."""

import json as json_module
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import dicent

GameText = Annotated[
    str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME", help="Name or Python file of a game.")
]
PositionText = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="POSITION", help="A position; by default the start position."),
]
Json = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="Print one line of JSON.")]
app = tyro.extras.SubcommandApp()


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    print(json_module.dumps(value, ensure_ascii=False), flush=True)


def progress_line() -> Progress:
    """Return a progress line on the error stream."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def position_of(game: dicent.Game, position: str, seed: int | None) -> dicent.State:
    """Return the position that a text describes, or a start position."""
    return game.parse(position) if position else game.initial_state(seed)

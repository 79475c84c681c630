"""What the commands share: how arguments are written, JSON, progress."""

import json as json_module
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import dicent

GameText = Annotated[
    str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME", help="A game's name or its file.")
]
PositionText = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="POSITION", help="A position's text; a start position without it."),
]
Json = Annotated[bool, tyro.conf.arg(help="Print one line of JSON, for programs.")]
app = tyro.extras.SubcommandApp()


def print_json(value: object) -> None:
    """One line of JSON."""
    print(json_module.dumps(value, ensure_ascii=False), flush=True)


def progress_line() -> Progress:
    """A line on the error stream that shows that long work goes on."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def position_of(game: dicent.Game, position: str, seed: int | None) -> dicent.State:
    """The position that a text describes, or a start position."""
    return game.parse(position) if position else game.initial_state(seed)

"""Arguments, JSON output and progress display that commands share."""

import contextlib
import json as json_module
from collections.abc import Iterator
from typing import Annotated

import rich.markup
import tyro
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import dicent
from dicent.cluster.connection import Connection, joined
from dicent.files import visible

GameText = Annotated[
    str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME", help="Name or Python file of a game.")
]
PositionText = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="POSITION", help="A position; by default the start position."),
]
Cluster = Annotated[
    str | None,
    tyro.conf.arg(
        help="Use the machines of a Ray cluster: its address, or auto for that of RAY_ADDRESS, else one on "
        "this machine."
    ),
]
Json = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="Print one line of JSON.")]
ClockText = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="MINUTES+SECONDS",
        help="Time of each player for a whole game: minutes and the increment in seconds, as in 5+3.",
    ),
]
WIDE = Console(width=1000).options
app = tyro.extras.SubcommandApp()


def escape(text: str) -> str:
    """Return a text from anywhere so that rich prints it as it is, and the terminal obeys nothing in it."""
    return rich.markup.escape(visible(text))


@contextlib.contextmanager
def connected(cluster: str | None) -> Iterator[Connection | None]:
    """Return a context with a connection to a cluster; its machines are printed on the error stream."""
    with joined(cluster) as connection:
        if connection is not None:
            console = Console(stderr=True, highlight=False, soft_wrap=True)
            for node in connection.nodes():
                console.print(f"[dim]machine[/] {escape(node.in_words())}")
        yield connection


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    print(json_module.dumps(value, ensure_ascii=False), flush=True)


def print_whole(table: Table) -> None:
    """Print a table that may be wider than the terminal, which then wraps its lines: no figure is cut off."""
    console = Console(highlight=False)
    console.width = max(console.width, console.measure(table, options=WIDE).maximum)
    console.print(table)


def progress_line() -> Progress:
    """Return a progress line on the error stream."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def position_of(game: dicent.Game, position: str, seed: int | None) -> dicent.State:
    """Return the position that a text describes, in any notation of the game, or a start position."""
    from dicent.play.notation import parse_position

    return parse_position(game, position) if position else game.initial_state(seed)

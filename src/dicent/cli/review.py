"""The command `review`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

import dicent
from dicent.cli.shared import Json, app, escape, print_json, progress_line
from dicent.errors import RecordError
from dicent.game.colours import COLOURS, in_colours
from dicent.game.registry import make_installed, names_game
from dicent.kernels.constants import MAX, MIN

if TYPE_CHECKING:
    from dicent.play.record import Record
    from dicent.review import Review

File = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="FILE", help="A file of records, or of games in a notation that a game offers."),
]


@app.command
def review(
    file: File,
    /,
    number: int | None = None,
    game: str | None = None,
    network: str | None = None,
    terminal: Literal["gain", "score"] | None = None,
    html: str | None = None,
    json: Json = False,
) -> None:
    """Review a finished game: the luck of each roll, the cost of each move, mistakes and better moves.

    Args:
        number: Number of the game in the file, from 1; the last game by default.
        game: The game's name or file. Needed for a game file of your own: records never run a file.
        network: The network that evaluates positions; by default the shipped one, else random games.
        terminal: The unit of random games if there is no network: `gain` for wins, `score` for points.
        html: Also write the review to this HTML file.
    """
    from dicent.review import review_game, review_page, reviewer_for

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches are small: threads would wait for each other
    named = None if game is None else dicent.make(game)
    record = _chosen(file, number, named)
    made = named or make_installed(record.game, file)
    with progress_line() as progress:
        task = progress.add_task("reviewing")

        def show(share: float) -> None:
            progress.update(task, description=f"reviewing, {share:.0%}")

        found = review_game(record, reviewer_for(made, network, terminal=terminal), made, show)
    if html is not None:
        try:
            Path(html).write_text(review_page(found, made), encoding="utf-8")
        except OSError as error:
            raise RecordError(f"{html} cannot be written: {error}") from error
    if json:
        print_json(found.to_dict())
        return
    console = Console(highlight=False)
    _print(found, made, console)
    if html is not None:
        console.print(f"[dim]The page:[/] {escape(html)}", soft_wrap=True)


def _chosen(file: str, number: int | None, game: dicent.Game | None) -> Record:
    """Return one record of a file; `game` is the game that the user named, if any."""
    from dicent.play.notation import decode, read_games

    try:
        records = read_games(decode(Path(file).read_bytes()), game)
    except (OSError, RecordError) as error:
        raise RecordError(f"{file} cannot be read: {error}") from error
    if number is not None and not 1 <= number <= len(records):
        raise RecordError(f"--number must be from 1 to {len(records):,}, the games in {file} (got {number})")
    record = records[-1 if number is None else number - 1]
    if game is not None and not names_game(record.game, game):
        raise RecordError(f"{file} holds a game of {record.game}, not of {game.name} (from --game)")
    return record


def _print(found: Review, game: dicent.Game, console: Console) -> None:
    first, second = (escape(player) for player in found.record.players)
    against = f"[bold]{first}[/] ({COLOURS[MAX]}) against [bold]{second}[/] ({COLOURS[MIN]})"
    console.print(f"{against}, {escape(game.title)}")
    console.print(escape(in_colours(found.verdict)))
    sums = Table("", "luck", "lost by mistakes", box=None, pad_edge=False, header_style="dim")
    for side in ("MAX", "MIN"):
        sums.add_row(
            in_colours(side), found.format_luck(found.luck[side]), found.format_loss(found.loss[side])
        )
    console.print(sums)
    for side, rate in found.error_rate.items():
        console.print(f"{in_colours(side)} lost {rate}")
    if found.mistakes:
        console.print(_mistakes(found))
    console.print(f"[dim]Evaluated by {escape(found.reviewer)}. {found.unit_note}[/]")


def _mistakes(found: Review) -> Table:
    head = ("step", "", "position", "played", "better", "lost", "", "")
    table = Table(*head, box=None, pad_edge=False, header_style="dim", title="Mistakes", title_justify="left")
    for i in found.mistakes:
        moment = found.moments[i]
        lost, exact = found.format_loss(moment.loss or 0), "exact" if moment.proved else ""
        grade = found.grade(moment) or ""
        cells = (in_colours(moment.player), moment.before, moment.step, moment.best or "", lost, grade, exact)
        table.add_row(str(i + 1), *map(escape, cells))
    return table

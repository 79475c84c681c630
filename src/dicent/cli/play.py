"""Commands about players: match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dicent
from dicent.cli.shared import Json, app, print_json, progress_line

if TYPE_CHECKING:
    from dicent.play.match import MatchResult, Standing

PlayerText = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="PLAYER", help="random, uct:1000, greedy:NET, expectiminimax:NET,depth=3, ..."),
]


@app.command
def match(
    a: PlayerText,
    b: PlayerText,
    /,
    game: str | None = None,
    games: int = 200,
    seed: int = 0,
    threads: int | None = None,
    record: str | None = None,
    json: Json = False,
) -> None:
    """Play a match: games in pairs with the same start and dice, sides swapped.

    Args:
        game: A game's name or its file; by default what a network has learned.
        games: How many, an even number.
        seed: Which start positions and dice.
        threads: By default one a core.
        record: A file to add the games to, a line of JSON each.
    """
    with progress_line() as progress:
        task = progress.add_task("loading")

        def show(standing: Standing) -> None:
            share = f", {a} has {standing.points / standing.games:.1%}" if standing.games else ""
            text = f"{standing.games:,} of {games:,} games over, {standing.plies:,} moves{share}"
            progress.update(task, description=escape(text))

        result = dicent.play_match(a, b, game, games, seed, threads, show, record)
    if json:
        print_json(result.to_dict())
    else:
        Console(highlight=False).print(_table(result))


def _table(result: MatchResult) -> Table:
    """The result for people."""
    low, high = result.interval
    elo_low, elo_high = result.elo_interval
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_row("match", f"[bold]{escape(result.players[0])}[/] against {escape(result.players[1])}")
    table.add_row("game", f"{escape(result.game)}, {result.games:,} games, seed {result.seed}")
    table.add_row("won, drawn, lost", f"{result.wins:,}, {result.draws:,}, {result.losses:,}")
    table.add_row("score", f"[bold]{result.score:.1%}[/], with 95 % confidence {low:.1%} to {high:.1%}")
    table.add_row("Elo", f"{result.elo:+.0f}, with 95 % confidence {elo_low:+.0f} to {elo_high:+.0f}")
    table.add_row(
        "with the first move", f"{result.score_first:.1%}, with the second {result.score_second:.1%}"
    )
    table.add_row("length", f"{result.mean_plies:.1f} moves a game")
    if result.unfinished:
        table.add_row("unfinished", f"{result.unfinished:,} games, counted as draws")
    table.add_row("time", f"{result.seconds:.1f} s, {result.games / result.seconds:.1f} games/s")
    return table

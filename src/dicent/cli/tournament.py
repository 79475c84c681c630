"""The command `tournament`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import dicent
from dicent.cli.live import LiveScreen
from dicent.cli.shared import ClockText, Cluster, Json, app, connected, escape, print_json

if TYPE_CHECKING:
    from dicent.play.result import Standing
    from dicent.play.tournament import TournamentResult

Folder = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="FOLDER", help="Folder of the tournament, new or to be resumed."),
]
Players = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER...", help="Players, as for `match`.")
]


@app.command
def tournament(
    folder: Folder,
    players: Players,
    /,
    game: str | None = None,
    games: int = 200,
    seed: int = 0,
    gauntlet: str | None = None,
    threads: int | None = None,
    luck: str | None = None,
    max_plies: int | None = None,
    clock: ClockText = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Play a round-robin tournament and rate the players.

    The folder holds every game. The same command resumes a stopped tournament. Add players at the end, or
    raise --games, to extend it.

    Args:
        game: Name or Python file of the game; by default the game of a player's network.
        games: Games per match, an even number.
        seed: Seed of start positions and dice.
        gauntlet: Play every match against this player only.
        threads: Search threads; by default one per core.
        luck: Network that judges the luck of rolls; by default a player's network.
        max_plies: Longest game, in moves; by default 10 times the game's usual maximum, or 20,000.
    """
    with connected(cluster) as connection, _Screen() as screen:
        result = dicent.play_tournament(
            *(folder, players, game, games, seed, gauntlet, threads, luck, screen.watch),
            max_plies=max_plies,
            clock=clock,
            cluster=connection,
        )
    if json:
        print_json(result.to_dict())
    else:
        console = Console(highlight=False)
        console.print(_tables(result))
        console.print(f"[dim]The page:[/] {escape(folder)}/results.html", soft_wrap=True)


class _Screen(LiveScreen):
    """Show a live table on the error stream if it is a terminal."""

    def __init__(self) -> None:
        super().__init__(Console(stderr=True, highlight=False), transient=True)

    def watch(self, over: TournamentResult, pair: tuple[int, int], standing: Standing) -> None:
        """Update the table."""
        if self.live is None or not self.is_due():
            return
        names = " against ".join(escape(over.players[i]) for i in pair)
        share = f", {standing.points / standing.games:.1%}" if standing.games else ""
        text = (
            f"match {len(over.encounters) + 1} of {over.matches}: {names}, "
            f"{standing.games:,} of {over.games:,} games{share}"
        )
        self.draw(Group(_tables(over), Text.from_markup(text)))


def _tables(result: TournamentResult) -> Group:
    """Return the ratings and the cross table."""
    from dicent.play import tournament_report as report

    head = report.rating_head(result)[:-2] + [str(rank + 1) for rank in range(len(result.players))]
    table = Table(*head, box=None, pad_edge=False, header_style="dim")
    for column in table.columns[2:]:
        column.justify = "right"
    for rating, cross in zip(report.rating_rows(result), report.cross_rows(result), strict=True):
        table.add_row(*map(escape, rating[:-2] + cross[1:]))
    below = filter(None, [report.first_move(result), report.cut_games(result)])
    return Group(table, Text("\n".join(below), style="dim"))

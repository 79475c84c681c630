"""The command `match`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

import dicent
from dicent.cli.shared import ClockText, Cluster, Json, app, connected, escape, print_json, progress_line
from dicent.play.result import MatchInterrupted

if TYPE_CHECKING:
    from dicent.play.points import PointsResult
    from dicent.play.result import MatchResult, Standing

PlayerText = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="PLAYER",
        help="random, uct:1000, greedy:NET, expectiminimax:NET,depth=3, "
        "expectiminimax:rollout=10,depth=3,prune, ...",
    ),
]
ODD = 0.001  # a p value below this is reported as unfair dice


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
    luck: str | None = None,
    sprt: tuple[float, float] | None = None,
    max_plies: int | None = None,
    clock: ClockText = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Play a match between two players: pairs of games with the same start and dice, sides swapped.

    Args:
        game: Name or Python file of the game; by default the game of a player's network.
        games: Number of games, even; with --sprt the maximum.
        seed: Seed of start positions and dice.
        threads: Search threads; by default one per core.
        record: File to append the games to, one line of JSON each. Games in it are not played again.
        luck: Network or player whose evaluator judges the luck of rolls; by default a player's network.
        sprt: Two Elo differences; stop as soon as a sequential test decides between them.
        max_plies: Longest game, in moves; by default 10 times the game's usual maximum, or 20,000.
    """
    try:
        with connected(cluster) as connection, progress_line() as progress:
            task = progress.add_task("loading")

            def show(standing: Standing) -> None:
                progress.update(task, description=escape(_line(a, standing, games)))

            result = dicent.play_match(
                *(a, b, game, games, seed, threads, show, record, luck, sprt, max_plies, clock, connection)
            )
            progress.update(task, description="judging luck")
            _ = result.luck, result.points  # computed here, while progress is shown
    except MatchInterrupted as stopped:
        _print(stopped.result, json)
        raise
    _print(result, json)


def _line(a: str, standing: Standing, games: int) -> str:
    share = f", {a} has {standing.points / standing.games:.1%}" if standing.games else ""
    ratio = "" if standing.ratio is None else f", log-likelihood ratio {standing.ratio:+.2f}"
    return f"{standing.games:,} of {games:,} games, {standing.plies:,} moves{share}{ratio}"


def _print(result: MatchResult, json: bool) -> None:
    if json:
        print_json(result.to_dict())
    else:
        Console(highlight=False).print(_table(result))


def _table(result: MatchResult) -> Table:
    """Return the result as a table for the terminal."""
    elo_low, elo_high = result.elo_interval
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_row("match", f"[bold]{escape(result.players[0])}[/] against {escape(result.players[1])}")
    table.add_row("game", f"{escape(result.game.name)}, {result.games:,} games, seed {result.seed}")
    table.add_row("won, drawn, lost", f"{result.wins:,}, {result.draws:,}, {result.losses:,}")
    table.add_row("score", _share(result.score, result.interval))
    if result.judge is not None and result.adjusted_pairs is not None:
        table.add_row("luck-adjusted score", _share(result.adjusted, result.adjusted_interval))
        table.add_row("", f"[dim]judged by {escape(result.judge.name)}[/]")
    if result.points is not None:
        _add_points(table, result.points)
    if result.judge is None and result.points_judge is None and result.game.num_outcomes:
        table.add_row("", "[dim]luck is not adjusted: name a network that judges it with --luck[/]")
    table.add_row("Elo", f"{result.elo:+.0f}, with 95 % confidence {elo_low:+.0f} to {elo_high:+.0f}")
    table.add_row("likelihood of superiority", f"{result.superiority:.1%}")
    if result.sprt is not None:
        table.add_row("sequential test", _verdict(result))
    dealt = "; the game deals who begins" if result.is_start_dealt else ""
    table.add_row(
        "with the first move", f"{result.score_first:.1%}, with the second {result.score_second:.1%}{dealt}"
    )
    table.add_row("dice", _dice(result))
    turns = "" if result.mean_turns == result.mean_plies else f" in {result.mean_turns:.1f} turns"
    table.add_row("length", f"{result.mean_plies:.1f} moves{turns} a game")
    if result.unfinished:
        table.add_row("cut", f"[yellow]{cut_games(result)}[/]")
    _add_thinking(table, result)
    table.add_row("time", f"{result.seconds:.1f} s, {result.games / result.seconds:.1f} games/s")
    if result.interrupted:
        table.add_row("interrupted", "[yellow]short games are over-represented[/]")
    return table


def _add_thinking(table: Table, result: MatchResult) -> None:
    """Add the time per move of both players."""
    a, b = (None if seconds is None else _seconds(seconds) for seconds in result.seconds_per_move)
    if a is not None and b is not None:
        table.add_row("time per move", f"{a}, of the other {b}")
    if result.thinking is not None and result.thinking.clock is not None:
        late_a, late_b = result.lost_on_time
        table.add_row("clock", f"{result.thinking.clock}; lost on time {late_a:,}, the other {late_b:,}")


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.1 else f"{seconds:.3g} s"


def _add_points(table: Table, points: PointsResult) -> None:
    """Add the points per game."""
    table.add_row("points per game", _points(points.mean, points.interval))
    if points.judge is not None and points.adjusted_pairs is not None:
        table.add_row("luck-adjusted points", _points(points.adjusted, points.adjusted_interval))
        table.add_row("", f"[dim]judged by {escape(points.judge.name)}[/]")


def cut_games(result: MatchResult) -> str:
    """Return a sentence about the games that were cut."""
    games = f"{result.unfinished:,} games were" if result.unfinished > 1 else "1 game was"
    counted = "count as draws" if result.unfinished > 1 else "counts as a draw"
    judged = "; the luck-adjusted figures use the judge's value" if result.adjusted_pairs is not None else ""
    return f"{games} cut after {result.max_plies:,} plies and {counted}{judged}"


def _points(mean: float, interval: tuple[float, float]) -> str:
    return f"[bold]{mean:+.3f}[/], with 95 % confidence {interval[0]:+.3f} to {interval[1]:+.3f}"


def _share(share: float, interval: tuple[float, float]) -> str:
    return f"[bold]{share:.1%}[/], with 95 % confidence {interval[0]:.1%} to {interval[1]:.1%}"


def _verdict(result: MatchResult) -> str:
    assert result.sprt is not None
    low, high = result.sprt.bounds
    where = f"log-likelihood ratio {result.ratio:+.2f} ({low:.2f} to {high:.2f})"
    elo = {"elo0": result.sprt.elo0, "elo1": result.sprt.elo1}.get(result.accepted or "")
    return f"undecided, {where}" if elo is None else f"[bold]{elo:+g} Elo accepted[/], {where}"


def _dice(result: MatchResult) -> str:
    if result.dice is None:
        return "too few rolls to test"
    text = f"{result.dice.rolls:,} rolls, chi-square test p = {result.dice.p:.2g}"
    return f"[bold red]not fair[/]: {text}" if result.dice.p < ODD else text

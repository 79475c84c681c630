"""Commands about exact values: solve, probe, tables, accuracy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dicent
from dicent.cli.shared import GameText, Json, PositionText, app, print_json, progress_line

if TYPE_CHECKING:
    from dicent.evaluate.base import Evaluator
    from dicent.exact.accuracy import AccuracyRow, Estimate
    from dicent.exact.solution import Solution
    from dicent.exact.solver import SolveProgress


@app.command
def solve(
    game: GameText, position: PositionText = "", /, max_states: int = 20_000_000, json: Json = False
) -> None:
    """Find the exact value of a position, or of a whole small game, by working out all that can follow.

    Args:
        max_states: How many states may be kept before the game counts as too large.
    """
    made = dicent.make(game)
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("solving")
        solution = dicent.solve(
            made.parse(position) if position else made,
            max_states,
            lambda p: progress.update(task, description=_describe(p)),
        )
    _print_solution(solution, time.perf_counter() - begin, json)


@app.command
def probe(
    game: GameText,
    position: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POSITION")],
    /,
    json: Json = False,
) -> None:
    """Look a position up in an endgame table, or solve it where no table has it."""
    from dicent.exact.ewn_tables import probe as look_up

    state = dicent.make(game).parse(position)
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("probing")
        solution = look_up(state, progress=lambda p: progress.update(task, description=_describe(p)))
    _print_solution(solution, time.perf_counter() - begin, json)


@app.command
def tables(
    action: Annotated[Literal["build", "list"], tyro.conf.Positional, tyro.conf.arg(help="What to do.")],
    game: GameText = "ewn",
    /,
    pieces: int = 4,
    threads: int | None = None,
    json: Json = False,
) -> None:
    """Build an endgame table of EinStein würfelt nicht!, or list those that are built.

    Args:
        pieces: Build all positions with up to so many pieces on the board.
        threads: How many threads build it; one a core without it.
    """
    from dicent.exact.ewn_tables import list_tables

    if action == "build":
        _build(dicent.make(game), pieces, threads, json)
        return
    found = list_tables()
    if json:
        print_json([{**vars(facts), "file": str(path)} for facts, path in found])
        return
    for facts, path in found:
        print(f"{facts}: {path.stat().st_size / 1e6:,.1f} MB, {path}")
    if not found:
        print("no table is built: dicent tables build ewn --pieces 4")


def _build(game: dicent.Game, pieces: int, threads: int | None, json: bool) -> None:
    from dicent.exact.table_build import build_tables
    from dicent.exact.table_file import tables_folder

    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task(f"building {game.name} with up to {pieces} pieces")
        built_tables = build_tables(
            game,
            pieces,
            threads=threads,
            progress=lambda p: progress.update(
                task, description=f"{p.values:,} of {p.total:,} positions, {p.values / p.total:.0%}"
            ),
        )
    seconds = time.perf_counter() - begin
    path = tables_folder() / built_tables.name
    size = path.stat().st_size
    if json:
        said = {"file": str(path), "bytes": size, "positions": built_tables.positions, "seconds": seconds}
        print_json({**said, "error": built_tables.error})
        return
    print(f"{built_tables.positions:,} positions, {size / 1e6:,.1f} MB, {seconds:.1f} s: {path}")
    print(f"win probabilities are exact to {built_tables.error:.1g}")


@app.command
def accuracy(
    player: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="PLAYER_OR_NET", help="A player, as in a match, or a network's file or run."),
    ],
    /,
    game: str | None = None,
    positions: int = 200,
    pieces: int = 4,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Compare a player with exact values, and what it evaluates by: by itself and one ply ahead.

    Args:
        game: A game's name or its file; by default what a network has learned, else ewn.
        positions: How many decisions of each material class.
        pieces: The most pieces in endgames of EWN; smaller games are measured as a whole.
        seed: Which random decisions.
    """
    from dicent.exact.ewn_tables import built, open_tables
    from dicent.exact.sample import exact_sample

    judged, learned = _judged(player)
    made = dicent.make(game or learned or "ewn")
    with progress_line() as progress:
        task = progress.add_task("working out exact values")
        known = open_tables(made) if max(built(made), default=0) >= pieces else None
        sample = exact_sample(made, positions, pieces, seed, known)

        def measure(name: str, who: Evaluator | dicent.Search, limit: dicent.Limit | None) -> Any:
            def show(n: int) -> None:
                progress.update(task, description=f"{escape(name)}: {n:,} of {len(sample):,} decisions")

            return dicent.accuracy(who, sample, limit, show)

        found = {name: measure(name, who, limit) for name, (who, limit) in judged.items()}
    if json:
        rows = {name: [row.to_dict() for row in rows] for name, rows in found.items()}
        print_json({"game": made.name, "player": player, "seed": seed, "rows": rows})
        return
    for name, rows in found.items():
        _print_accuracy(name, rows)


def _judged(text: str) -> tuple[dict[str, tuple[Evaluator | dicent.Search, dicent.Limit | None]], str | None]:
    """What to measure, by its name, and the game that a network has learned."""
    judged: dict[str, tuple[Evaluator | dicent.Search, dicent.Limit | None]] = {}
    if Path(text).exists():
        network = dicent.load_network(text)
        learned = network.description.game if network.description else None
        judged[f"{text}, by itself"] = network, None
        judged[f"greedy:{text}"] = dicent.Greedy(network), None
        return judged, learned
    player = dicent.parse_player(text)
    evaluator: Evaluator | None = getattr(player.search, "evaluator", None)
    if evaluator is not None:
        judged["its evaluator, by itself"] = evaluator, None
        if not isinstance(player.search, dicent.Greedy):
            judged["its evaluator, one ply ahead"] = dicent.Greedy(evaluator), None
    judged[player.name] = player.search, player.limit
    return judged, player.game


def _describe(progress: SolveProgress) -> str:
    return f"{progress.states:,} states, about {progress.share:.0%} of the lines"


def _print_solution(solution: Solution, seconds: float, json: bool) -> None:
    if json:
        print_json(solution.to_dict())
        return
    console = Console(highlight=False)
    whom = "the first player" if solution.state is None else "the player to move"
    console.print(f"win probability {solution.win:.10f} for {whom}; value {solution.value:+.10f} for MAX")
    table = Table(box=None, pad_edge=False)
    for column in ("move" if solution.moves else "outcome", "value", "win", "p"):
        table.add_column(column, header_style="bold")
    for move in solution.moves:
        table.add_row(escape(move.text), f"{move.value:+.10f}", f"{move.win:.10f}")
    for outcome in solution.outcomes:
        table.add_row(escape(outcome.text), f"{outcome.value:+.10f}", "", f"{outcome.p:.4f}")
    if solution.moves or solution.outcomes:
        console.print(table)
    kept = f", {solution.states:,} states" if solution.states else ""
    console.print(f"[dim]from the {solution.source}{kept}, {seconds:.2f} s[/]")


def _print_accuracy(title: str, rows: list[AccuracyRow]) -> None:
    table = Table(box=None, pad_edge=False, title=escape(title), title_justify="left")
    for column in ("material", "decisions", "error", "worst", "optimal", "win lost"):
        table.add_column(column, header_style="bold", no_wrap=True)
    for row in rows:
        table.add_row(
            row.group,
            f"{row.decisions:,}",
            _spread(row.error),
            f"{row.worst:.4f}",
            _spread(row.optimal, "{:.1%}"),
            _spread(row.regret),
        )
    Console(highlight=False).print(table)


def _spread(estimate: Estimate | None, form: str = "{:.4f}") -> str:
    """A mean with half its interval, for people."""
    if estimate is None:
        return "-"
    return f"{form.format(estimate.mean)} ± {form.format((estimate.high - estimate.low) / 2)}"

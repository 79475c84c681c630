"""Commands about exact values: solve, probe, tablebase, accuracy."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

import dicent
from dicent.cli.shared import (
    GameText,
    Json,
    PositionText,
    app,
    escape,
    print_json,
    print_whole,
    progress_line,
)
from dicent.game.registry import DEFAULT_GAME, make_installed

if TYPE_CHECKING:
    from dicent.evaluate.base import Evaluator
    from dicent.exact.accuracy import AccuracyRow, Estimate
    from dicent.exact.progress import SolveProgress
    from dicent.exact.solution import Solution

ValuesText = Literal["score", "gain"] | None
PR = 500  # the scale of the performance rating: points lost per decision, times 500


@app.command
def solve(
    game: GameText,
    position: PositionText = "",
    /,
    max_states: int = 20_000_000,
    values: ValuesText = None,
    save: Path | None = None,
    json: Json = False,
) -> None:
    """Find the exact value of a position, or of a whole small game.

    Args:
        max_states: The most states to store before giving up.
        values: Expected points (score) or results (gain); by default the score if the game has one.
        save: File for the values of all states, for `accuracy`, `probe` and the player greedy:solution=FILE.
    """
    made = dicent.make(game)
    if save is not None and not save.parent.is_dir():
        raise dicent.DicentError(f"--save {save}: the folder {save.parent} does not exist; create it first")
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("solving")
        solution = dicent.solve(
            made.parse(position) if position else made,
            max_states,
            lambda p: progress.update(task, description=_describe(p)),
            values=values,
        )
        if save is not None:
            from dicent.exact.solution_file import save_solution

            assert solution.solver is not None
            progress.update(task, description="saving")
            save_solution(save, solution.solver)
    _print_solution(solution, time.perf_counter() - begin, json)


@app.command
def probe(
    game: GameText,
    position: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POSITION", help="A position.")],
    /,
    values: ValuesText = None,
    solution: Path | None = None,
    json: Json = False,
) -> None:
    """Look up a position in a tablebase, or solve it if no tablebase covers it.

    Args:
        values: Expected points (score) or results (gain); by default the score if the game has one.
        solution: File of `dicent solve GAME --save FILE` to look the position up in.
    """
    from dicent.exact.solution_file import load_solution
    from dicent.exact.tablebase import probe as look_up

    state = dicent.make(game).parse(position)
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("probing")
        if solution is not None:
            known = load_solution(solution, state.game)
            known.require(state.game, values)
            found = known.solution_of(state)
        else:
            found = look_up(
                state, progress=lambda p: progress.update(task, description=_describe(p)), values=values
            )
    _print_solution(found, time.perf_counter() - begin, json)


@app.command
def tablebase(
    action: Annotated[
        Literal["build", "list"], tyro.conf.Positional, tyro.conf.arg(help="Build one, or list those here.")
    ],
    game: GameText = DEFAULT_GAME,
    /,
    pieces: int = 4,
    threads: int | None = None,
    json: Json = False,
) -> None:
    """Build an endgame tablebase of a game that supports it, or list the tablebases already built.

    Args:
        pieces: The largest number of pieces on the board.
        threads: Threads that build it (default: one per core).
    """
    from dicent.exact.tablebase import list_tablebases

    if action == "build":
        _build(dicent.make(game), pieces, threads, json)
        return
    found = list_tablebases()
    if json:
        print_json([{**file.details, "file": str(file.path)} for file in found])
        return
    for file in found:
        print(f"{file.title}: {file.path.stat().st_size / 1e6:,.1f} MB, {file.path}")
    if not found:
        print(f"no tablebase is built; build one with `dicent tablebase build {DEFAULT_GAME} --pieces 4`")


def _build(game: dicent.Game, pieces: int, threads: int | None, json: bool) -> None:
    from dicent.exact.tablebase import build_tablebase

    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task(f"building {game.name} with up to {pieces} pieces")
        built = build_tablebase(
            game,
            pieces,
            threads=threads,
            progress=lambda p: progress.update(
                task, description=f"{p.values:,} of {p.total:,} positions, {p.values / p.total:.0%}"
            ),
        )
    seconds = time.perf_counter() - begin
    size = built.path.stat().st_size
    if json:
        report = {"file": str(built.path), "bytes": size, "positions": built.positions, "seconds": seconds}
        print_json({**report, "error": built.error})
        return
    print(f"{built.positions:,} positions, {size / 1e6:,.1f} MB, {seconds:.1f} s: {built.path}")
    print(f"win probabilities are exact to {built.error:.1g}")


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
    solution: Path | None = None,
    benchmark: Path | None = None,
    json: Json = False,
) -> None:
    """Measure the error of a player against exact values, and of its evaluator alone and one ply ahead.

    Args:
        game: Name or Python file of the game; by default the game of the network.
        positions: Decisions in each group.
        pieces: The largest number of pieces in endgames; small games are measured completely.
        seed: Seed of the random decisions.
        solution: File of `dicent solve GAME --save FILE`, which saves solving the game again.
        benchmark: File of decisions with known values, to measure by instead of exact values.
    """
    from dicent.exact.accuracy import values_aimed_at
    from dicent.exact.decision_file import read_decisions
    from dicent.exact.sample import exact_sample
    from dicent.exact.solution_file import load_solution
    from dicent.exact.tablebase import built_pieces, open_tablebase

    measured, learned = _measured(player)
    values = values_aimed_at([who for who, _ in measured.values()])
    with progress_line() as progress:
        task = progress.add_task("computing exact values")
        if benchmark is not None:
            sample = read_decisions(benchmark, dicent.make(game) if game else None)
            made = sample[0].state.game
        else:
            made = dicent.make(game) if game else make_installed(learned or DEFAULT_GAME, player)
            known = open_tablebase(made) if max(built_pieces(made), default=0) >= pieces else None
            stored = None if solution is None else load_solution(solution, made)
            sample = exact_sample(made, positions, pieces, seed, known, values=values, solution=stored)

        def measure(
            name: str, who: Evaluator | dicent.Search, limit: dicent.Limit | None
        ) -> list[AccuracyRow]:
            def show(n: int) -> None:
                progress.update(task, description=f"{escape(name)}: {n:,} of {len(sample):,} decisions")

            return dicent.accuracy(who, sample, limit, show)

        found = {name: measure(name, who, limit) for name, (who, limit) in measured.items()}
    if json:
        printed = {name: [row.to_dict() for row in rows] for name, rows in found.items()}
        print_json({"game": made.name, "player": player, "seed": seed, "values": values, "rows": printed})
        return
    for name, rows in found.items():
        _print_accuracy(name, rows, points=values == "score")


def _measured(
    text: str,
) -> tuple[dict[str, tuple[Evaluator | dicent.Search, dicent.Limit | None]], str | None]:
    """Return what to measure, by name, and the game that a network has learned."""
    measured: dict[str, tuple[Evaluator | dicent.Search, dicent.Limit | None]] = {}
    if Path(text).exists():
        network = dicent.load_network(text)
        learned = network.description.game if network.description else None
        measured[f"{text}, by itself"] = network, None
        measured[f"greedy:{text}"] = dicent.Greedy(network), None
        return measured, learned
    player = dicent.parse_player(text)
    evaluator = player.search.evaluator
    if evaluator is not None:
        measured["its evaluator, by itself"] = evaluator, None
        if player.search.fixed_depth != 1:
            measured["its evaluator, one ply ahead"] = dicent.Greedy(evaluator), None
    measured[player.name] = player.search, player.limit
    return measured, player.game


def _describe(progress: SolveProgress) -> str:
    share = "" if math.isnan(progress.share) else f", about {progress.share:.0%} of the {progress.stage}"
    return f"{progress.states:,} states{share}"


def _print_solution(solution: Solution, seconds: float, json: bool) -> None:
    if json:
        print_json(solution.to_dict())
        return
    console = Console(highlight=False)
    whom = "the first player" if solution.state is None else "the player to move"
    points = solution.values == "score"
    if points:
        console.print(
            f"equity {solution.equity:+.10f} points for {whom}; value {solution.value:+.10f} for MAX"
        )
    else:
        console.print(f"win probability {solution.win:.10f} for {whom}; value {solution.value:+.10f} for MAX")
    table = Table(box=None, pad_edge=False)
    for column in ("move" if solution.moves else "outcome", "value", *([] if points else ["win"]), "p"):
        table.add_column(column, header_style="bold")
    for move in solution.moves:
        table.add_row(escape(move.text), f"{move.value:+.10f}", *([] if points else [f"{move.win:.10f}"]))
    for outcome in solution.outcomes:
        win = [] if points else [""]
        table.add_row(escape(outcome.text), f"{outcome.value:+.10f}", *win, f"{outcome.p:.4f}")
    if solution.moves or solution.outcomes:
        console.print(table)
    stored = f", {solution.states:,} states" if solution.states else ""
    console.print(f"[dim]from the {solution.source}{stored}, {seconds:.2f} s[/]")
    if solution.graph is not None:
        console.print(f"[dim]{solution.graph.in_words()}[/]")


def _print_accuracy(title: str, rows: list[AccuracyRow], points: bool) -> None:
    """Print a row for each group; points lost in thousandths, and as a performance rating (PR)."""
    table = Table(box=None, pad_edge=False, title=escape(title), title_justify="left")
    lost = ("millipoints lost", "PR") if points else ("win lost",)
    for column in ("material", "decisions", "error", "worst", "optimal", *lost):
        table.add_column(column, header_style="bold", no_wrap=True)
    for row in rows:
        losses = (
            (_spread(row.regret, "{:.2f}", 1000), _spread(row.regret, "{:.2f}", PR))
            if points
            else (_spread(row.regret),)
        )
        worst = "-" if row.worst is None else f"{row.worst:.4f}"
        optimal = _spread(row.optimal, "{:.1%}")
        table.add_row(row.group, f"{row.decisions:,}", _spread(row.error), worst, optimal, *losses)
    print_whole(table)


def _spread(estimate: Estimate | None, form: str = "{:.4f}", times: float = 1.0) -> str:
    """Return a mean and half its interval as text."""
    if estimate is None:
        return "-"
    half = (estimate.high - estimate.low) / 2
    return f"{form.format(times * estimate.mean)} ± {form.format(times * half)}"

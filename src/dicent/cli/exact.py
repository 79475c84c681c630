"""Commands about exact values: solve, probe, tables, accuracy."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dicent
from dicent.cli.shared import GameText, Json, PositionText, app, print_json, progress_line
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator
from dicent.exact.accuracy import AccuracyRow, Estimate
from dicent.exact.ewn_tables import built, list_tables, open_tables
from dicent.exact.sample import is_ewn
from dicent.exact.solution import Solution
from dicent.exact.solver import MAX_STATES, SolveProgress


@app.command
def solve(
    game: GameText, position: PositionText = "", /, max_states: int = MAX_STATES, json: Json = False
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
    state = dicent.make(game).parse(position)
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("probing")
        solution = dicent.probe(state, progress=lambda p: progress.update(task, description=_describe(p)))
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
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task(f"building {game.name} with up to {pieces} pieces")
        built_tables = dicent.build_tables(
            game,
            pieces,
            threads=threads,
            progress=lambda p: progress.update(
                task, description=f"{p.values:,} of {p.total:,} positions, {p.values / p.total:.0%}"
            ),
        )
    seconds = time.perf_counter() - begin
    [path] = [path for facts, path in list_tables() if facts.name == built_tables.name]
    size = path.stat().st_size
    if json:
        said = {"file": str(path), "bytes": size, "positions": built_tables.positions, "seconds": seconds}
        print_json({**said, "error": built_tables.error})
        return
    print(f"{built_tables.positions:,} positions, {size / 1e6:,.1f} MB, {seconds:.1f} s: {path}")
    print(f"win probabilities are exact to {built_tables.error:.1g}")


@app.command
def accuracy(
    evaluator: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="EVALUATOR", help="random, constant, rollout:GAMES, or a network's file."),
    ],
    /,
    game: str = "ewn",
    search: Literal["none", "descent", "unbounded", "expectiminimax", "puct"] = "none",
    time: float | None = None,
    nodes: int | None = None,
    evaluations: int | None = None,
    depth: int | None = None,
    positions: int = 200,
    pieces: int = 4,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Compare an evaluator with exact values: by itself, one ply ahead, and in a search.

    Args:
        game: A game's name or its file. EWN's endgames, or all of a small game, are the measure.
        search: A search to measure too, with a limit.
        time: The search's limit in seconds.
        nodes: The search's limit in states.
        evaluations: The search's limit in evaluations.
        depth: The search's limit in plies.
        positions: How many decisions of each material class.
        pieces: The largest endgames.
        seed: Which random decisions.
    """
    made, judge = dicent.make(game), _evaluator(evaluator)
    players: dict[str, tuple[Evaluator | dicent.Search, dicent.Limit | None]] = {
        "by itself": (judge, None),
        "one ply ahead": (dicent.Greedy(judge), None),
    }
    if search != "none":
        limit = dicent.Limit(time, nodes, evaluations, depth)
        players[f"{search}, {limit}"] = _search(search, judge), limit
    with progress_line() as progress:
        task = progress.add_task("working out exact values")
        known = open_tables(made) if max(built(made), default=0) >= pieces else None
        sample = dicent.exact_sample(made, positions, pieces, seed, known)
        found = {}
        for name, (player, limited) in players.items():
            found[name] = dicent.accuracy(
                player,
                sample,
                limited,
                lambda n, name=name: progress.update(  # type: ignore[misc]
                    task, description=f"{name}: {n:,} of {len(sample):,} decisions"
                ),
            )
    if json:
        rows = {name: [row.to_json() for row in rows] for name, rows in found.items()}
        print_json({"game": made.name, "evaluator": evaluator, "seed": seed, "players": rows})
        return
    for name, listed in found.items():
        _print_accuracy(f"{evaluator} {name}", listed, is_ewn(made))


def _evaluator(text: str) -> Evaluator:
    """The evaluator that a text names."""
    name, _, number = text.partition(":")
    if text == "random":
        return dicent.RandomEvaluator()
    if text == "constant":
        return dicent.ConstantEvaluator()
    if name == "rollout" and (number.isdecimal() or not number):
        return dicent.Rollout(int(number or 1))
    if not Path(text).exists():
        raise DicentError(f"{text!r} is no evaluator: random, constant, rollout:GAMES or a network's file")
    return dicent.load_network(text)


def _search(name: str, evaluator: Evaluator) -> dicent.Search:
    if name == "puct":
        if not isinstance(evaluator, PolicyEvaluator):
            raise DicentError("puct needs a network with a policy")
        return dicent.Puct(evaluator)
    searches: dict[str, Callable[[Evaluator], dicent.Search]] = {
        "descent": dicent.Descent,
        "unbounded": dicent.Unbounded,
        "expectiminimax": dicent.Expectiminimax,
    }
    return searches[name](evaluator)


def _describe(progress: SolveProgress) -> str:
    return f"{progress.states:,} states, about {progress.share:.0%} of the lines"


def _print_solution(solution: Solution, seconds: float, json: bool) -> None:
    if json:
        print_json(solution.to_json())
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


def _print_accuracy(title: str, rows: list[AccuracyRow], material: bool) -> None:
    table = Table(box=None, pad_edge=False, title=escape(title), title_justify="left")
    for column in ("material" if material else "", "decisions", "error", "worst", "optimal", "win lost"):
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

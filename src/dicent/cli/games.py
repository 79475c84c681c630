"""Commands about games: games, check, perft, show, bench."""

import math
import time

from rich.console import Console
from rich.table import Table

import dicent
from dicent.cli.shared import (
    GameText,
    Json,
    PositionText,
    app,
    escape,
    position_of,
    print_json,
    progress_line,
)
from dicent.errors import DicentError


@app.command
def games(json: Json = False) -> None:
    """List the games, their presets and their options; the most legal actions of a position are `legal`."""
    listed = [dicent.make(name) for name in dicent.game_names()]
    if json:
        print_json([_game_details(game) for game in listed])
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "what it is", "legal", "outcomes", "input"):
        table.add_column(column, header_style="bold", no_wrap=column == "name")
    for game in listed:
        shape = "x".join(map(str, game.input_shape))
        what = game.description.partition("\n")[0]
        if game.name in game.rules.module.PRESETS:
            chosen = game.rules.module.PRESETS[game.name]
            what = "preset: " + ", ".join(f"{key}={value}" for key, value in chosen.items())
        table.add_row(
            f"[bold]{game.name}[/]", escape(what), f"{game.max_legal:,}", str(game.num_outcomes), shape
        )
        for option in () if game.name in game.rules.module.PRESETS else game.declared_options:
            named = isinstance(option.default, str)  # the help says in words what each name means
            choices = f": {', '.join(map(str, option.choices))}" if option.choices and not named else ""
            table.add_row(f"  [dim]{option}[/]", f"[dim]{escape(option.help + choices)}[/]")
    Console(highlight=False).print(table)


def _game_details(game: dicent.Game) -> dict[str, object]:
    return {
        "name": game.name,
        "title": game.title,
        "description": game.description,
        "options": game.options,
        "declared": [
            {"name": o.name, "default": o.default, "choices": list(o.choices), "help": o.help}
            for o in game.declared_options
        ],
        "num_actions": game.num_actions,
        "max_legal": game.max_legal,
        "num_outcomes": game.num_outcomes,
        "input_shape": list(game.input_shape),
        "state_size": game.state_size,
        "max_plies": game.max_plies,
        "max_score": game.max_score if game.has_score else None,
        "cyclic": game.cyclic,
        "num_symmetries": game.num_symmetries,
    }


@app.command
def check(game: GameText, /, positions: int = 2000, seed: int = 0, json: Json = False) -> None:
    """Check that a game fulfils the contract: play it as Python and as native code, and compare.

    Args:
        positions: The number of positions to check.
        seed: Seed of the random games.
    """
    with progress_line() as progress:
        task = progress.add_task("loading")
        report = dicent.check_game(
            dicent.make(game), positions, seed, lambda stage: progress.update(task, description=stage)
        )
    if json:
        print_json(
            {
                "ok": True,
                "game": report.game,
                "positions": report.positions,
                "games": report.games,
                "checks": report.checks,
                "statistics": report.statistics.to_dict(),
            }
        )
        return
    console = Console(highlight=False)
    for line in report.checks:
        console.print(f"[green]✓[/] {line}")
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, text in report.statistics.lines():
        table.add_row(f"  [dim]{name}[/]", text)
    console.print(table)
    for warning in report.statistics.warnings:
        console.print(f"[bold yellow]warning:[/] {escape(warning)}", soft_wrap=True)
    looked_at = f"{report.positions:,} positions, {report.games} games"
    console.print(f"[bold]{escape(report.game)}[/] keeps the contract: {looked_at}.")


@app.command
def perft(
    game: GameText,
    position: PositionText = "",
    /,
    depth: int = 5,
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Count the nodes within some depth of a position, by depth and kind.

    Args:
        depth: The number of plies; rolls of chance count.
        seed: Seed of a dealt start position.
    """
    state = position_of(dicent.make(game), position, seed)
    begin = time.perf_counter()
    with progress_line() as progress:
        task = progress.add_task("counting")
        counts = dicent.perft(
            state, depth, progress=lambda c: progress.update(task, description=f"{sum(c.nodes):,} nodes")
        )
    seconds = time.perf_counter() - begin
    if json:
        print_json(
            {
                "game": state.game.name,
                "position": str(state),
                "nodes": counts.nodes,
                "decisions": counts.decisions,
                "chances": counts.chances,
                "finished": counts.finished,
                "seconds": seconds,
            }
        )
        return
    table = Table(title=escape(str(state)), box=None, title_style="bold", title_justify="left")
    for column in ("depth", "decisions", "chance nodes", "finished", "all nodes"):
        table.add_column(column, justify="right", header_style="bold")
    for d, row in enumerate(
        zip(counts.decisions, counts.chances, counts.finished, counts.nodes, strict=True)
    ):
        table.add_row(str(d), *(f"{count:,}" for count in row))
    Console(highlight=False).print(table)


@app.command
def show(
    game: GameText,
    position: PositionText = "",
    /,
    seed: int | None = None,
    play: bool = False,
    delay: float = 0.4,
    format: str | None = None,
    json: Json = False,
) -> None:
    """Draw a position: the board, the player to move and the possible moves.

    Args:
        format: Print the position in this notation of the game instead, such as xgid.
        seed: Seed of a dealt start position and of the random game.
        play: Play a random game from the position, with the score of rollouts at each decision.
        delay: Seconds between the moves of the random game.
    """
    from dicent.draw.terminal import board
    from dicent.play.notation import format_position

    state = position_of(dicent.make(game), position, seed)
    if json:
        print_json(_state_details(state))
    elif format is not None:
        print(format_position(state, format))
    elif play:
        _exhibition(state, seed, delay)
    else:
        Console(highlight=False).print(board(state))


def _state_details(state: dicent.State) -> dict[str, object]:
    from dicent.play.notation import position_texts

    game = state.game
    player = (
        "over"
        if state.result is not None
        else {dicent.MAX: "max", dicent.MIN: "min"}.get(state.to_play, "chance")
    )
    return {
        "game": game.name,
        "position": str(state),
        "formats": position_texts(state),
        "to_play": player,
        "result": state.result,
        "actions": [{"action": a, "text": game.format_action(state, a)} for a in state.legal_actions],
        "outcomes": [
            {"outcome": o, "text": game.format_outcome(state, o), "p": p} for o, p in state.outcomes
        ],
    }


def _exhibition(state: dicent.State, seed: int | None, delay: float) -> None:
    """Show a random game; at each decision print the score of rollouts."""
    import random

    from rich.live import Live

    from dicent.draw.terminal import board, describe_rollouts

    rng = random.Random(seed)
    console = Console(highlight=False)
    live = console.is_terminal
    with Live(console=console, auto_refresh=False) if live else _Lines(console) as screen:
        note = ""
        while True:
            if not state.is_chance:
                note += (
                    describe_rollouts(dicent.rollouts(state, 20_000, seed or 0))
                    if state.result is None
                    else ""
                )
                screen.update(board(state, note.removesuffix("; ")), refresh=True)
                if live:
                    time.sleep(delay)
            if state.result is not None:
                break
            if state.is_chance:
                outcomes, weights = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(rng.choices(outcomes, weights)[0])
                continue
            action = rng.choice(state.legal_actions)
            note = f"last move {state.game.format_action(state, action)}; "
            state = state.apply(action)


class _Lines:
    """Print one board after another, in place of rich's Live, if the output is a file."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __enter__(self) -> "_Lines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, renderable: object, refresh: bool = True) -> None:
        """Print one more board."""
        self.console.print(renderable)


@app.command
def bench(rounds: int = 5, scale: float = 1.0, json: Json = False) -> None:
    """Measure the speed of Dicent on this machine, and of peer programs if installed.

    Args:
        rounds: Measurements of each speed; the median is reported.
        scale: Factor of the amount of work that is timed.
    """
    from dicent.bench.suite import bench as measure
    from dicent.bench.suite import signature

    if rounds < 1 or not scale > 0:
        raise DicentError(f"rounds and scale must be above 0 (got {rounds} and {scale})")
    rows = []
    with progress_line() as progress:
        task = progress.add_task("measuring")
        for row in measure(rounds, scale):
            rows.append(row)
            progress.update(task, description=f"measured {row.name.strip()}")
    sign = signature()
    if json:
        values = [None if math.isnan(row.value) else row.value for row in rows]
        listed = [
            {"name": row.name.strip(), "value": value, "unit": row.unit, "note": row.note}
            for row, value in zip(rows, values, strict=True)
        ]
        print_json({"rows": listed, "signature": sign})
        return
    table = Table(box=None, pad_edge=False)
    for column in ("measured", "value", "unit", ""):
        table.add_column(column, justify="right" if column == "value" else "left", header_style="bold")
    for row in rows:
        value = "-" if math.isnan(row.value) else f"{row.value:,.2f}"
        table.add_row(row.name, value, row.unit, f"[dim]{row.note}[/]")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"signature {sign}")

"""The command `analyse`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

import dicent
from dicent.cli.shared import GameText, Json, PositionText, app, escape, print_json
from dicent.errors import DicentError
from dicent.game.colours import in_colours

if TYPE_CHECKING:
    from dicent.engine.answers import AnalysisJson, OutcomeJson

MOST_OUTCOMES = 12  # columns for outcomes; the table of a game with more has none


@app.command
def analyse(
    game: GameText,
    position: PositionText = "",
    /,
    player: str | None = None,
    time: float | None = None,
    nodes: int | None = None,
    evaluations: int | None = None,
    depth: int | None = None,
    turns: int | None = None,
    every: float = 0.5,
    seed: int | None = None,
    json: Json = False,
    stream: bool = False,
) -> None:
    """Evaluate every move of a position. Ctrl-C stops the search and prints the result so far.

    Args:
        player: The player that searches: uct:1000, expectiminimax:NET,depth=3, the name of a strength, ...
        time: Seconds to search. Without any limit the player's own limit applies.
        nodes: Maximum number of states in the tree.
        evaluations: Maximum number of states to evaluate.
        depth: Maximum number of plies to search; rolls count.
        turns: Maximum number of turns to search, for Expectiminimax; a turn lasts until the other moves.
        every: Seconds between two updates of the display.
        seed: Seed of the start position, if it is random and no position is given.
        stream: Print a line of JSON at every update and one at the end.
    """
    from dicent.engine.players import default_player, find_player
    from dicent.play.notation import parse_position

    made = dicent.make(game)
    state = parse_position(made, position) if position else made.initial_state(seed)
    if not every > 0:
        raise DicentError(f"--every must be above 0 (got {every})")
    who = find_player(player or default_player(), made, any_text=True)
    given = (time, nodes, evaluations, depth, turns)
    limit = who.budget if all(part is None for part in given) else dicent.Limit(*given)
    found = _analyses(who, state, limit, every)
    if stream:
        for analysis in found:
            print_json(analysis)
    elif json:
        *_, last = found
        print_json(last)
    else:
        _show(found, who.name)


def _analyses(
    player: dicent.Player, state: dicent.State, limit: dicent.Limit, every: float
) -> Iterator[AnalysisJson]:
    """Yield the analysis at every update of the search."""
    from dicent.engine.answers import analysis_json
    from dicent.engine.tablebase import with_tablebase
    from dicent.search.tree_search import inner_search
    from dicent.search.warm_up import warm_up

    search = with_tablebase(inner_search(player.search), state)
    warm_up(search, state)
    for analysis in search.stream(state, limit, every=every):
        yield analysis_json(analysis, search, analysis.time)


def _show(found: Iterator[AnalysisJson], player: str) -> None:
    console = Console(highlight=False)
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for analysis in found:
                live.update(analysis_table(analysis, player), refresh=True)
    else:
        *_, last = found
        console.print(analysis_table(last, player))


def analysis_table(analysis: AnalysisJson, player: str) -> Group:
    """Return an analysis as a table for the terminal."""
    lines: list[RenderableType] = [
        Text.assemble((analysis["position"], "bold")),
        _worth(analysis),
    ]
    if analysis["moves"]:
        lines.append(_moves(analysis))
    elif analysis["by_outcome"]:
        lines.append(_outcomes(analysis))
    lines += [Text(note, "dim") for note in _notes(analysis, player)]
    return Group(*lines)


def _worth(analysis: AnalysisJson) -> Text:
    """Return the value of the position in a sentence: points if values are points, else a share of wins."""
    whose, exact = in_colours(analysis["player"]), ", exactly" if analysis["proved"] else ""
    win = (f"{whose} wins ", (_percent(analysis["win"]), "bold"))
    if analysis["equity"] is None:
        return Text.assemble(*win, exact)
    points = (f"{whose} has ", (f"{analysis['equity']:+.3f} points", "bold"), exact)
    return Text.assemble(*points, *(() if analysis["win"] is None else ("; ", *win, " by estimate")))


def _notes(analysis: AnalysisJson, player: str) -> list[str]:
    """Return the lines that explain the table and its source."""
    notes = []
    if rolls := _rolls(analysis):
        unit = "win probability after that roll, in percent"
        if analysis["equity"] is not None:
            unit = "points after that roll, in hundredths"
        notes.append(f"{rolls[0]} to {rolls[-1]}: {unit}")
    if any(move["proved"] for move in analysis["moves"]):
        notes.append("= marks exact values")
    if analysis["source"] == "tablebase":
        return [*notes, "from the tablebase"]
    searched = (
        f"{analysis['nodes']:,} nodes, {analysis['evaluations']:,} evaluations, depth {analysis['depth']}"
    )
    return [*notes, f"searched by {player}: {searched}, {analysis['time']:.2f} s"]


def _rolls(analysis: AnalysisJson) -> list[str]:
    """Return the outcomes that have a column."""
    listed: list[OutcomeJson] = max((move["by_outcome"] for move in analysis["moves"]), key=len, default=[])
    return [roll["outcome"] for roll in listed] if len(listed) <= MOST_OUTCOMES else []


def _moves(analysis: AnalysisJson) -> Table:
    rolls, in_points = _rolls(analysis), analysis["equity"] is not None
    table = Table(box=None, pad_edge=False)
    table.add_column("move", header_style="bold", style="bold", no_wrap=True)
    table.add_column("points" if in_points else "win", header_style="bold", justify="right", no_wrap=True)
    table.add_column("loss", header_style="bold", justify="right", no_wrap=True)
    for roll in rolls:
        table.add_column(escape(roll), header_style="dim", justify="right", no_wrap=True)
    table.add_column("principal variation", header_style="dim", style="dim")
    for move in analysis["moves"]:
        worth = {roll["outcome"]: roll["equity" if in_points else "win"] for roll in move["by_outcome"]}
        value = _points(move["equity"]) if in_points else _percent(move["win"])
        lost = move["equity_loss"] if in_points else move["loss"]
        table.add_row(
            escape(move["action"]),
            value + (" =" if move["proved"] else "  "),
            "" if lost == 0 else _points(lost, "") if in_points else _percent(lost),
            *["" if (one := worth.get(roll)) is None else f"{100 * one:.0f}" for roll in rolls],
            escape(" ".join(move["pv"])),
        )
    return table


def _outcomes(analysis: AnalysisJson) -> Table:
    in_points = analysis["equity"] is not None
    table = Table(box=None, pad_edge=False)
    for column in ("outcome", "probability", "points" if in_points else "win"):
        table.add_column(column, header_style="bold", justify="right")
    for roll in analysis["by_outcome"]:
        value = _points(roll["equity"]) if in_points else _percent(roll["win"])
        table.add_row(escape(roll["outcome"]), _percent(roll["p"]), value)
    return table


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{share:.1%}"


def _points(points: float | None, sign: str = "+") -> str:
    return "?" if points is None else f"{points:{sign}.3f}"

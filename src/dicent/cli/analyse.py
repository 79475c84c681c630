"""Commands about positions: analyse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import dicent
from dicent.cli.shared import GameText, Json, PositionText, app, print_json
from dicent.errors import DicentError

MOST_OUTCOMES = 12  # columns of rolls; a game with more shows none


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
    every: float = 0.5,
    seed: int | None = None,
    json: Json = False,
    stream: bool = False,
) -> None:
    """Say what every move of a position is worth. Ctrl-C ends the search early, with what is known.

    Args:
        player: Who searches: uct:1000, expectiminimax:NET,depth=3, the name of a strength, ...
        time: Seconds to search; without any limit, those of the player.
        nodes: States to add to the tree at the most.
        evaluations: States to evaluate at the most.
        depth: Plies to look ahead at the most, rolls of chance among them.
        every: Seconds between two looks at a search that goes on.
        seed: Which start position, where it is dealt and no position is given.
        stream: Print lines of JSON while the search goes on, the last one when it has ended.
    """
    from dicent.engine.players import default_player, find_player
    from dicent.notation import parse_position

    made = dicent.make(game)
    state = parse_position(made, position) if position else made.initial_state(seed)
    if not every > 0:
        raise DicentError(f"--every is {every}, it must be above 0")
    who = find_player(player or default_player(), made, any_text=True)
    nothing = time is None and nodes is None and evaluations is None and depth is None
    limit = who.budget if nothing else dicent.Limit(time, nodes, evaluations, depth)
    found = _analyses(who, state, limit, every)
    if stream:
        for facts in found:
            print_json(facts)
    elif json:
        *_, last = found
        print_json(last)
    else:
        _show(found, who.name)


def _analyses(
    player: dicent.Player, state: dicent.State, limit: dicent.Limit, every: float
) -> Iterator[dict[str, Any]]:
    """What is found, more and more of it."""
    from dicent.engine.answers import analysis_facts
    from dicent.engine.session import warm_up
    from dicent.engine.tables import with_tables
    from dicent.search.tree_search import core

    search = with_tables(core(player.search), state)
    warm_up(search, state)
    for analysis in search.stream(state, limit, every=every):
        yield analysis_facts(analysis, search, analysis.time)


def _show(found: Iterator[dict[str, Any]], player: str) -> None:
    console = Console(highlight=False)
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for facts in found:
                live.update(analysis_table(facts, player), refresh=True)
    else:
        *_, last = found
        console.print(analysis_table(last, player))


def analysis_table(facts: dict[str, Any], player: str) -> Group:
    """An analysis for people."""
    whose = facts["player"]
    exact = ", exactly" if facts["proved"] else ""
    lines: list[Any] = [
        Text.assemble((facts["position"], "bold")),
        Text.assemble(f"{whose} wins ", (_percent(facts["win"]), "bold"), exact),
    ]
    if facts["moves"]:
        lines.append(_moves(facts))
    elif facts["by_outcome"]:
        lines.append(_outcomes(facts))
    lines += [Text(note, "dim") for note in _notes(facts, player)]
    return Group(*lines)


def _notes(facts: dict[str, Any], player: str) -> list[str]:
    """What the table means, and where it comes from."""
    notes = []
    if rolls := _rolls(facts):
        notes.append(f"{rolls[0]} to {rolls[-1]}: the win after that roll, in percent")
    if any(move["proved"] for move in facts["moves"]):
        notes.append("= marks what is exact")
    if facts["source"] == "table":
        return [*notes, "from the endgame table"]
    searched = f"{facts['nodes']:,} nodes, {facts['evaluations']:,} evaluations, depth {facts['depth']}"
    return [*notes, f"searched by {player}: {searched}, {facts['time']:.2f} s"]


def _rolls(facts: dict[str, Any]) -> list[str]:
    """The rolls that have columns."""
    listed: list[dict[str, Any]] = max((move["by_outcome"] for move in facts["moves"]), key=len, default=[])
    return [roll["outcome"] for roll in listed] if len(listed) <= MOST_OUTCOMES else []


def _moves(facts: dict[str, Any]) -> Table:
    rolls = _rolls(facts)
    table = Table(box=None, pad_edge=False)
    table.add_column("move", header_style="bold", style="bold", no_wrap=True)
    table.add_column("win", header_style="bold", justify="right", no_wrap=True)
    table.add_column("loss", header_style="bold", justify="right", no_wrap=True)
    for roll in rolls:
        table.add_column(escape(roll), header_style="dim", justify="right", no_wrap=True)
    table.add_column("principal variation", header_style="dim", style="dim")
    for move in facts["moves"]:
        wins = {roll["outcome"]: roll["win"] for roll in move["by_outcome"]}
        table.add_row(
            escape(move["action"]),
            _percent(move["win"]) + (" =" if move["proved"] else "  "),
            "" if move["loss"] == 0 else _percent(move["loss"]),
            *["" if wins.get(roll) is None else f"{100 * wins[roll]:.0f}" for roll in rolls],
            escape(" ".join(move["pv"])),
        )
    return table


def _outcomes(facts: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("outcome", "probability", "win"):
        table.add_column(column, header_style="bold", justify="right")
    for roll in facts["by_outcome"]:
        table.add_row(escape(roll["outcome"]), _percent(roll["p"]), _percent(roll["win"]))
    return table


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{share:.1%}"

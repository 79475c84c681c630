"""The command `engine`."""

from __future__ import annotations

import sys

from dicent.cli.shared import ClockText, app
from dicent.errors import DicentError


@app.command
def engine(
    player: str | None = None,
    protocol: str = "json",
    threads: int = 2,
    game_files: bool = False,
    clock: ClockText = None,
) -> None:
    """Answer queries on standard input with lines of JSON (see docs/reference/protocol.md).

    Args:
        player: The default player for queries that name none: uct:1000, expectiminimax:NET,depth=3, ...
        protocol: json, or the name of a protocol that a game offers.
        threads: Searches that run at the same time; further searches share them in turn.
        game_files: Let queries name Python files as games, which the engine then runs. Use it only if you
            trust the program that writes the queries.
    """
    from dicent.engine.lines import serve_lines
    from dicent.engine.players import check_player
    from dicent.play.clock import as_clock
    from dicent.play.protocol import JSON, find_protocol

    if player is not None:
        check_player(player)  # fail now, not at each query
    if threads < 1:
        raise DicentError(f"--threads must be 1 or more (got {threads})")
    time = as_clock(clock)
    if protocol == JSON:
        if time is not None:
            raise DicentError(
                "--clock is for the protocols of games; queries of the JSON protocol have a field clock"
            )
        serve_lines(sys.stdin.buffer, sys.stdout.buffer, player, threads, game_files)
    else:
        find_protocol(protocol).serve(sys.stdin.buffer, sys.stdout.buffer, player, time)

"""The command `engine`."""

from __future__ import annotations

import sys
from typing import Literal

from dicent.cli.shared import app
from dicent.errors import DicentError


@app.command
def engine(
    player: str | None = None,
    protocol: Literal["json", "ini-get", "ini-get-numbers"] = "json",
    threads: int = 2,
    game_files: bool = False,
) -> None:
    """Answer queries on standard input with lines of JSON on standard output (see docs/protocol.md).

    Args:
        player: The default player for queries that name none: uct:1000, expectiminimax:NET,depth=3, ...
        protocol: JSON, or the protocol of Taiwanese tournaments with squares A1 to E5 or 1 to 25.
        threads: Searches that run at the same time; further searches share them in turn.
        game_files: Let queries name Python files as games, which the engine then runs. Use it only if you
            trust the program that writes the queries.
    """
    from dicent.engine.ini_get import serve_ini_get
    from dicent.engine.lines import serve_lines
    from dicent.engine.players import check_player

    if player is not None:
        check_player(player)  # fail now, not at each query
    if threads < 1:
        raise DicentError(f"--threads must be 1 or more (got {threads})")
    if protocol == "json":
        serve_lines(sys.stdin.buffer, sys.stdout.buffer, player, threads, game_files)
    else:
        serve_ini_get(sys.stdin.buffer, sys.stdout.buffer, player, protocol)

"""Commands for other programs: engine."""

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
) -> None:
    """Answer queries in lines of JSON on standard input and output (docs/reference/protocol.md).

    Args:
        player: Who searches when a query does not say: uct:1000, expectiminimax:NET,depth=3, ...
        protocol: Lines of JSON, or those of Taiwanese tournaments, with squares A1 to E5 or 1 to 25.
        threads: How many searches advance at the same moment; more take turns.
    """
    from dicent.engine.ini_get import serve_ini_get
    from dicent.engine.lines import serve_lines
    from dicent.engine.players import check_player

    if player is not None:
        check_player(player)  # an error comes now rather than with each query
    if threads < 1:
        raise DicentError(f"--threads is {threads}, it must be 1 or more")
    if protocol == "json":
        serve_lines(sys.stdin.buffer, sys.stdout.buffer, player, threads)
    else:
        serve_ini_get(sys.stdin.buffer, sys.stdout.buffer, player, protocol)

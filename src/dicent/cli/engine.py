"""Commands for other programs: engine."""

from __future__ import annotations

import sys

from dicent.cli.shared import app


@app.command
def engine(player: str | None = None, threads: int = 2) -> None:
    """Answer queries in lines of JSON on standard input and output; docs/protocol.md describes them.

    Args:
        player: Who searches when a query does not say: uct:1000, expectiminimax:NET,depth=3, ...
        threads: How many searches advance at the same moment; more take turns.
    """
    from dicent.engine.lines import serve_lines
    from dicent.play.player import parse_player

    if player is not None:
        parse_player(player)  # an error comes now rather than with each query
    serve_lines(sys.stdin.buffer, sys.stdout.buffer, player, threads)

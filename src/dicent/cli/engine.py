"""Commands for other programs: engine."""

from __future__ import annotations

import sys

from dicent.cli.shared import app
from dicent.errors import DicentError


@app.command
def engine(
    player: str | None = None,
    protocol: str = "json",
    threads: int = 2,
) -> None:
    """Answer queries in lines of JSON on standard input and output; docs/protocol.md describes them.

    Args:
        player: Who searches when a query does not say: uct:1000, expectiminimax:NET,depth=3, ...
        protocol: json, or a protocol that a game offers, such as ini-get.
        threads: How many searches advance at the same moment; more take turns.
    """
    from dicent.engine.lines import serve_lines
    from dicent.engine.players import check_player
    from dicent.play.protocol import JSON, find_protocol

    if player is not None:
        check_player(player)  # an error comes now rather than with each query
    if threads < 1:
        raise DicentError(f"--threads is {threads}, it must be 1 or more")
    if protocol == JSON:
        serve_lines(sys.stdin.buffer, sys.stdout.buffer, player, threads)
    else:
        find_protocol(protocol).serve(sys.stdin.buffer, sys.stdout.buffer, player)

"""Serve the engine on standard input and output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import BinaryIO

from dicent.engine.engine import Engine
from dicent.engine.query import LONGEST_LINE
from dicent.engine.workers import Workers


def serve_lines(
    source: BinaryIO,
    target: BinaryIO,
    player: str | None = None,
    threads: int = 2,
    game_files: bool = False,
) -> None:
    """Answer the queries of `source` until it ends, finish those in flight, and return."""

    def answer(found: dict[str, object]) -> None:
        target.write(json.dumps(found).encode() + b"\n")
        target.flush()

    workers = Workers(threads)
    engine = Engine(answer, workers, player=player, game_files=game_files)
    try:
        with redirect_stdout(sys.stderr):  # a user's game may print
            read_lines(source, engine.ask)
            engine.wait()
    finally:
        engine.close()
        workers.close()


def read_lines(source: BinaryIO, take: Callable[[bytes], object]) -> None:
    """Pass each line of `source` to `take`, until the source ends or `take` returns False.

    A line over the limit is cut just beyond it, so that the engine can report its length.
    """
    while line := source.readline(LONGEST_LINE + 2):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = source.readline(LONGEST_LINE)
        if take(line.rstrip(b"\r\n")) is False:
            return

"""Extras of this game (`dicent.game.extras`). Each part is imported on demand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dicent.game import Game
from dicent.games.ewn.variant import is_ewn, is_usual

if TYPE_CHECKING:
    from dicent.bench.benchmark import Benchmark
    from dicent.exact.sample import Endgames
    from dicent.exact.tablebase import TablebaseProvider
    from dicent.play.notation import Notation
    from dicent.play.opponent import Opponent
    from dicent.play.protocol import Protocol


def notations(game: Game) -> tuple[Notation, ...]:
    """Return WTN, PGN and FEN."""
    from dicent.games.ewn.notation import NOTATIONS

    return NOTATIONS if is_ewn(game) else ()


def protocols(game: Game) -> tuple[Protocol, ...]:
    """Return the protocol of Taiwanese tournaments, with squares as letters and as numbers."""
    from dicent.games.ewn.protocol import PROTOCOLS

    return PROTOCOLS if is_ewn(game) else ()


def opponents(game: Game) -> tuple[Opponent, ...]:
    """Return OpenSpiel's search."""
    from dicent.games.ewn.openspiel import OPPONENT

    return (OPPONENT,) if is_ewn(game) else ()


def tablebase(game: Game) -> TablebaseProvider | None:
    """Return the endgame tablebase."""
    from dicent.exact.tablebase import TablebaseProvider
    from dicent.games.ewn.tablebase import build, tablebase

    if not is_ewn(game):
        return None
    return TablebaseProvider(
        build=partial(build.build, game),
        open=partial(tablebase.open_file, game),
        built=partial(tablebase.built, game),
        files=tablebase.list_files,
    )


def endgames(game: Game) -> Endgames | None:
    """Return random endgames by the number of each side's pieces."""
    from dicent.games.ewn.endgames import endgames_of

    return endgames_of(game) if is_ewn(game) else None


def network(game: Game) -> str | None:
    """Return the shipped network whose rules and set-up are nearest to this game's.

    For the official rules it is the sparse one, with torch and without: in the time that `net-official` needs
    for 3 plies it looks 7 plies ahead, and plays as well (its card has the match).
    """
    if not is_usual(game):
        return None
    if game.options["rules"] == "paper":
        return "net-paper"
    return "net-chosen" if game.options["setup"] in ("alternate", "sequential") else "net-official-sparse"


def benchmark(game: Game) -> Benchmark | None:
    """Return positions and peers for the benchmarks."""
    from dicent.games.ewn.bench import BENCHMARK

    return BENCHMARK if is_ewn(game) else None

"""Extras of backgammon (`dicent.game.extras`). Each part is imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dicent.game import Game
from dicent.games.backgammon.variant import is_backgammon, is_standard

if TYPE_CHECKING:
    from dicent.bench.benchmark import RolloutBenchmark
    from dicent.exact.sample import Endgames
    from dicent.play.notation import Notation
    from dicent.play.opponent import Opponent
    from dicent.play.protocol import Protocol


def notations(game: Game) -> tuple[Notation, ...]:
    """Return match files, XGID, and the IDs of GNU Backgammon."""
    from dicent.games.backgammon.notation import NOTATIONS

    return NOTATIONS if is_backgammon(game) else ()


def protocols(game: Game) -> tuple[Protocol, ...]:
    """Return the Universal Backgammon Interface."""
    from dicent.games.backgammon.protocol import PROTOCOLS

    return PROTOCOLS if is_backgammon(game) else ()


def opponents(game: Game) -> tuple[Opponent, ...]:
    """Return GNU Backgammon, pubeval and bgsage."""
    from dicent.games.backgammon.programs import OPPONENTS

    return OPPONENTS if is_backgammon(game) else ()


def endgames(game: Game) -> Endgames | None:
    """Return bear-offs with few checkers; hypergammon is small enough to be solved whole."""
    from dicent.games.backgammon.endgames import endgames_of

    return endgames_of(game) if is_standard(game) else None


def network(game: Game) -> str | None:
    """Return the network for the usual games, which is used if it is shipped."""
    if not is_backgammon(game) or game.options["checkers"] != 3:
        return None
    return "net-backgammon" if is_standard(game) else "net-hypergammon"


def rollout_benchmark(game: Game) -> RolloutBenchmark | None:
    """Return the opening 31, to measure random games."""
    from dicent.games.backgammon.bench import ROLLOUTS

    return ROLLOUTS if is_standard(game) else None

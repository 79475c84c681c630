"""Extras of backgammon (`dicent.game.extras`). Each part is imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dicent.game import Game

if TYPE_CHECKING:
    from dicent.bench.benchmark import RolloutBenchmark


def rollout_benchmark(game: Game) -> RolloutBenchmark | None:
    """Return the opening 31, to measure random games."""
    from dicent.games.backgammon.bench import ROLLOUTS

    return ROLLOUTS if game.options["variant"] == "standard" else None

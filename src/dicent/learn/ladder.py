"""The ladder: how strong a network is, estimated during a run."""

from __future__ import annotations

from typing import Any

from dicent.evaluate.network import Network
from dicent.game import Game
from dicent.learn.config import Config


def measure(network: Network, game: Game, config: Config, number: int) -> dict[str, Any]:
    """Scores against the players of the ladder."""
    return {}

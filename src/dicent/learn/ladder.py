"""The ladder: how strong a network is, estimated by a few games during a run."""

from __future__ import annotations

from dicent.evaluate.native import Rollout
from dicent.evaluate.network import Network
from dicent.game import Game
from dicent.play.match import play_match
from dicent.play.player import Player, parse_player
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.simple import Greedy

PLAYERS = {
    "random": parse_player("random"),
    "greedy": Player(Greedy(Rollout(100)), name="greedy"),  # the best of 100 random games each
    "uct:100": parse_player("uct:100"),
    "uct:1000": parse_player("uct:1000"),
}


def measure(network: Network, game: Game, games: int, seed: int, threads: int) -> dict[str, float]:
    """The network's score against each player of the ladder, looking three plies ahead.

    Networks with a policy have learned decisions alone, so that they are not asked about chance states:
    theirs are two plies, a move and a roll.
    """
    decides = getattr(network.module, "policy", None) is not None and game.num_outcomes > 0
    player = Player(Expectiminimax(network), Limit(depth=2 if decides else 3), "network")
    if games < 2:
        return {}
    even = games - games % 2
    return {
        name: play_match(player, opponent, game, even, seed, threads).score
        for name, opponent in PLAYERS.items()
    }

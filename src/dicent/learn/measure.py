"""The ladder: how strong a network is, estimated by a few games and exact positions during a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dicent.errors import DicentError
from dicent.evaluate.native import Rollout
from dicent.evaluate.network import Network
from dicent.exact.accuracy import accuracy
from dicent.exact.sample import Decision, endgame_sample, endgames_of, whole_game_sample
from dicent.game import Game
from dicent.play.match import play_match
from dicent.play.player import Player, parse_player
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.simple import Greedy

SOLVABLE = 200_000  # states of a game that is solved to measure by


@lru_cache(maxsize=1)
def opponents() -> dict[str, Player]:
    """The fixed players, weakest first. Greedy looks one ply ahead, by 100 random games each."""
    greedy = Player(Greedy(Rollout(100)), name="greedy")
    named = {name: parse_player(name) for name in ("random", "uct:100", "uct:1000")}
    return {"random": named["random"], "greedy": greedy, **named}


def scores(network: Network, game: Game, games: int, seed: int, threads: int) -> dict[str, float]:
    """The network's score against each player of the ladder, looking three plies ahead.

    Networks with a policy have learned decisions alone, so that they are not asked about chance states:
    theirs are two plies, a move and a roll.
    """
    depth = 2 if network.has_policy and game.num_outcomes > 0 else 3
    player = Player(Expectiminimax(network), Limit(depth=depth), "network")
    if games < 2:
        return {}
    return {
        name: play_match(player, opponent, game, games - games % 2, seed, threads).score
        for name, opponent in opponents().items()
    }


def exact_positions(game: Game) -> list[Decision]:
    """Return decisions with exact values: endgames, or all of a small game; none if that takes too long."""
    try:
        endgames = endgames_of(game)
        if endgames is not None and endgames.quick:
            return endgame_sample(game, positions=40)
        return whole_game_sample(game, positions=200, max_states=SOLVABLE)
    except DicentError:
        return []


def exactness(network: Network, sample: Sequence[Decision]) -> dict[str, float]:
    """How far the network is from the truth, in win probability; and its best moves.

    They are those that it plays one ply ahead, or by its policy where it has one.
    """
    if not sample or network.terminal.name != "gain":
        return {}
    bare = accuracy(network, sample)[-1]
    played = bare if network.has_policy else accuracy(Greedy(network), sample, Limit(depth=1))[-1]
    assert played.optimal is not None
    assert played.regret is not None
    return {"error": bare.error.mean, "best moves": played.optimal.mean, "regret": played.regret.mean}

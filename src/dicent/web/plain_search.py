"""Searches that plain Python can do in about a second, while native code is being prepared."""

from __future__ import annotations

import time
from functools import lru_cache

from dicent.game import Game
from dicent.game.binding import uncompiled
from dicent.game.rollouts import rollouts
from dicent.play.player import Player
from dicent.play.strengths import STRENGTHS, strength_player
from dicent.search.tree_search import inner_search

SHORT = 1000  # evaluations that plain Python does in about a second
SECONDS = 2.0  # of random games
FEWEST = 20  # random games that a quick look needs to say anything


@lru_cache(maxsize=128)
def random_game_seconds(game: Game) -> float:
    """Measure one random game in plain Python."""
    with uncompiled():
        rollouts(game, 0)  # loads the kernels
        begin = time.perf_counter()
        rollouts(game, 1, threads=1)
        return time.perf_counter() - begin


def random_games(game: Game) -> int:
    """Return how many random games plain Python plays in `SECONDS`."""
    return int(SECONDS / max(1e-6, random_game_seconds(game)))


def is_short(player: Player, game: Game) -> bool:
    """Return whether plain Python plays a move of this player without a delay."""
    inner = inner_search(player.search)
    if inner.fixed_depth is not None:
        return True
    most = random_games(game) if inner.plays_random_games else SHORT
    return (player.budget.evaluations or most + 1) <= most


def stand_in(name: str, game: Game) -> Player | None:
    """Return the player that moves for a strength in plain Python; None if every one takes too long.

    That is the strength itself if its search is short, else the next weaker one that makes no careless moves.
    Random games have none: fewer of them play much worse.
    """
    player = strength_player(name, game)
    if is_short(player, game):
        return player
    if inner_search(player.search).plays_random_games:
        return None
    weaker = [*STRENGTHS][: [*STRENGTHS].index(name)]
    players = (strength_player(other, game) for other in reversed(weaker))
    return next((one for one in players if one.search.inner is None and is_short(one, game)), None)

"""Strengths: named opponents from beginner to full, for every game.

They use the game's shipped network if there is one, else random games; these play for points in games with a
score. Weak opponents search less deep and play a share of their moves at random, like people who overlook
moves.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dicent.errors import PlayerError
from dicent.evaluate.network_file import is_native, usable_shipped
from dicent.game import Game, State
from dicent.game.registry import make
from dicent.kernels.constants import CHOICE
from dicent.kernels.generator import open_stream, uniform
from dicent.kernels.hashing import hash_state
from dicent.play.player import Player, as_player, parse_player
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.simple import Random
from dicent.search.tree_search import Search


class _Strength(NamedTuple):
    title: str
    with_network: str
    without: str
    careless: float = 0.0  # share of random moves
    with_native: str = ""  # with a network that native code evaluates, if it differs
    yields_to_clock: bool = False  # its limit gives way to the time of a clock


# Evaluations are limited too, for games in which players place their pieces and have many actions at first.
_STRENGTHS = {
    "beginner": _Strength("Beginner: often moves at random", "greedy:{network}", "uct:30", 0.5),
    "casual": _Strength("Casual: overlooks things", "greedy:{network}", "uct:100", 0.2),
    "steady": _Strength("Steady: looks one move ahead", "greedy:{network}", "uct:300"),
    "advanced": _Strength(
        "Advanced: sees your reply", "expectiminimax:{network},depth=3,evaluations=1000", "uct:3000"
    ),
    "full": _Strength(
        "Full: the strongest search",
        "expectiminimax:{network},depth=5,evaluations=3000",
        "uct:50000",
        # A tenth of a second for 7 plies. Pruning would save half of it, and with it the principal
        # variations of all moves, the tablebase, and searches that pause.
        with_native="expectiminimax:{network},depth=7,evaluations=100000",
        yields_to_clock=True,
    ),
}
STRENGTHS = {name: strength.title for name, strength in _STRENGTHS.items()}  # beginner to full


DEFAULT = [*STRENGTHS][-1]  # the opponent of players who name none


class Careless(Search):
    """A search that plays a share of its moves at random. Its analyses are those of the inner search."""

    inner: Search
    seed: int

    def __init__(self, inner: Search, share: float, seed: int = 0) -> None:
        self.inner = inner
        self.share = share
        self.seed = seed

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """See `Search.stream`."""
        return self.inner.stream(state, limit, after, every, ply)

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """Return the move of the inner search, or a random one; the same for the same state and seed."""
        rng = np.empty(2, np.uint64)
        open_stream(rng, self.seed, hash_state(state.cells, 0), CHOICE)
        careless = bool(state.legal_actions) and uniform(rng) < self.share
        search = Random() if careless else self.inner
        return search.with_seeds(self.seed, self.seed).play(state, limit, ply)


def strength_player(name: str, game: Game) -> Player:
    """Return the player of a named strength."""
    if name not in _STRENGTHS:
        close = difflib.get_close_matches(name, _STRENGTHS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise PlayerError(f"there is no strength {name!r}; {hint}strengths: {', '.join(_STRENGTHS)}")
    strength = _STRENGTHS[name]
    player = parse_player(_text(strength, game))
    if strength.careless:
        return Player(Careless(player.search, strength.careless), player.budget, name)
    return Player(player.search, player.budget, name, limit_is_default=strength.yields_to_clock)


def player_for(player: Player | str, game: Game | str | None) -> Player:
    """Return a player as it is, or make it from its text or the name of a strength."""
    if not isinstance(player, str) or player not in STRENGTHS:
        return as_player(player)
    if game is None:
        raise PlayerError(f"the strength {player!r} depends on the game; add --game")
    return strength_player(player, make(game) if isinstance(game, str) else game)


def _text(strength: _Strength, game: Game) -> str:
    """Return the text of a strength's player: with the game's network if it can be used here."""
    network = usable_shipped(game)
    if network is None:
        return strength.without + (",terminal=score" if game.has_score else "")
    text = strength.with_native if is_native(network) else ""
    return (text or strength.with_network).format(network=network)

"""Measure a network during a run: games against fixed opponents, and positions with exact values."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dicent.errors import DicentError
from dicent.evaluate.native import Rollout
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.exact.accuracy import accuracy
from dicent.exact.sample import Decision, endgame_sample, endgames_of, whole_game_sample
from dicent.exact.solution import ValueKind
from dicent.game import Game
from dicent.play.match import play_match
from dicent.play.player import Player, parse_player
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.simple import Greedy

SOLVABLE = 600_000  # most states of a game that is solved for measuring; Pig to 100 has 490,150
FEW = 20  # decisions, by which the time for all of a sample is estimated


class Measured(NamedTuple):
    """Games against an opponent."""

    score: float  # a game that was cut counts as a draw
    games: int
    cut: int


@lru_cache(maxsize=1)
def opponents() -> dict[str, Player]:
    """Return the fixed opponents, weakest first; greedy searches one ply with 100 rollouts per state."""
    greedy = Player(Greedy(Rollout(100)), name="greedy")
    named = {name: parse_player(name) for name in ("random", "uct:100", "uct:1000")}
    return {"random": named["random"], "greedy": greedy, **named}


def scores(
    network: Network | NativeNetwork,
    game: Game,
    games: int,
    seed: int,
    threads: int,
    seconds: float | None = None,
) -> dict[str, Measured]:
    """Return the network's games against each fixed opponent, three plies deep.

    After `seconds` no further games begin: strong opponents, which come last, then play fewer games or none.

    Networks with a policy learn decision states only. They search two plies, a move and a roll, so that they
    evaluate no chance state.
    """
    depth = 2 if network.has_policy and game.num_outcomes > 0 else 3
    player = Player(Expectiminimax(network), Limit(depth=depth), "network")
    if games < 2:
        return {}
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    found = {}
    for left, (name, opponent) in zip(range(len(opponents()), 0, -1), opponents().items(), strict=True):
        now = time.monotonic()
        until = now + (end - now) / left
        if now < end:
            found[name] = _score(player, opponent, game, games - games % 2, seed, threads, until)
    return found


def _score(
    player: Player, opponent: Player, game: Game, games: int, seed: int, threads: int, until: float
) -> Measured:
    """Play up to `games` games; after `until` no more begin."""
    if until == float("inf"):
        match = play_match(player, opponent, game, games, seed, threads)
        return Measured(match.score, games, match.unfinished)
    points, played, together, cut = 0.0, 0, 2, 0
    while played < games and (played == 0 or time.monotonic() < until):
        begin = time.monotonic()
        together = min(together, games - played)
        match = play_match(player, opponent, game, together, seed + played, threads)
        points += together * match.score
        cut += match.unfinished
        played += together
        if time.monotonic() - begin < (until - begin) / 4:  # many games at once share batches
            together *= 2
    return Measured(points / played, played, cut)


def exact_positions(game: Game, values: ValueKind = "gain") -> list[Decision]:
    """Return decisions with exact values: endgames, or all of a small game; none if that takes too long.

    `values` is what a network learns: "gain", or "score" for points.
    """
    try:
        endgames = endgames_of(game)
        if endgames is not None and endgames.quick:
            return endgame_sample(game, positions=40, values=values)
        return whole_game_sample(game, positions=200, max_states=SOLVABLE, values=values)
    except DicentError:
        return []


def exactness(
    network: Network | NativeNetwork, sample: Sequence[Decision], seconds: float | None = None
) -> dict[str, float]:
    """Return the mean error in win probability or points, the share of best moves, and the regret.

    Moves come from a search of one ply, or from the policy if the network has one. The result is empty if
    the sample has values of another kind than the network. If the whole sample would take more than
    `seconds`, it stays at a few decisions from all of the sample.
    """
    if not sample or network.terminal.name != sample[0].values:
        return {}
    if seconds is None or len(sample) <= FEW:
        return _exactness(network, sample)
    begin = time.monotonic()
    few = sample[:: -(-len(sample) // FEW)]
    found = _exactness(network, few)
    taken = time.monotonic() - begin
    return found if taken * (1 + len(sample) / len(few)) > seconds else _exactness(network, sample)


def _exactness(network: Network | NativeNetwork, sample: Sequence[Decision]) -> dict[str, float]:
    bare = accuracy(network, sample)[-1]
    played = bare if network.has_policy else accuracy(Greedy(network), sample, Limit(depth=1))[-1]
    assert played.optimal is not None
    assert played.regret is not None
    assert bare.error is not None
    return {"error": bare.error.mean, "best moves": played.optimal.mean, "regret": played.regret.mean}

"""Match: two players, many games at once, in pairs with the same start and the same dice."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.binding import Bound, bind
from dicent.errors import DicentError
from dicent.game import Game, State
from dicent.kernels.constants import MAX, MIN, NONE, ONGOING, RESOLVE, SEARCH
from dicent.play.chooser import Chooser, Positions, chooser_of
from dicent.play.player import Player, as_player
from dicent.play.record import Record, append_records, make_record
from dicent.playout import MAX_STEPS
from dicent.registry import make
from dicent.search.determinized import Determinized
from dicent.stats.elo import elo
from dicent.stats.intervals import Interval, pair_interval


class Standing(NamedTuple):
    """How far a match has come."""

    games: int  # finished
    points: float  # of the first player named, a draw a half
    plies: int  # in all games


@dataclass(frozen=True)
class MatchResult:
    """What a match came to. Everything is told for player A, the first one named.

    Games 2k and 2k + 1 are a pair; A has the first move in the even one.
    """

    game: str
    players: tuple[str, str]
    seed: int
    results: npt.NDArray[np.int8]  # [games] +1, 0, -1 for A; a game that did not end is a draw
    plies: npt.NDArray[np.int64]  # [games] actions played
    unfinished: int  # games that did not end in time
    seconds: float

    @property
    def games(self) -> int:
        """How many games were played."""
        return len(self.results)

    @property
    def wins(self) -> int:
        """Games that A won."""
        return int((self.results == 1).sum())

    @property
    def draws(self) -> int:
        """Games that nobody won."""
        return int((self.results == 0).sum())

    @property
    def losses(self) -> int:
        """Games that B won."""
        return int((self.results == -1).sum())

    @property
    def score(self) -> float:
        """A's share of the points: a win 1, a draw a half."""
        return _share(self.results)

    @property
    def score_first(self) -> float:
        """A's share in the games in which it had the first move."""
        return _share(self.results[0::2])

    @property
    def score_second(self) -> float:
        """A's share in the games in which B had the first move."""
        return _share(self.results[1::2])

    @property
    def pairs(self) -> npt.NDArray[np.float64]:
        """A's share of each pair of games: 0, 1/4, 1/2, 3/4 or 1."""
        shares: npt.NDArray[np.float64] = (self.results.reshape(-1, 2).sum(axis=1) / 2 + 1) / 2
        return shares

    @cached_property
    def interval(self) -> Interval:
        """The 95 % interval for the score, from the variance between pairs."""
        return pair_interval(self.pairs.tolist())

    @property
    def elo(self) -> float:
        """The Elo difference that the score stands for."""
        return elo(self.score)

    @property
    def elo_interval(self) -> Interval:
        """The 95 % interval for it."""
        return elo(self.interval[0]), elo(self.interval[1])

    @property
    def mean_plies(self) -> float:
        """Actions a game."""
        return float(self.plies.mean())

    def to_dict(self) -> dict[str, Any]:
        """Everything for programs; an infinite Elo is None."""
        return {
            "game": self.game,
            "players": list(self.players),
            "seed": self.seed,
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.score,
            "interval": list(self.interval),
            "elo": _finite(self.elo),
            "elo_interval": [_finite(end) for end in self.elo_interval],
            "score_first": self.score_first,
            "score_second": self.score_second,
            "pairs": [int((self.pairs == share).sum()) for share in (0, 0.25, 0.5, 0.75, 1)],
            "mean_plies": self.mean_plies,
            "unfinished": self.unfinished,
            "seconds": self.seconds,
        }


def play_match(
    a: Player | str,
    b: Player | str,
    game: Game | str | None = None,
    games: int = 100,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[Standing], object] | None = None,
    record: str | Path | Callable[[Record], object] | None = None,
) -> MatchResult:
    """Play `games` games, an even number, between players A and B.

    All are played at once; with a budget in seconds one after another. The same seed gives the same
    games whatever the number of threads, unless a budget is in seconds; with networks up to the
    rounding of their batches. `game` is by default what a network has learned. `record` is a file to
    add the games to, or a function to give them to.
    """
    begin = time.perf_counter()
    players = as_player(a), as_player(b)
    game = game_of_match(players, game)
    if games < 2 or games % 2:
        raise DicentError(f"games come in pairs with sides swapped: give an even number, not {games}")
    match = _Match(players, game, games, seed % 2**63, threads, progress, record)
    timed = any(player.budget.time is not None for player in players)
    for first in range(0, games, 1 if timed else games):
        match.play(np.arange(first, first + (1 if timed else games)))
    seconds = time.perf_counter() - begin
    names = players[0].name, players[1].name
    return MatchResult(game.name, names, seed, match.results, match.plies, match.unfinished, seconds)


def game_of_match(players: tuple[Player, Player], game: Game | str | None) -> Game:
    """The game to play, by default the one that a network has learned; both players must know it."""
    if game is None:
        game = next((player.game for player in players if player.game is not None), None)
        if game is None:
            raise DicentError("which game? Neither player has a network that knows: name the game")
    game = make(game) if isinstance(game, str) else game
    for player in players:
        player.require(game)
    return game


class _Match:
    """The games of a match while they are played."""

    def __init__(
        self,
        players: tuple[Player, Player],
        game: Game,
        games: int,
        seed: int,
        threads: int | None,
        progress: Callable[[Standing], object] | None,
        record: str | Path | Callable[[Record], object] | None,
    ) -> None:
        self.players, self.game, self.seed = players, game, seed
        self.bound = bind(game)
        self.choosers = [chooser_of(player, game, threads) for player in players]
        self.progress, self.record = progress, record
        self.results = np.zeros(games, np.int8)
        self.plies = np.zeros(games, np.int64)
        self.finished = self.unfinished = 0
        self.points = 0.0
        self.rng = np.empty(2, np.uint64)
        if isinstance(record, str | Path):
            append_records(record, ())  # an error comes now rather than after the match

    def play(self, numbers: npt.NDArray[np.int64]) -> None:
        """Play the games of these numbers to their ends."""
        games = _new_games(self.bound, numbers)
        self.bound.kernel("rounds.deal")(games, self.seed, self.rng)
        start = games.state.copy()
        going = np.arange(len(numbers))
        first_side = np.where(numbers % 2 == 0, 0, 1)  # which player is MAX
        games = self._roll(games)
        while len(going):
            for side, chooser in enumerate(self.choosers):
                mine = np.where(first_side == side, MAX, MIN)
                which = going[((games.mover == mine) & (games.length < MAX_STEPS))[going]]
                if len(which):
                    self._move(games, which, side, chooser)
                    games = self._roll(games)
            over = (games.result[going] != ONGOING) | (games.length[going] >= MAX_STEPS)
            self._finish(games, going[over], start)
            going = going[~over]
            self._report(games, going)

    def _move(self, games: Any, which: npt.NDArray[np.int64], side: int, chooser: Chooser) -> None:
        """Let a player move in the games `which`."""
        numbers, plies = games.number[which], games.plies[which]
        search = self.players[side].search
        own = search.inner.determinization_seed if isinstance(search, Determinized) else 0
        cells = games.state[which]
        chosen = chooser.choose(
            Positions(
                cells,
                plies,
                self._seeds(self.seed, numbers, SEARCH, plies),
                self._seeds(self.seed ^ own, numbers, RESOLVE, np.full(len(which), side)),
            )
        )
        actions = np.empty(self.game.num_actions, np.int64)
        bad = self.bound.kernel("rounds.move")(games, which, chosen, actions)
        if bad != NONE:
            State(self.game, cells[bad].copy()).require_legal(int(chosen[bad]))

    def _seeds(self, seed: int, numbers: Any, purpose: int, counters: Any) -> npt.NDArray[np.int64]:
        seeds = np.empty(len(numbers), np.int64)
        self.bound.kernel("rounds.seeds")(seed, numbers, purpose, counters, seeds, self.rng)
        return seeds

    def _roll(self, games: Any) -> Any:
        """Roll the dice everywhere; returns the games, moved where there was no room for their steps."""
        p = np.empty(max(1, self.game.num_outcomes), np.float64)
        while True:
            self.bound.kernel("rounds.roll")(games, p)
            room = games.steps.shape[1]
            short = (games.length == room) & (games.result == ONGOING)
            if room >= MAX_STEPS or not short.any():
                return games
            wider = np.zeros((len(games.steps), min(2 * room, MAX_STEPS)), np.int32)
            wider[:, :room] = games.steps
            games = games._replace(steps=wider)

    def _finish(self, games: Any, over: npt.NDArray[np.int64], start: Any) -> None:
        """Count the games that are over, and record them."""
        records = []
        for i in over.tolist():
            number, result = int(games.number[i]), int(games.result[i])
            self.finished += 1
            self.unfinished += result == ONGOING
            result = 0 if result == ONGOING else result
            self.results[number] = result if number % 2 == 0 else -result
            self.plies[number] = games.plies[i]
            self.points += (self.results[number] + 1) / 2
            if self.record is not None:
                names = [player.name for player in self.players]
                sides = (names[0], names[1]) if number % 2 == 0 else (names[1], names[0])
                steps = games.steps[i, : games.length[i]].tolist()
                began = State(self.game, start[i].copy())
                records.append(make_record(self.game, began, steps, sides, self.seed, number))
        if isinstance(self.record, str | Path):
            append_records(self.record, records)
        elif self.record is not None:
            for item in records:
                self.record(item)

    def _report(self, games: Any, going: npt.NDArray[np.int64]) -> None:
        if self.progress is not None:
            plies = int(self.plies.sum() + games.plies[going].sum())
            self.progress(Standing(self.finished, float(self.points), plies))


def _new_games(bound: Bound, numbers: npt.NDArray[np.int64]) -> Any:
    game, n = bound.game, len(numbers)
    return bound.module("rounds").Games(
        number=numbers,
        state=np.zeros((n, game.state_size), game.state_dtype),
        mover=np.zeros(n, np.int64),
        result=np.zeros(n, np.int64),
        plies=np.zeros(n, np.int64),
        steps=np.zeros((n, 128), np.int32),
        length=np.zeros(n, np.int64),
        dice=np.zeros((n, 2), np.uint64),
    )


def _share(results: npt.NDArray[np.int8]) -> float:
    return float((results.mean() + 1) / 2)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None

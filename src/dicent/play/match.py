"""Match: many games between two players, in pairs with the same start and dice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.cluster.connection import Connection, joined
from dicent.errors import DicentError, RecordError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network import Network, shared_out
from dicent.game import Game, State
from dicent.game.registry import make, make_installed, names_game
from dicent.kernels.constants import MIN, ONGOING
from dicent.play.clock import Clock, as_clock
from dicent.play.games import Ended, LocalGames
from dicent.play.history import Played
from dicent.play.luck import Judges, judges_of
from dicent.play.player import Player
from dicent.play.record import Record, append_records, choices_of, hold_records, make_record, read_records
from dicent.play.result import MatchInterrupted, MatchResult, Standing, Thinking, pair_counts
from dicent.play.strengths import player_for
from dicent.stats.sprt import Sprt

if TYPE_CHECKING:
    from dicent.play.cluster_games import ClusterGames

WAVE = 200  # games between two checks of a sequential test
LONGEST = 20_000  # actions of a game, where the game does not say its usual number
USUAL_TIMES = 10  # the longest game, in multiples of the usual maximum


def play_match(
    a: Player | str,
    b: Player | str,
    game: Game | str | None = None,
    games: int = 100,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[Standing], object] | None = None,
    record: str | Path | Callable[[Record], object] | None = None,
    luck: Evaluator | str | None = None,
    sprt: Sprt | tuple[float, float] | None = None,
    max_plies: int | None = None,
    clock: Clock | str | None = None,
    cluster: Connection | str | None = None,
) -> MatchResult:
    """Play `games` games, an even number, between players A and B.

    All games run at the same time, or one after another if a player's budget is in seconds or there is a
    clock. The same seed produces the same games for any number of threads, except on time, and with networks
    up to the rounding of their batches. `game` is by default the game of a player's network; a game file must
    be given, since a network file must not choose Python code to run.

    `record` is a file to append the games to, or a function that receives them. Games in the file are not
    played again. `luck` is the judge of the luck adjustment, an evaluator or a network's file: by default the
    network of a player, else a few random games. A judge whose values are points adjusts points, one whose
    values are results adjusts wins. `sprt` is a sequential test, or its elo0 and elo1, that ends the match as
    soon as it is decided.

    A game is cut after `max_plies` actions: by default 10 times the game's MAX_PLIES, and 20,000 in a game
    that does not declare it. `MatchResult` says how cut games are counted.

    `clock` gives each player time for a whole game: a `Clock`, or minutes and the increment in seconds as in
    "5+3". A player whose time is over has lost the game. Limits that a player was given still apply.

    `cluster` is the address of a Ray cluster whose machines play the games, or "auto": that of RAY_ADDRESS,
    else a cluster here. One machine plays the same games, with any number of threads.

    Ctrl-C raises `MatchInterrupted`, a KeyboardInterrupt that carries the result so far.
    """
    begin = time.perf_counter()
    players, clock = (player_for(a, game), player_for(b, game)), as_clock(clock)
    game = game_of_match(players, game)
    if games < 2 or games % 2:
        raise DicentError(
            f"games must be an even number, at least 2, for pairs with sides swapped (got {games})"
        )
    longest = longest_game(game) if max_plies is None else max_plies
    if longest < 1:
        raise DicentError(f"max_plies must be at least 1 (got {max_plies})")
    judges = judges_of(players, game, luck)
    if isinstance(sprt, tuple):
        try:
            sprt = Sprt(*sprt)
        except ValueError as error:
            raise DicentError(str(error)) from None
    judging = tuple(judge.evaluator for judge in judges if judge is not None)
    evaluators = *(player.network for player in players), *judging
    networks = list({id(one): one for one in evaluators if isinstance(one, Network)}.values())
    held = hold_records(record) if isinstance(record, str | Path) else contextlib.nullcontext()
    with held, shared_out(networks, threads or machine.cores()), joined(cluster) as connection:
        match = _Match(
            *(players, game, games, seed % 2**63, threads, progress, record, sprt, longest, clock),
            connection,
        )
        try:
            match.play_all()
        except KeyboardInterrupt:
            if not len(match.pairs()):
                raise
            result = match.result(seed, time.perf_counter() - begin, judges, interrupted=True)
            raise MatchInterrupted(result) from None
        return match.result(seed, time.perf_counter() - begin, judges)


def longest_game(game: Game) -> int:
    """Return the number of actions after which a match cuts a game, unless the user says otherwise."""
    return LONGEST if game.max_plies is None else min(LONGEST, USUAL_TIMES * game.max_plies)


def game_of_match(players: tuple[Player, ...], game: Game | str | None) -> Game:
    """Return the game of a match, by default that of a network; check that all players know it."""
    if game is None:
        named = next((player for player in players if player.game is not None), None)
        if named is None or named.game is None:
            raise DicentError("no game is given and no player has a network that names one; add --game")
        game = make_installed(named.game, f"the network of {named.name}")
    elif isinstance(game, str):
        game = make(game)
    for player in players:
        player.require(game)
    return game


class _Match:
    """The running games of a match."""

    def __init__(
        self,
        players: tuple[Player, Player],
        game: Game,
        games: int,
        seed: int,
        threads: int | None,
        progress: Callable[[Standing], object] | None,
        record: str | Path | Callable[[Record], object] | None,
        sprt: Sprt | None,
        max_plies: int,
        clock: Clock | None,
        connection: Connection | None,
    ) -> None:
        self.players, self.game, self.seed, self.sprt = players, game, seed, sprt
        self.max_plies, self.clock = max_plies, clock
        self.games: LocalGames | ClusterGames
        if connection is None:
            self.games = LocalGames(players, game, seed, threads, max_plies, clock)
        else:
            from dicent.play.cluster_games import ClusterGames

            self.games = ClusterGames(connection, players, game, seed, max_plies, clock)
        self.progress, self.record = progress, record
        self.results = np.full(games, ONGOING, np.int8)  # ONGOING: not played yet
        self.plies = np.zeros(games, np.int64)
        self.played: dict[int, Played] = {}
        self.cut = np.zeros(games, bool)
        self.late = np.zeros(games, bool)  # those lost on time
        self.spent = np.zeros((games, 2))  # seconds of A and B
        self.timed = np.zeros((games, 2), np.int64)  # the moves that took them
        if isinstance(record, str | Path):
            append_records(record, ())  # removes an unfinished last line
            self._count_recorded(record)

    def _count_recorded(self, path: str | Path) -> None:
        """Count the games that the record file holds."""
        for record in read_records(path):
            number = record.number
            names = self._sides(number)
            same = names_game(record.game, self.game)
            if (record.players, record.seed) != (names, self.seed) or not same:
                raise RecordError(
                    f"{path} holds another match: {record.game}, {' against '.join(record.players)}, "
                    f"seed {record.seed}; choose another file"
                )
            if number < len(self.results):
                start, steps, movers = choices_of(record, self.game)
                played = Played(start.cells, np.array(steps, np.int32))
                result = ONGOING if record.result is None else record.result
                sides = [int((mover == MIN) != (number % 2 == 1)) for mover in movers]
                moves = list(zip(sides, record.times or (), strict=False))
                self._count(Ended(number, result, len(movers), played, moves, record.ended == "time"))

    def play_all(self) -> None:
        """Play the remaining games, in waves if a sequential test may end the match."""
        left = np.flatnonzero(self.results == ONGOING)
        size = max(1, len(left)) if self.sprt is None else WAVE
        for first in range(0, len(left), size):
            for some in self.games.waves(left[first : first + size]):
                if self.sprt is not None and self.sprt.decide(pair_counts(self.pairs())) is not None:
                    return
                self.games.play(some, self.take, self._report)

    def pairs(self) -> npt.NDArray[np.float64]:
        """Return A's share of each finished pair."""
        shares: npt.NDArray[np.float64] = (self.results.reshape(-1, 2)[self._whole()].sum(axis=1) + 2) / 4
        return shares

    def _whole(self) -> npt.NDArray[np.bool_]:
        whole: npt.NDArray[np.bool_] = (self.results != ONGOING).reshape(-1, 2).all(axis=1)
        return whole

    def result(self, seed: int, seconds: float, judges: Judges, interrupted: bool = False) -> MatchResult:
        """Return the result of all finished pairs."""
        games = np.flatnonzero(np.repeat(self._whole(), 2))
        return MatchResult(
            self.game,
            self._sides(0),
            seed,
            self.results[games],
            self.plies[games],
            [self.played[i] for i in games.tolist()],
            self.cut[games],
            seconds,
            judges.results,
            self.sprt,
            interrupted,
            judges.points,
            self.max_plies,
            self.late[games],
            Thinking(self.spent[games].sum(axis=0), self.timed[games].sum(axis=0), self.clock),
        )

    def take(self, ended: Sequence[Ended]) -> None:
        """Count and record finished games."""
        for one in ended:
            self._count(one)
        if self.record is None or not ended:
            return
        records = [
            make_record(
                self.game,
                State(self.game, one.played.start.copy()),
                one.played.steps.tolist(),
                self._sides(one.number),
                self.seed,
                one.number,
                [seconds for _, seconds in one.moves],
                one.result if one.late else None,
            )
            for one in ended
        ]
        if isinstance(self.record, str | Path):
            append_records(self.record, records)
        else:
            for item in records:
                self.record(item)

    def _count(self, ended: Ended) -> None:
        """Count a finished game; A is MAX in even games."""
        number = ended.number
        self.cut[number] = ended.result == ONGOING
        result = 0 if ended.result == ONGOING else ended.result
        self.results[number] = result if number % 2 == 0 else -result
        self.plies[number] = ended.plies
        self.played[number] = ended.played
        self.late[number] = ended.late
        for side, seconds in ended.moves:
            self.spent[number, side] += seconds
            self.timed[number, side] += 1

    def _sides(self, number: int) -> tuple[str, str]:
        """Return the names of MAX and MIN in a game."""
        a, b = self.players[0].name, self.players[1].name
        return (a, b) if number % 2 == 0 else (b, a)

    def _report(self, plies: int) -> None:
        """Report the progress; `plies` are those of unfinished games."""
        if self.progress is None:
            return
        over = self.results[self.results != ONGOING]
        plies += int(self.plies.sum())
        ratio = None if self.sprt is None else self.sprt.ratio(pair_counts(self.pairs()))
        self.progress(Standing(len(over), float((over + 1).sum() / 2), plies, ratio))

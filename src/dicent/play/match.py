"""Match: many games between two players, in pairs with the same start and dice."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import DicentError, RecordError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network import Network, shared_out
from dicent.game import Cells, Game, State
from dicent.game.binding import Bound, bind
from dicent.game.registry import make, make_installed, names_game
from dicent.game.rollouts import MAX_STEPS
from dicent.kernels import match_games as match_games_kernels
from dicent.kernels.constants import MAX, MIN, NONE, ONGOING, RESOLVE, SEARCH
from dicent.kernels.match_games import Games
from dicent.play.chooser import Chooser, Positions, chooser_of
from dicent.play.history import Played
from dicent.play.luck import Judges, judges_of
from dicent.play.player import Player, as_player
from dicent.play.record import Record, append_records, choices_of, hold_records, make_record, read_records
from dicent.play.result import MatchInterrupted, MatchResult, Standing, pair_counts
from dicent.stats.sprt import Sprt

WAVE = 200  # games between two checks of a sequential test
LONGEST = 20_000  # actions of a game, where the game does not say its usual number
USUAL_TIMES = 10  # the longest game, in multiples of the usual maximum
Numbers = npt.NDArray[np.int64]


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
) -> MatchResult:
    """Play `games` games, an even number, between players A and B.

    All games run at the same time, or one after another if a player's budget is in seconds. The same seed
    produces the same games for any number of threads, except with budgets in seconds, and with networks up to
    the rounding of their batches. `game` is by default the game of a player's network; a game file must be
    given, since a network file must not choose Python code to run.

    `record` is a file to append the games to, or a function that receives them. Games in the file are not
    played again. `luck` is the judge of the luck adjustment, an evaluator or a network's file: by default the
    network of a player, else a few random games. A judge whose values are points adjusts points, one whose
    values are results adjusts wins. `sprt` is a sequential test, or its elo0 and elo1, that ends the match as
    soon as it is decided.

    A game is cut after `max_plies` actions: by default 10 times the game's MAX_PLIES, and 20,000 in a game
    that does not declare it. `MatchResult` says how cut games are counted.

    Ctrl-C raises `MatchInterrupted`, a KeyboardInterrupt that carries the result so far.
    """
    begin = time.perf_counter()
    players = as_player(a), as_player(b)
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
    with held, shared_out(networks, threads or machine.cores()):
        match = _Match(players, game, games, seed % 2**63, threads, progress, record, sprt, longest)
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
    ) -> None:
        self.players, self.game, self.seed, self.sprt = players, game, seed, sprt
        self.max_plies = max_plies
        self.max_steps = max(MAX_STEPS, 4 * max_plies)  # rolls included, if there is no end of them
        self.bound = bind(game)
        self.choosers = [chooser_of(player, game, threads) for player in players]
        self.progress, self.record = progress, record
        self.results = np.full(games, ONGOING, np.int8)  # ONGOING: not played yet
        self.plies = np.zeros(games, np.int64)
        self.played: dict[int, Played] = {}
        self.cut = np.zeros(games, bool)
        self.rng = np.empty(2, np.uint64)
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
                start, steps, plies = choices_of(record, self.game)
                played = Played(start.cells, np.array(steps, np.int32))
                self._count(number, ONGOING if record.result is None else record.result, plies, played)

    def play_all(self) -> None:
        """Play the remaining games, in waves if a sequential test may end the match."""
        left = np.flatnonzero(self.results == ONGOING)
        timed = any(player.budget.time is not None for player in self.players)
        size = 1 if timed else WAVE if self.sprt is not None else max(1, len(left))
        for first in range(0, len(left), size):
            if self.sprt is not None and self.sprt.decide(pair_counts(self.pairs())) is not None:
                break
            self.play(left[first : first + size])

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
        )

    def play(self, numbers: Numbers) -> None:
        """Play the games with these numbers to their ends."""
        games = _new_games(self.bound, numbers)
        self.bound.kernel(match_games_kernels.deal)(games, self.seed, self.rng)
        start = games.state.copy()
        going = np.arange(len(numbers))
        first_side = np.where(numbers % 2 == 0, 0, 1)  # which player is MAX
        games = self._roll(games)
        while len(going):
            for side, chooser in enumerate(self.choosers):
                mine = np.where(first_side == side, MAX, MIN)
                which = going[((games.mover == mine) & ~self._cut_now(games))[going]]
                if len(which):
                    self._move(games, start, which, side, chooser)
                    games = self._roll(games)
            over = ((games.result != ONGOING) | self._cut_now(games))[going]
            self._finish(games, going[over], start)
            going = going[~over]
            self._report(games, going)

    def _cut_now(self, games: Games) -> npt.NDArray[np.bool_]:
        """Return which games have reached the limit of their length."""
        long: npt.NDArray[np.bool_] = (games.plies >= self.max_plies) | (games.length >= self.max_steps)
        return long

    def _move(self, games: Games, start: Cells, which: Numbers, side: int, chooser: Chooser) -> None:
        """Let a player move in the games `which`."""
        numbers, plies = games.number[which], games.plies[which]
        search = self.players[side].search
        own = search.determinization_seed
        cells = games.state[which]
        chosen = chooser.choose(
            Positions(
                cells,
                plies,
                self._seeds(self.seed, numbers, SEARCH, plies),
                self._seeds(self.seed ^ own, numbers, RESOLVE, np.full(len(which), side)),
                lambda k: Played(start[which[k]], games.steps[which[k], : games.length[which[k]]]),
            )
        )
        actions = self.game.empty_actions()
        bad = self.bound.kernel(match_games_kernels.move)(games, which, chosen, actions)
        if bad != NONE:
            State(self.game, cells[bad].copy()).require_legal(int(chosen[bad]))

    def _seeds(self, seed: int, numbers: Numbers, purpose: int, counters: Numbers) -> npt.NDArray[np.int64]:
        seeds = np.empty(len(numbers), np.int64)
        self.bound.kernel(match_games_kernels.seeds)(seed, numbers, purpose, counters, seeds, self.rng)
        return seeds

    def _roll(self, games: Games) -> Games:
        """Roll the dice in all games; return the games, reallocated if steps ran out of room."""
        p = np.empty(max(1, self.game.num_outcomes), np.float64)
        while True:
            self.bound.kernel(match_games_kernels.roll)(games, p)
            room = games.steps.shape[1]
            short = (games.length == room) & (games.result == ONGOING)
            if room >= self.max_steps or not short.any():
                return games
            wider = np.zeros((len(games.steps), min(2 * room, self.max_steps)), np.int32)
            wider[:, :room] = games.steps
            games = games._replace(steps=wider)

    def _finish(self, games: Games, over: Numbers, start: Cells) -> None:
        """Count and record finished games."""
        records = []
        for i in over.tolist():
            number = int(games.number[i])
            played = Played(start[i].copy(), games.steps[i, : games.length[i]].copy())
            self._count(number, int(games.result[i]), int(games.plies[i]), played)
            if self.record is not None:
                began, sides = State(self.game, start[i].copy()), self._sides(number)
                records.append(make_record(self.game, began, played.steps.tolist(), sides, self.seed, number))
        if isinstance(self.record, str | Path):
            append_records(self.record, records)
        elif self.record is not None:
            for item in records:
                self.record(item)

    def _count(self, number: int, result: int, plies: int, played: Played) -> None:
        """Count a finished game; `result` is MAX's, and A is MAX in even games."""
        self.cut[number] = result == ONGOING
        result = 0 if result == ONGOING else result
        self.results[number] = result if number % 2 == 0 else -result
        self.plies[number] = plies
        self.played[number] = played

    def _sides(self, number: int) -> tuple[str, str]:
        """Return the names of MAX and MIN in a game."""
        a, b = self.players[0].name, self.players[1].name
        return (a, b) if number % 2 == 0 else (b, a)

    def _report(self, games: Games, going: Numbers) -> None:
        if self.progress is None:
            return
        over = self.results[self.results != ONGOING]
        plies = int(self.plies.sum() + games.plies[going].sum())
        ratio = None if self.sprt is None else self.sprt.ratio(pair_counts(self.pairs()))
        self.progress(Standing(len(over), float((over + 1).sum() / 2), plies, ratio))


def _new_games(bound: Bound, numbers: Numbers) -> Games:
    game, n = bound.game, len(numbers)
    return Games(
        number=numbers,
        state=np.zeros((n, game.state_size), game.state_dtype),
        mover=np.zeros(n, np.int64),
        result=np.zeros(n, np.int64),
        plies=np.zeros(n, np.int64),
        steps=np.zeros((n, 128), np.int32),
        length=np.zeros(n, np.int64),
        dice=np.zeros((n, 2), np.uint64),
    )

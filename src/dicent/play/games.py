"""LocalGames: the games of a match, played at the same time on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.game import Cells, Game, State
from dicent.game.binding import Bound, bind
from dicent.game.rollouts import MAX_STEPS
from dicent.kernels import match_games as match_games_kernels
from dicent.kernels.constants import MAX, MIN, NONE, ONGOING, RESOLVE, SEARCH
from dicent.kernels.match_games import Games
from dicent.play.chooser import Chooser, Positions, chooser_of
from dicent.play.clock import Clock
from dicent.play.history import Played
from dicent.play.player import Player

Numbers = npt.NDArray[np.int64]


class Ended(NamedTuple):
    """A finished game of a match."""

    number: int
    result: int  # MAX's; ONGOING if the game was cut
    plies: int
    played: Played
    moves: Sequence[tuple[int, float]] = ()  # the side, 0 for A, and the seconds of each move
    late: bool = False  # lost on time


class LocalGames:
    """Plays games of a match, given their numbers. The first player is MAX in even games."""

    def __init__(
        self,
        players: tuple[Player, Player],
        game: Game,
        seed: int,
        threads: int | None,
        max_plies: int,
        clock: Clock | None = None,
    ) -> None:
        self.players, self.game, self.seed, self.max_plies, self.clock = players, game, seed, max_plies, clock
        self.max_steps = max(MAX_STEPS, 4 * max_plies)  # rolls included, if there is no end of them
        self.bound = bind(game)
        self.choosers = [chooser_of(player, game, threads, clock is not None) for player in players]
        self.rng = np.empty(2, np.uint64)
        # Of the games in progress, by row:
        self.late = np.zeros(0, np.int8)  # MAX's result of a game that was lost on time, else 0
        self.moves: list[list[tuple[int, float]]] = []
        self.clocks: list[Clock | None] = [clock, clock]  # of A and B

    def waves(self, numbers: Numbers) -> list[Numbers]:
        """Return games that may be played at once: one by one if time matters."""
        timed = self.clock is not None or any(player.budget.time is not None for player in self.players)
        return [numbers[i : i + 1] for i in range(len(numbers))] if timed else [numbers]

    def play(
        self, numbers: Numbers, take: Callable[[Sequence[Ended]], object], tick: Callable[[int], object]
    ) -> None:
        """Play the games with these numbers to their ends.

        `take` receives finished games, and `tick` the plies of those that are not finished.
        """
        games = _new_games(self.bound, numbers)
        self.bound.kernel(match_games_kernels.deal)(games, self.seed, self.rng)
        start = games.state.copy()
        going = np.arange(len(numbers))
        first_side = np.where(numbers % 2 == 0, 0, 1)  # the player who is MAX
        games = self._roll(games)
        self.late, self.moves = np.zeros(len(numbers), np.int8), [[] for _ in numbers]
        self.clocks = [self.clock, self.clock]
        while len(going):
            for side, chooser in enumerate(self.choosers):
                mine = np.where(first_side == side, MAX, MIN)
                which = going[((games.mover == mine) & ~self._stopped(games))[going]]
                if len(which):
                    self._move(games, start, which, side, chooser)
                    games = self._roll(games)
            over = ((games.result != ONGOING) | self._stopped(games))[going]
            take([self._ended(games, start, i) for i in going[over].tolist()])
            going = going[~over]
            tick(int(games.plies[going].sum()))

    def _stopped(self, games: Games) -> npt.NDArray[np.bool_]:
        """Return which games have reached the limit of their length, or are lost on time."""
        long: npt.NDArray[np.bool_] = (games.plies >= self.max_plies) | (games.length >= self.max_steps)
        late: npt.NDArray[np.bool_] = self.late != 0
        return long | late

    def _move(self, games: Games, start: Cells, which: Numbers, side: int, chooser: Chooser) -> None:
        """Let a player move in the games `which`."""
        numbers, plies = games.number[which], games.plies[which]
        search = self.players[side].search
        own = search.determinization_seed
        cells = games.state[which]
        clock, now = self.clocks[side], search.clock
        begin = now()
        chosen = chooser.choose(
            Positions(
                cells,
                plies,
                self._seeds(self.seed, numbers, SEARCH, plies),
                self._seeds(self.seed ^ own, numbers, RESOLVE, np.full(len(which), side)),
                lambda k: Played(start[which[k]], games.steps[which[k], : games.length[which[k]]]),
                clock,
            )
        )
        seconds = now() - begin
        if clock is not None:
            self.clocks[side] = clock.after(seconds)
            if self.clocks[side] is None:
                self.late[which] = -games.mover[which]
                return
        for i in which.tolist():  # games that move together share the time
            self.moves[i].append((side, seconds / len(which)))
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

    def _ended(self, games: Games, start: Cells, i: int) -> Ended:
        """Return the finished game in row `i`."""
        played = Played(start[i].copy(), games.steps[i, : games.length[i]].copy())
        late = int(self.late[i])
        result = late or int(games.result[i])
        return Ended(int(games.number[i]), result, int(games.plies[i]), played, self.moves[i], late != 0)


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

"""Play games. Each step is saved in the library before the server answers."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from dicent.errors import ConflictError
from dicent.game import Game, State
from dicent.game.binding import uncompiled
from dicent.kernels.constants import DICE, MAX, MIN
from dicent.kernels.generator import open_stream, uniform
from dicent.library.library import Library
from dicent.library.seats import SavedClock, Seat
from dicent.play.notation import parse_position
from dicent.play.player import Player
from dicent.play.strengths import STRENGTHS, strength_player
from dicent.web.error_answers import DECLARED, ProblemError, about
from dicent.web.guests import Asker
from dicent.web.hints import Advice
from dicent.web.open_game import OpenGame
from dicent.web.plain_search import stand_in
from dicent.web.positions import apply_text, game_named
from dicent.web.preparation import Preparation
from dicent.web.schemas import (
    AtRequest,
    GameStepRequest,
    GradedMove,
    Hint,
    NewGame,
    Pending,
    PlayedGame,
    ResignRequest,
    StartedGame,
)
from dicent.web.seating import LINK, Seating, require_one_device, require_turn
from dicent.web.threads import SearchThreads

HUMAN = "human"
OPEN_GAMES = 1000  # games whose states are cached


def roll(state: State, seed: int, number: int) -> str:
    """Return the outcome of step `number`; it depends on the seed only, so nobody can reroll."""
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, number, DICE)
    outcomes, p = zip(*state.outcomes, strict=True)
    chosen = int(np.searchsorted(np.cumsum(p)[:-1], uniform(rng), side="right"))
    return state.game.format_outcome(state, outcomes[chosen])


class Games:
    """The actions on the games of a library."""

    def __init__(
        self, library: Library, threads: SearchThreads, preparation: Preparation, seating: Seating
    ) -> None:
        self.library = library
        self.seating = seating
        self.threads = threads
        self.preparation = preparation
        self.advice = Advice(threads, preparation)
        self._lock = threading.Lock()
        self._open_games: dict[str, OpenGame] = {}  # the most recently used last
        self._thinking: dict[tuple[str, int], asyncio.Task[PlayedGame]] = {}

    def get(self, id: str, seat: Seat | None = None) -> OpenGame:
        """Return a game by its id, always read from the library. A side whose time is over has lost."""
        game = self._read(id, seat)
        loser, clock = self.seating.loser(game), game.saved.clock
        if loser is not None and clock is not None:
            result = MIN if loser == "MAX" else MAX
            over = clock.with_left(loser, 0.0, self.seating.now())
            with contextlib.suppress(ConflictError):  # another request has changed the game
                self.library.end(game.saved, result, "time", over)
            self.seating.changed(id)
            game = self._read(id, seat)
        self.seating.watch_clock(game, self.get)
        return game

    def _read(self, id: str, seat: Seat | None) -> OpenGame:
        """Read a game; known states are reused."""
        game = OpenGame(self.library.get(id), self._open_games.get(id), seat)
        with self._lock:
            self._open_games.pop(id, None)
            self._open_games[id] = game
            if len(self._open_games) > OPEN_GAMES:
                del self._open_games[next(iter(self._open_games))]
        return game

    def describe(self, game: OpenGame) -> PlayedGame:
        """Describe a game with its clock."""
        return game.describe(self.seating.shown(game))

    async def show(self, id: str, seat: Seat | None, after: int | None) -> PlayedGame:
        """Describe a game; wait shortly for a change if it still has the version `after`.

        The second device joins with its first request.
        """
        if seat is not None and not seat.joined:
            await run_in_threadpool(self.library.join, id, self.seating.now())
            self.seating.changed(id)

        def shown() -> PlayedGame:
            return self.describe(self.get(id, seat))

        if after is None:
            return await run_in_threadpool(shown)
        with self.seating.news(id, is_guest=seat is not None) as changed:
            game = await run_in_threadpool(shown)
            if game.version != after:
                return game
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), self.seating.poll_seconds)
        return await run_in_threadpool(shown)

    def begin(self, wanted: NewGame) -> StartedGame:
        """Start a game."""
        invited, clock = self.seating.wanted(wanted)
        with about("game"):
            game = game_named(wanted.game)
        with about("position"):
            text = wanted.position
            state = parse_position(game, text) if text.strip() else game.initial_state()
        if state.result is not None:
            raise ProblemError(422, "the game is over in this position; choose another", "position")
        for side, player in (("MAX", wanted.players.MAX), ("MIN", wanted.players.MIN)):
            if player not in (HUMAN, LINK):
                with about(f"players.{side}"):
                    strength_player(player, game)
        first, second = (
            HUMAN if player == LINK else player for player in (wanted.players.MAX, wanted.players.MIN)
        )
        players = first, second
        self.preparation.begin(game.name)
        names = _name("MAX", players[0], wanted.names.MAX), _name("MIN", players[1], wanted.names.MIN)
        seed, secret = secrets.randbits(62), secrets.token_urlsafe(24)
        seat = None if invited is None else (invited, secret, bool(text.strip()))
        id = self.library.add(game.name, str(state), players, wanted.dice, seed, names, seat, clock)
        link = None if invited is None else self.seating.link(secret)
        return StartedGame.model_validate({**self.describe(self.get(id)).model_dump(), "link": link})

    def step(self, id: str, at: int, step: str, seat: Seat | None = None) -> PlayedGame:
        """Play a person's action, or an outcome of real dice."""
        game = self._open(id, at, seat)
        require_turn(game)
        if game.state.is_chance and game.saved.dice == "rolled":
            raise ProblemError(422, "the dice must be rolled first: request a roll", "step")
        if game.is_computers(game.state):
            raise ProblemError(422, "the computer is to move: request its reply", "step")
        return self._append(game, step)

    def roll(self, id: str, at: int, seat: Seat | None = None) -> PlayedGame:
        """Roll the dice."""
        game = self._open(id, at, seat)
        require_turn(game)
        if not game.state.is_chance:
            raise ProblemError(422, "no roll is due: a player is to move")
        if game.saved.dice == "hand":
            raise ProblemError(422, "this game uses real dice: send their outcome as a step")
        return self._append(game, roll(game.state, game.saved.seed, at))

    async def reply(self, id: str, at: int) -> PlayedGame:
        """Play the computer's move. A repeated request for the same move returns the same answer."""
        task = self._thinking.get((id, at))
        if task is None:
            task = asyncio.create_task(self._reply(id, at))
            self._thinking[id, at] = task
            task.add_done_callback(lambda task: self._thought(id, at, task))
        return await asyncio.shield(task)

    def _thought(self, id: str, at: int, task: asyncio.Task[PlayedGame]) -> None:
        self._thinking.pop((id, at), None)
        if not task.cancelled():
            task.exception()  # retrieve it, even if no client waits

    async def _reply(self, id: str, at: int) -> PlayedGame:
        game = await run_in_threadpool(self.get, id)
        if at < len(game.saved.steps) and game.is_computers(game.states[at]):
            return self.describe(game)
        self._require(game, at)
        name = game.player(game.state)
        if name not in STRENGTHS:
            raise ProblemError(422, "the computer is not to move")
        plies = sum(not state.is_chance for state in game.states[:-1])

        def think(player: Player) -> str:
            search = player.search.with_seeds(game.saved.seed ^ at, game.saved.seed)
            action = search.play(game.state, player.budget, plies)
            return game.game.format_action(game.state, action)

        def think_plainly(player: Player) -> str:
            with uncompiled():
                return think(player)

        quick = None
        if name in self.preparation.pending(game.game.name):
            quick = await self.threads.move(lambda: stand_in(name, game.game))
        if quick is not None:
            step = await self.threads.move(lambda: think_plainly(quick))
        else:
            await self.preparation.wait(game.game.name, name)  # before a thread is taken
            step = await self.threads.move(lambda: think(_player(name, game.game)))
        return await run_in_threadpool(self._append, game, step)

    def take_back(self, id: str, at: int) -> PlayedGame:
        """Take back the last choice of a person, or a resignation.

        The server's rolls stay. Rolls of real dice are entered by a person and can be corrected.
        """
        game = self.get(id)
        require_one_device(game, "taken back moves")
        if game.saved.length != at:
            raise self._conflict(game, at)
        to = at
        if game.saved.ended != "resigned":
            mine = [i for i in range(at) if game.is_persons(game.states[i])]
            if not mine:
                raise ProblemError(422, "there is no move to take back")
            to = mine[-1]
        return self._change(game, lambda: self.library.take_back(game.saved, to))

    def resign(self, id: str, at: int, side: str, seat: Seat | None = None) -> PlayedGame:
        """Resign a game."""
        game = self._open(id, at, seat)
        if game.yours not in (None, side):
            raise ProblemError(403, "a player resigns for the own side only", "side")
        result = MIN if side == "MAX" else MAX
        return self._change(game, lambda: self.library.end(game.saved, result, "resigned"))

    def rematch(self, id: str, at: int, seat: Seat | None = None) -> PlayedGame:
        """Offer a rematch in a game of two devices; begin it if the other side has offered one."""
        game = self.get(id, seat)
        side, chosen = game.yours, game.saved.seat is not None and game.saved.seat.chosen
        if game.saved.length != at:
            raise self._conflict(game, at)
        if side is None or game.saved.ended is None:
            raise ProblemError(422, "only a finished game of two devices has a rematch; start a new game")
        start = game.saved.start if chosen else str(game.game.initial_state())
        seed = secrets.randbits(62)
        return self._change(game, lambda: self.library.want_rematch(game.saved, side, start, seed))

    async def hint(self, id: str, at: int) -> Hint:
        """Return the best move of a strong search."""
        game = await run_in_threadpool(self._open, id, at)
        require_one_device(game, "hints")
        if not game.state.legal_actions:
            raise ProblemError(422, "no player is to move")
        return await self.advice.hint(game.state)

    async def grade(self, id: str, at: int) -> GradedMove:
        """Grade the last move, if a person has played it."""
        game = await run_in_threadpool(self._open, id, at)
        require_one_device(game, "grades")
        before = None if at == 0 else game.states[at - 1]
        if before is None or before.is_chance or game.is_computers(before):
            raise ProblemError(422, "the last step is no move of a person, so there is nothing to grade")
        return await self.advice.grade(before, game.saved.steps[-1], game.state)

    def pending(self, id: str) -> Pending:
        """Return what is being prepared for a game; a game in play that was saved earlier begins it."""
        game = self.get(id)
        if game.saved.ended is None:
            self.preparation.begin(game.game.name)
        return Pending(jobs=self.preparation.pending(game.game.name))

    def _append(self, game: OpenGame, step: str) -> PlayedGame:
        with about("step"):
            state = apply_text(game.state, step)
        text, ended = step.strip(), None if state.result is None else "played"
        seconds, clock = self._timed(game)
        return self._change(
            game, lambda: self.library.append(game.saved, text, state.result, ended, seconds, clock)
        )

    def _timed(self, game: OpenGame) -> tuple[float | None, SavedClock | None]:
        """Return the seconds of an action and the clock after it; None for rolls, and without a clock."""
        clock, side, now = game.saved.clock, game.turn, self.seating.now()
        if clock is None or side is None or game.state.is_chance:
            return None, None
        seconds = clock.elapsed(now, self.seating.started)
        after = clock.after(side, seconds, now)
        if after is None:  # since the request began
            self.get(game.saved.id)
            raise ProblemError(422, "the game is over: your time is up")
        return round(seconds, 6), after

    def _change(self, seen: OpenGame, change: Callable[[], None]) -> PlayedGame:
        try:
            change()
        except ConflictError:
            raise self._conflict(self.get(seen.saved.id, seen.asker), seen.saved.length) from None
        self.seating.changed(seen.saved.id)
        return self.describe(self.get(seen.saved.id, seen.asker))

    def _open(self, id: str, at: int, seat: Seat | None = None) -> OpenGame:
        """Return a running game that has the number of steps the client has seen."""
        game = self.get(id, seat)
        self._require(game, at)
        return game

    def _require(self, game: OpenGame, at: int) -> None:
        if game.saved.length != at:
            raise self._conflict(game, at)
        if game.saved.ended is not None:
            raise ProblemError(422, "the game is over")

    def _conflict(self, game: OpenGame, at: int) -> ProblemError:
        length = game.saved.length
        text = "the game has changed" if length == at else f"the game has {length} steps, not {at}"
        return ProblemError(409, text, "at", game=self.describe(game).model_dump(by_alias=True))


def _name(side: str, player: str, name: str) -> str:
    """Return the name that a person gave; it must not pass for a computer's."""
    name = " ".join(name.split())
    if name and player != HUMAN:
        raise ProblemError(422, f"only people have names (got {name!r} for a computer)", f"names.{side}")
    if name.lower() in (HUMAN, *STRENGTHS):
        raise ProblemError(422, f"{name!r} names another player; choose another name", f"names.{side}")
    if not name.isprintable():
        raise ProblemError(422, "a name must not contain control characters", f"names.{side}")
    return name


@lru_cache(maxsize=64)
def _player(name: str, game: Game) -> Player:
    return strength_player(name, game)


def routes(games: Games) -> APIRouter:
    """Return the routes about playing."""
    router = APIRouter(prefix="/api/games", responses=DECLARED)

    @router.post("", status_code=201)
    def begin(request: NewGame) -> StartedGame:
        return games.begin(request)

    @router.get("/{id}")
    async def game(
        id: str,
        seat: Asker,
        after: Annotated[
            int | None, Query(ge=0, le=1 << 53, description="Wait for a change if the game has this version.")
        ] = None,
    ) -> PlayedGame:
        return await games.show(id, seat, after)

    @router.post("/{id}/steps")
    def step(id: str, request: GameStepRequest, seat: Asker) -> PlayedGame:
        return games.step(id, request.at, request.step, seat)

    @router.post("/{id}/roll")
    def roll(id: str, request: AtRequest, seat: Asker) -> PlayedGame:
        return games.roll(id, request.at, seat)

    @router.post("/{id}/reply")
    async def reply(id: str, request: AtRequest) -> PlayedGame:
        return await games.reply(id, request.at)

    @router.post("/{id}/take-back")
    def take_back(id: str, request: AtRequest) -> PlayedGame:
        return games.take_back(id, request.at)

    @router.post("/{id}/resign")
    def resign(id: str, request: ResignRequest, seat: Asker) -> PlayedGame:
        return games.resign(id, request.at, request.side, seat)

    @router.post("/{id}/rematch")
    def rematch(id: str, request: AtRequest, seat: Asker) -> PlayedGame:
        return games.rematch(id, request.at, seat)

    @router.post("/{id}/grade")
    async def grade(id: str, request: AtRequest) -> GradedMove:
        return await games.grade(id, request.at)

    @router.get("/{id}/pending")
    def pending(id: str) -> Pending:
        return games.pending(id)

    @router.post("/{id}/hint")
    async def hint(id: str, request: AtRequest) -> Hint:
        return await games.hint(id, request.at)

    return router

"""Play games. Each step is saved in the library before the server answers."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from dicent.draw.captures import captures
from dicent.errors import ConflictError
from dicent.game import Game, State
from dicent.game.binding import uncompiled
from dicent.game.view import Stack
from dicent.kernels.constants import DICE, MAX, MIN
from dicent.kernels.generator import open_stream, uniform
from dicent.library.library import Library, SavedGame
from dicent.play.notation import parse_position
from dicent.play.player import Player
from dicent.play.strengths import STRENGTHS, strength_player
from dicent.web.error_answers import DECLARED, ProblemError, about
from dicent.web.hints import Advice
from dicent.web.plain_search import stand_in
from dicent.web.positions import SIDES, TURNS, apply_text, describe_position, game_named, shown_dice
from dicent.web.preparation import Preparation
from dicent.web.schemas import (
    AtRequest,
    Captured,
    GameStepRequest,
    GradedMove,
    Hint,
    Names,
    NewGame,
    Pending,
    PlayedGame,
    PlayedStep,
    Players,
    ResignRequest,
)
from dicent.web.threads import SearchThreads

HUMAN = "human"
OPEN_GAMES = 1000  # games whose states are cached


class OpenGame:
    """A game of the library with its states. `known` is an earlier version, whose states are reused."""

    def __init__(self, saved: SavedGame, known: OpenGame | None = None) -> None:
        self.saved = saved
        self.game = game_named(saved.game)
        self.states: list[State] = []
        self.texts: list[str] = []  # of the states
        self.captures: list[list[Captured]] = []  # of the steps to the states, none for the first
        if known is not None:
            same = _common(saved.steps, known.saved.steps)
            self.states, self.texts = known.states[: same + 1], known.texts[: same + 1]
            self.captures = known.captures[: same + 1]
        else:
            self._reach(self.game.parse(saved.start))
        for step in saved.steps[len(self.states) - 1 :]:
            before, after = self.state, apply_text(self.state, step)
            self._reach(after, () if before.is_chance else captures(before, after))

    def _reach(self, state: State, captured: tuple[Stack, ...] = ()) -> None:
        self.states.append(state)
        self.texts.append(str(state))
        self.captures.append(
            [Captured(owner=SIDES[stack.owner], count=stack.count, label=stack.label) for stack in captured]
        )

    @property
    def state(self) -> State:
        """Return the current state."""
        return self.states[-1]

    def player(self, state: State) -> str | None:
        """Return the player to move at a state; None for chance or after the end."""
        if state.result is not None or state.is_chance:
            return None
        return self.saved.players[0 if state.to_play == MAX else 1]

    def is_computers(self, state: State) -> bool:
        """Return whether the computer is to move."""
        return self.player(state) in STRENGTHS

    def is_persons(self, state: State) -> bool:
        """Return whether a person is to move or to enter a roll."""
        if state.is_chance:
            return self.saved.dice == "hand"
        return state.result is None and not self.is_computers(state)

    def describe(self) -> PlayedGame:
        """Describe the game with its position and history."""
        saved, plies = self.saved, sum(not state.is_chance for state in self.states[:-1])
        history = [
            PlayedStep(
                step=step,
                player=TURNS[before.to_play],
                position=text,
                dice=shown_dice(after),
                captures=captured,
            )
            for step, before, after, text, captured in zip(
                saved.steps, self.states, self.states[1:], self.texts[1:], self.captures[1:], strict=False
            )
        ]
        return PlayedGame(
            id=saved.id,
            game=saved.game,
            title=self.game.title,
            start=saved.start,
            steps=list(saved.steps),
            players=Players(MAX=saved.players[0], MIN=saved.players[1]),
            names=Names(MAX=saved.names[0], MIN=saved.names[1]),
            dice=saved.dice,
            result=saved.result,
            ended=saved.ended,
            created=saved.created,
            position=describe_position(self.state, plies),
            history=history,
            reviewed=saved.reviewed,
        )


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of first steps that two games share."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def roll(state: State, seed: int, number: int) -> str:
    """Return the outcome of step `number`; it depends on the seed only, so nobody can reroll."""
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, number, DICE)
    outcomes, p = zip(*state.outcomes, strict=True)
    chosen = int(np.searchsorted(np.cumsum(p)[:-1], uniform(rng), side="right"))
    return state.game.format_outcome(state, outcomes[chosen])


class Games:
    """The actions on the games of a library."""

    def __init__(self, library: Library, threads: SearchThreads, preparation: Preparation) -> None:
        self.library = library
        self.threads = threads
        self.preparation = preparation
        self.advice = Advice(threads, preparation)
        self._lock = threading.Lock()
        self._open_games: dict[str, OpenGame] = {}  # the most recently used last
        self._thinking: dict[tuple[str, int], asyncio.Task[PlayedGame]] = {}

    def get(self, id: str) -> OpenGame:
        """Return a game by its id, always read from the library; known states are reused."""
        game = OpenGame(self.library.get(id), self._open_games.get(id))
        with self._lock:
            self._open_games.pop(id, None)
            self._open_games[id] = game
            if len(self._open_games) > OPEN_GAMES:
                del self._open_games[next(iter(self._open_games))]
        return game

    def begin(self, wanted: NewGame) -> PlayedGame:
        """Start a game."""
        with about("game"):
            game = game_named(wanted.game)
        with about("position"):
            text = wanted.position
            state = parse_position(game, text) if text.strip() else game.initial_state()
        if state.result is not None:
            raise ProblemError(422, "the game is over in this position; choose another", "position")
        for side, player in (("MAX", wanted.players.MAX), ("MIN", wanted.players.MIN)):
            if player != HUMAN:
                with about(f"players.{side}"):
                    strength_player(player, game)
        players = wanted.players.MAX, wanted.players.MIN
        self.preparation.begin(game.name)
        names = _name("MAX", players[0], wanted.names.MAX), _name("MIN", players[1], wanted.names.MIN)
        seed = secrets.randbits(62)
        return self.get(self.library.add(game.name, str(state), players, wanted.dice, seed, names)).describe()

    def step(self, id: str, at: int, step: str) -> PlayedGame:
        """Play a person's action, or an outcome of real dice."""
        game = self._open(id, at)
        if game.state.is_chance and game.saved.dice == "rolled":
            raise ProblemError(422, "the dice must be rolled first: request a roll", "step")
        if game.is_computers(game.state):
            raise ProblemError(422, "the computer is to move: request its reply", "step")
        return self._append(game, step)

    def roll(self, id: str, at: int) -> PlayedGame:
        """Roll the dice."""
        game = self._open(id, at)
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
            return game.describe()
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
        if game.saved.length != at:
            raise _conflict(game, at)
        to = at
        if game.saved.ended != "resigned":
            mine = [i for i in range(at) if game.is_persons(game.states[i])]
            if not mine:
                raise ProblemError(422, "there is no move to take back")
            to = mine[-1]
        return self._change(game, lambda: self.library.take_back(game.saved, to))

    def resign(self, id: str, at: int, side: str) -> PlayedGame:
        """Resign a game."""
        game = self._open(id, at)
        result = MIN if side == "MAX" else MAX
        return self._change(game, lambda: self.library.end(game.saved, result, "resigned"))

    async def hint(self, id: str, at: int) -> Hint:
        """Return the best move of a strong search."""
        game = await run_in_threadpool(self._open, id, at)
        if not game.state.legal_actions:
            raise ProblemError(422, "no player is to move")
        return await self.advice.hint(game.state)

    async def grade(self, id: str, at: int) -> GradedMove:
        """Grade the last move, if a person has played it."""
        game = await run_in_threadpool(self._open, id, at)
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
        return self._change(game, lambda: self.library.append(game.saved, text, state.result, ended))

    def _change(self, seen: OpenGame, change: Callable[[], None]) -> PlayedGame:
        try:
            change()
        except ConflictError:
            raise _conflict(self.get(seen.saved.id), seen.saved.length) from None
        return self.get(seen.saved.id).describe()

    def _open(self, id: str, at: int) -> OpenGame:
        """Return a running game that has the number of steps the client has seen."""
        game = self.get(id)
        self._require(game, at)
        return game

    def _require(self, game: OpenGame, at: int) -> None:
        if game.saved.length != at:
            raise _conflict(game, at)
        if game.saved.ended is not None:
            raise ProblemError(422, "the game is over")


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


def _conflict(game: OpenGame, at: int) -> ProblemError:
    length = game.saved.length
    text = "the game has changed" if length == at else f"the game has {length} steps, not {at}"
    return ProblemError(409, text, "at", game=game.describe().model_dump(by_alias=True))


@lru_cache(maxsize=64)
def _player(name: str, game: Game) -> Player:
    return strength_player(name, game)


def routes(games: Games) -> APIRouter:
    """Return the routes about playing."""
    router = APIRouter(prefix="/api/games", responses=DECLARED)

    @router.post("", status_code=201)
    def begin(request: NewGame) -> PlayedGame:
        return games.begin(request)

    @router.get("/{id}")
    def game(id: str) -> PlayedGame:
        return games.get(id).describe()

    @router.post("/{id}/steps")
    def step(id: str, request: GameStepRequest) -> PlayedGame:
        return games.step(id, request.at, request.step)

    @router.post("/{id}/roll")
    def roll(id: str, request: AtRequest) -> PlayedGame:
        return games.roll(id, request.at)

    @router.post("/{id}/reply")
    async def reply(id: str, request: AtRequest) -> PlayedGame:
        return await games.reply(id, request.at)

    @router.post("/{id}/take-back")
    def take_back(id: str, request: AtRequest) -> PlayedGame:
        return games.take_back(id, request.at)

    @router.post("/{id}/resign")
    def resign(id: str, request: ResignRequest) -> PlayedGame:
        return games.resign(id, request.at, request.side)

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

"""Games: playing them. Each step is in the library before it is answered."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from dicent.errors import ConflictError
from dicent.game import State
from dicent.game.registry import game_names
from dicent.kernels.constants import DICE, MAX, MIN
from dicent.kernels.generator import open_stream, uniform
from dicent.library.library import Kept, Library
from dicent.notation import parse_position
from dicent.play.player import Player
from dicent.play.strengths import STRENGTHS, strength_player
from dicent.review.judge import Judge, judge_for
from dicent.web.positions import TURNS, apply_text, game_named, position_shape
from dicent.web.problems import DECLARED, ProblemError, about
from dicent.web.schemas import AtRequest, GameShape, GameStepRequest, Hint, NewGame, ResignRequest
from dicent.web.threads import Work

HUMAN = "human"
TABLES = 1000  # games whose states are remembered


class Table:
    """A game on the board: what the library keeps, and its states. `known` is an earlier look at it."""

    def __init__(self, kept: Kept, known: Table | None = None) -> None:
        self.kept = kept
        self.game = game_named(kept.game)
        self.states: list[State] = []
        self.texts: list[str] = []  # of the states
        if known is not None:
            same = _common(kept.steps, known.kept.steps)
            self.states, self.texts = known.states[: same + 1], known.texts[: same + 1]
        else:
            self._reach(self.game.parse(kept.start))
        for step in kept.steps[len(self.states) - 1 :]:
            self._reach(apply_text(self.state, step))

    def _reach(self, state: State) -> None:
        self.states.append(state)
        self.texts.append(str(state))

    @property
    def state(self) -> State:
        """The state that the game has come to."""
        return self.states[-1]

    def player(self, state: State) -> str | None:
        """Who decides at a state; None where chance does, or the game is over."""
        if state.result is not None or state.is_chance:
            return None
        return self.kept.players[0 if state.to_play == MAX else 1]

    def is_computers(self, state: State) -> bool:
        """Is a computer to move?"""
        return self.player(state) in STRENGTHS

    def is_persons(self, state: State) -> bool:
        """Is a person to move, or to enter what was rolled?"""
        if state.is_chance:
            return self.kept.dice == "hand"
        return state.result is None and not self.is_computers(state)

    def shape(self) -> dict[str, Any]:
        """The game as an answer."""
        kept, plies = self.kept, sum(not state.is_chance for state in self.states[:-1])
        history = [
            {"step": step, "player": TURNS[before.to_play], "position": after}
            for step, before, after in zip(kept.steps, self.states, self.texts[1:], strict=False)
        ]
        return {
            "id": kept.id,
            "game": kept.game,
            "start": kept.start,
            "steps": list(kept.steps),
            "players": {"MAX": kept.players[0], "MIN": kept.players[1]},
            "dice": kept.dice,
            "result": kept.result,
            "ended": kept.ended,
            "created": kept.created,
            "position": position_shape(self.state, plies),
            "history": history,
            "reviewed": kept.reviewed,
        }


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many steps two games have in common from the beginning."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def roll(state: State, seed: int, number: int) -> str:
    """The outcome of step `number` of a game: nobody gets other dice by taking back or asking again."""
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, number, DICE)
    outcomes, p = zip(*state.outcomes, strict=True)
    chosen = int(np.searchsorted(np.cumsum(p)[:-1], uniform(rng), side="right"))
    return state.game.format_outcome(state, outcomes[chosen])


class Games:
    """What can be done with the games of a library."""

    def __init__(self, library: Library, work: Work) -> None:
        self.library = library
        self.work = work
        self._lock = threading.Lock()
        self._tables: dict[str, Table] = {}  # the one asked for last at the end
        self._thinking: dict[tuple[str, int], asyncio.Task[dict[str, Any]]] = {}

    def table(self, id: str) -> Table:
        """A game by its id. The library is always asked; states that are known are not worked out again."""
        table = Table(self.library.get(id), self._tables.get(id))
        with self._lock:
            self._tables.pop(id, None)
            self._tables[id] = table
            if len(self._tables) > TABLES:
                del self._tables[next(iter(self._tables))]
        return table

    def begin(self, wanted: NewGame) -> dict[str, Any]:
        """Begin a game."""
        with about("game"):
            game = game_named(wanted.game)
        with about("position"):
            text = wanted.position
            state = parse_position(game, text) if text.strip() else game.initial_state()
        if state.result is not None:
            raise ProblemError(422, "the game is over at this position: begin at another", "position")
        for side, player in (("MAX", wanted.players.MAX), ("MIN", wanted.players.MIN)):
            if player != HUMAN:
                with about(f"players.{side}"):
                    strength_player(player, game)
        players = wanted.players.MAX, wanted.players.MIN
        seed = secrets.randbits(62)
        return self.table(self.library.add(game.name, str(state), players, wanted.dice, seed)).shape()

    def step(self, id: str, at: int, step: str) -> dict[str, Any]:
        """A person's action, or an outcome of dice that are rolled by hand."""
        table = self._open(id, at)
        if table.state.is_chance and table.kept.dice == "rolled":
            raise ProblemError(422, "the die is to be rolled: ask for a roll", "step")
        if table.is_computers(table.state):
            raise ProblemError(422, "the computer is to move: ask for its reply", "step")
        return self._append(table, step)

    def roll(self, id: str, at: int) -> dict[str, Any]:
        """Let chance decide."""
        table = self._open(id, at)
        if not table.state.is_chance:
            raise ProblemError(422, "there is nothing to roll: a player is to move")
        if table.kept.dice == "hand":
            raise ProblemError(422, "the dice of this game are rolled by hand: send their outcome as a step")
        return self._append(table, roll(table.state, table.kept.seed, at))

    async def reply(self, id: str, at: int) -> dict[str, Any]:
        """The computer's move. Asking again for a move that is made, or thought about, changes nothing."""
        task = self._thinking.get((id, at))
        if task is None:
            task = asyncio.create_task(self._reply(id, at))
            self._thinking[id, at] = task
            task.add_done_callback(lambda task: self._thought(id, at, task))
        return await asyncio.shield(task)

    def _thought(self, id: str, at: int, task: asyncio.Task[dict[str, Any]]) -> None:
        self._thinking.pop((id, at), None)
        if not task.cancelled():
            task.exception()  # looked at, even if nobody waits for it any more

    async def _reply(self, id: str, at: int) -> dict[str, Any]:
        table = await run_in_threadpool(self.table, id)
        if at < len(table.kept.steps) and table.is_computers(table.states[at]):
            return table.shape()
        self._require(table, at)
        name = table.player(table.state)
        if name not in STRENGTHS:
            raise ProblemError(422, "no computer is to move here")
        plies = sum(not state.is_chance for state in table.states[:-1])

        def think() -> str:
            player = _player(name, table.kept.game)
            search = player.search.with_seeds(table.kept.seed ^ at, table.kept.seed)
            action = search.play(table.state, player.budget, plies)
            return table.game.format_action(table.state, action)

        step = await self.work.move(think)
        return await run_in_threadpool(self._append, table, step)

    def take_back(self, id: str, at: int) -> dict[str, Any]:
        """Back to the last decision of a person; a resignation alone is taken back first.

        Dice that are rolled here stay as they fell. Those of a real board are a person's to enter, and a slip
        there can be mended.
        """
        table = self.table(id)
        if table.kept.length != at:
            raise _gone_on(table, at)
        to = at
        if table.kept.ended != "resigned":
            mine = [i for i in range(at) if table.is_persons(table.states[i])]
            if not mine:
                raise ProblemError(422, "there is no move of a person to take back")
            to = mine[-1]
        return self._change(table, lambda: self.library.take_back(table.kept, to))

    def resign(self, id: str, at: int, side: str) -> dict[str, Any]:
        """One side gives up."""
        table = self._open(id, at)
        result = MIN if side == "MAX" else MAX
        return self._change(table, lambda: self.library.end(table.kept, result, "resigned"))

    async def hint(self, id: str, at: int) -> dict[str, Any]:
        """What a strong player would do."""
        table = await run_in_threadpool(self._open, id, at)
        if not table.state.legal_actions:
            raise ProblemError(422, "no player is to move here")
        return await self.work.move(lambda: _judge(table.kept.game).hint(table.state))

    def _append(self, table: Table, step: str) -> dict[str, Any]:
        with about("step"):
            state = apply_text(table.state, step)
        text, ended = step.strip(), None if state.result is None else "played"
        return self._change(table, lambda: self.library.append(table.kept, text, state.result, ended))

    def _change(self, seen: Table, change: Callable[[], None]) -> dict[str, Any]:
        try:
            change()
        except ConflictError:
            raise _gone_on(self.table(seen.kept.id), seen.kept.length) from None
        return self.table(seen.kept.id).shape()

    def _open(self, id: str, at: int) -> Table:
        """A game that goes on, and has as many steps as the client knows."""
        table = self.table(id)
        self._require(table, at)
        return table

    def _require(self, table: Table, at: int) -> None:
        if table.kept.length != at:
            raise _gone_on(table, at)
        if table.kept.ended is not None:
            raise ProblemError(422, "the game is over")


def _gone_on(table: Table, at: int) -> ProblemError:
    length = table.kept.length
    text = "the game was changed meanwhile" if length == at else f"the game has {length} steps, not {at}"
    return ProblemError(409, text, "at", game=table.shape())


@lru_cache(maxsize=64)
def _player(name: str, game: str) -> Player:
    return strength_player(name, game_named(game))


@lru_cache(maxsize=16)
def _judge(game: str) -> Judge:
    return judge_for(game_named(game), solved=0)


def think_once() -> None:
    """A first move of the first game: its native code is ready then, for this process and later ones."""
    game = game_named(game_names()[0])
    state = game.initial_state(0)
    while state.is_chance:
        state = state.apply_outcome(state.outcomes[0][0])
    player = _player([*STRENGTHS][-1], game.name)
    player.search.play(state, player.budget)


def routes(games: Games) -> APIRouter:
    """The requests about a game that is played."""
    router = APIRouter(prefix="/api/games", responses=DECLARED)

    @router.post("", status_code=201)
    def begin(request: NewGame) -> GameShape:
        return GameShape.model_validate(games.begin(request))

    @router.get("/{id}")
    def game(id: str) -> GameShape:
        return GameShape.model_validate(games.table(id).shape())

    @router.post("/{id}/steps")
    def step(id: str, request: GameStepRequest) -> GameShape:
        return GameShape.model_validate(games.step(id, request.at, request.step))

    @router.post("/{id}/roll")
    def roll(id: str, request: AtRequest) -> GameShape:
        return GameShape.model_validate(games.roll(id, request.at))

    @router.post("/{id}/reply")
    async def reply(id: str, request: AtRequest) -> GameShape:
        return GameShape.model_validate(await games.reply(id, request.at))

    @router.post("/{id}/take-back")
    def take_back(id: str, request: AtRequest) -> GameShape:
        return GameShape.model_validate(games.take_back(id, request.at))

    @router.post("/{id}/resign")
    def resign(id: str, request: ResignRequest) -> GameShape:
        return GameShape.model_validate(games.resign(id, request.at, request.side))

    @router.post("/{id}/hint")
    async def hint(id: str, request: AtRequest) -> Hint:
        return Hint.model_validate(await games.hint(id, request.at))

    return router

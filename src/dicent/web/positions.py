"""Describe positions to the browser, which knows no rules of any game."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, cast

from fastapi import APIRouter, Query

import dicent
from dicent.draw.svg import move_cells
from dicent.errors import GameError
from dicent.game import Game, State
from dicent.game.registry import game_names, is_known, make
from dicent.game.view import View
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.library.library import Result
from dicent.play.notation import formats, parse_position
from dicent.play.strengths import STRENGTHS
from dicent.search.analysis import point_of_view
from dicent.web.problems import DECLARED, about
from dicent.web.schemas import (
    Action,
    Board,
    GameInfo,
    GameOption,
    GameText,
    Info,
    Outcome,
    Piece,
    Position,
    PositionText,
    Side,
    StepRequest,
    StrengthInfo,
    Turn,
)

SIDES: dict[int, Side | None] = {MAX: "MAX", MIN: "MIN", CHANCE: None}
TURNS: dict[int, Turn] = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}


def game_named(text: str) -> Game:
    """Make a game from its text. A client may name a Python file only if the user offers it."""
    if not is_known(text):
        base = text.partition(":")[0].strip()
        raise GameError(f"there is no game {base!r}; known games: {', '.join(game_names())}")
    return _made(text)


@lru_cache(maxsize=128)
def _made(text: str) -> Game:
    return make(text)


def apply_text(state: State, step: str) -> State:
    """Return the state after an action or outcome that is given as text."""
    if state.is_chance:
        return state.apply_outcome(state.game.parse_outcome(state, step))
    return state.apply(state.game.parse_action(state, step))


def describe_position(state: State, ply: int = 0) -> Position:
    """Describe a position with its board and everything that may happen next."""
    game, view = state.game, state.game.view(state)
    actions = []
    for action in state.legal_actions:
        origin, to = move_cells(state, action)
        text = game.format_action(state, action)
        actions.append(Action.model_validate({"text": text, "from": origin, "to": to}))
    return Position(
        game=game.name,
        position=str(state),
        to_play=TURNS[state.to_play] if state.result is None else None,
        roller=SIDES[point_of_view(state)] if state.is_chance else None,
        result=cast(Result | None, state.result),
        ply=ply,
        view=None if view is None else _describe_board(view),
        actions=actions,
        outcomes=[Outcome(text=game.format_outcome(state, o), p=p) for o, p in state.outcomes],
    )


def _describe_board(view: View) -> Board:
    return Board(
        rows=view.rows,
        columns=view.columns,
        pieces=[
            Piece(row=int(p.row), column=int(p.column), label=p.label, owner=SIDES[p.owner])
            for p in view.pieces
        ],
        die=view.die,
        marked=[(int(row), int(column)) for row, column in view.marked],
        row_names=list(view.row_names),
        column_names=list(view.column_names),
        caption=view.caption,
    )


def describe_server() -> Info:
    """List the games, strengths and record formats that this server offers."""
    return Info(
        version=dicent.__version__,
        games=[_describe_game(game_named(name)) for name in game_names()],
        strengths=[StrengthInfo(name=name, title=title) for name, title in STRENGTHS.items()],
        formats=list(formats()),
    )


def _describe_game(game: Game) -> GameInfo:
    options = [
        GameOption(name=o.name, default=game.options[o.name], help=o.help, choices=list(o.choices) or None)
        for o in game.declared_options
    ]
    return GameInfo(
        name=game.name,
        title=game.title,
        description=game.description,
        options=options,
        chance=game.num_outcomes > 0,
        view=game.view(game.initial_state(0)) is not None,
    )


def routes() -> APIRouter:
    """Return the routes about positions."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/info")
    def info() -> Info:
        return describe_server()

    @router.get("/position")
    def position(
        game: GameText,
        position: PositionText = "",
        seed: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    ) -> Position:
        with about("game"):
            chosen = game_named(game)
        with about("position"):
            given = bool(position.strip())
            state = parse_position(chosen, position) if given else chosen.initial_state(seed)
        return describe_position(state)

    @router.post("/position")
    def step(request: StepRequest) -> Position:
        with about("game"):
            game = game_named(request.game)
        with about("position"):
            state = parse_position(game, request.position)
        with about("step"):
            state = apply_text(state, request.step)
        return describe_position(state)

    return router

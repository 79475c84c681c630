"""Positions: what a board needs to know, without any rule of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query

import dicent
from dicent.draw.svg import move_cells
from dicent.errors import GameError
from dicent.game import Game, State
from dicent.game.registry import game_names, make
from dicent.game.view import View
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.play.notation import formats, parse_position
from dicent.play.strengths import STRENGTHS
from dicent.search.analysis import point_of_view
from dicent.web.problems import DECLARED, about
from dicent.web.schemas import GameText, Info, PositionShape, PositionText, StepRequest

SIDES = {MAX: "MAX", MIN: "MIN", CHANCE: None}
TURNS = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}


def game_named(text: str) -> Game:
    """A game by its name: from outside, no text may name a file."""
    base = text.partition(":")[0].strip()
    if base not in game_names() or ".py" in text:
        raise GameError(f"there is no game {base!r}; known games: {', '.join(game_names())}")
    return _made(text)


@lru_cache(maxsize=128)
def _made(text: str) -> Game:
    return make(text)


def apply_text(state: State, step: str) -> State:
    """The state after an action or outcome that is given as text."""
    if state.is_chance:
        return state.apply_outcome(state.game.parse_outcome(state, step))
    return state.apply(state.game.parse_action(state, step))


def position_shape(state: State, ply: int = 0) -> dict[str, Any]:
    """A position as an answer."""
    game, view = state.game, state.game.view(state)
    actions = []
    for action in state.legal_actions:
        origin, to = move_cells(state, action)
        actions.append({"text": game.format_action(state, action), "from": origin, "to": to})
    return {
        "game": game.name,
        "position": str(state),
        "to_play": TURNS[state.to_play] if state.result is None else None,
        "roller": TURNS[point_of_view(state)] if state.is_chance else None,
        "result": state.result,
        "ply": ply,
        "view": None if view is None else view_shape(view),
        "actions": actions,
        "outcomes": [{"text": game.format_outcome(state, o), "p": p} for o, p in state.outcomes],
    }


def view_shape(view: View) -> dict[str, Any]:
    """A board as an answer."""
    return {
        "rows": view.rows,
        "columns": view.columns,
        "pieces": [
            {"row": int(p.row), "column": int(p.column), "label": p.label, "owner": SIDES[p.owner]}
            for p in view.pieces
        ],
        "die": view.die,
        "marked": [[int(row), int(column)] for row, column in view.marked],
        "row_names": list(view.row_names),
        "column_names": list(view.column_names),
        "caption": view.caption,
    }


def information() -> dict[str, Any]:
    """What this server offers."""
    games = [game_named(name) for name in game_names()]
    return {
        "version": dicent.__version__,
        "games": [
            {
                "name": game.name,
                "title": game.title,
                "description": game.description,
                "options": [
                    {
                        "name": o.name,
                        "default": game.options[o.name],
                        "help": o.help,
                        "choices": list(o.choices) or None,
                    }
                    for o in game.declared_options
                ],
                "chance": game.num_outcomes > 0,
                "view": game.view(game.initial_state(0)) is not None,
            }
            for game in games
        ],
        "strengths": [{"name": name, "title": title} for name, title in STRENGTHS.items()],
        "formats": list(formats()),
    }


def routes() -> APIRouter:
    """The requests about positions."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/info")
    def info() -> Info:
        return Info.model_validate(information())

    @router.get("/position")
    def position(
        game: GameText,
        position: PositionText = "",
        seed: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    ) -> PositionShape:
        with about("game"):
            chosen = game_named(game)
        with about("position"):
            given = bool(position.strip())
            state = parse_position(chosen, position) if given else chosen.initial_state(seed)
        return PositionShape.model_validate(position_shape(state))

    @router.post("/position")
    def step(request: StepRequest) -> PositionShape:
        with about("game"):
            game = game_named(request.game)
        with about("position"):
            state = parse_position(game, request.position)
        with about("step"):
            state = apply_text(state, request.step)
        return PositionShape.model_validate(position_shape(state))

    return router

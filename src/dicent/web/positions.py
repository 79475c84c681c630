"""Positions: what a board needs to know, without any rule of its own."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query

import dicent
from dicent.errors import GameError
from dicent.game import Game, State
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.play.strengths import STRENGTHS
from dicent.registry import game_names, make
from dicent.view import View
from dicent.web.problems import DECLARED, about
from dicent.web.shapes import GameText, Info, PositionShape, PositionText, StepRequest

SIDES = {MAX: "MAX", MIN: "MIN", CHANCE: None}
TURNS = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}
FORMATS = ["record", "wtn", "pgn"]
Cell = tuple[int, int]


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
    actions = [
        {"text": game.format_action(state, action), **_cells(state, action, view)}
        for action in state.legal_actions
    ]
    return {
        "game": game.name,
        "position": str(state),
        "to_play": TURNS[state.to_play] if state.result is None else None,
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


def _cells(state: State, action: int, view: View | None) -> dict[str, Cell | None]:
    """Where an action leads from and to, as two pictures of the board tell: before it and after it."""
    after = None if view is None else state.game.view(state.apply(action))
    if view is None or after is None:
        return {"from": None, "to": None}
    before, now = _pieces(view, state.to_play), _pieces(after, state.to_play)
    left, appeared = before - now, now - before
    labels = {label for *_, label in appeared}
    origins = [(r, c) for r, c, label in left if label in labels] or [(r, c) for r, c, _ in left]
    targets = [(r, c) for r, c, _ in appeared]
    to = targets[0] if len(targets) == 1 else _last_cell(view, state.game.format_action(state, action))
    origins = [cell for cell in origins if cell != to]
    return {"from": origins[0] if len(origins) == 1 else None, "to": to}


def _pieces(view: View, owner: int) -> set[tuple[int, int, str]]:
    return {(int(p.row), int(p.column), p.label) for p in view.pieces if p.owner == owner}


def _last_cell(view: View, text: str) -> Cell | None:
    """The cell that an action's text names last, where a piece does not stay to show it."""
    names = {
        column + row: (r, c)
        for r, row in enumerate(view.row_names)
        for c, column in enumerate(view.column_names)
    }
    found = re.findall("|".join(map(re.escape, names)), text) if names else []
    return names[found[-1]] if found else None


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
        "formats": FORMATS,
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
            state = chosen.parse(position) if position.strip() else chosen.initial_state(seed)
        return PositionShape.model_validate(position_shape(state))

    @router.post("/position")
    def step(request: StepRequest) -> PositionShape:
        with about("game"):
            game = game_named(request.game)
        with about("position"):
            state = game.parse(request.position)
        with about("step"):
            state = apply_text(state, request.step)
        return PositionShape.model_validate(position_shape(state))

    return router

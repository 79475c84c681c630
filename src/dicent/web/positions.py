"""Describe positions to the browser, which knows no rules of any game."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, cast

from fastapi import APIRouter, Query

import dicent
from dicent.draw.paths import action_paths
from dicent.errors import GameError
from dicent.game import Game, State
from dicent.game.guide import guide
from dicent.game.how_to_play import Block, how_to_play
from dicent.game.registry import game_names, is_known, make
from dicent.game.view import Board as GameBoard
from dicent.game.view import View, as_board
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.library.library import Result
from dicent.library.seats import Seat, Side
from dicent.play.notation import described_formats, parse_position, position_texts
from dicent.play.strengths import STRENGTHS
from dicent.search.analysis import point_of_view
from dicent.web.error_answers import DECLARED, about
from dicent.web.guests import Asker, pages_for
from dicent.web.info_schemas import FormatInfo, GameInfo, GameOption, Info, StrengthInfo
from dicent.web.language import languages
from dicent.web.schemas import (
    Action,
    Board,
    GameText,
    Grid,
    GuideText,
    Outcome,
    Place,
    Position,
    PositionText,
    RulesBlock,
    RulesText,
    Stack,
    StepRequest,
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
    actions = [
        Action(
            text=game.format_action(state, action), paths=[list(path) for path in action_paths(state, action)]
        )
        for action in state.legal_actions
    ]
    return Position(
        game=game.name,
        position=str(state),
        to_play=TURNS[state.to_play] if state.result is None else None,
        roller=SIDES[point_of_view(state)] if state.is_chance else None,
        result=cast(Result | None, state.result),
        score=state.score,
        ply=ply,
        view=None if view is None else _describe_board(view),
        actions=actions,
        outcomes=[
            Outcome(text=game.format_outcome(state, o), p=p, dice=shown_dice(state.apply_outcome(o)))
            for o, p in state.outcomes
        ],
        note=game.note(state),
        ending=game.ending(state),
        formats=position_texts(state),
    )


def describe_rules(game: Game) -> RulesText:
    """Describe the rules in words and pictures."""
    return RulesText(
        game=game.name, title=game.title, blocks=[_describe_block(game, block) for block in how_to_play(game)]
    )


def _describe_block(game: Game, block: Block) -> RulesBlock:
    view = None if block.state is None else game.view(block.state)
    paths = [action_paths(block.state, a) for a in block.actions] if block.state is not None else []
    return RulesBlock(
        kind=block.kind,
        lines=list(block.lines),
        view=None if view is None else _describe_board(view),
        position="" if block.state is None else str(block.state),
        paths=[list(ways[0]) for ways in paths if ways],
    )


def shown_dice(state: State) -> list[str]:
    """Return what the dice beside the board show."""
    board = state.game.board(state)
    return [] if board is None else list(board.dice)


def _describe_board(view: View | GameBoard) -> Board:
    board = as_board(view)
    return Board(
        width=board.width,
        height=board.height,
        places=[Place.model_validate(asdict(place)) for place in board.places],
        stacks=[
            Stack(place=stack.place, owner=SIDES[stack.owner], count=stack.count, label=stack.label)
            for stack in board.stacks
            if stack.count
        ],
        dice=list(board.dice),
        grid=_describe_grid(view) if isinstance(view, View) else None,
        caption=board.caption,
        bottom=SIDES.get(board.bottom),
    )


def _describe_grid(view: View) -> Grid:
    return Grid(
        rows=view.rows,
        columns=view.columns,
        row_names=list(view.row_names),
        column_names=list(view.column_names),
    )


def describe_server(seat: Seat | None = None) -> Info:
    """List what this server offers to its owner, or to a guest with a seat."""
    return Info(
        version=dicent.__version__,
        games=[_describe_game(game_named(name)) for name in game_names()],
        default_game=game_names()[0],
        strengths=[StrengthInfo(name=name, title=title) for name, title in STRENGTHS.items()],
        formats=[FormatInfo(**asdict(one)) for one in described_formats()],
        languages=languages(),
        pages=pages_for(seat),
        guest_of=None if seat is None else seat.game,
    )


def _describe_game(game: Game) -> GameInfo:
    options = [
        GameOption(
            name=o.name,
            default=game.options[o.name],
            help=o.help,
            choices=list(o.choices) or None,
            labels=o.labels,
            example=o.example,
            hidden=o.hidden,
        )
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
    def info(seat: Asker) -> Info:
        return describe_server(seat)

    @router.get("/rules")
    def rules(game: GameText) -> RulesText:
        with about("game"):
            return describe_rules(game_named(game))

    @router.get("/guide")
    def first_game(game: GameText, seat: Asker) -> GuideText:
        with about("game"):
            chosen = game_named(game)
            return GuideText(game=chosen.name, sentences=guide(chosen, reviews="review" in pages_for(seat)))

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

"""Schemas of requests and answers: FastAPI checks them and describes them in /api/openapi.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from dicent.library.library import Dice, Ended, Result
from dicent.library.seats import Side

Turn = Literal["MAX", "MIN", "CHANCE"]
Hop = tuple[int | None, int]  # from a place to a place, by their indexes; from None a piece is placed

GameText = Annotated[str, Field(max_length=200, description="The text that names a game.")]
PositionText = Annotated[str, Field(max_length=2000, description="A position's text; empty: a start.")]
StepText = Annotated[str, Field(max_length=100, description="An action or outcome as people write it.")]
At = Annotated[int, Field(ge=0, le=1_000_000, description="How many steps the client has seen.")]


class Request(BaseModel):
    """The base of requests: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """An error, with the field at fault."""

    error: str
    field: str | None


# Positions


class Place(BaseModel):
    """A place of a board: its top left corner and size in units, and how it is drawn."""

    x: float
    y: float
    width: float
    height: float
    shape: Literal["cell", "point-up", "point-down", "bar", "tray", "bowl", "track", "label"]
    name: str
    text: str
    marked: bool
    capacity: int
    purpose: str  # what the place is for, or nothing


class Stack(BaseModel):
    """Equal pieces on a place, which is given by its index."""

    place: int
    owner: Side | None
    count: int
    label: str


class Grid(BaseModel):
    """The rows and columns of a board whose places are the cells of a grid, row by row."""

    rows: int
    columns: int
    row_names: list[str]
    column_names: list[str]


class Board(BaseModel):
    """The board as it is drawn."""

    width: float
    height: float
    places: list[Place]
    stacks: list[Stack]
    dice: list[str]
    grid: Grid | None
    caption: str
    bottom: Side | None  # the player below the board; null if it is never turned


class Action(BaseModel):
    """A legal action with the ways to play it on the board, each a list of hops from place to place."""

    text: str
    paths: list[list[Hop]]  # the first one is to be drawn; none if the board does not show the action


class Outcome(BaseModel):
    """An outcome of chance, with what the dice show after it if the board shows them."""

    text: str
    p: float
    dice: list[str]


class Position(BaseModel):
    """A position with its legal actions and possible outcomes."""

    game: str
    position: str
    to_play: Turn | None
    roller: Side | None  # who moves after the roll, where chance is to play
    result: Result | None
    score: float | None  # MAX's points at the end, in games with a score
    ply: int
    view: Board | None
    actions: list[Action]
    outcomes: list[Outcome]
    note: str  # a remark for the player, such as why other pieces may move; empty without one
    ending: str  # how the game ended, or nothing
    formats: dict[str, str]  # the position in the game's own notations, such as xgid


class RulesBlock(BaseModel):
    """A block of the rules; a picture has a board and the ways of the actions drawn on it."""

    kind: Literal["heading", "text", "list", "picture"]
    lines: list[str]
    view: Board | None
    position: str  # of a picture whose game has no board
    paths: list[list[Hop]]


class RulesText(BaseModel):
    """The rules of a game in words."""

    game: str
    title: str
    blocks: list[RulesBlock]


class GuideText(BaseModel):
    """The sentences of a first game, by event."""

    game: str
    sentences: dict[str, str]


class StepRequest(Request):
    """A step from a position."""

    game: GameText
    position: PositionText
    step: StepText


# Games


class Players(BaseModel):
    """The players: "human", a strength, or the names in an imported game."""

    MAX: str
    MIN: str


class NewPlayers(Request):
    """The players of a new game: "human", a strength, or "link" for a person on a second device."""

    MAX: Annotated[str, Field(max_length=40)]
    MIN: Annotated[str, Field(max_length=40)]


class Names(Request):
    """The names that people give themselves; nothing for a computer, or for a person without one."""

    MAX: Annotated[str, Field(max_length=40)] = ""
    MIN: Annotated[str, Field(max_length=40)] = ""


class NewGame(Request):
    """A new game."""

    game: GameText
    position: PositionText = ""
    players: NewPlayers
    names: Names = Names()
    dice: Dice = "rolled"
    clock: Annotated[str, Field(max_length=40, description="As in 5+3: minutes and increment.")] | None = None


class Captured(BaseModel):
    """Equal pieces that a step captured."""

    owner: Side | None
    count: int
    label: str


class PlayedStep(BaseModel):
    """A played step, its player, the position after it, what the dice show then, and what it captured."""

    step: str
    player: Turn
    position: str
    dice: list[str]
    captures: list[Captured]


class Summary(BaseModel):
    """A game in a list."""

    id: str
    game: str
    title: str
    players: Players
    names: Names
    dice: Dice
    result: Result | None
    ended: Ended | None
    created: str
    changed: str
    length: int
    reviewed: bool


class SecondsLeft(BaseModel):
    """The seconds that both sides have left."""

    MAX: float
    MIN: float


class ClockState(BaseModel):
    """The clock of a game when the answer was made."""

    left: SecondsLeft
    running: Side | None  # the side whose time runs


class PlayedGame(BaseModel):
    """A game of the library with its position and history."""

    id: str
    game: str
    title: str  # of the game, for people
    start: str
    steps: list[str]
    players: Players
    names: Names
    dice: Dice
    result: Result | None
    ended: Ended | None
    created: str
    position: Position
    history: list[PlayedStep]
    reviewed: bool
    version: int  # counts the changes
    yours: Side | None  # the side of this device, in a game of two devices
    guest: bool  # who asks is on the second device, and may only play
    waiting: bool  # for the second device to join
    rematch_offer: Side | None  # the side that offers a rematch, in a game of two devices
    rematch: str | None  # the id of the rematch, once both sides want it
    clock: ClockState | None


class StartedGame(PlayedGame):
    """A new game, with the link for a second device."""

    link: str | None


class Conflict(Problem):
    """The game has changed since the client read it; `game` is its current state."""

    game: PlayedGame | None = None


class AtRequest(Request):
    """A request about a game in the state that the client has seen."""

    at: At


class GameStepRequest(AtRequest):
    """An action, or an outcome of real dice."""

    step: StepText


class ResignRequest(AtRequest):
    """A resignation."""

    side: Side


class Hint(BaseModel):
    """The best move of a strong search."""

    action: str
    win: float | None  # of the player to move; null where only points are known
    equity: float | None = None  # its points, where values are points
    loss: float
    proved: bool
    pv: list[str]
    quick: bool  # it looks less far ahead, since native code is still being prepared


class GradedMove(BaseModel):
    """What a person's move was worth, from the person's point of view."""

    step: str
    grade: str  # a word of dicent.review.grades
    large: bool  # a loss that the pages warn about
    loss: float  # of winning chances, or of points
    unit: Literal["win", "points"]
    win: float | None  # winning chances after the move
    best_win: float | None  # after the best move


class Pending(BaseModel):
    """What the server is still preparing for a game: `hint`, strengths, `analysis`, `review`."""

    jobs: list[str]


class GamePage(BaseModel):
    """A page of a list of games."""

    games: list[Summary]
    page: int
    pages: int


class ImportRequest(Request):
    """Games as text, in any known format."""

    text: str


class Imported(BaseModel):
    """The ids of the imported games."""

    ids: list[str]


# Reviews


class ReviewState(BaseModel):
    """The state of a review."""

    state: Literal["none", "running", "done", "failed"]
    progress: float
    review: dict[str, JsonValue] | None
    error: str | None

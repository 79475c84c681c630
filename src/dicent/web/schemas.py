"""Schemas of requests and answers: FastAPI checks them and describes them in /api/openapi.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from dicent.library.library import Dice, Ended, Result

Side = Literal["MAX", "MIN"]
Turn = Literal["MAX", "MIN", "CHANCE"]
Cell = tuple[int, int]  # row and column, from the top left

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


class Piece(BaseModel):
    """A piece on a square."""

    row: int
    column: int
    label: str
    owner: Side | None


class Board(BaseModel):
    """The board as it is drawn."""

    rows: int
    columns: int
    pieces: list[Piece]
    die: str
    marked: list[Cell]
    row_names: list[str]
    column_names: list[str]
    caption: str


class Action(BaseModel):
    """A legal action, with the squares it leads from and to if the board shows them."""

    model_config = ConfigDict(populate_by_name=True)
    text: str
    origin: Cell | None = Field(alias="from")
    to: Cell | None


class Outcome(BaseModel):
    """An outcome of chance."""

    text: str
    p: float


class Position(BaseModel):
    """A position with its legal actions and possible outcomes."""

    game: str
    position: str
    to_play: Turn | None
    roller: Side | None  # who moves after the roll, where chance is to play
    result: Result | None
    ply: int
    view: Board | None
    actions: list[Action]
    outcomes: list[Outcome]


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
    """The players of a new game: "human" or a strength."""

    MAX: Annotated[str, Field(max_length=40)]
    MIN: Annotated[str, Field(max_length=40)]


class NewGame(Request):
    """A new game."""

    game: GameText
    position: PositionText = ""
    players: NewPlayers
    dice: Dice = "rolled"


class PlayedStep(BaseModel):
    """A played step, its player, and the position after it."""

    step: str
    player: Turn
    position: str


class Summary(BaseModel):
    """A game in a list."""

    id: str
    game: str
    title: str
    players: Players
    dice: Dice
    result: Result | None
    ended: Ended | None
    created: str
    changed: str
    length: int
    reviewed: bool


class PlayedGame(BaseModel):
    """A game of the library with its position and history."""

    id: str
    game: str
    start: str
    steps: list[str]
    players: Players
    dice: Dice
    result: Result | None
    ended: Ended | None
    created: str
    position: Position
    history: list[PlayedStep]
    reviewed: bool


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


# Information


class GameOption(BaseModel):
    """An option of a game."""

    name: str
    default: int | str | bool
    help: str
    choices: list[int | str | bool] | None


class GameInfo(BaseModel):
    """A game that can be played."""

    name: str
    title: str
    description: str
    options: list[GameOption]
    chance: bool
    view: bool


class StrengthInfo(BaseModel):
    """An opponent."""

    name: str
    title: str


class Info(BaseModel):
    """The games, strengths and formats of this server."""

    version: str
    games: list[GameInfo]
    strengths: list[StrengthInfo]
    formats: list[str]


# Runs and tournaments


class RunSummary(BaseModel):
    """A run in a list."""

    name: str
    game: str
    search: str
    minutes: float
    games: int
    evaluations: int
    states: int
    loss: float | None
    evaluations_per_second: float | None
    scores: dict[str, float]  # against fixed players, as measured last


class Curve(BaseModel):
    """A series of values over minutes."""

    group: str  # curves of one group belong in one plot
    name: str
    label: str
    percent: bool
    x: list[float]
    y: list[float]


class RunDetails(RunSummary):
    """A run with its curves and latest games, as records."""

    settings: dict[str, JsonValue]
    curves: list[Curve]
    records: list[dict[str, JsonValue]]


class TournamentSummary(BaseModel):
    """A tournament in a list."""

    name: str
    game: str
    players: list[str]
    matches: int  # that are over
    finished: bool


class TournamentDetails(TournamentSummary):
    """A tournament with its ratings, strongest first, and the score of each player against each other."""

    seed: int
    ratings: list[dict[str, JsonValue]]
    first_move: dict[str, JsonValue] | None
    cross: list[list[float | None]]

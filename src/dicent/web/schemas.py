"""Shapes: what requests and answers look like, checked on their way in and described for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Side = Literal["MAX", "MIN"]
Turn = Literal["MAX", "MIN", "CHANCE"]
Cell = tuple[int, int]  # row and column, from the top left
Outcome = Literal[1, 0, -1]

GameText = Annotated[str, Field(max_length=200, description="The text that names a game.")]
PositionText = Annotated[str, Field(max_length=2000, description="A position's text; empty: a start.")]
StepText = Annotated[str, Field(max_length=100, description="An action or outcome as people write it.")]
At = Annotated[int, Field(ge=0, le=1_000_000, description="How many steps the client has seen.")]


class Request(BaseModel):
    """What clients send: fields that nobody knows are errors."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong, and with which field."""

    error: str
    field: str | None


# Positions


class PieceShape(BaseModel):
    """A piece on its cell."""

    row: int
    column: int
    label: str
    owner: Side | None


class ViewShape(BaseModel):
    """What the board looks like."""

    rows: int
    columns: int
    pieces: list[PieceShape]
    die: str
    marked: list[Cell]
    row_names: list[str]
    column_names: list[str]
    caption: str


class ActionShape(BaseModel):
    """A legal action, with the cells that it leads from and to where a board shows them."""

    model_config = ConfigDict(populate_by_name=True)
    text: str
    origin: Cell | None = Field(alias="from")
    to: Cell | None


class OutcomeShape(BaseModel):
    """An outcome of chance."""

    text: str
    p: float


class PositionShape(BaseModel):
    """A position and all that may happen there."""

    game: str
    position: str
    to_play: Turn | None
    roller: Side | None  # who moves after the roll, where chance is to play
    result: Outcome | None
    ply: int
    view: ViewShape | None
    actions: list[ActionShape]
    outcomes: list[OutcomeShape]


class StepRequest(Request):
    """A step from a position."""

    game: GameText
    position: PositionText
    step: StepText


# Games


class Players(BaseModel):
    """Who plays: "human", a strength, or whoever an imported game names."""

    MAX: str
    MIN: str


class NewPlayers(Request):
    """Who is to play: "human" or a strength."""

    MAX: Annotated[str, Field(max_length=40)]
    MIN: Annotated[str, Field(max_length=40)]


class NewGame(Request):
    """A game to begin."""

    game: GameText
    position: PositionText = ""
    players: NewPlayers
    dice: Literal["rolled", "hand"] = "rolled"


class HistoryShape(BaseModel):
    """A step that was played: who did it, and the position after it."""

    step: str
    player: Turn
    position: str


class Summary(BaseModel):
    """A game in a list."""

    id: str
    game: str
    title: str
    players: Players
    dice: Literal["rolled", "hand"]
    result: Outcome | None
    ended: Literal["played", "resigned"] | None
    created: str
    changed: str
    length: int
    reviewed: bool


class GameShape(BaseModel):
    """A game of the library with all that a board needs."""

    id: str
    game: str
    start: str
    steps: list[str]
    players: Players
    dice: Literal["rolled", "hand"]
    result: Outcome | None
    ended: Literal["played", "resigned"] | None
    created: str
    position: PositionShape
    history: list[HistoryShape]
    reviewed: bool


class Conflict(Problem):
    """The game is not what the client believes; or, without `game`, something else is in the way."""

    game: GameShape | None = None


class AtRequest(Request):
    """Something to do with a game, as far as the client has seen it."""

    at: At


class GameStepRequest(AtRequest):
    """An action, or an outcome of dice that are rolled by hand."""

    step: StepText


class ResignRequest(AtRequest):
    """Who gives up."""

    side: Side


class Hint(BaseModel):
    """What a strong player would do."""

    action: str
    win: float
    loss: float
    proved: bool
    pv: list[str]


class GamePage(BaseModel):
    """A page of a list of games."""

    games: list[Summary]
    page: int
    pages: int


class ImportRequest(Request):
    """Games as text, in any format that we read."""

    text: str


class Imported(BaseModel):
    """The games that were added."""

    ids: list[str]


# Reviews


class ReviewState(BaseModel):
    """How a review stands."""

    state: Literal["none", "running", "done", "failed"]
    progress: float
    review: dict[str, Any] | None
    error: str | None


# Information


class OptionShape(BaseModel):
    """A choice that a game offers."""

    name: str
    default: int | str | bool
    help: str
    choices: list[int | str | bool] | None


class GameInfo(BaseModel):
    """A game that can be played."""

    name: str
    title: str
    description: str
    options: list[OptionShape]
    chance: bool
    view: bool


class StrengthInfo(BaseModel):
    """An opponent."""

    name: str
    title: str


class Info(BaseModel):
    """What this server offers."""

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
    """A series for a plot, over minutes."""

    group: str  # curves of one group belong in one plot
    name: str
    label: str
    percent: bool
    x: list[float]
    y: list[float]


class RunShape(RunSummary):
    """A run with its curves and latest games, as records."""

    settings: dict[str, Any]
    curves: list[Curve]
    records: list[dict[str, Any]]


class TournamentSummary(BaseModel):
    """A tournament in a list."""

    name: str
    game: str
    players: list[str]
    matches: int  # that are over
    finished: bool


class TournamentShape(TournamentSummary):
    """A tournament with its ratings, strongest first, and the shares that each had against each."""

    seed: int
    ratings: list[dict[str, Any]]
    first_move: dict[str, Any] | None
    cross: list[list[float | None]]

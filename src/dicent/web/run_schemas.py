"""Schemas of training runs and tournaments, which the page Watch shows."""

from __future__ import annotations

from pydantic import BaseModel, JsonValue


class RunSummary(BaseModel):
    """A run in a list. A damaged one has a `problem` in place of the rest."""

    name: str
    problem: str | None = None
    game: str = ""
    title: str = ""  # of the game, for people
    search: str = ""
    minutes: float = 0.0
    games: int = 0
    evaluations: int = 0
    states: int = 0
    loss: float | None = None
    evaluations_per_second: float | None = None
    scores: dict[str, float] = {}  # against fixed players, as measured last


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
    """A tournament in a list. A damaged one has a `problem` in place of the rest."""

    name: str
    problem: str | None = None
    game: str = ""
    title: str = ""  # of the game, for people
    players: list[str] = []
    matches: int = 0  # finished matches
    finished: bool = False


class TournamentDetails(TournamentSummary):
    """A tournament with its ratings, strongest first, and the score of each player against each other."""

    seed: int
    ratings: list[dict[str, JsonValue]]
    first_move: dict[str, JsonValue] | None
    cross: list[list[float | None]]

"""Statistics of a player: results, losses and luck against each opponent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from dicent.library.library import Library
from dicent.library.statistics import PlayedGame, players_of, statistics
from dicent.play.strengths import STRENGTHS
from dicent.web.error_answers import DECLARED


class OpponentRow(BaseModel):
    """What a player reached against one opponent."""

    name: str
    won: int
    drawn: int
    lost: int
    reviewed: int  # games
    decisions: int  # of the player in reviewed games
    loss: float  # of all these decisions, in winning chances
    luck: float  # of all reviewed games, in winning chances: the player's less the opponent's


class GameLuck(BaseModel):
    """The luck of the player in one reviewed game."""

    id: str
    created: str
    opponent: str
    luck: float


class PlayerStatistics(BaseModel):
    """What a player reached in finished games, and the names of all players, the most frequent first."""

    players: list[str]
    player: str
    opponents: list[OpponentRow]
    luck: list[GameLuck]


def describe_statistics(games: list[PlayedGame], wanted: str) -> PlayerStatistics:
    """Describe what a player reached; by default the most frequent one that is not a strength."""
    players = players_of(games)
    persons = [name for name in players if name not in STRENGTHS]
    player = wanted or next(iter(persons or players), "")
    found = statistics(games, player)
    return PlayerStatistics(
        players=players,
        player=player,
        opponents=[OpponentRow(**asdict(row)) for row in found.opponents],
        luck=[GameLuck(**one._asdict()) for one in found.luck],
    )


def routes(library: Library) -> APIRouter:
    """Return the route about statistics."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/statistics")
    def of_player(
        player: Annotated[str, Query(max_length=200)] = "",
        game: Annotated[str, Query(max_length=200)] = "",
    ) -> PlayerStatistics:
        return describe_statistics(library.played(game), player)

    return router

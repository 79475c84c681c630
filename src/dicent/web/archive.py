"""List, import, export and delete the games of the library."""

from __future__ import annotations

import contextlib
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse

from dicent.errors import DicentError, RecordError
from dicent.library.library import GameSummary, Library
from dicent.play.notation import described_formats, each_game, write_game
from dicent.play.record import Record, with_score
from dicent.web.error_answers import DECLARED, ProblemError, about, answers_as
from dicent.web.positions import game_named
from dicent.web.schemas import GamePage, Imported, ImportRequest, Names, Players, Summary

PAGE = 50  # games
STEPS, NAME = 10_000, 200  # limits of an imported game: steps; letters in its name and its players'
GAMES, ALL_STEPS = 1000, 50_000  # limits of an import, which is replayed while others wait
KINDS = 20  # different games of an import; each takes a moment to make
RESULTS: dict[str, int | str | None] = {"": None, "1": 1, "0": 0, "-1": -1, "open": "open"}


def read_legal(text: str) -> list[Record]:
    """Read the games of a text; every one must be of an installed game."""
    records: list[Record] = []
    steps = 0
    for record in each_game(text, longest=STEPS, most_kinds=KINDS):
        steps += len(record.steps)
        if len(records) == GAMES or steps > ALL_STEPS:
            raise RecordError(
                f"there are too many games: at most {GAMES:,}, with {ALL_STEPS:,} steps in all. Import them "
                "in parts"
            )
        records.append(record)
        if len(record.game) > NAME or max(map(len, record.players)) > NAME:
            raise RecordError(f"game {len(records)} has too long a name: at most {NAME} letters")
        game_named(record.game)
    return records


def describe_game(game: GameSummary) -> Summary:
    """Describe a game of the library for a list."""
    try:
        title = game_named(game.game).title
    except DicentError:  # a game that is not installed here
        title = game.game
    first, second = game.players
    return Summary(
        id=game.id,
        game=game.game,
        title=title,
        players=Players(MAX=first, MIN=second),
        names=Names(MAX=game.names[0], MIN=game.names[1]),
        dice=game.dice,
        result=game.result,
        ended=game.ended,
        created=game.created,
        changed=game.changed,
        length=game.length,
        reviewed=game.reviewed,
    )


def routes(library: Library) -> APIRouter:
    """Return the routes about the library."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/games")
    def games(
        text: Annotated[str, Query(max_length=200)] = "",
        game: Annotated[str, Query(max_length=200)] = "",
        result: Literal["", "1", "0", "-1", "open"] = "",
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    ) -> GamePage:
        found, total = library.search(text, game, RESULTS[result], (page - 1) * PAGE, PAGE)
        return GamePage(games=list(map(describe_game, found)), page=page, pages=max(1, -(-total // PAGE)))

    @router.delete("/games/{id}", status_code=204)
    def delete(id: str) -> Response:
        library.delete(id)
        return Response(status_code=204)

    @router.post("/import")
    def bring(request: ImportRequest) -> Imported:
        with about("text"):
            records = read_legal(request.text)
        return Imported(ids=library.add_records(records))

    @router.get("/games/{id}/export", response_class=Response, responses=answers_as("text/plain"))
    def export(id: str, format: Annotated[str, Query(max_length=40)] = "record") -> PlainTextResponse:
        saved = library.get(id)
        record = saved.record()
        with contextlib.suppress(DicentError):  # a game that is not installed here has no score to add
            record = with_score(record, game_named(saved.game))
        try:
            text = write_game(record, format)
        except DicentError as error:
            raise ProblemError(422, str(error), "format") from error
        suffix = next(one.suffix for one in described_formats() if one.name == format)
        name = f'attachment; filename="{id}.{suffix}"'
        return PlainTextResponse(text, headers={"Content-Disposition": name})

    return router

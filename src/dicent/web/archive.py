"""Archive: the library's games as a list, and as text that comes in and goes out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse

from dicent.errors import DicentError, RecordError
from dicent.library.library import Facts, Library
from dicent.play.notation import read_games, write_game
from dicent.play.record import Record
from dicent.web.positions import game_named
from dicent.web.problems import DECLARED, ProblemError, about, answers_as
from dicent.web.schemas import GamePage, Imported, ImportRequest

PAGE = 50  # games
STEPS, NAME = 10_000, 200  # of a game that is brought in; letters of its name and its players'
RESULTS: dict[str, int | str | None] = {"": None, "1": 1, "0": 0, "-1": -1, "open": "open"}


def read_legal(text: str) -> list[Record]:
    """The games that a text holds, each of a game that has a name."""
    records = read_games(text)
    for number, record in enumerate(records, 1):
        if len(record.steps) > STEPS or len(record.game) > NAME or max(map(len, record.players)) > NAME:
            raise RecordError(f"game {number} of the text is too long")
        game_named(record.game)
    return records


def summary(facts: Facts) -> dict[str, Any]:
    """A game in a list."""
    try:
        title = game_named(facts.game).title
    except DicentError:
        title = facts.game
    return {
        "id": facts.id,
        "game": facts.game,
        "title": title,
        "players": {"MAX": facts.players[0], "MIN": facts.players[1]},
        "dice": facts.dice,
        "result": facts.result,
        "ended": facts.ended,
        "created": facts.created,
        "changed": facts.changed,
        "length": facts.length,
        "reviewed": facts.reviewed,
    }


def routes(library: Library) -> APIRouter:
    """The requests about the library."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/games")
    def games(
        text: Annotated[str, Query(max_length=200)] = "",
        game: Annotated[str, Query(max_length=200)] = "",
        result: Literal["", "1", "0", "-1", "open"] = "",
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    ) -> GamePage:
        found, total = library.search(text, game, RESULTS[result], (page - 1) * PAGE, PAGE)
        listed = [summary(facts) for facts in found]
        return GamePage.model_validate({"games": listed, "page": page, "pages": max(1, -(-total // PAGE))})

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
        record = library.get(id).record()
        try:
            text = write_game(record, format)
        except DicentError as error:
            raise ProblemError(422, str(error), "format") from error
        name = f'attachment; filename="{id}.{"jsonl" if format == "record" else format}"'
        return PlainTextResponse(text, headers={"Content-Disposition": name})

    return router

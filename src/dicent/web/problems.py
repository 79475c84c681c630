"""Problems: errors as HTTP tells them, always {"error": text, "field": name or null}."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from dicent.errors import ConflictError, DicentError, LibraryError, MissingError
from dicent.web.schemas import Conflict, Problem

log = logging.getLogger("dicent.web")

# What the interface's description says of answers that are no success.
DECLARED: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "The token is missing."},
    403: {"model": Problem, "description": "Another site, or a host that is not ours."},
    404: {"model": Problem, "description": "There is nothing of this name."},
    409: {"model": Conflict, "description": "The game has gone on; its state is in `game`."},
    413: {"model": Problem, "description": "Too long."},
    422: {"model": Problem, "description": "Something is wrong with a field."},
    503: {"model": Problem, "description": "Too much is under way."},
}


def answers_as(kind: str) -> dict[int | str, dict[str, Any]]:
    """The description of a success that is no JSON."""
    return {200: {"description": "Success", "content": {kind: {"schema": {"type": "string"}}}}}


class ProblemError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, error: str, field: str | None = None, **more: Any) -> None:
        super().__init__(error)
        self.status = status
        self.content = {"error": error, "field": field, **more}


@contextmanager
def about(field: str) -> Iterator[None]:
    """Errors in here are about this field of the request."""
    try:
        yield
    except (ConflictError, LibraryError, MissingError):
        raise
    except DicentError as error:
        raise ProblemError(422, str(error), field) from error


def add_handlers(app: FastAPI) -> None:
    """Let the application answer errors in one form."""

    @app.exception_handler(ProblemError)
    async def problem(request: Request, error: ProblemError) -> JSONResponse:
        return JSONResponse(error.content, error.status)

    @app.exception_handler(DicentError)
    async def ours(request: Request, error: DicentError) -> JSONResponse:
        if isinstance(error, LibraryError):
            log.error("%s", error)
            return told(500, "the library of games cannot be used: the server's log says why")
        return told(404 if isinstance(error, MissingError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    async def shape(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return told(422, f"{where or 'the request'}: {first['msg']}", where or None)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        return told(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        return told(500, "something went wrong here: the server's log says what")


def told(
    status: int, error: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as an answer."""
    return JSONResponse({"error": error, "field": field}, status, dict(headers or {}))

"""Errors as HTTP answers: always {"error": text, "field": name or null}."""

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

# Descriptions of error answers in /api/openapi.json.
Responses = dict[int | str, dict[str, Any]]  # of a route, as FastAPI takes them

DECLARED: Responses = {
    401: {"model": Problem, "description": "The token is missing."},
    403: {
        "model": Problem,
        "description": "The request comes from another site, names another host, or is not for guests.",
    },
    404: {"model": Problem, "description": "Not found."},
    409: {"model": Conflict, "description": "The game has changed; `game` is its current state."},
    413: {"model": Problem, "description": "The request is too long."},
    422: {"model": Problem, "description": "A field is invalid."},
    503: {"model": Problem, "description": "The server is busy."},
}


def answers_as(kind: str) -> Responses:
    """Describe a successful answer that is not JSON."""
    return {200: {"description": "Success", "content": {kind: {"schema": {"type": "string"}}}}}


class ProblemError(Exception):
    """An error that becomes the HTTP answer."""

    def __init__(self, status: int, error: str, field: str | None = None, **more: object) -> None:
        super().__init__(error)
        self.status = status
        self.content = {"error": error, "field": field, **more}


@contextmanager
def about(field: str) -> Iterator[None]:
    """Attribute errors inside to a field of the request."""
    try:
        yield
    except (ConflictError, LibraryError, MissingError):
        raise
    except DicentError as error:
        raise ProblemError(422, str(error), field) from error


def add_handlers(app: FastAPI) -> None:
    """Register the handlers that turn errors into answers."""

    @app.exception_handler(ProblemError)
    async def problem(request: Request, error: ProblemError) -> JSONResponse:
        return JSONResponse(error.content, error.status)

    @app.exception_handler(DicentError)
    async def ours(request: Request, error: DicentError) -> JSONResponse:
        if isinstance(error, LibraryError):
            log.error("%s", error)
            return error_answer(500, "the game library cannot be used; see the server's log")
        return error_answer(404 if isinstance(error, MissingError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    async def shape(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return error_answer(422, f"{where or 'the request'}: {first['msg']}", where or None)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        return error_answer(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        return error_answer(500, "internal error; see the server's log")


def error_answer(
    status: int, error: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error as an answer."""
    return JSONResponse({"error": error, "field": field}, status, dict(headers or {}))

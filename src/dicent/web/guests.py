"""Guests: what the second device of a game may request, and which pages it may open."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from dicent.library.seats import Seat

SEAT = "dicent.seat"  # the seat of a request, in its scope
# What a second device may request beside the page, its files and its game.
PATHS = (
    "/",
    "/service-worker.js",
    "/api/info",
    "/api/rules",
    "/api/guide",
    "/api/catalogue",
    "/api/position",
)
ACTIONS = ("steps", "roll", "resign", "rematch")
# Each page with a request that it needs. `play` is the page that starts games.
PAGES = {
    "play": ("POST", "/api/games"),
    "analyse": ("GET", "/api/engine"),
    "library": ("GET", "/api/games"),
    "watch": ("GET", "/api/runs"),
    "review": ("GET", "/api/games/{game}/review"),
}


def _seat_of(request: Request) -> Seat | None:
    """Return the seat of a request of the second device; None for the owner of the server."""
    found = request.scope.get(SEAT)
    return found if isinstance(found, Seat) else None


Asker = Annotated[Seat | None, Depends(_seat_of)]


def may_guest(method: str, path: str, game: str) -> bool:
    """Return whether the second device of a game may make a request."""
    own = f"/api/games/{game}"
    if method == "GET":
        return path in PATHS or path.startswith("/static/") or path == own
    return method == "POST" and path in ("/api/position", *(f"{own}/{action}" for action in ACTIONS))


def pages_for(seat: Seat | None) -> list[str]:
    """Return the pages that a visitor may open."""
    if seat is None:
        return list(PAGES)
    return [
        page
        for page, (method, path) in PAGES.items()
        if may_guest(method, path.format(game=seat.game), seat.game)
    ]

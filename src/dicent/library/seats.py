"""Seats and clocks: games of two devices, of which the second one joins by a secret."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from dicent.play.clock import Clock

Side = Literal["MAX", "MIN"]
SEAT = "game, side, joined, chosen, rematch_offer, rematch FROM seats"
CLOCK = "increment, max_left, min_left, since FROM clocks"
OTHER: dict[Side, Side] = {"MAX": "MIN", "MIN": "MAX"}


@dataclass(frozen=True)
class SavedClock:
    """The clock of a game: what each side has left since the last move."""

    increment: float
    left: tuple[float, float]  # seconds of MAX and MIN
    since: float | None = None  # when the turn began, in seconds since 1970; None: not yet running

    def elapsed(self, now: float, started: float) -> float:
        """Return the seconds of this turn. The time before the server started does not count."""
        return 0.0 if self.since is None else max(0.0, now - max(self.since, started))

    def after(self, side: Side, seconds: float, now: float) -> SavedClock | None:
        """Return the clock after a move of a side; None if its time is over."""
        if self.since is None:
            return self
        left = Clock(self.of(side), self.increment).after(seconds)
        return None if left is None else self.with_left(side, left.seconds, now)

    def of(self, side: Side) -> float:
        """Return the seconds that a side had at the beginning of the turn."""
        return self.left[0 if side == "MAX" else 1]

    def with_left(self, side: Side, seconds: float, since: float) -> SavedClock:
        """Return the clock with other seconds of a side."""
        first, second = self.left
        left = (seconds, second) if side == "MAX" else (first, seconds)
        return replace(self, left=left, since=since)


@dataclass(frozen=True)
class Seat:
    """The place of the second device in a game."""

    game: str  # its id
    side: Side
    joined: bool
    chosen: bool = False  # the start position was chosen
    rematch_offer: Side | None = None  # the side that offers a rematch
    rematch: str | None = None  # its id; the link leads there


def digest(secret: str) -> str:
    """Return what the library keeps of a secret. Secrets are random, so the digest needs no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add_seat(
    file: sqlite3.Connection, game: str, side: Side, secret: str, chosen: bool, clock: Clock | None
) -> None:
    """Add the seat of a new game, and its clock."""
    seat = game, side, digest(secret), chosen
    file.execute("INSERT INTO seats (game, side, secret, chosen) VALUES (?,?,?,?)", seat)
    if clock is not None:
        row = game, clock.seconds, clock.increment, clock.seconds, clock.seconds
        file.execute(
            "INSERT INTO clocks (game, seconds, increment, max_left, min_left) VALUES (?,?,?,?,?)", row
        )


def find_seat(file: sqlite3.Connection, secret: str) -> Seat | None:
    """Return the seat with a secret."""
    return _seat(file, "secret", digest(secret))


def _seat(file: sqlite3.Connection, column: str, value: str) -> Seat | None:
    row = file.execute(f"SELECT {SEAT} WHERE {column} = ?", (value,)).fetchone()
    return None if row is None else Seat(row[0], row[1], bool(row[2]), bool(row[3]), *row[4:])


def seating(
    file: sqlite3.Connection, game: str
) -> tuple[Seat | None, SavedClock | None, tuple[float, ...] | None]:
    """Return the seat of a game's second device, its clock, and the seconds of each action by that clock."""
    seat = _seat(file, "game", game)
    if seat is None:
        return None, None, None
    row = file.execute(f"SELECT {CLOCK} WHERE game = ?", (game,)).fetchone()
    clock = None if row is None else SavedClock(row[0], (row[1], row[2]), row[3])
    query = "SELECT seconds FROM steps WHERE game = ? AND seconds IS NOT NULL ORDER BY number"
    times = None if clock is None else tuple(seconds for (seconds,) in file.execute(query, (game,)))
    return seat, clock, times


def set_clock(file: sqlite3.Connection, game: str, clock: SavedClock) -> None:
    """Save the clock of a game."""
    row = *clock.left, clock.since, game
    file.execute("UPDATE clocks SET max_left = ?, min_left = ?, since = ? WHERE game = ?", row)


def seat_guest(file: sqlite3.Connection, game: str, now: float) -> bool:
    """Note that the second device has joined, which starts the clock; return whether it is the first time."""
    if not file.execute("UPDATE seats SET joined = 1 WHERE game = ? AND joined = 0", (game,)).rowcount:
        return False
    file.execute("UPDATE clocks SET since = ? WHERE game = ? AND since IS NULL", (now, game))
    file.execute("UPDATE games SET version = version + 1 WHERE id = ?", (game,))
    return True


def want_rematch(file: sqlite3.Connection, game: str, side: Side, add: Callable[[], str]) -> None:
    """Note that a side wants a rematch. Once both do, add it with sides swapped, and move the link there."""
    seat = _seat(file, "game", game)
    if seat is None or seat.rematch is not None or seat.rematch_offer == side:
        return
    if seat.rematch_offer is None:
        file.execute("UPDATE seats SET rematch_offer = ? WHERE game = ?", (side, game))
    else:
        rematch = add()
        (secret,) = file.execute("SELECT secret FROM seats WHERE game = ?", (game,)).fetchone()
        file.execute("UPDATE seats SET secret = NULL, rematch = ? WHERE game = ?", (rematch, game))
        row = rematch, OTHER[seat.side], secret, seat.chosen
        file.execute("INSERT INTO seats (game, side, secret, chosen) VALUES (?,?,?,?)", row)
        file.execute(
            "INSERT INTO clocks (game, seconds, increment, max_left, min_left) "
            "SELECT ?, seconds, increment, seconds, seconds FROM clocks WHERE game = ?",
            (rematch, game),
        )
    file.execute("UPDATE games SET version = version + 1 WHERE id = ?", (game,))

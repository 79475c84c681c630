"""Library: games in one SQLite file, saved from their first step on.

Every change is on disk before the method returns, so a crash or a power failure loses nothing that a user has
seen. Many threads may share a library.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from dicent.errors import ConflictError, LibraryError, MissingError, RecordError
from dicent.files import JsonObject
from dicent.library import seats
from dicent.library.file import SUMS, VERSION, create, require_ours, upgrade
from dicent.library.seats import SavedClock, Seat, Side
from dicent.library.statistics import PLAYED, PlayedGame
from dicent.play.clock import Clock
from dicent.play.record import Record, day_of

Dice = Literal["rolled", "hand"]
Ended = Literal["played", "resigned", "time"]
Result = Literal[1, 0, -1]

OWNER_ONLY = 0o600  # permissions of a new library: games are private
# A value that SQLite or Python refuses to write says nothing about the file.
REFUSED = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.DataError, OverflowError, UnicodeError)
COLUMNS = "id, game, start, max, min, max_name, min_name, dice, seed, result, ended, created, changed"
PLACES = ",".join("?" * len(COLUMNS.split(",")))
SEARCHED = " || ' ' || ".join(("game", "max", "min", "max_name", "min_name", "start", "id"))
REVIEWED = "EXISTS (SELECT 1 FROM reviews WHERE reviews.game = games.id)"


@dataclass(frozen=True)
class GameSummary:
    """A game of the library without its steps."""

    id: str
    game: str  # the text that names it
    start: str
    players: tuple[str, str]  # who plays MAX, who plays MIN: "human", a strength, or the name in a record
    names: tuple[str, str]  # that people gave themselves, or nothing
    dice: Dice
    seed: int  # of the dice
    result: Result | None  # for MAX
    ended: Ended | None
    created: str  # when the game began, or only the day
    changed: str
    reviewed: bool
    length: int  # steps


@dataclass(frozen=True)
class SavedGame(GameSummary):
    """A game of the library with its steps."""

    steps: tuple[str, ...]
    version: int = 0  # counts the changes
    seat: Seat | None = None  # of the second device
    clock: SavedClock | None = None
    times: tuple[float, ...] | None = None  # seconds of each action in a game with a clock

    def record(self) -> Record:
        """Return the game as a record, without the seed, since it predicts the dice."""
        first, second = (name or player for name, player in zip(self.names, self.players, strict=True))
        return Record(
            self.game,
            (first, second),
            self.start,
            self.steps,
            self.result,
            times=self.times,
            ended=None if self.ended == "played" else self.ended,
            date=day_of(self.created),
        )


class Library:
    """The games in one file, which is created if it does not exist."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                self.path.touch(OWNER_ONLY)  # SQLite gives the files beside it the same permissions
            require_ours(self.path)
            self._file = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
        except (OSError, sqlite3.Error) as error:
            raise LibraryError(f"the library {self.path} cannot be opened: {error}") from error
        try:
            with self._explained():
                self._open()
        except LibraryError:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    # Games

    def add(
        self,
        game: str,
        start: str,
        players: tuple[str, str],
        dice: str = "rolled",
        seed: int = 0,
        names: tuple[str, str] = ("", ""),
        seat: tuple[Side, str, bool] | None = None,
        clock: Clock | None = None,
    ) -> str:
        """Add a new game and return its id. `names` are those that people gave themselves.

        `seat` is the side of a second device, the secret by which it joins, and whether the start was chosen.
        """
        with self._change():
            id = self._add(Record(game, players, start, (), None, seed), dice, names)
            if seat is not None:
                seats.add_seat(self._file, id, *seat, clock)
            return id

    def add_records(self, records: Sequence[Record]) -> list[str]:
        """Add games that were played elsewhere, all or none, and return their ids."""
        with self._change():
            return [self._add(record, "hand") for record in records]

    def _add(self, record: Record, dice: str, names: tuple[str, str] = ("", "")) -> str:
        id = secrets.token_hex(8)
        ended = None if record.result is None else record.ended or "played"
        end = record.seed, record.result, ended, record.date or _text(_now())
        row = (id, record.game, record.start, *record.players, *names, dice, *end, self._stamp())
        self._file.execute(f"INSERT INTO games ({COLUMNS}) VALUES ({PLACES})", row)
        steps = [(id, number, step) for number, step in enumerate(record.steps)]
        self._file.executemany("INSERT INTO steps (game, number, step) VALUES (?,?,?)", steps)
        return id

    def get(self, id: str) -> SavedGame:
        """Return a game by its id."""
        with self._lock, self._explained():
            row = self._file.execute(
                f"SELECT {COLUMNS}, {REVIEWED} FROM games WHERE id = ?", (id,)
            ).fetchone()
            if row is None:
                raise MissingError(f"the library has no game {id!r}")
            steps = self._steps(id)
            [version] = self._file.execute("SELECT version FROM games WHERE id = ?", (id,)).fetchone()
            seat, clock, times = seats.seating(self._file, id)
        common = _columns(row, len(steps))
        return SavedGame(**common, steps=steps, version=version, seat=seat, clock=clock, times=times)

    def seat(self, secret: str) -> Seat | None:
        """Return the seat with a secret."""
        with self._lock, self._explained():
            return seats.find_seat(self._file, secret)

    def join(self, id: str, now: float) -> bool:
        """Note that the second device has joined a game; return whether that is new."""
        with self._change():
            return seats.seat_guest(self._file, id, now)

    def want_rematch(self, seen: SavedGame, side: Side, start: str, seed: int) -> None:
        """Note that a side wants a rematch of a game of two devices; add it once both do."""
        record = Record(seen.game, seen.players, start, (), None, seed)
        with self._change():
            seats.want_rematch(
                self._file, seen.id, side, lambda: self._add(record, seen.dice, seen.names[::-1])
            )

    # Each change passes the game as its author saw it. If the game has changed since, the change is refused.
    # The number of steps alone would not do: another move may have replaced one that was taken back.

    def append(
        self,
        seen: SavedGame,
        step: str,
        result: int | None = None,
        ended: str | None = None,
        seconds: float | None = None,
        clock: SavedClock | None = None,
    ) -> None:
        """Add a step to a running game, and the result if the step ends it.

        In a game with a clock, an action has its seconds and the clock after it.
        """
        with self._change():
            self._require(seen)
            row = seen.id, seen.length, step, seconds
            self._file.execute("INSERT INTO steps (game, number, step, seconds) VALUES (?,?,?,?)", row)
            self._set(seen.id, result, ended, clock)

    def end(self, seen: SavedGame, result: int, ended: str, clock: SavedClock | None = None) -> None:
        """End a game without another step."""
        with self._change():
            self._require(seen)
            self._set(seen.id, result, ended, clock)

    def take_back(self, seen: SavedGame, to: int) -> None:
        """Take a game back to its first `to` steps."""
        with self._change():
            self._require(seen)
            self._file.execute("DELETE FROM steps WHERE game = ? AND number >= ?", (seen.id, to))
            self._set(seen.id, None, None)

    def delete(self, id: str) -> None:
        """Delete a game."""
        with self._change():
            if not self._file.execute("DELETE FROM games WHERE id = ?", (id,)).rowcount:
                raise MissingError(f"the library has no game {id!r}")

    # Looking for games

    def search(
        self,
        text: str = "",
        game: str = "",
        result: int | str | None = None,
        first: int = 0,
        most: int = 50,
    ) -> tuple[list[GameSummary], int]:
        """Return games, the last changed first, and the total number.

        Every word of `text` must occur in the game's name, players, start or id. `game` is the game's name,
        with or without options. `result` is 1, 0 or -1, or "open" for unfinished games.
        """
        where, values = ["TRUE"], list[object]()
        for word in text.split():
            where.append(f"instr(lower({SEARCHED}), lower(?))")  # LIKE would stop at a zero byte
            values.append(word)
        if game:
            where.append("(game = ? OR instr(game, ?) = 1)")
            values += [game, f"{game}:"]
        if result is not None:
            where.append("result IS ?")
            values.append(None if result == "open" else result)
        condition = " AND ".join(where)
        length = "(SELECT count(*) FROM steps WHERE steps.game = games.id)"
        with self._lock, self._explained():
            [total] = self._file.execute(f"SELECT count(*) FROM games WHERE {condition}", values).fetchone()
            rows = self._file.execute(
                f"SELECT {COLUMNS}, {REVIEWED}, {length} FROM games WHERE {condition} "
                "ORDER BY changed DESC, rowid DESC LIMIT ? OFFSET ?",
                [*values, most, first],
            ).fetchall()
        return [GameSummary(**_columns(row[:-1], row[-1])) for row in rows], total

    def played(self, game: str = "") -> list[PlayedGame]:
        """Return the finished games with the sums of their reviews, the first that began first."""
        with self._lock, self._explained():
            return [PlayedGame.from_row(row) for row in self._file.execute(PLAYED, (game, game, f"{game}:"))]

    # Reviews

    def save_review(self, seen: SavedGame, review: JsonObject) -> bool:
        """Save the review of a game unless the game has changed; return whether it was saved."""
        with self._change():
            if self._steps(seen.id) != seen.steps:
                return False
            values = seen.id, json.dumps(review, ensure_ascii=False)
            self._file.execute("INSERT OR REPLACE INTO reviews (game, review) VALUES (?,?)", values)
            self._file.execute(f"{SUMS} WHERE game = ?", (seen.id,))
            return True

    def review(self, id: str) -> JsonObject | None:
        """Return the saved review of a game."""
        with self._lock, self._explained():
            row = self._file.execute("SELECT review FROM reviews WHERE game = ?", (id,)).fetchone()
        return None if row is None else json.loads(row[0])

    # Inside

    def _open(self) -> None:
        def one(name: str) -> Any:
            return self._file.execute(f"PRAGMA {name}").fetchone()[0]

        self._file.execute("PRAGMA synchronous = FULL")
        self._file.execute("PRAGMA foreign_keys = ON")
        with self._change():
            version = one("user_version")
            if version == 0 and one("application_id") == 0:
                create(self._file)
            elif version < VERSION:
                upgrade(self._file, version)
            elif version > VERSION:
                raise LibraryError(
                    f"{self.path} has format {version}, and this version of Dicent reads up to {VERSION}; "
                    "update Dicent, or choose another file"
                )
        self._file.execute("PRAGMA journal_mode = WAL")
        if (problem := self._damage()) is not None:
            raise sqlite3.DatabaseError(problem)

    def _damage(self) -> str | None:
        """Return what SQLite finds wrong with the file, or None."""
        try:
            (found,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError:  # full disks and locks do not mean damage
            return None
        except sqlite3.DatabaseError as error:
            return str(error)
        return None if found == "ok" else str(found)

    def _require(self, seen: SavedGame) -> None:
        row = self._file.execute("SELECT version FROM games WHERE id = ?", (seen.id,)).fetchone()
        if row is None:
            raise MissingError(f"the library has no game {seen.id!r}")
        if row[0] != seen.version:
            raise ConflictError("the game has changed since it was read")

    def _steps(self, id: str) -> tuple[str, ...]:
        found = self._file.execute("SELECT step FROM steps WHERE game = ? ORDER BY number", (id,))
        return tuple(step for (step,) in found)

    def _set(self, id: str, result: int | None, ended: str | None, clock: SavedClock | None = None) -> None:
        """Save the state of a changed game and delete its outdated review."""
        if clock is not None:
            seats.set_clock(self._file, id, clock)
        row = (result, ended, self._stamp(), id)
        self._file.execute("UPDATE games SET result=?, ended=?, changed=?, version=version+1 WHERE id=?", row)
        self._file.execute("DELETE FROM reviews WHERE game = ?", (id,))

    def _stamp(self) -> str:
        """Return the time, but always later than every earlier change."""
        now = _now()
        (last,) = self._file.execute("SELECT max(changed) FROM games").fetchone()
        if last is not None:
            now = max(now, datetime.fromisoformat(last) + timedelta(microseconds=1))
        return _text(now)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Run a change as one transaction that is on disk at the end."""
        with self._lock, self._explained():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._file.execute("ROLLBACK")
                raise
            self._file.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            raise RecordError(f"the library cannot hold this game: {error}") from error
        except sqlite3.DatabaseError as error:
            problem = self._damage() if type(error) is sqlite3.DatabaseError else None
            if problem is None:
                raise LibraryError(
                    f"the library {self.path} cannot be used: {error}. Check that the disk has space, and "
                    "that the file is writable and not in use"
                ) from error
            raise LibraryError(
                f"the library {self.path} is damaged ({problem}). Move it away to start a new one; "
                "`sqlite3 FILE .recover` may rescue games from the old one"
            ) from error


def _columns(row: tuple[object, ...], length: int) -> JsonObject:
    id, game, start, first, second, first_name, second_name, *others, reviewed = row
    dice, seed, result, ended, created, changed = others
    return {
        "id": id,
        "game": game,
        "start": start,
        "players": (first, second),
        "names": (first_name, second_name),
        "dice": dice,
        "seed": seed,
        "result": result,
        "ended": ended,
        "created": created,
        "changed": changed,
        "reviewed": bool(reviewed),
        "length": length,
    }


def _now() -> datetime:
    return datetime.now(UTC)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")

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
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from dicent.errors import ConflictError, LibraryError, MissingError, RecordError
from dicent.files import open_file
from dicent.play.record import Record

Dice = Literal["rolled", "hand"]
Ended = Literal["played", "resigned", "time"]
Result = Literal[1, 0, -1]

VERSION = 1
MARK = 0x44696365  # "Dice", in the file's header, marks our files
SQLITE, HEADER = b"SQLite format 3\0", 100  # how the header begins; its bytes
OWNER_ONLY = 0o600  # permissions of a new library: games are private
# A value that SQLite or Python refuses to write says nothing about the file.
REFUSED = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.DataError, OverflowError, UnicodeError)
SCHEMA = """
CREATE TABLE games (
  id TEXT PRIMARY KEY,
  game TEXT NOT NULL,
  start TEXT NOT NULL,
  max TEXT NOT NULL,      -- who plays MAX
  min TEXT NOT NULL,
  dice TEXT NOT NULL,     -- rolled, or entered by hand
  seed INTEGER NOT NULL,  -- of the dice
  result INTEGER,         -- for MAX; NULL while the game is unfinished
  ended TEXT,             -- played, resigned, or time: lost on time
  created TEXT NOT NULL,
  changed TEXT NOT NULL
) STRICT;
CREATE INDEX games_by_change ON games (changed);
CREATE TABLE steps (
  game TEXT NOT NULL REFERENCES games ON DELETE CASCADE,
  number INTEGER NOT NULL,
  step TEXT NOT NULL,
  PRIMARY KEY (game, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE reviews (
  game TEXT PRIMARY KEY REFERENCES games ON DELETE CASCADE,
  review TEXT NOT NULL    -- JSON
) STRICT;
"""
COLUMNS = "id, game, start, max, min, dice, seed, result, ended, created, changed"
SEARCHED = "lower(game || ' ' || max || ' ' || min || ' ' || start || ' ' || id)"
REVIEWED = "EXISTS (SELECT 1 FROM reviews WHERE reviews.game = games.id)"


@dataclass(frozen=True)
class GameSummary:
    """A game of the library without its steps."""

    id: str
    game: str  # the text that names it
    start: str
    players: tuple[str, str]  # who plays MAX, who plays MIN
    dice: Dice
    seed: int  # of the dice
    result: Result | None  # for MAX
    ended: Ended | None
    created: str
    changed: str
    reviewed: bool
    length: int  # steps


@dataclass(frozen=True)
class SavedGame(GameSummary):
    """A game of the library with its steps."""

    steps: tuple[str, ...]

    def record(self) -> Record:
        """Return the game as a record; a resigned game has no result there."""
        late = self.ended == "time"
        result = self.result if late or self.ended == "played" else None
        return Record(
            self.game, self.players, self.start, self.steps, result, lost_on_time=late
        )  # without the seed, since it predicts the dice


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
        self, game: str, start: str, players: tuple[str, str], dice: str = "rolled", seed: int = 0
    ) -> str:
        """Add a new game and return its id."""
        with self._change():
            return self._add(Record(game, players, start, (), None, seed), dice)

    def add_records(self, records: Sequence[Record]) -> list[str]:
        """Add games that were played elsewhere, all or none, and return their ids."""
        with self._change():
            return [self._add(record, "hand") for record in records]

    def _add(self, record: Record, dice: str) -> str:
        id = secrets.token_hex(8)
        ended = None if record.result is None else "time" if record.lost_on_time else "played"
        end = record.seed, record.result, ended
        row = (id, record.game, record.start, *record.players, dice, *end, _text(_now()), self._stamp())
        self._file.execute(f"INSERT INTO games ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)", row)
        steps = [(id, number, step) for number, step in enumerate(record.steps)]
        self._file.executemany("INSERT INTO steps VALUES (?,?,?)", steps)
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
        return SavedGame(**_columns(row, len(steps)), steps=steps)

    # Each change passes the game as its author saw it. If the game has changed since, the change is refused.
    # The number of steps alone would not do: another move may have replaced one that was taken back.

    def append(self, seen: SavedGame, step: str, result: int | None = None, ended: str | None = None) -> None:
        """Add a step to a running game, and the result if the step ends it."""
        with self._change():
            self._require(seen)
            self._file.execute("INSERT INTO steps VALUES (?,?,?)", (seen.id, seen.length, step))
            self._set(seen.id, result, ended)

    def end(self, seen: SavedGame, result: int, ended: str) -> None:
        """End a game without another step."""
        with self._change():
            self._require(seen)
            self._set(seen.id, result, ended)

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
            where.append(f"instr({SEARCHED}, lower(?))")  # LIKE would stop at a zero byte
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

    # Reviews

    def save_review(self, seen: SavedGame, review: dict[str, Any]) -> bool:
        """Save the review of a game unless the game has changed; return whether it was saved."""
        with self._change():
            if self._steps(seen.id) != seen.steps:
                return False
            values = seen.id, json.dumps(review, ensure_ascii=False)
            self._file.execute("INSERT OR REPLACE INTO reviews VALUES (?,?)", values)
            return True

    def review(self, id: str) -> dict[str, Any] | None:
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
                for statement in SCHEMA.split(";\n"):
                    self._file.execute(statement)
                self._file.execute(f"PRAGMA application_id = {MARK}")
                self._file.execute(f"PRAGMA user_version = {VERSION}")
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
        except sqlite3.OperationalError:  # full disks and locks are no damage
            return None
        except sqlite3.DatabaseError as error:
            return str(error)
        return None if found == "ok" else str(found)

    def _require(self, seen: SavedGame) -> None:
        row = self._file.execute("SELECT ended FROM games WHERE id = ?", (seen.id,)).fetchone()
        if row is None:
            raise MissingError(f"the library has no game {seen.id!r}")
        if row[0] != seen.ended or self._steps(seen.id) != seen.steps:
            raise ConflictError("the game has changed since it was read")

    def _steps(self, id: str) -> tuple[str, ...]:
        found = self._file.execute("SELECT step FROM steps WHERE game = ? ORDER BY number", (id,))
        return tuple(step for (step,) in found)

    def _set(self, id: str, result: int | None, ended: str | None) -> None:
        """Save the state of a changed game and delete its outdated review."""
        row = (result, ended, self._stamp(), id)
        self._file.execute("UPDATE games SET result = ?, ended = ?, changed = ? WHERE id = ?", row)
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


def _columns(row: tuple[Any, ...], length: int) -> dict[str, Any]:
    id, game, start, first, second, *others, reviewed = row
    dice, seed, result, ended, created, changed = others
    return {
        "id": id,
        "game": game,
        "start": start,
        "players": (first, second),
        "dice": dice,
        "seed": seed,
        "result": result,
        "ended": ended,
        "created": created,
        "changed": changed,
        "reviewed": bool(reviewed),
        "length": length,
    }


def require_ours(path: Path) -> None:
    """Raise an error for a file of another program, which is only read.

    The file's header names the program. Changes of a database that was not closed are in a file beside it.
    """
    with open_file(path) as file:
        header = file.read(HEADER)
    if not header or (header.startswith(SQLITE) and int.from_bytes(header[68:72]) == MARK):
        return
    if not header.startswith(SQLITE):
        raise LibraryError(f"{path} is not a library; choose another file")
    changes = path.with_name(path.name + "-wal")
    has_changes = changes.exists() and changes.stat().st_size > 0
    how = "mode=ro" if has_changes else "mode=ro&immutable=1"  # immutable: no file appears beside it
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=10)) as found:
        (mark,) = found.execute("PRAGMA application_id").fetchone()
        (tables,) = found.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != MARK and (mark, tables) != (0, 0):
        raise LibraryError(f"{path} is a database of another program; choose another file")


def _now() -> datetime:
    return datetime.now(UTC)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")

"""The library's file: its format, and how to tell it from files of other programs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dicent.errors import LibraryError
from dicent.files import open_file

VERSION = 2
MARK = 0x44696365  # "Dice", in the file's header, marks our files
SQLITE, HEADER = b"SQLite format 3\0", 100  # how the header begins; its bytes
SCHEMA = """
CREATE TABLE games (
  id TEXT PRIMARY KEY,
  game TEXT NOT NULL,
  start TEXT NOT NULL,
  max TEXT NOT NULL,      -- who plays MAX
  min TEXT NOT NULL,
  max_name TEXT NOT NULL DEFAULT '',  -- that a person gave, or nothing
  min_name TEXT NOT NULL DEFAULT '',
  dice TEXT NOT NULL,     -- rolled, or entered by hand
  seed INTEGER NOT NULL,  -- of the dice
  result INTEGER,         -- for MAX; NULL while the game is unfinished
  ended TEXT,             -- played, resigned, or time: lost on time
  created TEXT NOT NULL,  -- when the game began, or only the day
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


def create(file: sqlite3.Connection) -> None:
    """Create the tables in an empty file."""
    for statement in SCHEMA.split(";\n"):
        file.execute(statement)
    file.execute(f"PRAGMA application_id = {MARK}")
    file.execute(f"PRAGMA user_version = {VERSION}")


def upgrade(file: sqlite3.Connection) -> None:
    """Add what version 1 lacks: the names that people gave."""
    for column in ("max_name", "min_name"):
        file.execute(f"ALTER TABLE games ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    file.execute(f"PRAGMA user_version = {VERSION}")


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

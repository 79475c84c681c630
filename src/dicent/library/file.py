"""The library's file: its format, and how to tell it from files of other programs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dicent.errors import LibraryError
from dicent.files import open_file

VERSION = 4
MARK = 0x44696365  # "Dice", in the file's header, marks our files
SQLITE, HEADER = b"SQLite format 3\0", 100  # how the header begins; its bytes
SIDES = ("max", "min")
SEATS = """CREATE TABLE seats (
  game TEXT PRIMARY KEY REFERENCES games ON DELETE CASCADE,
  side TEXT NOT NULL,     -- MAX or MIN: the side of the second device
  secret TEXT UNIQUE,     -- SHA-256 of the secret in its link; NULL once the rematch has it
  joined INTEGER NOT NULL DEFAULT 0,
  chosen INTEGER NOT NULL DEFAULT 0,  -- whether the start was chosen: a rematch begins there, too
  rematch_offer TEXT,     -- MAX or MIN: the side that offers a rematch
  rematch TEXT            -- the id of the rematch
) STRICT"""
CLOCKS = """CREATE TABLE clocks (
  game TEXT PRIMARY KEY REFERENCES games ON DELETE CASCADE,
  seconds REAL NOT NULL,  -- of each side at the start
  increment REAL NOT NULL,
  max_left REAL NOT NULL, -- at the beginning of the turn
  min_left REAL NOT NULL,
  since REAL              -- when the turn began, in seconds since 1970; NULL: not yet
) STRICT"""
SCHEMA = f"""
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
  changed TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0  -- counts the changes
) STRICT;
CREATE INDEX games_by_change ON games (changed);
CREATE TABLE steps (
  game TEXT NOT NULL REFERENCES games ON DELETE CASCADE,
  number INTEGER NOT NULL,
  step TEXT NOT NULL,
  seconds REAL,           -- that an action took by the clock, with its roll; NULL: no clock, or a roll
  PRIMARY KEY (game, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE reviews (
  game TEXT PRIMARY KEY REFERENCES games ON DELETE CASCADE,
  review TEXT NOT NULL,   -- JSON
  unit TEXT,              -- of the sums: win or points
  max_luck REAL,
  min_luck REAL,
  max_loss REAL,
  min_loss REAL,
  max_decisions INTEGER,
  min_decisions INTEGER
) STRICT;
{SEATS};
{CLOCKS};
"""
_PLAYER = "json_extract(value, '$.player')"
# Sets the sums of a review from its JSON, so that statistics need not parse it.
SUMS = "UPDATE reviews SET unit = json_extract(review, '$.unit'), " + ", ".join(
    f"{side.lower()}_luck = json_extract(review, '$.luck.{side}'), "
    f"{side.lower()}_loss = json_extract(review, '$.loss.{side}'), {side.lower()}_decisions = "
    f"(SELECT count(*) FROM json_each(review, '$.moments') WHERE {_PLAYER} = '{side}')"
    for side in ("MAX", "MIN")
)
# What each version adds to the one before it.
UPGRADES = {
    2: [f"ALTER TABLE games ADD COLUMN {name} TEXT NOT NULL DEFAULT ''" for name in ("max_name", "min_name")],
    3: [
        "ALTER TABLE games ADD COLUMN version INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE steps ADD COLUMN seconds REAL",
        "ALTER TABLE reviews ADD COLUMN unit TEXT",
        *(f"ALTER TABLE reviews ADD COLUMN {side}_{sum} REAL" for sum in ("luck", "loss") for side in SIDES),
        *(f"ALTER TABLE reviews ADD COLUMN {side}_decisions INTEGER" for side in SIDES),
        SUMS,
        SEATS,
        CLOCKS,
    ],
    4: [
        "ALTER TABLE seats RENAME TO old_seats",
        SEATS,
        "INSERT INTO seats (game, side, secret, joined) SELECT game, side, secret, joined FROM old_seats",
        "DROP TABLE old_seats",
    ],
}


def create(file: sqlite3.Connection) -> None:
    """Create the tables in an empty file."""
    for statement in SCHEMA.split(";\n"):
        file.execute(statement)
    file.execute(f"PRAGMA application_id = {MARK}")
    file.execute(f"PRAGMA user_version = {VERSION}")


def upgrade(file: sqlite3.Connection, version: int) -> None:
    """Add what a file of an older version lacks, version by version."""
    for number in range(version + 1, VERSION + 1):
        for statement in UPGRADES[number]:
            file.execute(statement)
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

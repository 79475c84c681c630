"""The file of a library: older versions open, damaged and foreign files are refused."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dicent.errors import LibraryError
from dicent.library.file import MARK, SCHEMA, VERSION
from dicent.library.library import Library
from dicent.library.seats import SavedClock, Seat
from dicent.library.statistics import Reviewed
from dicent.play.clock import Clock

from .saved_games import START, add, review

# The tables of versions 1 and 2; version 2 has the columns that end in _name.
OLD_SCHEMA = """
CREATE TABLE games (
  id TEXT PRIMARY KEY,
  game TEXT NOT NULL,
  start TEXT NOT NULL,
  max TEXT NOT NULL,
  min TEXT NOT NULL,
  max_name TEXT NOT NULL DEFAULT '',
  min_name TEXT NOT NULL DEFAULT '',
  dice TEXT NOT NULL,
  seed INTEGER NOT NULL,
  result INTEGER,
  ended TEXT,
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
  review TEXT NOT NULL
) STRICT;
"""


@pytest.mark.parametrize("version", [1, 2])
def test_libraries_of_older_versions_open_and_keep_their_games(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        for statement in OLD_SCHEMA.split(";\n"):
            lines = [line for line in statement.splitlines() if version > 1 or "_name TEXT" not in line]
            file.execute("\n".join(lines))
        file.execute(f"PRAGMA application_id = {MARK}")
        file.execute(f"PRAGMA user_version = {version}")
        columns = "id, game, start, max, min, dice, seed, result, created, changed"
        values = "'one', 'ewn', 's', 'human', 'full', 'rolled', 7, 1, '2026-01-01', '2026-01-01T00:00:00Z'"
        file.execute(f"INSERT INTO games ({columns}) VALUES ({values})")
        file.execute("INSERT INTO steps VALUES ('one', 0, '3')")
        saved = json.dumps(review((0.5, 0.25), (0.5, 0.0), "points"))
        file.execute("INSERT INTO reviews VALUES ('one', ?)", (saved,))
    for _ in range(2):
        with closing(Library(path)) as library:
            found = library.get("one")
            assert (found.players, found.names, found.steps) == (("human", "full"), ("", ""), ("3",))
            [played] = library.played()
            assert played.review == Reviewed((0.25, 0.125), (0.25, 0.0), (2, 1))
    with closing(Library(path)) as library:
        id = library.add("ewn", START, ("human", "human"), seat=("MIN", "secret", False), clock=Clock(60.0))
        assert library.get(id).seat == library.seat("secret") == Seat(id, "MIN", joined=False)
        assert library.get(id).clock == SavedClock(0.0, (60.0, 60.0))
    with closing(Library(tmp_path / "new.sqlite")):
        pass
    assert columns_of(path) == columns_of(tmp_path / "new.sqlite")


SEATS_3 = """CREATE TABLE seats (
  game TEXT PRIMARY KEY REFERENCES games ON DELETE CASCADE,
  side TEXT NOT NULL,
  secret TEXT NOT NULL UNIQUE,
  joined INTEGER NOT NULL DEFAULT 0
) STRICT"""


def test_libraries_of_version_3_keep_their_seats(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(Library(path)) as library:
        id = library.add("ewn", START, ("human", "human"), seat=("MIN", "secret", False), clock=Clock(60.0))
        columns = columns_of(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        seats = file.execute("SELECT game, side, secret, joined FROM seats").fetchall()
        for statement in ("DROP TABLE seats", SEATS_3, "PRAGMA user_version = 3"):
            file.execute(statement)
        file.executemany("INSERT INTO seats VALUES (?,?,?,?)", seats)
    with closing(Library(path)) as library:
        assert library.get(id).seat == library.seat("secret") == Seat(id, "MIN", joined=False)
        library.end(library.get(id), 1, "resigned")
        for side in ("MAX", "MIN"):
            library.want_rematch(library.get(id), side, START, 0)  # type: ignore[arg-type]
        rematch = library.get(id).seat
        assert rematch is not None
        assert library.seat("secret") == Seat(str(rematch.rematch), "MAX", joined=False)
    assert columns_of(path) == columns


def columns_of(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Return the names, types and defaults of all columns, by table."""
    with closing(sqlite3.connect(path)) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: {row[1:] for row in _rows(file, name)} for name in tables}


def _rows(file: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    return [(0, *row[1:5]) for row in file.execute(f"PRAGMA table_info({table})")]


def test_damage_is_reported_only_after_a_check_of_the_file(library: Library) -> None:
    class Failing:
        """A connection whose statements fail, and whose checks do not."""

        def __init__(self, file: sqlite3.Connection) -> None:
            self.file = file

        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if "quick_check" in statement:
                return self.file.execute(statement, *values)
            raise sqlite3.DatabaseError("an unknown problem")

    file, library._file = library._file, Failing(library._file)  # type: ignore[assignment]
    with pytest.raises(LibraryError, match="cannot be used: an unknown problem"):
        library.search()
    library._file = file
    assert library.search() == ([], 0)


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of the folder there")
def test_only_the_owner_reads_a_new_library(library: Library) -> None:
    add(library)
    for path in library.path.parent.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder with their contents."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("mark", [0, 7])
@pytest.mark.parametrize("is_open", [False, True])
def test_databases_of_other_programs_are_not_touched(
    tmp_path: Path, mode: str, mark: int, is_open: bool
) -> None:
    path = tmp_path / "mail.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(f"PRAGMA journal_mode = {mode}")
        file.execute(f"PRAGMA application_id = {mark}")
        file.execute("CREATE TABLE mail (text)")
        if is_open:
            before = everything(tmp_path)
            with pytest.raises(LibraryError, match="another program"):
                Library(path)
            assert everything(tmp_path).keys() == before.keys()
            assert everything(tmp_path)["mail.sqlite"] == before["mail.sqlite"]
    if not is_open:
        before = everything(tmp_path)
        with pytest.raises(LibraryError, match="another program"):
            Library(path)
        assert everything(tmp_path) == before


def test_a_library_whose_process_was_killed_opens_again(library: Library, tmp_path: Path) -> None:
    """The changes are still in the file beside it, as version 0.2 left them also for a new library."""
    id = add(library)
    for name in ("", "-wal"):
        shutil.copy(f"{library.path}{name}", tmp_path / f"copy.sqlite{name}")
    with closing(Library(tmp_path / "copy.sqlite")) as again:
        assert again.get(id).players == ("human", "full")
    old = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(old, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        for statement in SCHEMA.split(";\n"):
            file.execute(statement)
        file.execute(f"PRAGMA application_id = {MARK}")
        file.execute(f"PRAGMA user_version = {VERSION}")
        for name in ("", "-wal"):
            shutil.copy(f"{old}{name}", tmp_path / f"killed.sqlite{name}")
    with closing(Library(tmp_path / "killed.sqlite")) as again:
        assert again.search() == ([], 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_no_library(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LibraryError, match="not a regular file"):
        Library(tmp_path / "pipe")


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database at all, but long enough to be looked at\n" * 100)
    with pytest.raises(LibraryError, match=r"notes\.txt is not a library; choose another file"):
        Library(text)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as file:
        file.execute("CREATE TABLE mail (text)")
    file.close()
    with pytest.raises(LibraryError, match="another program"):
        Library(foreign)
    with pytest.raises(LibraryError, match="cannot be opened"):
        Library(text / "games.sqlite")


def test_library_with_overwritten_pages_is_reported(library: Library) -> None:
    for _ in range(50):
        id = add(library)
        for _ in range(20):
            library.append(library.get(id), "a step")
    library.close()
    data = bytearray(library.path.read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    library.path.write_bytes(data)
    with pytest.raises(LibraryError, match="is damaged"):
        Library(library.path)


def test_newer_library_is_refused_unchanged(library: Library) -> None:
    library.close()
    with sqlite3.connect(library.path) as file:
        file.execute("PRAGMA user_version = 9")
    file.close()
    with pytest.raises(LibraryError, match=r"has format 9.*update Dicent"):
        Library(library.path)

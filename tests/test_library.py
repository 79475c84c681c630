"""The library of games: saved games persist, conflicts are refused, damaged files are reported."""

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dicent.errors import ConflictError, LibraryError, MissingError, RecordError
from dicent.library.file import MARK, SCHEMA, VERSION
from dicent.library.library import Library
from dicent.library.seats import SavedClock, Seat
from dicent.library.statistics import Opponent, Reviewed, players_of, statistics
from dicent.play.clock import Clock
from dicent.play.record import Record

START = "ABC2/DE3/F3f/3de/2abc 1 -"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "new" / "games.sqlite")
    yield library
    library.close()


def add(library: Library, players: tuple[str, str] = ("human", "full"), game: str = "ewn") -> str:
    return library.add(game, START, players, seed=7)


def test_other_connections_see_every_step_immediately(library: Library) -> None:
    id = add(library)
    for at, step in enumerate(("2", "b5c4", "6")):
        library.append(library.get(id), step)
        with sqlite3.connect(library.path) as other:
            assert other.execute("SELECT count(*) FROM steps").fetchone() == (at + 1,)
        other.close()
    with closing(Library(library.path)) as again:
        assert again.get(id).steps == ("2", "b5c4", "6")


def test_saved_game_has_steps_result_and_end(library: Library) -> None:
    id = add(library)
    library.append(library.get(id), "2")
    library.append(library.get(id), "b5c4", result=-1, ended="played")
    saved = library.get(id)
    assert (saved.result, saved.ended, saved.length, saved.players) == (-1, "played", 2, ("human", "full"))
    day = saved.created[:10]
    assert saved.record() == Record("ewn", ("human", "full"), START, ("2", "b5c4"), -1, date=day)
    library.take_back(saved, 1)
    saved = library.get(id)
    assert (saved.result, saved.ended, saved.steps) == (None, None, ("2",))
    library.end(saved, 1, "resigned")
    assert (library.get(id).record().result, library.get(id).record().ended) == (1, "resigned")


def test_change_of_an_outdated_game_is_refused(library: Library) -> None:
    seen = library.get(add(library))
    changes: list[Callable[[], None]] = [
        lambda: library.append(seen, "3"),
        lambda: library.take_back(seen, 0),
        lambda: library.end(seen, 1, "resigned"),
    ]
    library.append(seen, "2")
    for change in changes:
        with pytest.raises(ConflictError, match="has changed"):
            change()
    assert library.get(seen.id).steps == ("2",)


def test_other_steps_of_equal_number_are_a_conflict(library: Library) -> None:
    id = add(library)
    library.append(library.get(id), "2")
    seen = library.get(id)
    library.take_back(seen, 0)
    library.append(library.get(id), "3")
    with pytest.raises(ConflictError):
        library.append(seen, "b5c4")
    assert not library.save_review(seen, {"verdict": "of the other game"})
    assert library.get(id).steps == ("3",)


def test_a_late_move_does_not_undo_a_resignation(library: Library) -> None:
    seen = library.get(add(library))
    library.end(seen, -1, "resigned")
    with pytest.raises(ConflictError):
        library.append(seen, "2")
    assert library.get(seen.id).ended == "resigned"


def test_only_one_of_many_threads_adds_the_step(library: Library) -> None:
    seen = library.get(add(library))
    made = []

    def step(face: int) -> None:
        try:
            library.append(seen, str(face))
            made.append(face)
        except ConflictError:
            pass

    threads = [threading.Thread(target=step, args=(face,)) for face in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(face) for face in made] == list(library.get(seen.id).steps)


def test_games_are_found(library: Library) -> None:
    ids = [
        add(library, ("human", "full")),
        add(library, ("Ann_Lee", "100%")),
        add(library, game="ewn:size=4"),
    ]
    library.end(library.get(ids[0]), -1, "resigned")

    def found(**wanted: object) -> list[str]:
        games, total = library.search(**wanted)  # type: ignore[arg-type]
        assert total == len(games)
        return [facts.id for facts in games]

    assert found() == [ids[0], ids[2], ids[1]]  # the last changed game comes first
    assert found(text="ann 100%") == found(text="ANN_") == [ids[1]]
    assert found(text="annxlee") == found(text="1000") == []  # wildcards of LIKE are matched literally
    assert found(text=ids[2][:8]) == [ids[2]]
    assert found(game="ewn") == [ids[0], ids[2], ids[1]]
    assert found(game="ewn:size=4") == [ids[2]]
    assert found(result=-1) == [ids[0]]
    assert found(result="open", game="ewn:size=4") == [ids[2]]
    assert found(text="'; DROP TABLE games; --") == []
    assert found(text="\0") == found(text="_\0") == found(text="%\0") == []
    assert found(game="ewn:") == found(game="ew%") == found(game="\0") == []
    games, total = library.search(first=1, most=1)
    assert ([facts.id for facts in games], total) == ([ids[2]], 3)


def test_last_changed_game_is_first_even_if_the_clock_stands_still(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = add(library)  # long after, by the real clock
    for hour in (12, 12, 11):  # the clock stops, then goes back
        monkeypatch.setattr(
            "dicent.library.library._now", lambda hour=hour: datetime(2000, 1, 1, hour, tzinfo=UTC)
        )
        second = add(library)
        assert library.search()[0][0].id == second
        library.append(library.get(first), str(len(library.get(first).steps) + 1))
        assert library.search()[0][0].id == first


def test_change_deletes_the_review(library: Library) -> None:
    id = add(library)
    before = library.get(id)
    library.append(before, "2")
    assert not library.save_review(before, {"verdict": "old"})
    assert library.save_review(library.get(id), {"verdict": "good"})
    assert library.review(id) == {"verdict": "good"}
    assert library.get(id).reviewed
    library.append(library.get(id), "b5c4")
    assert library.review(id) is None


def test_names_that_people_gave_are_kept_and_exported(library: Library) -> None:
    id = library.add("ewn", START, ("human", "full"), names=("Ann", ""))
    saved = library.get(id)
    assert (saved.players, saved.names) == (("human", "full"), ("Ann", ""))
    assert saved.record().players == ("Ann", "full")
    assert [game.id for game in library.search("ann")[0]] == [id]


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
        id = library.add("ewn", START, ("human", "human"), seat=("MIN", "secret"), clock=Clock(60.0))
        assert library.get(id).seat == library.seat("secret") == Seat(id, "MIN", joined=False)
        assert library.get(id).clock == SavedClock(0.0, (60.0, 60.0))
    with closing(Library(tmp_path / "new.sqlite")):
        pass
    assert columns_of(path) == columns_of(tmp_path / "new.sqlite")


def columns_of(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Return the names, types and defaults of all columns, by table."""
    with closing(sqlite3.connect(path)) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: {row[1:] for row in _rows(file, name)} for name in tables}


def _rows(file: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    return [(0, *row[1:5]) for row in file.execute(f"PRAGMA table_info({table})")]


def test_statistics_do_not_parse_reviews(library: Library) -> None:
    id = library.add("ewn", START, ("human", "full"))
    library.end(library.get(id), 1, "resigned")
    assert library.save_review(library.get(id), review((0.5, 0.25), (0.5, 0.0)))
    before = library.played()
    with closing(sqlite3.connect(library.path)) as file, file:
        file.execute("UPDATE reviews SET review = 'no JSON'")
    assert library.played() == before
    assert before[0].review == Reviewed((0.5, 0.25), (0.5, 0.0), (2, 1))


def review(luck: tuple[float, float], loss: tuple[float, float], unit: str = "win") -> dict[str, object]:
    """Return what statistics read of a review with two decisions of MAX and one of MIN."""
    sides = ("MAX", "MIN")
    moments = [{"player": player} for player in ("CHANCE", "MAX", "MIN", "MAX")]
    sums = {"luck": dict(zip(sides, luck, strict=True)), "loss": dict(zip(sides, loss, strict=True))}
    return {"unit": unit, "moments": moments, **sums}


def test_statistics_count_results_losses_and_luck_by_opponent(library: Library) -> None:
    games = [
        (("human", "full"), ("Ann", ""), 1, review((0.5, 0.25), (0.5, 0.0))),
        (("full", "human"), ("", "Ann"), 1, review((0.5, 0.25), (0.5, 1.0), "points")),
        (("human", "human"), ("Ann", "Bo"), 0, None),
        (("human", "human"), ("Ann", ""), None, None),  # unfinished
        (("human", "human"), ("Ann", "Ann"), 1, None),  # against herself
    ]
    for players, names, result, found in games:
        id = library.add("ewn:size=4", START, players, names=names)
        if result is not None:
            library.end(library.get(id), result, "resigned")
        if found is not None:
            assert library.save_review(library.get(id), found)
    played = library.played()
    assert players_of(played)[0] == "Ann"
    found = statistics(played, "Ann")
    assert found.opponents == [
        Opponent("full", won=1, lost=1, reviewed=2, decisions=3, loss=1.0, luck=0.125),
        Opponent("Bo", drawn=1),
    ]
    assert [one.luck for one in found.luck] == [0.25, -0.125]  # a point is half a win
    assert len(library.played("ewn")) == 4
    assert library.played("backgammon") == []
    assert statistics(played, "nobody").opponents == []


def test_import_adds_all_records_or_none(library: Library) -> None:
    record = Record("ewn", ("a", "b"), START, ("2", "b5c4"), None, 5, 3, date="2019-08-04")
    [id] = library.add_records([record])
    assert library.get(id).created == "2019-08-04"
    assert library.get(id).record() == replace(record, seed=0, number=0)
    broken = Record("ewn", ("a", "b"), START, (None,), None)  # type: ignore[arg-type]
    with pytest.raises(RecordError, match="cannot hold this game"):
        library.add_records([record, broken])
    assert library.search()[1] == 1


@pytest.mark.parametrize("seed", [None, 10**30, 1.5, "x"])
def test_a_value_that_cannot_be_saved_is_no_damage(library: Library, seed: object) -> None:
    id = add(library)
    record = Record("ewn", ("a", "b"), START, (), None, seed)  # type: ignore[arg-type]
    with pytest.raises(RecordError, match="cannot hold this game"):
        library.add_records([record])
    with pytest.raises(RecordError, match="cannot hold this game"):
        library.add_records([Record("ewn", ("\ud800", "b"), START, (), None)])
    assert library.get(id).steps == ()


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


def test_games_can_be_deleted(library: Library) -> None:
    id = add(library)
    library.append(library.get(id), "2")
    library.delete(id)
    for ask in (library.get, library.delete):
        with pytest.raises(MissingError, match="no game"):
            ask(id)
    with sqlite3.connect(library.path) as file:
        assert file.execute("SELECT count(*) FROM steps").fetchone() == (0,)
    file.close()


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

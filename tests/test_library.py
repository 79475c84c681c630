"""The library of games: saved games persist, conflicts are refused, damaged files are reported."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dicent.errors import ConflictError, LibraryError, MissingError
from dicent.library.library import Library
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
    assert saved.record() == Record("ewn", ("human", "full"), START, ("2", "b5c4"), -1)
    library.take_back(saved, 1)
    saved = library.get(id)
    assert (saved.result, saved.ended, saved.steps) == (None, None, ("2",))
    library.end(saved, 1, "resigned")
    assert library.get(id).record().result is None  # the record of an unfinished game


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
    assert found(text="ann 100%") == [ids[1]]
    assert found(text="annxlee") == found(text="1000") == []  # wildcards of LIKE are matched literally
    assert found(text=ids[2][:8]) == [ids[2]]
    assert found(game="ewn") == [ids[0], ids[2], ids[1]]
    assert found(game="ewn:size=4") == [ids[2]]
    assert found(result=-1) == [ids[0]]
    assert found(result="open", game="ewn:size=4") == [ids[2]]
    assert found(text="'; DROP TABLE games; --") == []
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


def test_import_adds_all_records_or_none(library: Library) -> None:
    record = Record("ewn", ("a", "b"), START, ("2", "b5c4"), None, 5, 3)
    [id] = library.add_records([record])
    assert library.get(id).record() == Record("ewn", ("a", "b"), START, ("2", "b5c4"), None)
    broken = Record("ewn", ("a", "b"), START, (None,), None)  # type: ignore[arg-type]
    with pytest.raises(LibraryError):
        library.add_records([record, broken])
    assert library.search()[1] == 1


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
    with pytest.raises(LibraryError, match=r"notes.txt is damaged or not a library .*Move it away"):
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

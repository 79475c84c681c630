"""The library of games: saved games persist, conflicts are refused, statistics count."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dicent.errors import ConflictError, MissingError, RecordError
from dicent.library.library import Library
from dicent.library.statistics import Opponent, Reviewed, players_of, statistics
from dicent.play.record import Record

from .saved_games import START, add, review


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


def test_statistics_do_not_parse_reviews(library: Library) -> None:
    id = library.add("ewn", START, ("human", "full"))
    library.end(library.get(id), 1, "resigned")
    assert library.save_review(library.get(id), review((0.5, 0.25), (0.5, 0.0)))
    before = library.played()
    with closing(sqlite3.connect(library.path)) as file, file:
        file.execute("UPDATE reviews SET review = 'no JSON'")
    assert library.played() == before
    assert before[0].review == Reviewed((0.5, 0.25), (0.5, 0.0), (2, 1))


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

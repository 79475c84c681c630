"""Records: written, read and replayed, and errors for invalid ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dicent import make, play_match, read_records
from dicent.errors import PositionError, RecordError
from dicent.play.notation import read_games, write_game
from dicent.play.record import Record, append_records


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """Return the records of a match."""
    play_match("random", "random", "ewn", games=6, seed=2, record=tmp_path / "games.jsonl")
    return tmp_path / "games.jsonl"


def test_every_game_of_a_match_is_recorded_and_can_be_replayed(played: Path) -> None:
    records = list(read_records(played))
    assert sorted(record.number for record in records) == list(range(6))
    for record in records:
        states = list(record.states())
        assert len(states) == len(record.steps) + 1
        assert str(states[0]) == record.start
        assert states[-1].result == record.result
        assert (record.game, record.seed) == ("ewn", 2)


def test_record_is_one_line_and_survives_a_round_trip(played: Path) -> None:
    for line, record in zip(played.read_text().splitlines(), read_records(played), strict=True):
        assert record.to_json() == line
        assert Record.from_json(line) == record


def test_records_are_appended_and_an_incomplete_line_is_removed(played: Path) -> None:
    whole = list(read_records(played))
    with open(played, "ab") as file:
        file.write(b'{"format": 1, "game": "ew')
    append_records(played, whole[:2])
    assert list(read_records(played)) == whole + whole[:2]
    played.write_bytes(b"torn from the start")
    append_records(played, whole[:1])
    assert list(read_records(played)) == whole[:1]


def test_error_names_the_invalid_line(played: Path) -> None:
    lines = played.read_text().splitlines()
    for wrong in (
        "[]",
        "{",
        lines[0].replace('"format": 1', '"format": 9'),
        lines[0].replace("seed", "sead"),
    ):
        played.write_text(f"{lines[0]}\n{wrong}\n")
        with pytest.raises(RecordError, match="line 2: "):
            list(read_records(played))
    with pytest.raises(RecordError, match="cannot be read"):
        list(read_records(played.with_name("none")))
    with pytest.raises(RecordError, match="cannot be written"):
        play_match("random", "random", "ewn", games=2, record=played.parent)


def test_illegal_steps_and_wrong_results_are_found(played: Path) -> None:
    record = next(read_records(played))
    list(record.states())
    with pytest.raises(RecordError, match="step 1 of game"):
        list(replace(record, steps=("nonsense", *record.steps[1:])).states())
    with pytest.raises(RecordError, match="step 2 of game"):
        list(replace(record, steps=(record.steps[0], *record.steps[2:])).states())
    assert record.result is not None
    with pytest.raises(RecordError, match="its record says"):
        list(replace(record, result=-record.result).states())
    with pytest.raises(PositionError):
        list(replace(record, start="nowhere").states())


GIVEN_UP = Record("ewn", ("a", "b"), "ABC2/DE3/F3f/3de/2abc 1 -", ("2", "b5c4"), -1, ended="resigned")


def test_resignation_loss_on_time_and_date_survive_a_round_trip() -> None:
    for record in (GIVEN_UP, replace(GIVEN_UP, ended="time", date="2026-11-19")):
        assert Record.from_json(record.to_json()) == record
        assert [state.result for state in record.states()] == [None] * 3
    assert "date" not in GIVEN_UP.to_dict()


def test_old_record_of_a_game_lost_on_time_is_read() -> None:
    old = {**GIVEN_UP.to_dict(), "lost_on_time": True}
    del old["ended"]
    assert Record.from_dict(old).ended == "time"
    assert Record.from_dict({**old, "lost_on_time": False, "result": None}).ended is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ended": "played"}, 'ended of a record must be resigned, time, or null .got "played"'),
        ({"ended": 1}, "ended of a record must be resigned, time, or null"),
        ({"result": None}, "result of a record must be 1 or -1, as ended is resigned"),
        ({"result": 0}, "result of a record must be 1 or -1, as ended is resigned"),
        ({"lost_on_time": 1}, "lost_on_time of a record must be true or false"),
        ({"lost_on_time": True}, "ended of a record must be time, as lost_on_time is true .got resigned"),
        ({"date": "19.11.2026"}, "date of a record must be a day as 2026-11-19, or null"),
        ({"date": "2026-02-30"}, "date of a record must be a day"),
        ({"date": 20261119}, "date of a record must be a day"),
    ],
)
def test_wrong_end_or_date_names_line_and_field(wrong: dict[str, object], message: str) -> None:
    line = json.dumps({"format": 1, **GIVEN_UP.to_dict(), **wrong})
    with pytest.raises(RecordError, match=f"line 2: {message}"):
        read_games(f"{GIVEN_UP.to_json()}\n{line}\n")


def test_game_that_the_board_ends_cannot_be_resigned() -> None:
    ended = replace(GIVEN_UP, start="5/1a3/5/3A1/5 1 -", steps=("3", "d2e1"), result=1)
    with pytest.raises(
        RecordError, match="over on the board, but its record says that it ended by resignation"
    ):
        list(ended.states())


def test_pgn_keeps_date_and_how_the_game_ended() -> None:
    for record in (GIVEN_UP, replace(GIVEN_UP, ended="time", date="2026-11-19")):
        text = write_game(record, "pgn")
        assert read_games(text) == [record]
    assert '[Date "2026.11.19"]' in text
    assert '[Termination "time forfeit"]' in text
    [other] = read_games(text.replace("time forfeit", "abandoned"))
    assert (other.result, other.ended) == (None, None)


def test_other_notations_keep_the_date() -> None:
    dated = replace(GIVEN_UP, result=None, ended=None, date="2026-11-19")
    assert read_games(write_game(dated, "wtn")) == [dated]
    start = str(make("backgammon").initial_state(0))
    turn = Record("backgammon", ("a", "b"), start, ("MAX:31", "8/5 6/5"), None, date="2026-11-19")
    [read] = read_games(write_game(turn, "mat"))
    assert read.date == "2026-11-19"

"""Records: written, read and replayed, and errors for invalid ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from dicent import play_match, read_records
from dicent.errors import PositionError, RecordError
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

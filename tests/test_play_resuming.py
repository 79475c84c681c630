"""Matches that resume after a stop, end early by a sequential test, or end by Ctrl-C."""

from pathlib import Path

import pytest

import dicent
from dicent import DicentError, play_match, read_records
from dicent.errors import RecordError
from dicent.play import match
from dicent.play.record import Record
from dicent.play.result import MatchInterrupted, Standing


def lines(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines())


def games(path: Path) -> list[Record]:
    return sorted(read_records(path), key=lambda record: record.number)


def test_recorded_games_are_not_played_again(tmp_path: Path) -> None:
    whole = play_match("uct:20", "random", "ewn", 20, seed=4, record=tmp_path / "whole.jsonl")
    half = tmp_path / "half.jsonl"
    some = lines(tmp_path / "whole.jsonl")[3:14]
    half.write_text("".join(line + "\n" for line in some) + '{"torn')
    again = play_match("uct:20", "random", "ewn", 20, seed=4, record=half)
    assert set(some) < set(lines(half))
    assert games(half) == games(tmp_path / "whole.jsonl")
    assert again.results.tolist() == whole.results.tolist()
    assert again.plies.tolist() == whole.plies.tolist()
    assert again.adjusted == whole.adjusted
    assert again.dice == whole.dice
    assert play_match("uct:20", "random", "ewn", 20, seed=4, record=half).score == whole.score
    assert games(half) == games(tmp_path / "whole.jsonl")


def test_match_can_be_extended_or_read_in_part(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    first = play_match("random", "random", "ewn", 6, record=file)
    longer = play_match("random", "random", "ewn", 10, record=file)
    assert longer.results[:6].tolist() == first.results.tolist()
    assert sorted(record.number for record in read_records(file)) == list(range(10))
    assert play_match("random", "random", "ewn", 4, record=file).games == 4


@pytest.mark.parametrize(
    ("a", "b", "game", "seed"),
    [
        ("uct:5", "random", "ewn", 1),
        ("random", "uct:6", "ewn", 1),
        ("random", "uct:5", "ewn", 2),
        ("random", "uct:5", "dice-nim", 1),
    ],
)
def test_record_file_of_another_match_is_refused(
    tmp_path: Path, a: str, b: str, game: str, seed: int
) -> None:
    file = tmp_path / "games.jsonl"
    play_match("random", "uct:5", "ewn", 2, seed=1, record=file)
    before = file.read_text()
    with pytest.raises(RecordError, match="holds another match"):
        play_match(a, b, game, 4, seed=seed, record=file)
    assert file.read_text() == before


def test_second_match_in_one_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    refused = []

    def meanwhile(standing: Standing) -> None:
        with pytest.raises(DicentError, match="another process writes to") as error:
            play_match("random", "random", "ewn", 6, record=file)
        refused.append(error)

    play_match("random", "random", "ewn", 6, progress=meanwhile, record=file)
    assert refused
    assert sorted(record.number for record in read_records(file)) == list(range(6))


def test_one_game_may_have_many_names(tmp_path: Path) -> None:
    play_match("random", "random", "ewn", 2, record=tmp_path / "games.jsonl")
    again = play_match("random", "random", "ewn:rules=official", 4, record=tmp_path / "games.jsonl")
    assert again.games == 4


def interrupt_at(n: int) -> object:
    def progress(standing: Standing) -> None:
        if standing.games >= n:
            raise KeyboardInterrupt

    return progress


def test_ctrl_c_returns_the_result_and_loses_no_game(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    with pytest.raises(MatchInterrupted) as caught:
        play_match("uct:20", "random", "ewn", 40, progress=interrupt_at(20), record=file)  # type: ignore[arg-type]
    result = caught.value.result
    assert result.interrupted
    assert isinstance(caught.value, KeyboardInterrupt)
    assert 2 <= result.games <= 40
    recorded = list(read_records(file))
    assert result.games <= len(recorded) < 40
    resumed = play_match("uct:20", "random", "ewn", 40, record=file)
    assert resumed.results.tolist() == play_match("uct:20", "random", "ewn", 40).results.tolist()
    assert not resumed.interrupted


def test_ctrl_c_before_the_first_pair_is_a_plain_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        play_match("random", "random", "ewn", 4, progress=interrupt_at(0))  # type: ignore[arg-type]
    assert not isinstance(caught.value, MatchInterrupted)


def test_a_sequential_test_ends_a_match_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "WAVE", 20)
    seen: list[float | None] = []
    result = play_match(
        "uct:100", "random", "ewn", 1000, sprt=(0, 100), progress=lambda standing: seen.append(standing.ratio)
    )
    assert result.accepted == "elo1"
    assert result.games < 200
    assert result.games % 20 == 0
    assert result.ratio == seen[-1]
    assert result.ratio is not None
    assert result.ratio > 2.94
    worse = play_match("random", "uct:100", "ewn", 1000, sprt=(0, 100)).to_dict()
    assert worse["sprt"]["accepted"] == "elo0"
    assert worse["sprt"]["bounds"] == pytest.approx([-2.944, 2.944], abs=0.001)


def test_undecided_sequential_test_plays_all_games_and_can_be_extended(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    result = play_match("random", "random", "ewn", 10, sprt=(0, 5), record=file)
    assert result.accepted is None
    assert result.games == 10
    assert play_match("random", "random", "ewn", 20, sprt=(0, 5), record=file).games == 20
    with pytest.raises(dicent.DicentError, match="elo0 must be less"):
        play_match("random", "random", "ewn", 10, sprt=(5, 0))


def test_uct_with_ten_times_the_simulations_wins_as_often_as_openspiels() -> None:
    result = play_match("uct:1000", "uct:100", "ewn", games=300, seed=1)
    low, high = result.interval
    assert low <= 0.599 + 0.041  # OpenSpiel's: 59.9 +- 4.1
    assert high >= 0.599 - 0.041
    assert 0.53 < result.score < 0.68

"""The commands match and tournament."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.cli import main
from dicent.play.result import MatchInterrupted

pytestmark = pytest.mark.usefixtures("plain_terminal")

Output = Callable[..., str]
Answer = Callable[..., Any]

TINY = "dice-nim:stones=2"


def test_match_prints_json_and_text(answer: Answer, output: Output, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    found = answer("match", "uct:100", "random", "--game", "ewn", "--games", "40", "--record", str(file))
    assert (found["games"], found["seed"], found["players"]) == (40, 0, ["uct:100", "random"])
    assert found["wins"] + found["draws"] + found["losses"] == 40
    assert found["interval"][0] < found["score"] < found["interval"][1]
    assert found["elo"] > 0
    assert len(list(dicent.read_records(file))) == 40
    text = output("match", "uct:100", "random", "--game", "ewn", "--games", "40")
    assert f"{found['score']:.1%}" in text
    assert "95 % confidence" in text


def test_match_without_game_is_refused(complaint: Output) -> None:
    assert "no game is given" in complaint("match", "random", "random")
    assert "pairs" in complaint("match", "random", "random", "--game", "ewn", "--games", "3")
    assert "did you mean uct" in complaint("match", "utc:5", "random", "--game", "ewn")


def test_sequential_test_names_the_accepted_hypothesis(output: Output) -> None:
    text = output(
        "match", "uct:100", "random", "--game", "ewn", "--games", "400", "--sprt", "0", "200", "--seed", "1"
    )
    assert re.search(r"sequential test +\+200 Elo accepted, log-likelihood ratio \+\d", text)
    assert re.search(r"luck-adjusted score +\d", text)
    assert re.search(r"dice +[\d,]+ rolls, chi-square test p = ", text)


def test_interrupted_match_reports_the_finished_games(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = dicent.play_match("random", "random", TINY, 20)

    def stopped(*_: object) -> None:
        raise MatchInterrupted(result)

    monkeypatch.setattr(dicent, "play_match", stopped)
    assert main(["match", "random", "random", "--game", TINY, "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["games"] == 20


def test_tournament_prints_text_and_json(output: Output, answer: Answer, tmp_path: Path) -> None:
    arguments = ["tournament", str(tmp_path / "t"), "random", "uct:20", "--game", TINY, "--games", "10"]
    text = output(*arguments)
    assert "uct:20" in text
    assert "results.html" in text
    found = answer(*arguments)
    assert found["finished"]
    assert len(found["ratings"]) == 2
    assert main(["tournament", str(tmp_path / "t"), "uct:20", "--game", TINY]) == 1

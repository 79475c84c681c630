"""The commands: their output as text and as JSON, and their error messages."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.bench.suite import Row
from dicent.cli import main
from dicent.game.check import CHECKS

Edit = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("plain_terminal")

TINY = "dice-nim:stones=2"


Output = Callable[..., str]
Answer = Callable[..., Any]

# The commands.


def test_version(output: Output) -> None:
    assert output("--version") == f"dicent {dicent.__version__}\n"


def test_games_prints_json(answer: Answer) -> None:
    games = {game["name"]: game for game in answer("games")}
    assert list(games) == dicent.game_names()
    ewn = games["ewn"]
    assert ewn["title"] == "EinStein würfelt nicht!"
    assert (ewn["num_actions"], ewn["num_outcomes"], ewn["input_shape"]) == (18, 6, [33, 5, 5])
    assert ewn["options"] == {
        "size": 5,
        "pieces": 6,
        "rules": "official",
        "setup": "random",
        "planes": "mover",
        "hole": False,
    }
    assert [option["name"] for option in ewn["declared"]] == list(ewn["options"])
    assert ewn["declared"][0]["choices"] == [3, 4, 5, 6]
    assert games["ewn-paper"]["options"]["rules"] == "paper"
    assert games["tic-tac-toe"]["max_plies"] == 9


def test_games_prints_text(output: Output) -> None:
    text = output("games")
    assert all(re.search(rf"^{name}\b", text, re.MULTILINE) for name in dicent.game_names())
    assert "EinStein würfelt nicht!" in text
    assert "preset: rules=paper, setup=mirrored" in text
    assert re.search(r"^ +stones=15 +stones at the start", text, re.MULTILINE)
    assert "hole=false" in text
    assert "cells along each side of the board: 3, 4, 5, 6" in text


@pytest.mark.parametrize("position", ["-b----E-C---eE---c-e----B- 1 31", "--A-------------------a--- 1 65"])
def test_a_position_may_begin_with_a_dash(answer: Answer, position: str) -> None:
    shown = answer("show", "backgammon", position)
    assert shown["position"] == position
    assert shown["to_play"] == "max"


def test_games_are_listed_with_their_limits(answer: Answer) -> None:
    listed = {game["name"]: game for game in answer("games")}
    assert listed["backgammon"]["max_legal"] == 3060
    assert listed["hypergammon"]["title"] == "Hypergammon"
    assert (listed["hypergammon"]["max_legal"], listed["hypergammon"]["max_score"]) == (15, 3)
    assert listed["backgammon"]["cyclic"]
    assert not listed["ewn"]["cyclic"]
    assert listed["ewn"]["max_score"] is None


def test_check_prints_json(answer: Answer) -> None:
    report = answer("check", TINY, "--positions", "20")
    assert report["ok"] is True
    assert report["game"] == TINY
    assert 0 < report["positions"] <= 20
    assert report["checks"] == list(CHECKS)
    assert report["statistics"]["legal"]["most"] == 2
    assert report["statistics"]["cycles"] is False
    assert report["statistics"]["warnings"] == []


def test_check_prints_text(output: Output) -> None:
    text = output("check", TINY, "--positions", "20", "--seed", "3")
    assert all(f"✓ {check}" in text for check in CHECKS)
    assert re.search(r"legal actions +1\.\d on average, 2 at most; MAX_LEGAL is 3", text)
    assert re.search(r"cycles +none seen; CYCLIC is False", text)
    assert f"{TINY} keeps the contract" in text


def test_perft_prints_json(answer: Answer) -> None:
    counts = answer("perft", TINY, "--depth", "2")
    assert counts["game"] == TINY
    assert counts["position"] == "2 1 -"
    assert counts["decisions"] == [0, 6, 0]
    assert counts["chances"] == [1, 0, 6]
    assert counts["finished"] == [0, 0, 5]
    assert counts["nodes"] == [1, 6, 11]
    assert counts["seconds"] > 0


def test_perft_from_a_position_prints_text(output: Output) -> None:
    text = output("perft", TINY, "2 1 3", "--depth", "1")
    assert "2 1 3" in text
    assert "chance nodes" in text
    assert text.splitlines()[-1].split() == ["1", "0", "1", "1", "2"]


def test_show_prints_json(answer: Answer) -> None:
    rolled = answer("show", TINY, "2 1 3")
    assert rolled["position"] == "2 1 3"
    assert (rolled["to_play"], rolled["result"]) == ("max", None)
    assert rolled["actions"] == [{"action": 0, "text": "1"}, {"action": 1, "text": "2"}]
    assert rolled["outcomes"] == []

    start = answer("show", TINY)
    assert (start["to_play"], start["actions"]) == ("chance", [])
    assert [outcome["text"] for outcome in start["outcomes"]] == list("123456")
    assert math.isclose(sum(outcome["p"] for outcome in start["outcomes"]), 1)

    over = answer("show", TINY, "0 2 -")
    assert (over["to_play"], over["result"], over["actions"], over["outcomes"]) == ("over", 1, [], [])


def test_show_deals_the_start_of_the_seed(answer: Answer) -> None:
    positions = [answer("show", "ewn", "--seed", seed)["position"] for seed in "112"]
    assert positions[0] == positions[1] != positions[2]
    assert positions[0] == str(dicent.make("ewn").initial_state(1))


def test_show_prints_text(output: Output) -> None:
    text = output("show", "ewn", "ABC2/DE3/F3f/3de/2abc 2 5")
    assert "EinStein würfelt nicht!" in text
    assert "Blue  rolled 5: to move" in text
    assert "ABC2/DE3/F3f/3de/2abc 2 5" in text
    assert "a   b   c   d   e" in text
    assert "│ 1 │ 2 │ 3 │" in text
    assert "one in 6 each" in output("show", "ewn", "--seed", "1")
    assert "Red  has won: Red has three in a row" in output("show", "tic-tac-toe", "XXX/OO./... 2")
    assert "drawn" in output("show", "tic-tac-toe", "XOX/XOX/OXO 2")


def test_show_plays_a_game(output: Output) -> None:
    text = output("show", TINY, "--play", "--seed", "1")
    assert "random games from here" in text
    assert "last move" in text
    assert re.search(r"(Red|Blue)  has won", text)
    assert text == output("show", TINY, "--play", "--seed", "1")


def test_bench_prints_json(answer: Answer) -> None:
    report = answer("bench", "--scale", "0.01", "--rounds", "1")
    rows = {row["name"]: row for row in report["rows"]}
    measured = ["EWN rollouts, one thread", "the same rules as plain Python", "EWN perft, depth 9"]
    starts = [
        f"{heat} start to {work}" for heat in ("cold", "warm") for work in ("first rollout", "check_game")
    ]
    assert all(rows[name]["value"] > 0 for name in [*measured, *starts])
    assert all(set(row) == {"name", "value", "unit", "note"} for row in rows.values())
    assert re.fullmatch(r"[0-9a-f]{24}", report["signature"])


def test_bench_prints_text(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(rounds: int, scale: float) -> Iterator[Row]:
        yield Row("things", 1234.5, "M things/s", f"{rounds} rounds at {scale}")
        yield Row("a peer", float("nan"), "M things/s", "not installed")

    monkeypatch.setattr("dicent.bench.suite.bench", measure)
    monkeypatch.setattr("dicent.bench.suite.signature", lambda: "0123456789ab")
    text = output("bench", "--rounds", "3", "--scale", "0.5")
    assert re.search(r"things +1,234\.50 +M things/s +3 rounds at 0\.5", text)
    assert re.search(r"a peer +- +M things/s +not installed", text)
    assert text.endswith("signature 0123456789ab\n")


# Invalid input.


@pytest.mark.parametrize("command", ["check", "perft", "show"])
def test_unknown_game_is_refused(complaint: Output, command: str) -> None:
    assert "there is no game 'ewm'; did you mean ewn?" in complaint(command, "ewm")


@pytest.mark.parametrize("command", ["perft", "show"])
def test_invalid_position_is_refused(complaint: Output, command: str) -> None:
    assert "'XXXX' is not a position of Tic-tac-toe" in complaint(command, "tic-tac-toe", "XXXX")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("perft", TINY, "--depth", "-1"), "depth must be 0 or more (got -1)"),
        (("check", TINY, "--positions", "0"), "positions must be 1 or more (got 0)"),
        (("show", "ewn:size=9"), "option size: 9 is not possible"),
        (("bench", "--rounds", "0"), "rounds and scale must be above 0"),
        (("bench", "--scale", "nan"), "rounds and scale must be above 0"),
    ],
)
def test_number_out_of_range_is_refused(complaint: Output, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in complaint(*arguments)


def test_unreadable_file_is_refused(complaint: Output, tmp_path: Path) -> None:
    folder = tmp_path / "folder.py"
    folder.mkdir()
    noise = tmp_path / "noise.py"
    noise.write_bytes(b"\xff\xfe")
    for path in (tmp_path / "missing.py", folder, noise):
        assert f"{path} cannot be read as a game" in complaint("show", str(path))


def test_game_that_breaks_the_contract_is_reported(complaint: Output, edited: Edit) -> None:
    path = edited("dice_nim", ("p[o] = 1 / 6", "p[o] = 0.15"))
    assert "outcomes: gave probabilities that sum to 0.9" in complaint("check", str(path))


@pytest.mark.parametrize("arguments", [["perft", "ewn", "--depth", "many"], ["fly"], ["games", "--size"]])
def test_unknown_command_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_interrupt_exits_with_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dicent, "check_game", interrupted)
    assert main(["check", TINY]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


@pytest.mark.parametrize("arguments", [["games"], ["games", "--json"], ["show", "ewn", "--json"]])
def test_closed_output_pipe_is_no_error(arguments: list[str]) -> None:
    """`dicent games | true`: a short output is written only at the end of the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dicent.cli", *arguments],
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert process.communicate() == (None, b"")


# Texts that look like terminal markup.


def test_brackets_in_a_path_are_printed(output: Output, edited: Edit, tmp_path: Path) -> None:
    folder = tmp_path / "[bold]"
    folder.mkdir()
    path = edited("dice_nim", folder=folder)
    assert f"{path}:stones=2 keeps the contract" in output("check", f"{path}:stones=2", "--positions", "20")


def test_brackets_in_a_position_are_printed(output: Output, edited: Edit) -> None:
    path = edited(
        "dice_nim",
        ('return f"{s[LEFT]} {1 if', 'return f"[red] {s[LEFT]} {1 if'),
        ("def parse_state(text, s):", "def parse_state(text, s):\n    text = text[6:]"),
    )
    game = f"{path}:stones=2"
    assert output("show", game).count("[red] 2 1 -") == 2
    assert "[red] 2 1 -" in output("perft", game, "--depth", "0")


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "uct:5", "random", "--game", TINY, "--games", "4"],
        ["match", "random", "random", "--game", TINY, "--games", "4", "--clock", "5+3"],
        ["tournament", "folder", "uct:5", "random", "--game", TINY, "--games", "2"],
        ["accuracy", "random", "--game", TINY, "--positions", "5"],
        ["solve", TINY],
        ["perft", TINY, "--depth", "2"],
        ["check", TINY, "--positions", "20"],
        ["analyse", TINY, "2 1 1", "--player", "uct:5"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.usefixtures("uncompiled")
def test_json_is_one_line_and_progress_is_on_standard_error(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # progress is shown as in a terminal
    monkeypatch.setenv("TERM", "xterm")
    assert main([*(str(tmp_path / "t") if word == "folder" else word for word in arguments), "--json"]) == 0
    out, err = capsys.readouterr()
    [line] = out.splitlines()
    json.loads(line)
    assert bool(err) == (arguments[0] != "analyse")

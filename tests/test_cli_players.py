"""The commands analyse, play and engine."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.cli import main
from dicent.play.record import Record, day_of

ENGINE = f"{sys.executable} -m dicent.cli engine"


pytestmark = pytest.mark.usefixtures("plain_terminal", "uncompiled")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command with typed input; return its output."""

    def run(*arguments: str, typed: str = "", status: int = 0) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert main(list(arguments)) == status
        captured = capsys.readouterr()
        return captured.err if status else captured.out

    return run


Run = Callable[..., str]


def test_match_of_two_processes_equals_the_match_of_their_players() -> None:
    games: list[list[Record]] = [[], []]
    dicent.play_match("uct:12", "uct:6", "ewn", 4, seed=3, record=games[0].append)
    a, b = (f"process:{ENGINE} --player uct:{n}" for n in (12, 6))
    dicent.play_match(a, b, "ewn", 4, seed=3, record=games[1].append)
    assert [game.steps for game in games[0]] == [game.steps for game in games[1]]
    assert {game.players for game in games[1]} == {(a, b), (b, a)}


def test_match_between_two_processes_by_command(run: Run) -> None:
    a, b = (f"process:{ENGINE} --player {player}" for player in ("greedy:random=1", "random"))
    found = json.loads(run("match", a, b, "--game", "dice-nim", "--games", "4", "--json"))
    assert found["games"] == 4


def test_the_engine_answers_and_ends_with_its_input() -> None:
    queries = [
        {"id": 1, "query": "version"},
        {"id": 2, "game": "dice-nim", "position": "5 1 3"},
        {"id": 3, "game": "dice-nim", "position": "5 1 3", "player": "uct:30"},
    ]
    done = subprocess.run(
        [*ENGINE.split(), "--player", "random"],
        input="".join(json.dumps(query) + "\n" for query in queries),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["version"] == dicent.__version__
    assert answers[2]["action"] in "123"
    assert answers[3]["action"] in "123"


def test_engine_command_refuses_invalid_options(run: Run) -> None:
    said = run("engine", "--player", "nobody", status=1)
    assert "there is no player" in said
    assert "or a strength: beginner" in said
    assert "1 or more" in run("engine", "--threads", "0", status=1)


# analyse

POSITION = ("dice-nim", "4 1 3")


def test_analyse_prints_text(run: Run) -> None:
    printed = run("analyse", *POSITION, "--player", "descent:random=1", "--nodes", "500")
    lines = printed.splitlines()
    assert lines[0] == "4 1 3"
    assert lines[1].startswith("Red wins ")
    assert lines[1].endswith("%, exactly")
    assert lines[2].split() == ["move", "win", "loss", "1", "2", "3", "4", "5", "6", "principal", "variation"]
    assert len([line for line in lines if " = " in line]) == 3
    assert "1 to 6: win probability after that roll, in percent" in printed
    assert "= marks exact values" in printed


def test_analyse_before_a_roll(run: Run) -> None:
    printed = run("analyse", "dice-nim", "4 2 -", "--player", "uct:50")
    assert printed.splitlines()[1].startswith("Blue wins ")
    assert printed.splitlines()[2].split() == ["outcome", "probability", "win"]
    assert "16.7%" in printed


def test_analyse_prints_json(run: Run) -> None:
    found = json.loads(run("analyse", *POSITION, "--player", "uct:50", "--json"))
    assert found["evaluations"] == 50
    assert {move["action"] for move in found["moves"]} == {"1", "2", "3"}
    lines = run("analyse", *POSITION, "--player", "uct", "--time", "0.6", "--every", "0.1", "--stream")
    analyses: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    assert len(analyses) >= 2
    assert analyses[0]["evaluations"] < analyses[-1]["evaluations"]


def test_analyse_reads_meinsteins_positions(run: Run) -> None:
    found = json.loads(run("analyse", "ewn", "dec2/ba3/f3B/3EA/2DCF w 1 2", "--player", "random", "--json"))
    assert found["position"] == "DEC2/BA3/F3b/3ea/2dcf 2 2"
    assert found["player"] == "MIN"


def test_analyse_refuses_invalid_input(run: Run) -> None:
    assert "is not a position" in run("analyse", "ewn", "nonsense", status=1)
    assert "there is no player" in run("analyse", "ewn", "--player", "nobody", status=1)
    assert "above 0" in run("analyse", "ewn", "--every", "0", status=1)
    assert "must be a number of 0 or more" in run("analyse", "ewn", "--time", "-1", status=1)


# play


def test_play_saves_the_game(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    typed = "1\n" * 20
    printed = run(
        *("play", "dice-nim:stones=5", "--opponent", "random", "--seed", "1", "--record", str(file)),
        typed=typed,
    )
    assert "has won" in printed
    [record] = dicent.read_records(file)
    assert record.players == ("person", "random")
    assert record.result in (1, -1)
    assert list(record.states())[-1].result == record.result


def test_commands_inside_a_game(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    typed = f"help\n\nhint\nmoves\nboard\nback\nnonsense\n4\nsave {file}\nsave\nresign\n"
    printed = run("play", "dice-nim", "15 1 3", "--opponent", "uct:30", typed=typed)
    assert "take back your last move" in printed
    assert "win probability" in printed
    assert "there is no move to take back" in printed
    assert "nonsense is not possible. You may play 1, 2 or 3." in printed
    assert "save needs a file name" in printed
    assert "resigned: Blue wins" in printed
    [record] = dicent.read_records(file)
    assert (record.steps, record.result) == ((), None)


def test_resigned_game_is_recorded_with_its_result(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    run("play", "dice-nim", "15 1 3", "--opponent", "random", "--record", str(file), typed="resign\n")
    [record] = dicent.read_records(file)
    assert (record.steps, record.result, record.ended) == ((), -1, "resigned")
    assert record.date == day_of(str(record.date))


def test_take_back_in_terminal_keeps_the_dice(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("plain", "back")]
    command = ("play", "dice-nim", "--side", "both", "--seed", "4")
    run(*command, "--record", str(files[0]), typed="1\n1\n1\nquit\n")
    run(*command, "--record", str(files[1]), typed="1\nback\n1\n1\nback\nback\n1\n1\n1\nquit\n")
    [plain], [back] = (list(dicent.read_records(file)) for file in files)
    assert plain.steps == back.steps
    assert len(plain.steps) == 7


def test_real_dice_can_be_entered_and_corrected(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    typed = "7\n2\n2\n6\nback\n5\nback\nback\n1\n3\nquit\n"
    printed = run(
        *("play", "dice-nim", "--side", "both", "--dice", "hand", "--record", str(file)), typed=typed
    )
    assert "7 is not a possible roll. Possible are 1, 2, 3, 4, 5 or 6." in printed
    [record] = dicent.read_records(file)
    assert record.steps == ("2", "1", "3")  # two rolls and a move were taken back


def test_computer_may_move_first(run: Run) -> None:
    printed = run("play", "tic-tac-toe", "--side", "min", "--opponent", "random", typed="")
    assert "random plays " in printed
    assert printed.rstrip().endswith("quit")

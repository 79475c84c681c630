"""The commands about exact values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dicent.cli import main

ENDGAME = "5/1A3/5/2a2/5"
FIELDS = ["values", "value", "equity", "win", "exact", "bound", "graph", "moves", "outcomes", "source"]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DICENT_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_solve_prints_json(answer: Callable[..., Any]) -> None:
    before = answer("solve", "ewn", f"{ENDGAME} 2 -")
    assert list(before) == FIELDS
    assert (before["value"], before["win"], before["exact"], before["source"]) == (1.0, 0.0, True, "solver")
    assert before["moves"] == []
    assert before["outcomes"][3] == {"outcome": "4", "p": pytest.approx(1 / 6), "value": 1.0}
    after = answer("solve", "ewn", f"{ENDGAME} 1 4")
    assert after["outcomes"] == []
    assert {move["move"] for move in after["moves"]} == {"b4c4", "b4b3", "b4c3"}
    values = [move["value"] for move in after["moves"]]
    assert values == sorted(values, reverse=True)
    assert after["value"] == values[0]


def test_solve_prints_points_as_json(answer: Callable[..., Any]) -> None:
    points = answer("solve", "hypergammon:checkers=1,start=first")
    assert points["values"] == "score"
    assert points["win"] is None
    assert points["equity"] == pytest.approx(0.4527731370419, abs=1e-10)
    assert (points["graph"]["states"], points["graph"]["forced"]) == (499, 0)
    gain = answer("solve", "hypergammon:checkers=1,start=first", "--values", "gain")
    assert gain["win"] == pytest.approx((1 + gain["value"]) / 2)


def test_solve_prints_points_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "hypergammon:checkers=1,start=first"]) == 0
    printed = capsys.readouterr().out
    assert "equity +0.4527731370 points for the player to move; value +0.4527731370 for MAX" in printed
    assert "win" not in printed
    assert "endless play counts as a draw; no player can force it" in printed
    assert "bytes a state" in printed


def test_solve_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "dice-nim"]) == 0
    printed = capsys.readouterr().out
    assert "win probability 0.5195092212 for the player to move" in printed
    assert "from the solver, 28 states" in printed


def test_solve_without_a_position(answer: Callable[..., Any], complaint: Callable[..., str]) -> None:
    assert answer("solve", "tic-tac-toe")["value"] == 0
    dealt = answer("solve", "ewn:size=3,pieces=1")
    assert dealt["outcomes"] == [{"outcome": "1", "p": 1.0, "value": 1.0}]
    assert "deals more than 1,000 starts" in complaint("solve", "ewn")
    assert "more than 50 states follow" in complaint("solve", "tic-tac-toe", "--max-states", "50")
    assert "is not a position" in complaint("solve", "ewn", "nonsense")


def test_tablebase_commands_and_probes(
    answer: Callable[..., Any], capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    game = "ewn:size=3,pieces=3"
    assert main(["tablebase", "list"]) == 0
    assert "no tablebase is built" in capsys.readouterr().out
    assert answer("probe", game, "A2/3/1ab 1 2")["source"] == "solver"
    built = answer("tablebase", "build", game, "--pieces", "3")
    assert Path(built["file"]).parent == home / "tables"
    assert built["bytes"] == Path(built["file"]).stat().st_size == 4096 + 3 * built["positions"]
    [listed] = answer("tablebase", "list")
    assert (listed["pieces"], listed["rules"], listed["file"]) == (3, "official", built["file"])
    probed = answer("probe", game, "A2/3/1ab 1 2")
    assert list(probed) == FIELDS
    assert probed["source"] == "tablebase"
    solved = answer("solve", game, "A2/3/1ab 1 2")
    assert probed["value"] == pytest.approx(solved["value"], abs=1e-5)
    assert [move["move"] for move in probed["moves"]] == [move["move"] for move in solved["moves"]]
    assert main(["tablebase", "build", game, "--pieces", "3"]) == 0
    assert "win probabilities are exact to" in capsys.readouterr().out
    assert main(["tablebase", "list"]) == 0
    assert "ewn, 3x3, 3 numbers, official rules, up to 3 pieces: 0.0 MB" in capsys.readouterr().out
    assert main(["probe", game, "A2/3/1ab 1 2"]) == 0
    assert "from the tablebase" in capsys.readouterr().out


def test_bad_tablebases_are_refused(complaint: Callable[..., str], home: Path) -> None:
    assert "dice-nim has no tablebase" in complaint("tablebase", "build", "dice-nim")
    assert "from 2 to 12 pieces (got 1)" in complaint("tablebase", "build", "ewn", "--pieces", "1")
    assert main(["tablebase", "build", "ewn:size=3,pieces=3", "--pieces", "2"]) == 0
    [file] = (home / "tables").glob("*.table")
    file.write_bytes(file.read_bytes()[:-1])
    assert "is cut short" in complaint("probe", "ewn:size=3,pieces=3", "A2/3/2a 1 -")


def test_accuracy_prints_json(answer: Callable[..., Any], complaint: Callable[..., str]) -> None:
    player = "descent:random=1,nodes=30"
    found = answer("accuracy", player, "--positions", "4", "--pieces", "2")
    assert (found["game"], found["player"]) == ("ewn", player)
    assert list(found["rows"]) == ["its evaluator, by itself", "its evaluator, one ply ahead", player]
    for name, rows in found["rows"].items():
        assert [row["group"] for row in rows] == ["1 v 1", "all"]
        assert rows[0]["decisions"] == 4
        assert set(rows[0]["error"]) == {"mean", "low", "high"}
        assert (rows[0]["regret"] is None) == ("by itself" in name)
    assert list(answer("accuracy", "random", "--positions", "4", "--pieces", "2")["rows"]) == ["random"]
    greedy = answer("accuracy", "greedy:rollout=2", "--positions", "4", "--pieces", "2")
    assert list(greedy["rows"]) == ["its evaluator, by itself", "greedy:rollout=2"]
    assert "there is no player 'nobody'" in complaint("accuracy", "nobody")
    assert "a tablebase has from 2 to 12 pieces" in complaint("accuracy", "random", "--pieces", "1")
    assert "must be 1 or more" in complaint("accuracy", "random", "--positions", "0")


def test_accuracy_cuts_no_figure_off_on_a_narrow_terminal(
    output: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    player = "greedy:rollout=1,terminal=score"
    narrow = output("accuracy", player, "--game", "hypergammon:checkers=1", "--positions", "5")
    assert "millipoints lost" in narrow
    assert "…" not in narrow


def test_accuracy_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accuracy", "greedy:rollout=2", "--game", "dice-nim", "--positions", "9"]) == 0
    printed = capsys.readouterr().out
    assert "its evaluator, by itself" in printed
    assert "greedy:rollout=2" in printed
    assert "±" in printed

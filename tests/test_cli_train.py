"""The command train: budgets, resuming, and hints."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dicent.cli import main
from dicent.learn import train as train_module
from dicent.learn.config import read_config

from .running import rows

pytestmark = pytest.mark.usefixtures("quick_preflight")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, status: int = 0) -> str:
        assert main(["train", *arguments]) == status
        printed = capsys.readouterr()
        return printed.out if status == 0 else printed.err

    return run


FLAGS = (
    *("--game", "dice-nim", "--games", "6", "--hidden", "16", "--layers", "2", "--games-at-once", "4"),
    *("--evaluations-per-move", "10", "--measurements", "0", "--threads", "1", "--games-per-update", "4"),
)


def test_command_starts_resumes_and_refuses(command: Callable[..., str], tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    said = command(folder, *FLAGS)
    assert "dice-nim in" in said
    assert "weights" in said
    assert "games/hour" in said
    assert "The network is in" in said
    assert f"{folder}/report.html" in said
    assert read_config(tmp_path / "run" / "config.toml").network.hidden == 16
    assert "The network is in" in command(folder, "--games", "12")
    assert rows(tmp_path / "run")[-1]["games"] >= 12
    assert read_config(tmp_path / "run" / "config.toml").run.games == 12
    assert "The network is in" in command(folder)
    assert "The network is in" in command("--games", "13", folder)  # in any order
    assert "other settings (hidden)" in command(folder, "--hidden", "32", status=1)
    assert "--preset is for new runs" in command(folder, "--preset", "paper", status=1)


def test_command_needs_a_budget_and_a_known_preset(command: Callable[..., str], tmp_path: Path) -> None:
    assert "a run needs a budget" in command(str(tmp_path / "run"), "--game", "dice-nim", status=1)
    assert "(got 'desktop')" in command(str(tmp_path / "x"), "--preset", "desktop", status=1)
    assert "The network is in" in command(str(tmp_path / "run"), *FLAGS)  # the first command left no files


def test_command_names_the_spent_budget_and_a_larger_one(
    command: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for said in (command("run", *FLAGS, "--minutes", "600"), command("run")):  # finished now or earlier
        assert "The budget is spent: 6 games." in said
        [hint] = [line for line in said.splitlines() if line.startswith("Resume:")]
        assert hint == "Resume: dicent train run --minutes 1200 --games 12"
    assert "The budget is spent: 12 games." in command(*hint.split()[3:])
    assert rows(tmp_path / "run")[-1]["games"] >= 12


def test_hint_after_a_stop_names_the_game_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def stopped(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train_module, "train", stopped)
    monkeypatch.chdir(tmp_path)
    assert main(["train", "run", "--game", "mine.py:size=3", "--games", "6"]) == 130
    assert "Resume: dicent train run --game mine.py:size=3" in capsys.readouterr().out

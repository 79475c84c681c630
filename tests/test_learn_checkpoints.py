"""A run survives kills, damaged files, full disks and NaN losses: it resumes from a complete checkpoint."""

import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import safetensors.torch
import torch

from dicent import DicentError, load_network
from dicent.cli import main
from dicent.learn import checkpoint, run_folder
from dicent.learn import train as train_module
from dicent.learn.config import Config
from dicent.learn.learner import Learner
from dicent.learn.run_folder import Checkpoint, RunFolder
from dicent.learn.status import Status
from dicent.learn.train import train

from .running import TINY, checkpoints, everything, quiet, rows, run_to, weights

pytestmark = pytest.mark.usefixtures("quick_preflight")

FAULTS = int(os.environ.get("DICENT_FAULT_ROUNDS", "3"))  # `make faults` asks for many


# Kills


SCRIPT = """
import sys
from pathlib import Path
from dicent.learn import preflight
from dicent.learn.config import read_config
from dicent.learn.train import train
preflight.SECONDS = 0.001
train(read_config(Path(sys.argv[2])), sys.argv[1])
"""


def test_run_killed_at_any_moment_resumes_to_the_same_result(tmp_path: Path) -> None:
    """Kill the process at random times; it saves continuously, so that many kills hit a checkpoint."""
    config = TINY.replace(games=2000 if FAULTS > 3 else 120, checkpoint_seconds=0.05, overlap=True)
    (tmp_path / "config.toml").write_text(config.toml())
    rng, folder = random.Random(os.urandom(8)), tmp_path / "killed"
    for _ in range(FAULTS):
        arguments = [sys.executable, "-c", SCRIPT, str(folder), str(tmp_path / "config.toml")]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        before = latest(folder)
        deadline = time.monotonic() + 120
        while process.poll() is None and latest(folder) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        assert said == "", said  # no warning: kills damage nothing
    quiet(config, folder)
    quiet(config.replace(checkpoint_seconds=1e9), tmp_path / "whole")
    assert everything(folder) == everything(tmp_path / "whole")


def test_a_checkpoint_holds_games_in_flight_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock decides when a checkpoint is written. It must not decide the result of a resumed run."""
    monkeypatch.setattr(checkpoint, "MOST_IN_FLIGHT", 0)
    run_to(tmp_path / "killed", TINY, 12)
    quiet(TINY, tmp_path / "killed")
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path / "killed") == everything(tmp_path / "whole")


def test_a_run_that_the_clock_ends_leaves_out_games_that_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "MOST_IN_FLIGHT", 0)
    warnings: list[str] = []
    train(TINY.replace(minutes=1e-9), tmp_path, warn=warnings.append)
    assert [text for text in warnings if "too large for a checkpoint" in text]


def test_large_checkpoints_are_written_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 3 s here, and a minute passes with each turn: the next one is due after 30 s or more."""
    now, saved, real = [0.0], list[float](), checkpoint.save
    monkeypatch.setattr(train_module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def slow(training: Any) -> None:
        saved.append(now[0])
        real(training)
        now[0] += 3.0

    def turn(status: Status) -> None:
        now[0] += 1.0

    monkeypatch.setattr(checkpoint, "save", slow)
    train(TINY.replace(checkpoint_seconds=0.5), tmp_path, watch=turn, warn=pytest.fail)
    between = [b - a for a, b in itertools.pairwise(saved[:-1])]  # the last one ends the run
    assert between
    assert min(between) >= 33.0


def latest(folder: Path) -> str:
    """Return the latest checkpoint and its modification time."""
    home = folder / "checkpoints"
    names = sorted(p.name for p in home.iterdir() if not p.name.startswith(".")) if home.exists() else []
    try:
        return f"{names[-1]} {(home / names[-1]).stat().st_mtime_ns}" if names else ""
    except FileNotFoundError:
        return "just gone"


class Killed(BaseException):
    """A simulated kill; no handler may catch it."""


WRITES = ("mkdir", "write_atomically", "rename", "rmtree", "_sync")


@pytest.mark.parametrize("step", range(12))
def test_kill_while_saving_leaves_the_previous_checkpoint(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends at each step of writing a checkpoint, also if its number is in use."""
    files = {"network.safetensors": b"n" * 100, "learner.safetensors": b"l" * 100}
    with RunFolder(tmp_path, warn=pytest.fail) as folder:
        folder.save(Checkpoint({"count": 1}, files), 5, 2)
    steps = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step + 1:
                raise Killed
            return function(*arguments, **settings)

        return call

    finished = False
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", counted(Path.mkdir))
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(run_folder, "write_atomically", counted(run_folder.write_atomically))
        patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
        patch.setattr(run_folder, "sync_folder", counted(run_folder.sync_folder))
        folder = RunFolder(tmp_path, warn=pytest.fail)
        try:
            folder.save(Checkpoint({"count": 2}, files), 5, 1)
            finished = True
        except Killed:
            pass
    with RunFolder(tmp_path, warn=pytest.fail) as folder:
        loaded = folder.load()
        assert loaded is not None
        assert loaded.state["count"] in ((2,) if finished else (1, 2))
        assert loaded.files == files
        folder.save(Checkpoint({"count": 3}, files), 5, 2)
        again = folder.load()
        assert again is not None
        assert again.state["count"] == 3
    assert not list((tmp_path / "checkpoints").glob(".*"))


# Damage


def stopped(folder: Path, config: Config = TINY) -> list[Path]:
    """Return an unfinished run with three checkpoints."""
    run_to(folder, config, 12)
    for _ in range(2):
        run_to(folder, None, 12)
    assert len(checkpoints(folder)) == 3
    return checkpoints(folder)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "altered": lambda path: path.write_bytes(
        path.read_bytes()[:-9] + bytes([path.read_bytes()[-9] ^ 1]) + path.read_bytes()[-8:]
    ),
}
FILES = (
    "network.safetensors",
    "learner.safetensors",
    "replay_buffer.safetensors",
    "games_in_flight.zlib",
    "state.json",
)


@pytest.fixture(scope="module")
def three_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Any, ...]]:
    """Return a stopped run, and the result that it must reach."""
    folder = tmp_path_factory.mktemp("run") / "stopped"
    stopped(folder)
    train(TINY, folder.with_name("whole"))
    return folder, everything(folder.with_name("whole"))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoint_is_skipped_with_a_warning(
    damage: str, file: str, three_checkpoints: tuple[Path, tuple[Any, ...]], tmp_path: Path
) -> None:
    source, expected = three_checkpoints
    folder, warnings = tmp_path / "run", []
    shutil.copytree(source, folder)
    last = checkpoints(folder)[-1]
    DAMAGES[damage](last / file)
    with RunFolder(folder, warnings.append) as run:
        loaded = run.load()
    assert loaded is not None
    assert len(warnings) == 1
    assert last.name in warnings[0]
    assert "damaged" in warnings[0]
    if damage == "altered":
        train(TINY, folder, warn=warnings.append)
        assert len(warnings) == 2
        assert everything(folder) == expected
        train(None, folder, warn=pytest.fail)  # the new checkpoint counts, not the damaged one


def test_damaged_checkpoint_is_deleted_after_better_ones(tmp_path: Path) -> None:
    config = TINY.replace(keep_checkpoints=1)
    run_to(tmp_path, config, 30)
    [only] = checkpoints(tmp_path)
    DAMAGES["cut"](only / "network.safetensors")
    warnings: list[str] = []
    path = train(config, tmp_path, warn=warnings.append)
    assert any("damaged" in text for text in warnings)
    assert load_network(tmp_path).description is not None
    assert load_network(path).description is not None
    quiet(None, tmp_path)
    quiet(config, tmp_path / "whole")
    assert everything(tmp_path) == everything(tmp_path / "whole")


@pytest.mark.parametrize("file", ["replay_buffer.safetensors", "games_in_flight.zlib"])
def test_run_resumes_without_replay_buffer_or_games(file: str, tmp_path: Path) -> None:
    config = TINY.replace(games=None, evaluations=4000)
    run_to(tmp_path, config, 150)
    before = rows(tmp_path)[-1]
    (checkpoints(tmp_path)[-1] / file).unlink()
    warnings: list[str] = []
    seen: list[Status] = []
    train(config, tmp_path, warn=warnings.append, watch=seen.append)
    assert len(warnings) == 1
    assert file in warnings[0]
    assert seen[0].games >= before["games"]
    assert seen[0].evaluations >= before["evaluations"]  # the spent budget is restored
    assert rows(tmp_path)[-1]["evaluations"] + 400 >= 4000


def test_checkpoints_may_leave_out_replay_buffer_and_games(tmp_path: Path) -> None:
    config = TINY.replace(save_games_in_flight=False)
    run_to(tmp_path, config, 12)
    train(config, tmp_path, warn=pytest.fail)
    assert rows(tmp_path)[-1]["games"] >= 24
    files = {path.name for path in checkpoints(tmp_path)[-1].iterdir()}
    assert files == {"network.safetensors", "learner.safetensors", "state.json"}


def test_unknown_files_among_checkpoints_are_ignored(tmp_path: Path) -> None:
    run_to(tmp_path, TINY, 12)
    (tmp_path / "checkpoints" / "notes.txt").write_text("mine")
    warnings: list[str] = []
    train(TINY, tmp_path, warn=warnings.append)
    assert (tmp_path / "checkpoints" / "notes.txt").exists() or warnings


# One process, one folder


def test_second_process_in_one_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        RunFolder(tmp_path),
        pytest.raises(DicentError, match="is being trained by another process"),
    ):
        train(TINY, tmp_path)
    with RunFolder(tmp_path):
        assert main(["train", str(tmp_path), "--game", "dice-nim", "--games", "1"]) == 1
    assert "being trained by another process" in capsys.readouterr().err
    quiet(TINY.replace(games=1), tmp_path)  # the lock is free now


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DicentError, match="is a file; a run needs a folder"):
        train(TINY, tmp_path / "file")
    with pytest.raises(DicentError, match="cannot be used as a run folder"):
        train(TINY, tmp_path / "file" / "below")


# Full disks, NaN, missing devices


@pytest.mark.parametrize("write", [1, 3, 6])
def test_full_disk_ends_the_run_and_it_resumes_later(
    write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to(tmp_path, TINY, 12)
    real, writes = run_folder.write_atomically, 0

    def full(path: Path, content: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes >= write:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_atomically", full)
        with pytest.raises(DicentError, match=r"No space left on device.*ree some space"):
            train(TINY, tmp_path)
    quiet(TINY, tmp_path)
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path) == everything(tmp_path / "whole")


def test_full_disk_is_reported_for_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder(tmp_path) as folder:
        monkeypatch.setattr(run_folder, "inside", lambda *_: Path("/dev/full"))
        with pytest.raises(DicentError, match=r"metrics.jsonl cannot be written: .*Free some space"):
            folder.append("metrics.jsonl", "{}")


def test_nan_loss_ends_the_run_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to(tmp_path, TINY, 30)
    before = weights(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_step", lambda *_: float("nan"))
        with pytest.raises(DicentError, match=r"the loss is nan.* after .* lower learning_rate"):
            train(TINY.replace(checkpoint_seconds=0.001), tmp_path / "fresh")
        with pytest.raises(DicentError, match=r"the loss is nan.* after .* lower learning_rate"):
            train(TINY, tmp_path)
    assert weights(tmp_path) == before
    quiet(TINY, tmp_path)


def test_nan_weights_are_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step with a finite loss may still produce NaN weights."""
    real = Learner._step

    def spoiled(learner: Learner, *arguments: Any) -> float:
        loss = real(learner, *arguments)
        if learner.steps > 1:
            with torch.no_grad():
                next(learner.module.parameters()).fill_(float("nan"))
        return loss

    monkeypatch.setattr(Learner, "_step", spoiled)
    with pytest.raises(DicentError, match="lower learning_rate"):
        train(TINY.replace(checkpoint_seconds=0.001, batch=4096), tmp_path)
    for folder in checkpoints(tmp_path):
        saved = safetensors.torch.load((folder / "learner.safetensors").read_bytes())
        assert all(torch.isfinite(tensor).all() for tensor in saved.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_missing_gpu_is_reported_and_the_cpu_is_used(tmp_path: Path) -> None:
    warnings: list[str] = []
    train(TINY.replace(games=1, device="cuda"), tmp_path, warn=warnings.append)
    assert warnings == ["there is no GPU that torch can use: training runs on the CPU, slower"]
    quiet(TINY.replace(games=1, device="auto"), tmp_path / "auto")

"""Dicent on systems without Linux-only calls, which are hidden from the processes of these tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dicent
from dicent import files, machine

# Python imports this module at startup. It hides calls that are missing on Windows or macOS.
HIDER = """
import importlib.abc, os, signal, sys

HIDDEN = ("fcntl", "resource", "termios", "pwd", "grp")


class Hider(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


for name in HIDDEN:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hider())
for name in ("sched_getaffinity", "sched_setaffinity", "posix_fallocate", "nice", "getloadavg"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
"""
HOLD = """
import sys, time
from pathlib import Path
from dicent.files import lock
held = lock(Path(sys.argv[1]), "another process holds it")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""
TRAIN = """
import sys, time
import dicent
import dicent.learn.train

dicent.learn.train.SPACING = 0  # a checkpoint after every phase, however slow the disk is
phases = int(sys.argv[2])


def watch(status):
    print(status.phases, flush=True)
    if phases and status.phases >= phases:
        time.sleep(600)  # to be killed here


config = dicent.preset("laptop").replace(
    game="dice-nim", games=40, games_at_once=4, games_per_update=4, evaluations_per_move=5, measurements=0,
    network="dense", hidden=8, layers=1, checkpoint_seconds=1e-6, threads=1,
)
print(dicent.train(config, sys.argv[1], watch=watch), flush=True)
"""


@pytest.fixture(autouse=True)
def hidden_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hider").mkdir()
    (tmp_path / "hider" / "sitecustomize.py").write_text(HIDER)
    paths = [str(tmp_path / "hider"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(code: str, *arguments: object) -> str:
    with start(code, *arguments) as process:
        said, wrong = process.communicate(timeout=600)
    assert process.returncode == 0, wrong
    return said


def test_the_calls_are_hidden() -> None:
    code = "import os, signal; print(hasattr(os, 'sched_getaffinity'), hasattr(signal, 'SIGKILL'))"
    assert run(code) == "False False\n"
    with start("import fcntl") as process:
        assert "No module named 'fcntl'" in process.communicate()[1]


def test_a_game_binds_and_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    expected = dicent.perft(dicent.make("dice-nim").initial_state(1), 3)
    code = "import dicent; print(dicent.perft(dicent.make('dice-nim').initial_state(1), 3))"
    assert run(code) == f"{expected}\n"


def test_cores_are_counted_without_affinity() -> None:
    assert int(run("from dicent import machine; print(machine.cores())")) == os.cpu_count()


def test_a_lock_holds_between_processes_and_is_freed_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "run.lock"
    with start(HOLD, path, 600) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with start(HOLD, path, 0) as other:
            assert "another process holds it" in other.communicate(timeout=600)[1]
        holder.kill()
        holder.wait()
    assert run(HOLD, path, 0) == "held\n"


def test_a_run_trains_and_resumes_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with start(TRAIN, folder, 3) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "3\n":
                break
        process.kill()
    assert sorted((folder / "checkpoints").iterdir())
    phases = [int(line) for line in run(TRAIN, folder, 0).splitlines()[:-1]]
    assert phases[-1] > phases[0] >= 2  # the run resumes and does not restart


def test_tablebase_files_are_allocated(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from dicent.files import allocate; "
    run(code + "allocate(Path(sys.argv[1]), 5000)", tmp_path / "table")
    assert (tmp_path / "table").stat().st_size == 5000
    with start(code + "allocate(Path(sys.argv[1]), 1 << 60)", tmp_path / "table") as process:
        assert "No space left" in process.communicate()[1]


VARIABLES = ("DICENT_HOME", "DICENT_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")


@pytest.mark.parametrize(
    ("platform", "data", "cache"),
    [
        ("linux", ".local/share/dicent", ".cache/dicent"),
        ("darwin", "Library/Application Support/dicent", "Library/Caches/dicent"),
        ("win32", "AppData/Local/dicent/data", "AppData/Local/dicent/cache"),
    ],
)
def test_folders_are_those_of_the_system(
    platform: str, data: str, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert files.data_folder() == tmp_path / data
    assert files.cache_folder() == tmp_path / cache
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg/cache")
    assert files.data_folder() == Path("/xdg/data/dicent")
    assert files.cache_folder() == Path("/xdg/cache/dicent")
    monkeypatch.setenv("DICENT_HOME", "/own/data")
    monkeypatch.setenv("DICENT_CACHE", "/own/cache")
    assert files.data_folder() == Path("/own/data")
    assert files.cache_folder() == Path("/own/cache")


def test_windows_names_its_local_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert files.data_folder() == Path("/local/dicent/data")
    assert files.cache_folder() == Path("/local/dicent/cache")


def test_folders_need_no_sync_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(PermissionError):
        files.sync_folder(tmp_path)
    monkeypatch.setattr(sys, "platform", "win32")
    files.sync_folder(tmp_path)


def test_ending_signals_are_those_that_the_system_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.ending_signals() == [signal.SIGINT, signal.SIGTERM]
    monkeypatch.delattr(signal, "SIGTERM")
    assert machine.ending_signals() == [signal.SIGINT]

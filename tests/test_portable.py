"""Dicent on systems without Linux-only calls, which are hidden from the processes of these tests."""

import ast
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
CALLS = ("sched_getaffinity", "sched_setaffinity", "posix_fallocate", "nice", "getloadavg", "setpriority")
for name in CALLS:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
"""
ENGINE = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "action": question["actions"][0]}), flush=True)
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


# Only these modules may use calls or modules that some systems do not have.
HOMES = ("files.py", "machine.py")
UNPORTABLE = {
    "fcntl", "resource", "termios", "pwd", "grp", "select", "selectors", "setpriority", "getpriority", "nice",
    "sched_getaffinity", "sched_setaffinity", "getppid", "getpgid", "killpg", "fork", "forkpty", "setsid",
    "posix_fallocate", "getloadavg", "getrlimit", "setrlimit", "uname", "getuid", "mkfifo", "alarm",
    "setitimer",
    "pthread_sigmask", "add_signal_handler", "SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2",
}  # fmt: skip
LINUX_FOLDERS = ("/proc/", "/sys/", "/dev/")


def unportable_names(source: str) -> list[str]:
    """Return the names and paths in a module that some systems do not have."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in UNPORTABLE]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
            found += [name for name in names if node.module in ("os", "signal", name) and name in UNPORTABLE]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [node.attr] if node.value.id in ("os", "signal") and node.attr in UNPORTABLE else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if node.value.startswith(LINUX_FOLDERS) else []
    return found


def test_only_files_and_machine_use_calls_that_some_systems_lack() -> None:
    assert unportable_names("import os, resource\nos.sched_getaffinity(0)\nopen('/proc/meminfo')") == [
        "resource", "sched_getaffinity", "/proc/meminfo",
    ]  # fmt: skip
    root = Path(dicent.__file__).parent
    modules = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.py"))}
    found = {name: unportable_names(path.read_text(encoding="utf-8")) for name, path in modules.items()}
    assert {name: names for name, names in found.items() if names and name not in HOMES} == {}
    assert found["machine.py"]


def test_machine_answers_without_the_calls() -> None:
    code = """
from dicent import machine
machine.lower_priority(5)
machine.pin_to_cores([0])
with machine.pinned_to_cores([0]):
    pass
print(machine.numbered_cores(), machine.open_file_limit(), machine.parent_watch()())
"""
    assert run(code) == "[] None False\n"


def test_a_program_plays_without_the_calls(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    code = """
import sys, dicent
player = f'process:"{sys.executable} {sys.argv[1]}"'
result = dicent.play_match(player, "random", dicent.make("dice-nim"), games=4)
print(result.games)
"""
    assert run(code, (tmp_path / "engine.py").as_posix()) == "4\n"


def test_a_learner_trains_without_the_calls(tmp_path: Path) -> None:
    code = """
import io, json, sys
import dicent
from dicent.reproduction.learner import serve
config = dicent.preset("laptop").replace(
    game="dice-nim", games=4, games_at_once=4, games_per_update=4, evaluations_per_move=5, measurements=0,
    network="dense", hidden=8, layers=1, threads=1,
)
task = {"cores": [0], "config": config.toml(), "seconds": 600, "folder": sys.argv[1]}
answers = io.StringIO()
serve([json.dumps(task) + "\\n", "begin\\n"], answers)
print(answers.getvalue().splitlines()[-1])
"""
    assert run(code, tmp_path / "run") == '{"kind": "done"}\n'


def test_a_server_limits_its_connections_without_the_calls() -> None:
    pytest.importorskip("uvicorn")
    code = "from dicent.web import connections; print(connections.most_connections() == connections.MOST)"
    assert run(code) == "True\n"


def test_parent_watch_reports_an_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = [100]
    monkeypatch.setattr(os, "getppid", lambda: parents[0])
    has_lost_parent = machine.parent_watch()
    assert not has_lost_parent()
    parents[0] = 1
    assert has_lost_parent()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot pin processes to cores")
def test_pinned_process_gets_its_cores_back() -> None:
    before = machine.numbered_cores()
    with machine.pinned_to_cores(before[:1]):
        assert machine.numbered_cores() == before[:1]
        assert machine.cores() == 1
    assert machine.numbered_cores() == before

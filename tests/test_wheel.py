"""The wheel: build it, install it into an empty environment, and use it.

A .pth file gives the environment the installed packages, so that nothing is downloaded; dicent itself
comes from the wheel. DICENT_WHEEL=full (`make wheel`) also installs the wheel's metadata with pip's resolver.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dicent

pytest.importorskip("build")
pytest.importorskip("hatchling")
ROOT = Path(__file__).parent.parent
Run = Callable[..., str]
PATIENCE = 600.0  # seconds to wait for the server, also on a very slow machine


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = out.glob("*.whl")
    return built


def empty_environment(folder: Path) -> tuple[Path, Path]:
    """Make an environment without packages; returns the folder of its programs, and its Python."""
    venv.create(folder, with_pip=False)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    return programs, programs / ("python.exe" if os.name == "nt" else "python")


def install(python: Path, *what: str) -> None:
    """Install packages for a Python."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    subprocess.run([*pip, "--quiet", *what], check=True, capture_output=True)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment; returns the folder of its programs."""
    programs, python = empty_environment(tmp_path_factory.mktemp("environment"))
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    install(python, "--no-deps", "--no-index", str(wheel))
    (Path(packages) / "at_hand.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return programs


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, "DICENT_HOME": str(tmp_path_factory.mktemp("home")), "COLUMNS": "100"}


@pytest.fixture
def run(environment: Path, environ: dict[str, str], tmp_path: Path) -> Run:
    """Run a program of the environment in an empty folder, and return what it prints."""

    def run(program: str, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [str(environment / program), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=environ,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name == f"dicent-{dicent.__version__}-py3-none-any.whl"
    for suffix in ("dicent/py.typed", "dicent/__init__.pyi", "dicent/web/static/index.html"):
        assert suffix in names
    assert any(re.fullmatch(r"dicent/games/ewn/networks/net-official\.\w+", name) for name in names)
    assert all(name.startswith(("dicent/", f"dicent-{dicent.__version__}.dist-info/")) for name in names)


def test_dicent_comes_from_the_wheel(run: Run, environment: Path) -> None:
    where = Path(run("python", "-c", "import dicent; print(dicent.__file__)").strip())
    assert environment.parent in where.parents
    assert run("dicent", "--version").strip() == f"dicent {dicent.__version__}"


def test_games_are_listed_and_played(run: Run) -> None:
    listed = json.loads(run("dicent", "games", "--json"))
    assert "ewn" in json.dumps(listed)
    game = ["dicent", "play", "dice-nim", "4 1 3", "--opponent", "random", "--seed", "1"]
    assert "has won" in run(*game, stdin="3\nquit\n")


def test_a_shipped_network_evaluates_a_position(run: Run) -> None:
    position = "ABC2/DE3/F3f/3de/2abc 1 2"
    arguments = ["--player", "greedy:net-official", "--json"]
    analysis = json.loads(run("dicent", "analyse", "ewn", position, *arguments))
    assert {move["action"] for move in analysis["moves"]} == {"b5c5", "b5b4", "b5c4"}


def test_a_game_file_is_checked_and_played(run: Run, tmp_path: Path) -> None:
    source = Path(dicent.__file__).parent / "games" / "dice_nim.py"
    (tmp_path / "my_game.py").write_text(source.read_text(encoding="utf-8").replace('"dice-nim"', '"my-nim"'))
    run("dicent", "check", "my_game.py", "--positions", "50")
    arguments = ["--game", "my_game.py", "--games", "4", "--json"]
    result = json.loads(run("dicent", "match", "uct:50", "random", *arguments))
    assert result["games"] == 4


@pytest.fixture
def server(environment: Path, environ: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """Start `dicent serve` and return its address."""
    with dicent_serve(environment, environ, tmp_path) as address:
        yield address


@contextlib.contextmanager
def dicent_serve(programs: Path, environ: dict[str, str], folder: Path) -> Iterator[str]:
    """Start `dicent serve` on a free port, and wait until it accepts connections; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1", free.getsockname()[1]
    command = [str(programs / "dicent"), "serve", "--no-browser", "--port", str(address[1])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder, env=environ) as process:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=PATIENCE):
                break
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{address[1]}/"
        finally:
            process.terminate()


def test_the_server_answers(server: str) -> None:
    with urllib.request.urlopen(f"{server}api/info", timeout=PATIENCE) as answer:
        assert json.load(answer)["version"] == dicent.__version__
    with urllib.request.urlopen(server, timeout=PATIENCE) as answer:
        assert b"<html" in answer.read()


@pytest.mark.skipif(os.environ.get("DICENT_WHEEL") != "full", reason="make wheel runs it")
def test_metadata_names_packages_that_exist(wheel: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.environ.get("DICENT_WHEEL") != "full", reason="make wheel runs it")
def test_playing_needs_no_torch(
    wheel: Path, environ: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Install what playing needs; report its size, and the time of an analysis with native code at hand."""
    programs, python = empty_environment(tmp_path / "player")
    install(python, f"{wheel}[web]")
    assert subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0
    size = sum(file.stat().st_size for file in programs.parent.rglob("*") if file.is_file())
    position, last = "ABC2/DE3/F3f/3de/2abc 1 2", "5/1a3/5/3A1/5 1 3"  # MAX wins with d2e1

    def dicent_of_player(*words: str, text: str = "") -> str:
        command = [str(programs / "dicent"), *words]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, encoding="utf-8", env=environ, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert not re.search("torch|warning", done.stderr), done.stderr
        return done.stdout

    for _ in range(2):  # the first one compiles
        begin = time.perf_counter()
        assert "b5c4" in dicent_of_player("analyse", "ewn", position)
        seconds = time.perf_counter() - begin
    assert "full plays d2e1" in dicent_of_player("play", "ewn", last, "--side", "min", "--seed", "1")
    query = json.dumps({"id": 1, "game": "ewn", "position": last})
    assert json.loads(dicent_of_player("engine", text=query + "\n"))["action"] == "d2e1"
    match = ["match", "net-official-sparse,depth=3", "random", "--games", "2", "--record", "games.jsonl"]
    assert json.loads(dicent_of_player(*match, "--json"))["games"] == 2
    reviewed = " ".join(dicent_of_player("review", "games.jsonl").split())
    assert "Evaluated by net-official-sparse" in reviewed
    assert dicent_of_player("solve", "dice-nim")
    with (
        dicent_serve(programs, environ, tmp_path) as address,
        urllib.request.urlopen(f"{address}api/info", timeout=PATIENCE) as answer,
    ):
        assert json.load(answer)["version"] == dicent.__version__
    with capsys.disabled():
        report = f"installed: {size / 1e6:.0f} MB; dicent analyse, native code at hand: {seconds:.2f} s"
        sys.stdout.write(f"\n{report}\n")

import contextlib
import json
import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import dicent.games
from dicent import machine
from dicent.cli import main
from dicent.engine import Workers
from dicent.library.library import Library

from .browsing import Browser
from .talking import Talk

with contextlib.suppress(ModuleNotFoundError):  # torch is missing: tests without networks do not need it
    import torch

    torch.set_num_threads(1)  # tests run in parallel, and more threads than cores are slow

GAMES = Path(dicent.games.__file__).parent
Edit = Callable[..., Path]
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

# The processes of `pytest -n auto` take groups of tests in this order: first the longest, so that none of
# them is left alone at the end.
LONGEST = (
    "test_site.py",
    "test_documents.py",
    "test_cluster.py",
    "test_browser.py",
    "test_learn_checkpoints.py",
    "test_cli.py",
)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run one process more than there are cores: many tests wait for processes, servers and browsers."""
    return machine.cores() + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests of a file, and begin with the longest files; a test may name a group of its own."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
    items.sort(key=lambda item: LONGEST.index(name) if (name := item.path.name) in LONGEST else len(LONGEST))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_of_the_session() -> None:
    """Restore the Ctrl-C handler, which is ignored if the tests were started in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Cache native code in one folder for all tests, separate from the user's cache.

    The folder is set in the environment, so that processes started by tests use it too.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # processes share their compiled code
        folder = folder.parent
    # DICENT_TEST_CACHE keeps the compiled code between test runs.
    folder = Path(os.environ.get("DICENT_TEST_CACHE", folder / "native-code"))
    folder.mkdir(exist_ok=True)
    before = os.environ.get("DICENT_CACHE")
    os.environ["DICENT_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["DICENT_CACHE"]
    else:
        os.environ["DICENT_CACHE"] = before


@pytest.fixture(scope="session", autouse=True)
def home_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the user's tablebases from the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DICENT_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels as plain Python, which is faster than compiling for small inputs."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


@pytest.fixture
def quick_preflight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time the network only briefly, and write no checkpoint because of the clock."""
    monkeypatch.setattr("dicent.learn.preflight.SECONDS", 0.001)
    monkeypatch.setattr("dicent.learn.train.FIRST_CHECKPOINT", math.inf)


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Return a function that writes a copy of a built-in game with some text replaced."""

    def edit(game: str, *replacements: tuple[str, str], folder: Path = tmp_path) -> Path:
        module = GAMES / f"{game}.py"
        module = module if module.exists() else GAMES / game / "rules.py"
        source = module.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in source, f"{game}.py no longer holds {old!r}"
            source = source.replace(old, new)
        path = folder / f"{game}.py"
        path.write_text(source, encoding="utf-8")
        return path

    return edit


@pytest.fixture
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands print wide lines without colours."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must succeed; return its output."""

    def run(*arguments: str) -> str:
        capsys.readouterr()  # of earlier commands
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def answer(output: Callable[..., str]) -> Callable[..., Any]:
    """Run a command with --json; return the single JSON value that it prints."""

    def run(*arguments: str) -> Any:
        line = output(*arguments, "--json")
        assert line.count("\n") == 1
        return json.loads(line)

    return run


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must fail; return its message."""

    def run(*arguments: str) -> str:
        capsys.readouterr()  # of earlier commands
        assert main(list(arguments)) == 1
        captured = capsys.readouterr()
        message = captured.err.strip()
        assert captured.out == ""
        assert message.startswith("error: ")
        assert message.count("error: ") == 1
        assert "Traceback" not in message
        return message

    return run


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "new" / "games.sqlite")
    yield library
    library.close()


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Yield one thread of searches, for engines."""
    made = Workers(threads=1)
    yield made
    made.close()


@pytest.fixture
def talk(workers: Workers) -> Iterator[Talk]:
    """Yield a conversation with an engine."""
    made = Talk(workers)
    yield made
    made.engine.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Reset the browser before each test; fail if the console has errors after it."""
    chromium.driver.get_log("browser")
    chromium.look()
    yield chromium
    assert chromium.complaints() == []

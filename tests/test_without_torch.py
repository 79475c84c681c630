"""Dicent without torch: everything but networks works, and networks say what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dicent
from dicent.evaluate import network_file
from dicent.evaluate.network_file import Description, describe_network
from dicent.play.record import Record, append_records

from .serving import Process, begin, free_port, go_on

# Python imports this module at startup, in every process that a test starts.
BLOCKER = """
import importlib.abc, sys


class NoTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoTorch())
"""
NEEDED = "networks need torch: pip install 'dicent[learn]'"
EWN_POSITION = "F4/1A3/5/3b1/5 1 6"
LAST_MOVE = "5/1a3/5/3A1/5 1 3"  # MAX wins with d2e1


@pytest.fixture(autouse=True)
def without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide torch from the processes that a test starts, and disable compilation there."""
    (tmp_path / "blocker").mkdir()
    (tmp_path / "blocker" / "sitecustomize.py").write_text(BLOCKER)
    paths = [str(tmp_path / "blocker"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, timeout=600, check=False
    )


def command(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return run("-m", "dicent.cli", *arguments, text=text)


def test_torch_is_hidden() -> None:
    assert "No module named 'torch'" in run("-c", "import torch").stderr


def test_import_of_every_public_name_but_networks() -> None:
    done = run("-c", "import dicent; dicent.make('ewn'); dicent.parse_player('uct:10'); dicent.Descent")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["register_network", "train"])
def test_names_that_need_torch_say_what_to_install(name: str) -> None:
    assert NEEDED in run("-c", f"import dicent; dicent.{name}").stderr


@pytest.mark.parametrize("module", ["residual", "dense", "sparse", "ntuple"])
def test_modules_of_networks_say_what_to_install(module: str) -> None:
    assert NEEDED in run("-c", f"import dicent.nets.{module}").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["games"],
        ["show", "ewn"],
        ["check", "dice-nim"],
        ["perft", "dice-nim", "--depth", "2"],
        ["solve", "dice-nim"],
        ["analyse", "dice-nim", "--player", "uct:20"],
        ["analyse", "ewn", EWN_POSITION],
        ["match", "greedy:net-official-sparse", "random", "--games", "2"],
        ["match", "uct:20", "random", "--game", "dice-nim", "--games", "2"],
        ["train", "--help"],
        ["serve", "--help"],
    ],
    ids=" ".join,
)
def test_commands_work(arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stderr


@pytest.fixture
def sparse_file(tmp_path: Path) -> str:
    """Write a sparse network, with torch, which this process has."""
    from .test_sparse import NIM, Description, save_network, sparse_network

    save_network(tmp_path / "nim.safetensors", sparse_network(NIM), Description(NIM.name))
    return str(tmp_path / "nim.safetensors")


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "NET", "descent:NET,evaluations=20", "--games", "2"],
        ["match", "expectiminimax:NET,depth=3,prune", "greedy:NET", "--games", "2"],
        ["analyse", "dice-nim:stones=6", "--player", "unbounded:NET,evaluations=20"],
        ["accuracy", "NET", "--positions", "5"],
    ],
    ids=" ".join,
)
def test_commands_work_with_a_sparse_network(arguments: list[str], sparse_file: str) -> None:
    done = command(*(word.replace("NET", sparse_file) for word in arguments))
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stderr


def test_commands_work_with_an_ntuple_network(tmp_path: Path) -> None:
    from .test_ntuple import NIM, ntuple_network
    from .test_sparse import Description, save_network

    save_network(tmp_path / "tables.safetensors", ntuple_network(NIM), Description(NIM.name))
    done = command("match", f"expectiminimax:{tmp_path}/tables.safetensors,prune", "random", "--games", "2")
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stderr


def test_the_engine_answers_with_a_sparse_network(sparse_file: str) -> None:
    query = '{"id": 1, "position": "5 1 3", "game": "dice-nim:stones=6"}\n'
    done = command("engine", "--player", f"descent:{sparse_file},evaluations=20", text=query)
    assert '"error"' not in done.stdout
    assert '"id": 1' in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", "net-official", "random", "--games", "2"],
        ["analyse", "ewn", "--player", "greedy:net-official"],
        ["train", "run", "--minutes", "1"],
        ["engine", "--player", "net-official"],
        ["distil", "net-official", "run"],
    ],
    ids=" ".join,
)
def test_commands_with_a_network_say_what_to_install(arguments: list[str], tmp_path: Path) -> None:
    done = command(*(str(tmp_path / "run") if word == "run" else word for word in arguments))
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (1, f"error: {NEEDED}")


def test_a_network_that_cannot_be_used_is_replaced_with_a_warning() -> None:
    done = command("play", "ewn-paper", "--opponent", "beginner", "--seed", "1", text="quit\n")
    assert done.returncode == 0, done.stderr
    assert f"take the place of the network net-paper, so play is weaker: {NEEDED}" in done.stderr


def test_the_default_opponent_plays_with_the_shipped_network() -> None:
    done = command("play", "ewn", LAST_MOVE, "--side", "min", "--seed", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "full plays d2e1" in done.stdout


def test_a_review_uses_the_shipped_network(tmp_path: Path) -> None:
    append_records(tmp_path / "games.jsonl", [Record("ewn", ("", ""), LAST_MOVE, ("d2e1",), 1)])
    done = command("review", str(tmp_path / "games.jsonl"))
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert "Evaluated by net-official-sparse, 5 plies ahead" in " ".join(done.stdout.split())


def test_the_engine_plays_with_the_shipped_network() -> None:
    done = command("engine", text=f'{{"id": 1, "position": "{LAST_MOVE}", "game": "ewn"}}\n')
    assert '"error"' not in done.stdout
    assert "d2e1" in done.stdout


def test_the_engine_answers() -> None:
    query = f'{{"id": 1, "position": "{EWN_POSITION}", "game": "ewn", "player": "uct:20"}}\n'
    done = command("engine", text=query)
    assert '"error"' not in done.stdout
    assert '"id": 1' in done.stdout


def test_the_server_plays(tmp_path: Path) -> None:
    server = Process(tmp_path, free_port())
    try:
        game = begin(server.client, players={"MAX": "beginner", "MIN": "beginner"})
        for _ in range(3):
            game = go_on(server.client, game)
        assert len(game["steps"]) == 3
    finally:
        server.stop()


def test_a_description_is_read_without_torch(tmp_path: Path) -> None:
    code = "from dicent.evaluate.network_file import describe_network as d; print(d('net-official').game)"
    done = run("-c", code)
    assert done.stdout.strip() == describe_network("net-official").game
    assert isinstance(describe_network("net-official"), Description)


def test_a_damaged_file_is_reported_before_torch(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    done = command("match", str(tmp_path / "bad.safetensors"), "random", "--games", "2")
    assert "is not a network file of Dicent, or damaged" in done.stderr


def test_strengths_use_a_residual_network_only_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    game = dicent.make("ewn-paper")
    assert network_file.usable_shipped(game) == network_file.shipped(game)
    monkeypatch.setattr(network_file, "has_torch", lambda: False)
    with pytest.warns(UserWarning, match="networks need torch"):
        assert network_file.usable_shipped(game) is None


def test_strengths_use_a_sparse_network_without_torch(
    sparse_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_file, "has_torch", lambda: False)
    monkeypatch.setattr(network_file, "shipped", lambda game: sparse_file)
    assert network_file.usable_shipped(dicent.make("dice-nim")) == sparse_file

"""Training and tournaments on a Ray cluster: several machines in one, and what happens when they fail."""

import contextlib
import functools
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import dicent
from dicent.cli import main
from dicent.cluster import tasks
from dicent.cluster.connection import Connection
from dicent.cluster.tasks import Tasks
from dicent.errors import DicentError
from dicent.learn import cluster_workers
from dicent.learn.cluster_worker import Order
from dicent.learn.run_reader import RunReader
from dicent.learn.status import Status
from dicent.nets.dense import DenseNetwork
from dicent.play import cluster_games
from dicent.reproduction.cluster_learning import learn_on_cluster

from .clusters import (
    PATIENCE,
    cluster_of,
    poisoned,
    processes,
    wait_until,
    without_times,
)
from .conftest import GAMES

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("uncompiled")]

SETTINGS = {
    "games_at_once": 4,
    "games_per_update": 10,
    "evaluations_per_move": 8,
    "hidden": 8,
    "layers": 1,
    "measurements": 0,
    "checkpoint_seconds": 1.0,
}


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Start a cluster that all tests share."""
    with cluster_of(2, {"NUMBA_DISABLE_JIT": "1"}) as cluster:
        yield cluster


@pytest.fixture
def my_game(tmp_path: Path) -> Path:
    """Write a game file that is nowhere installed."""
    path = tmp_path / "my_nim.py"
    path.write_bytes((GAMES / "dice_nim.py").read_bytes())
    return path


def numbers(folder: Path) -> list[int]:
    return [record.number for record in dicent.read_records(folder / "games.jsonl")]


def test_run_survives_the_loss_of_workers_and_machines(
    machines: Any, my_game: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Poison a worker, kill the others, remove all machines, add two; a file that is gone reaches them."""
    config = dicent.config("laptop", game=f"{my_game}:stones=9", record_every=1, **SETTINGS)
    poison = tmp_path / "poison"
    monkeypatch.setattr(cluster_workers, "ClusterWorker", poisoned(poison))
    warnings: list[str] = []
    done: dict[str, Any] = {}

    def disturb(status: Status) -> None:
        live = [worker for worker in status.workers if worker.state != "left"]
        playing = [worker for worker in live if worker.state == "playing"]
        restarts = sum(worker.restarts for worker in status.workers)
        if "poison" not in done:
            if status.games >= 20 and len(playing) == 2:
                poison.touch()
                done["poison"] = restarts
        elif "kill" not in done:
            if any(worker.rejected for worker in live) and playing:
                killed = processes(machines)
                for process in killed:
                    os.kill(process, signal.SIGKILL)
                if killed:
                    done["kill"] = restarts
        elif "remove" not in done:
            if restarts > done["kill"] and playing:
                for machine in machines.list_all_nodes()[1:]:
                    machines.remove_node(machine, allow_graceful=False)
                done["remove"] = status.games
        elif "add" not in done:
            if not live and any("no machine of the cluster can play" in warning for warning in warnings):
                machines.add_node(num_cpus=1)
                machines.add_node(num_cpus=1)
                done["add"] = status.games
        elif len(playing) == 2 and status.games > done["add"]:
            done["joined"] = status.workers

    deadline = time.monotonic() + PATIENCE
    config = config.replace(minutes=PATIENCE / 60)
    with contextlib.suppress(KeyboardInterrupt):  # the run ends as by Ctrl-C
        dicent.train(
            config,
            tmp_path / "run",
            cluster=machines.address,
            announce=lambda preflight: my_game.unlink(),  # workers are started later
            watch=disturb,
            warn=lambda text: warnings.append(str(text)),
            stop=lambda: "joined" in done or time.monotonic() > deadline,
        )
    assert done.keys() == {"poison", "kill", "remove", "add", "joined"}
    assert any("a value is not a finite number" in warning for warning in warnings)
    assert any("is lost and will be replaced" in warning for warning in warnings)
    assert any("has left the cluster" in warning for warning in warnings)
    found = numbers(tmp_path / "run")
    assert len(set(found)) == len(found) > 20
    state = RunReader(tmp_path / "run").state()
    assert state is not None
    assert state.games == len(found)
    left = done["joined"][-1]
    assert (left.state, left.rejected) == ("left", 1)
    assert left.restarts >= 2
    report = (tmp_path / "run" / "report.html").read_text()
    table = report.partition("<h2>Workers</h2>")[2].partition("</table>")[0]
    assert "rejected" in table
    assert f">{left.restarts}</td><td class=number>1</td>" in table
    wait_until(lambda: not processes(machines))


DRIVER = """
import sys
from pathlib import Path
import dicent
from dicent.learn.config import read_config

if __name__ == "__main__":
    folder, settings, address = sys.argv[1:]
    dicent.train(read_config(Path(settings)), folder, cluster=address)
"""


def test_killed_driver_leaves_no_worker_and_resumes(machines: Any, tmp_path: Path) -> None:
    config = dicent.config("laptop", game="dice-nim", games=10**9, **SETTINGS)
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "settings.toml").write_text(config.toml())
    command = [sys.executable, "driver.py", "run", "settings.toml", machines.address]
    driver = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(list(tmp_path.glob("run/checkpoints/0*"))) > 0, driver)
    driver.kill()
    driver.wait()
    wait_until(lambda: not processes(machines))
    before = dicent.load_network(tmp_path / "run").description
    assert before is not None
    games = before.training["games"]
    dicent.train(config.replace(games=games + 50), tmp_path / "run", cluster=machines.address)
    after = dicent.load_network(tmp_path / "run").description
    assert after is not None
    assert after.training["games"] >= games + 50


def test_tournament_equals_that_of_one_machine(machines: Any, my_game: Path, tmp_path: Path) -> None:
    players, game = ["random", "uct:5", "greedy:rollout=1"], f"{my_game}:stones=9"
    here = dicent.play_tournament(tmp_path / "here", players, game, games=12, seed=3)
    there = dicent.play_tournament(
        tmp_path / "there", players, game, games=12, seed=3, cluster=machines.address
    )
    for ours, theirs in zip(here.encounters, there.encounters, strict=True):
        assert ours.results == theirs.results
        assert without_times(ours.summary) == without_times(theirs.summary)
    assert here.to_dict()["ratings"] == there.to_dict()["ratings"]
    for file in (tmp_path / "here").glob("games/*.jsonl"):
        assert records(tmp_path / "there" / "games" / file.name) == records(file)
        assert [record["number"] for record in records(file)] == list(range(12))


def test_tournament_of_networks_equals_that_of_one_machine(machines: Any, tmp_path: Path) -> None:
    """One player is limited by depth, the other by evaluations."""
    torch.manual_seed(1)
    shape = dicent.make("ewn").input_shape
    networks = [dicent.Network(DenseNetwork(shape, hidden=8, layers=1)) for _ in range(2)]
    players = [
        dicent.Player(dicent.Expectiminimax(networks[0]), dicent.Limit(depth=1), "depth"),
        dicent.Player(dicent.Descent(networks[1]), dicent.Limit(evaluations=20), "evaluations"),
    ]
    here = dicent.play_tournament(tmp_path / "here", players, "ewn", games=6, seed=3)
    there = dicent.play_tournament(
        tmp_path / "there", players, "ewn", games=6, seed=3, cluster=machines.address
    )
    assert without_times(there.encounters[0].summary) == without_times(here.encounters[0].summary)
    [file] = (tmp_path / "here").glob("games/*.jsonl")
    assert records(tmp_path / "there" / "games" / file.name) == records(file)


COMMANDS = {
    "train": ["run", "--games", "30", *(f"--{key.replace('_', '-')}={n}" for key, n in SETTINGS.items())],
    "match": ["random", "uct:5", "--games", "4"],
    "tournament": ["results", "random", "uct:5", "--games", "4"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_use_the_cluster(
    command: str, machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    called: list[object] = []
    run, ask = Tasks.run, cluster_workers.ClusterWorkers._ask
    monkeypatch.setattr(Tasks, "run", lambda *given: called.append("task") or run(*given))
    monkeypatch.setattr(
        cluster_workers.ClusterWorkers, "_ask", lambda *given: called.append("request") or ask(*given)
    )
    given = [command, *COMMANDS[command], "--game", "dice-nim", "--cluster", machines.address]
    assert main(given) == 0
    assert set(called) == {"request" if command == "train" else "task"}
    found = capfd.readouterr()
    assert (found.out + found.err).count("1 core,") == 2  # both machines are listed


def test_reproduce_learns_on_the_cluster(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make cluster` runs a whole reproduction."""
    learned: list[int] = []

    def learn(connection: Connection, runs: list[object], *given: object) -> None:
        learned.append(len(connection.nodes()))
        raise DicentError("enough")

    module = importlib.import_module("dicent.reproduction.reproduce")
    monkeypatch.setattr(module, "learn_on_cluster", learn)
    assert main(["reproduce", str(tmp_path), "--scale", "smoke", "--cluster", machines.address]) == 1
    assert learned == [3]


def records(file: Path) -> list[dict[str, Any]]:
    found = [without_times(json.loads(line)) for line in file.read_text().splitlines()]
    return sorted(found, key=lambda record: record["number"])


def test_learning_that_is_stopped_returns_its_run_folders(machines: Any, tmp_path: Path) -> None:
    runs = [
        (dicent.config("laptop", game="dice-nim", games=10**9, seed=i, **SETTINGS), tmp_path / str(i))
        for i in range(3)
    ]

    at_once = []

    def seconds_left() -> float:
        learning = [one for one in processes(machines, "ray::learn_part") if has_open(one, "run/.lock")]
        at_once.append(len(learning))
        return 0.0 if at_once.count(2) > 10 or 3 in at_once else 1e9

    with Connection(machines.address) as connection, pytest.raises(KeyboardInterrupt):
        learn_on_cluster(connection, runs, seconds_left, lambda i: None, print)
    assert max(at_once) == 2  # one for each machine
    assert [RunReader(folder).state() is not None for _, folder in runs].count(True) == 2


def has_open(process: int, end: str) -> bool:
    """Return whether a process has opened a file whose path ends like this."""
    with contextlib.suppress(OSError):
        return any(str(file.readlink()).endswith(end) for file in Path(f"/proc/{process}/fd").iterdir())
    return False


def test_call_of_a_killed_process_runs_again(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "MOST_SUBMITTED", 3)  # the fourth call waits
    marker = str(tmp_path / "killed")

    def half(number: int) -> int:
        if not os.path.exists(marker):  # noqa: PTH110  imports nothing of the test
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if number % 2:
            raise DicentError(f"{number} is odd")
        return number // 2

    with Connection(machines.address) as connection:
        caller = Tasks(connection)
        assert caller.places == 2
        assert dict(caller.run(half, [(2 * i,) for i in range(4)])) == {0: 0, 1: 1, 2: 2, 3: 3}
        with pytest.raises(DicentError, match=rf"{re.escape(machines.head_node.node_ip_address)}: 7 is odd"):
            list(caller.run(half, [(7,)]))


# Errors on other machines


@pytest.mark.parametrize("command", ["train", "match"])
def test_error_on_another_machine_is_one_line_with_its_cause(
    command: str, machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """The driver has another version of Dicent."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster_workers, "MOST_FAILURES", 1)
    monkeypatch.setattr(cluster_games, "__version__", "0.0.1")
    monkeypatch.setattr(cluster_workers, "Order", functools.partial(Order, dicent="0.0.1"))
    given = [command, *COMMANDS[command], "--game", "dice-nim", "--cluster", machines.address]
    assert main(given) == 1
    found = capfd.readouterr()
    address = machines.head_node.node_ip_address
    causes = [line for line in (found.out + found.err).splitlines() if "and the driver 0.0.1" in line]
    assert causes[-1].startswith("error: ")
    assert address in causes[-1]
    assert not any(word in found.out + found.err for word in ("Traceback", "ray::", "  File", "(raylet)"))


def test_notices_of_ray_are_not_printed_among_results(machines: Any, capfd: Any) -> None:
    notice = {"lines": ["A worker died"], "pid": "raylet", "is_err": False}
    printed = []
    with Connection(machines.address):
        ray._private.worker.print_to_stdstream(dict(notice), ignore_prefix=False)
        printed.append(capfd.readouterr().out)
    ray._private.worker.print_worker_logs(notice, sys.stdout)
    printed.append(capfd.readouterr().out)
    assert ["A worker died" in text for text in printed] == [False, True]

"""Machines of a cluster: addresses, places for workers, and games that travel."""

import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dicent
from dicent.cluster import connection, tasks
from dicent.cluster.connection import PRIVATE, Connection, Node
from dicent.errors import DicentError, MissingRayError
from dicent.game.package import package_of
from dicent.learn.worker_slots import planned, slots_of
from dicent.reproduction.cluster_learning import _tasks

from .clusters import NIM, node


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (node(0), []),
        (node(4), [(4, 0)]),
        (node(6), [(3, 0), (3, 0)]),
        (node(1, is_ours=True), [(1, 0)]),
        (node(5, is_ours=True), [(4, 0)]),
        (node(17, gpus=2, is_ours=True), [(8, 1), (8, 1)]),
    ],
)
def test_a_machine_has_a_worker_per_gpu_or_few_cores(machine: Node, expected: list[tuple[int, int]]) -> None:
    assert [(slot.cores, slot.gpus) for slot in slots_of(machine)] == expected


def test_a_run_on_the_cpu_uses_no_gpu() -> None:
    assert [(slot.cores, slot.gpus) for slot in slots_of(node(8, gpus=1), "cpu")] == [(4, 0), (4, 0)]


def test_only_other_packages_travel_with_their_games() -> None:
    assert package_of(NIM.rules.path) is None
    assert package_of(dicent.make("ewn").rules.path) is None
    installed = Path(__file__).with_name("data") / "takeaway"
    assert package_of(installed / "rules.py") == installed


UNPICKLE = "import pickle, sys; print(pickle.load(sys.stdin.buffer).initial_state(0).legal_actions)"


def test_game_of_a_package_opens_where_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "takeaway"
    shutil.copytree(Path(__file__).with_name("data") / "takeaway", package)
    monkeypatch.syspath_prepend(str(tmp_path))
    game = dicent.load(package / "rules.py")
    actions, pickled = game.initial_state(0).legal_actions, pickle.dumps(game)
    shutil.rmtree(package)
    found = subprocess.run([sys.executable, "-c", UNPICKLE], input=pickled, capture_output=True)
    assert found.stdout.decode().strip() == str(actions), found.stderr.decode()


@pytest.mark.parametrize("address", ["nonsense", "host:", ":", "a:b", "", "ray://10.0.0.7:10001"])
def test_odd_addresses_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with pytest.raises(DicentError, match="cluster must be auto or"):
        Connection(address)


def test_silent_address_is_named_before_ray_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        with pytest.raises(DicentError, match="no Ray cluster answers at 127"):
            Connection(f"127.0.0.1:{unused.getsockname()[1]}")


def test_missing_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingRayError, match=r"pip install 'dicent\[cluster\]'"):
        Connection("10.0.0.1:6379")


def test_local_cluster_is_refused_if_it_would_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(DicentError, match="open to others"):
        Connection("auto")


@pytest.mark.parametrize(
    ("machine", "device", "expected"),
    [
        (node(0), "auto", "no worker"),
        (node(6), "auto", "2 workers on 6 cores"),
        (node(2, is_ours=True), "auto", "1 worker on 1 core"),
        (node(8, gpus=2), "auto", "2 workers on 2 GPUs"),
        (node(4, gpus=1), "cpu", "1 worker on 4 cores"),
    ],
)
def test_preflight_names_the_workers_of_a_machine(machine: Node, device: str, expected: str) -> None:
    assert planned(machine, device) == f"{machine.in_words()}: {expected}"


class PretendedRay:
    """Keeps what it is asked to join."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self) -> None:
        self.is_connected = False
        self.asked: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return self.is_connected

    def init(self, **given: Any) -> None:
        self.asked.append(given)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> PretendedRay:
    pretended = PretendedRay()
    monkeypatch.setattr(connection, "ray", lambda: pretended)
    monkeypatch.setattr(connection, "_knock", lambda address: None)
    return pretended


def test_private_settings_are_not_asked_of_a_foreign_cluster(
    pretended: PretendedRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.1.2.3:6379")
    Connection("auto")
    assert pretended.asked == [{"address": "10.1.2.3:6379", "log_to_driver": False, "logging_level": "error"}]


@pytest.mark.parametrize(
    ("variable", "joined", "is_private"),
    [("auto", "auto", False), ("local", "local", True), ("", "local", True)],
)
def test_address_of_the_variable_may_be_a_word_of_ray(
    variable: str, joined: str, is_private: bool, pretended: PretendedRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    for name, value in PRIVATE.items():
        monkeypatch.setenv(name, value)
    Connection("auto")
    assert pretended.asked[0]["address"] == joined
    assert (pretended.asked[0].get("_node_ip_address") == "127.0.0.1") == is_private


def test_a_process_joins_one_cluster(pretended: PretendedRay) -> None:
    pretended.is_connected = True
    with pytest.raises(DicentError, match="connected to a Ray cluster already"):
        Connection("10.1.2.3:6379")


# Learning processes of a reproduction


@pytest.mark.parametrize(
    ("machines", "device", "cores", "gpus", "warnings"),
    [
        ([node(4), node(4)], "auto", 4, 0, 0),
        ([node(2), node(8, gpus=2)], "auto", 4, 1, 0),  # the machine of the command needs no GPU
        ([node(8, gpus=2), node(8, gpus=1)], "auto", 4, 1, 1),
        ([node(8, gpus=2)], "cpu", 8, 0, 0),
        ([node(2)], "cuda", 1, 1, 0),
    ],
)
def test_one_process_learns_per_gpu_or_machine(
    machines: list[Node],
    device: str,
    cores: int,
    gpus: int,
    warnings: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "ray", SimpleNamespace)
    joined: Any = SimpleNamespace(nodes=lambda: machines)
    found: list[str] = []
    made = _tasks(joined, dicent.config("laptop", games=1, device=device), found.append)
    assert (made.cores, made.gpus) == (cores, gpus)
    assert len(found) == warnings

"""Machines of a cluster: places for workers, and games that travel."""

import contextlib
import pickle
import pickletools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dicent
from dicent import Descent, Limit, Network, RandomEvaluator, nets
from dicent.cluster import tasks
from dicent.cluster.connection import Node
from dicent.errors import DicentError, GameError
from dicent.exact.tablebase import build_tablebase
from dicent.exact.with_tablebase import WithTablebase
from dicent.game import registry
from dicent.game.package import package_of
from dicent.learn.worker_slots import planned, slots_of
from dicent.nets.dense import DenseNetwork
from dicent.play.cluster_games import ClusterGames, play_piece
from dicent.reproduction import cluster_learning
from dicent.reproduction.cluster_learning import _tasks

from .clusters import NIM, node
from .endgames import random_endgames


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


def test_older_version_of_a_package_on_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver's files cannot be used beside an installed package of the same name."""
    package = tmp_path / "takeaway"
    shutil.copytree(Path(__file__).with_name("data") / "takeaway", package)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_paths", lambda: {"takeaway": package / "rules.py"})
    monkeypatch.setattr(registry, "_presets", dict)
    registry._paths.cache_clear = lambda: None
    pickled = pickle.dumps(dicent.make("takeaway"))
    assert pickle.loads(pickled) == dicent.make("takeaway")
    rules = package / "rules.py"
    rules.write_text(rules.read_text() + "\n# an older version\n")
    with pytest.raises(GameError, match="another version of the game takeaway installed"):
        pickle.loads(pickled)


def test_player_with_a_tablebase_travels_without_its_values(tmp_path: Path) -> None:
    game = dicent.make("ewn:size=3,pieces=1")
    known = build_tablebase(game, 2, tmp_path)
    evaluator = WithTablebase(RandomEvaluator(1), known)
    state = next(iter(random_endgames(game, 1, 1, 1, seed=1)))
    value = evaluator.exact_values(game, state.cells[None])
    pickled = pickle.dumps(evaluator)
    assert len(pickled) < 20_000 + len(pickle.dumps(game))
    assert not {"numpy.core.memmap", "memmap"} & strings_in(pickled)
    again = pickle.loads(pickled)
    assert again.exact_values(game, state.cells[None]) == value
    known.path.unlink()
    with pytest.raises(DicentError, match=r"2\.table does not exist: build it with"):
        pickle.loads(pickled)


def strings_in(pickled: bytes) -> set[str]:
    """Return all texts in a pickle, among them the names of its modules and classes."""
    return {value for _, value, _ in pickletools.genops(pickled) if isinstance(value, str)}


def test_player_with_a_network_travels_as_arrays() -> None:
    player = dicent.Player(Descent(Network(DenseNetwork(NIM.input_shape, hidden=4))), limit=Limit(depth=1))
    found = strings_in(pickle.dumps(player))
    assert "dicent.evaluate.network_file" in found
    assert not [text for text in found if text.split(".")[0] == "torch" or text.startswith("dicent.nets")]
    assert not [text for text in found if text in ("DenseNetwork", "Linear", "_rebuild_tensor_v2")]


class Custom(DenseNetwork):
    """A network of the user's."""


def test_piece_for_another_version_is_refused_before_it_is_opened() -> None:
    shared: Any = SimpleNamespace(get=lambda: pytest.fail("this version may not know its contents"))
    with pytest.raises(DicentError, match=r"this machine has Dicent .*, and the driver 0\.0\.1"):
        play_piece("0.0.1", shared, range(2))


def test_match_with_a_registered_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nets, "NETWORKS", dict(nets.NETWORKS))
    dicent.register_network("custom", Custom)
    monkeypatch.setattr(tasks, "ray", SimpleNamespace)
    player = dicent.Player(Descent(Network(Custom(NIM.input_shape, hidden=4))), limit=Limit(depth=1))
    joined: Any = SimpleNamespace(nodes=list)
    with pytest.raises(DicentError, match="the network custom is registered in this process only"):
        ClusterGames(joined, (player, player), NIM, 0, 100, None)


@pytest.mark.parametrize(
    ("machine", "device", "expected"),
    [
        (node(0), "auto", "no worker"),
        (node(6), "auto", "2 workers on 6 cores"),
        (node(2, is_ours=True), "auto", "1 worker on 1 core"),
        (node(8, gpus=2), "auto", "2 workers on 2 GPUs"),
        (node(4, gpus=1), "cpu", "1 worker on 4 cores"),
        (node(1), "auto", "1 worker on 1 core"),
    ],
)
def test_preflight_names_the_workers_of_a_machine(machine: Node, device: str, expected: str) -> None:
    assert planned(machine, device) == f"{machine.in_words()}: {expected}"


def test_one_core_is_no_plural() -> None:
    assert node(1).in_words() == "10.0.0.97: 1 core, 1.0 GB"


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


def test_calls_on_one_machine_have_cores_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger machine runs several calls of the size of the smallest one."""
    monkeypatch.setenv("DICENT_CACHE", str(tmp_path))
    monkeypatch.setattr(cluster_learning, "ray", lambda: SimpleNamespace(get_gpu_ids=list))
    pinned: list[list[int]] = []

    @contextlib.contextmanager
    def pin(cores: list[int]) -> Iterator[None]:
        pinned.append(cores)
        yield

    monkeypatch.setattr(cluster_learning.machine, "numbered_cores", lambda: list(range(8)))
    monkeypatch.setattr(cluster_learning.machine, "pinned_to_cores", pin)
    with cluster_learning._own_cores(3):
        with cluster_learning._own_cores(3), cluster_learning._own_cores(3):  # more calls than Ray starts
            pass
        with cluster_learning._own_cores(3):
            pass
    assert pinned == [[0, 1, 2], [3, 4, 5], [6, 7], [3, 4, 5]]


def test_calls_have_the_cores_beside_their_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_learning, "ray", lambda: SimpleNamespace(get_gpu_ids=lambda: ["1"]))
    monkeypatch.setattr(cluster_learning.machine, "numbered_cores", lambda: list(range(8)))
    pinned: list[list[int]] = []
    monkeypatch.setattr(
        cluster_learning.machine,
        "pinned_to_cores",
        lambda cores: pinned.append(cores) or contextlib.nullcontext(),
    )
    with cluster_learning._own_cores(4):
        pass
    assert pinned == [[4, 5, 6, 7]]

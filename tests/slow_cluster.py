"""Tests with real Ray that take minutes: `make cluster` and `make cluster-faults`."""

import contextlib
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.errors import DicentError
from dicent.learn import cluster_workers
from dicent.learn.cluster_worker import GAMES_OF_WORKER
from dicent.learn.measure import exact_positions, exactness
from dicent.learn.run_reader import RunReader
from dicent.learn.status import Status
from dicent.reproduction.reproduce import reproduce
from dicent.reproduction.scale import SCALES

from .clusters import (
    PATIENCE,
    cluster_of,
    command,
    descendants,
    local_run,
    poisoned,
    processes,
    wait_until,
    without_times,
)
from .test_extras import ENTRY, PACKAGE

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")
MINUTES = float(os.environ.get("DICENT_CLUSTER_MINUTES", "1"))
FAULTS = max(3, round(3 * MINUTES))  # at least 30 in ten minutes
SETTINGS = {
    "games_at_once": 16,
    "games_per_update": 40,
    "evaluations_per_move": 16,
    "hidden": 16,
    "layers": 1,
    "measurements": 0,
    "checkpoint_seconds": 5.0,
    "record_every": 1,
}


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    with cluster_of(3, {}) as cluster:
        yield cluster


# A cluster on this machine


def test_interrupt_of_a_terminal_saves_the_run_and_ends_the_cluster(
    tmp_path: Path,
) -> None:
    """A terminal sends Ctrl-C to the driver and to everything that the driver has started."""
    with local_run(tmp_path) as driver:
        ours = descendants(driver.pid)
        os.killpg(driver.pid, signal.SIGINT)
        assert driver.wait(PATIENCE) != 0
    assert RunReader(tmp_path / "run").state() is not None
    wait_until(lambda: not any(command(process) for process in ours))


# Games and learning elsewhere


def test_game_of_an_installed_package_reaches_the_workers(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "takeaway", ignore=shutil.ignore_patterns("__pycache__"))
    information = site / "takeaway-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: takeaway\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY)
    monkeypatch.syspath_prepend(str(site))
    from dicent.game import registry

    registry._paths.cache_clear()
    registry._presets.cache_clear()
    config = dicent.config("laptop", game="takeaway", games=200, **SETTINGS)
    dicent.train(config, tmp_path / "run", cluster=machines.address)
    state = RunReader(tmp_path / "run").state()
    assert state is not None
    assert state.games >= 200
    registry._paths.cache_clear()
    registry._presets.cache_clear()


def test_tournament_survives_the_loss_of_a_machine(machines: Any, tmp_path: Path) -> None:
    players = ["random", "uct:200", "greedy:rollout=2"]
    here = dicent.play_tournament(tmp_path / "here", players, "ewn", games=100, seed=3)
    lost: list[int] = []

    def disturb(*given: object) -> None:
        if not lost and processes(machines, "ray::play_piece"):
            lost.append(1)
            machines.remove_node(machines.list_all_nodes()[-1], allow_graceful=False)
            machines.add_node(num_cpus=1)

    there = dicent.play_tournament(
        tmp_path / "there", players, "ewn", games=100, seed=3, cluster=machines.address, progress=disturb
    )
    assert lost
    for ours, theirs in zip(here.encounters, there.encounters, strict=True):
        assert ours.results == theirs.results
        assert without_times(ours.summary) == without_times(theirs.summary)


def test_reproduction_on_a_cluster(machines: Any, tmp_path: Path) -> None:
    scale = SCALES["smoke"].replace(seconds=1.0, games=2)
    result = reproduce(tmp_path, scale, cluster=machines.address)
    assert result.finished
    assert len(result.learned) == len(result.runs) == 7
    again = reproduce(tmp_path, scale, cluster=machines.address)
    assert again.to_dict() == result.to_dict()


# Many faults


def no_game_is_lost(numbers: list[int], games_at_once: int) -> bool:
    """Return whether only games in flight are missing: a worker numbers its games without gaps."""
    of_workers: dict[int, list[int]] = {}
    for number in numbers:
        worker, index = divmod(number, GAMES_OF_WORKER)
        of_workers.setdefault(worker, []).append(index)
    return all(max(found) + 1 - len(found) <= games_at_once for found in of_workers.values())


def test_lost_games_would_be_noticed() -> None:
    of_first, of_second = list(range(100)), [GAMES_OF_WORKER + i for i in range(50)]
    assert no_game_is_lost(of_first + of_second, 16)
    assert no_game_is_lost(of_first[:80] + of_first[96:] + of_second, 16)
    assert not no_game_is_lost(of_first + of_second[:20] + of_second[37:], 16)


def test_run_survives_many_faults(machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let random faults happen over DICENT_CLUSTER_MINUTES; then count the games and compare the strength."""
    poison, rng = tmp_path / "poison", random.Random(0)
    monkeypatch.setattr(cluster_workers, "ClusterWorker", poisoned(poison))
    begin, faults, warnings = time.monotonic(), [], []
    counted: list[int] = []

    def kill() -> bool:
        found = processes(machines)
        with contextlib.suppress(ProcessLookupError):
            if found:
                os.kill(rng.choice(found), signal.SIGKILL)
                return True
        return False

    def remove() -> bool:
        found = machines.list_all_nodes()[1:]
        if found:
            machines.remove_node(rng.choice(found), allow_graceful=False)
        return bool(found)

    def add() -> bool:
        return len(machines.list_all_nodes()) <= 3 and bool(machines.add_node(num_cpus=1))

    def put_poison() -> bool:
        if poison.exists():  # no worker has taken the one before yet
            return False
        poison.touch()
        return True

    possible = {"add": add, "kill": kill, "poison": put_poison, "remove": remove}

    def disturb(status: Status) -> None:
        counted[:] = [status.games]
        if time.monotonic() - begin < 60 * MINUTES * len(faults) / FAULTS or len(faults) == FAULTS:
            return
        chosen = rng.choice(sorted(possible))
        if possible[chosen]():  # else another one is drawn at the next turn
            faults.append(chosen)

    def over() -> bool:
        if time.monotonic() - begin > 60 * MINUTES + PATIENCE:
            raise AssertionError(f"no machine plays: {warnings[-3:]}")
        return len(faults) == FAULTS and time.monotonic() - begin > 60 * MINUTES

    # The learning rate stays the same, since the two runs have different budgets.
    config = dicent.config("laptop", game="dice-nim", minutes=60.0, final_learning_rate=1e-3, **SETTINGS)
    with contextlib.suppress(KeyboardInterrupt):
        dicent.train(
            config,
            tmp_path / "run",
            cluster=machines.address,
            watch=disturb,
            warn=lambda text: warnings.append(str(text)),
            stop=over,
        )
    if poison.exists():  # nobody has taken the last one
        faults.remove("poison")
    assert len(faults) >= FAULTS - 1
    print(f"{len(faults)} faults: { {kind: faults.count(kind) for kind in sorted(set(faults))} }")  # noqa: T201
    wait_until(lambda: not processes(machines))
    numbers = [record.number for record in dicent.read_records(tmp_path / "run" / "games.jsonl")]
    state = RunReader(tmp_path / "run").state()
    assert state is not None
    assert len(set(numbers)) == len(numbers) == state.games
    assert state.games >= counted[0] > 0
    assert no_game_is_lost(numbers, config.self_play.games_at_once)
    calm = config.replace(minutes=None, games=state.games)
    dicent.train(calm, tmp_path / "calm")
    match = dicent.play_match(str(tmp_path / "run"), str(tmp_path / "calm"), games=2000)
    print(f"{state.games} games; {match.score:.3f} against an undisturbed run, {match.interval}")  # noqa: T201
    assert math.isclose(match.score, 0.5, abs_tol=0.05)
    positions = exact_positions(dicent.make("dice-nim"), "gain")
    errors = [
        exactness(dicent.load_network(tmp_path / name), positions)["error"]  # type: ignore[arg-type]
        for name in ("run", "calm")
    ]
    print(f"error of its values {errors[0]:.3f}, of those of the undisturbed run {errors[1]:.3f}")  # noqa: T201
    assert errors[0] < errors[1] + 0.05  # networks that have learned little are wrong by 0.2


def test_silent_address_is_an_error() -> None:
    with pytest.raises(DicentError, match="no Ray cluster answers"):
        dicent.play_match("random", "random", "dice-nim", games=2, cluster="127.0.0.1:1")


# A cluster on this machine


def listening(process: int) -> list[tuple[str, int]]:
    """Return the addresses, as Linux writes them, and ports on which a process listens."""
    sockets = set()
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(file.readlink()))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].rpartition(":")
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append((address, int(port, 16)))
    return found


LOOPBACK = ("0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F")  # also in IPv6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_local_cluster_is_private_and_ends_with_its_driver(tmp_path: Path) -> None:
    with local_run(tmp_path) as driver:
        ours = descendants(driver.pid)
        addresses = {address for process in ours for address, _ in listening(process)}
        assert addresses
        assert addresses <= set(LOOPBACK)
    wait_until(lambda: not any(command(process) for process in ours))  # one that has ended has none


STRANGER = """
import os, subprocess, sys
from dicent.cluster.connection import TOKEN, Connection, ray

with Connection() as connection:
    print(len(os.listdir(connection._folder)) > 0)
    address = ray().get_runtime_context().gcs_address
    client = f"import ray; ray.init({address!r}); print(len(ray.nodes()), 'machine')"
    for token in (os.environ[TOKEN], "0" * 64):
        variables = {**os.environ, TOKEN: token}
        found = subprocess.run([sys.executable, "-c", client], env=variables, capture_output=True, text=True)
        print(found.returncode, found.stdout.strip())
print(os.path.exists(connection._folder))
"""


def test_local_cluster_asks_for_a_token() -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    found = subprocess.run(
        [sys.executable, "-c", STRANGER], env=variables, capture_output=True, text=True, timeout=PATIENCE
    )
    assert found.stdout.splitlines() == ["True", "0 1 machine", "1 ", "False"]

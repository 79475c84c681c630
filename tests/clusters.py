"""Ray clusters of several machines on this one, and games as their workers send them, for tests."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicent
from dicent.cluster.connection import Node
from dicent.learn.cluster_worker import Answer, ClusterWorker
from dicent.learn.dataset import FinishedGame, values_only

PATIENCE = 600.0  # seconds to wait for an event, also on a very slow machine

# No warning about GPUs, and no worker is killed because other programs need memory.
QUIET = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_memory_monitor_refresh_ms": "0"}


@contextlib.contextmanager
def cluster_of(machines: int, variables: dict[str, str]) -> Iterator[Any]:
    """Start a cluster of a head without cores for workers and some machines of one core."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**QUIET, **variables}.items():
            patch.setenv(name, value)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(machines):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        yield cluster
        cluster.shutdown()


def processes(cluster: Any, start: str = "ray::ClusterWorker") -> list[int]:
    """Return the processes on the machines of a cluster whose command starts like this."""
    raylets = [
        process.process.pid
        for machine in cluster.list_all_nodes()
        for process in machine.all_processes.get("raylet", [])
    ]
    return [process for process in descendants(*raylets) if command(process).startswith(start)]


def descendants(*ancestors: int) -> list[int]:
    """Return these processes, those that they have started, and those that these have started."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found = list(ancestors)
    for one in found:
        found += children.get(one, [])
    return found


def command(process: int) -> str:
    """Return the command of a process; none if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def poisoned(poison: Path) -> type[ClusterWorker]:
    """Return workers that send NaN when they find this file, which they remove."""

    class Poisoned(ClusterWorker):
        def play(self, version: int, weights: Any, progress: float, seconds: float) -> Answer:
            answer = super().play(version, weights, progress, seconds)
            with contextlib.suppress(OSError):
                if "values" in answer.message:
                    poison.unlink()
                    answer.message["values"][:] = float("nan")
            return answer

    Poisoned.__name__ = Poisoned.__qualname__ = ClusterWorker.__name__  # the command of its process
    return Poisoned


TIMES = ("seconds", "seconds_per_move", "times")  # parts of results and records that depend on the machine


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """Return a result or a record without the time that it took."""
    return {name: value for name, value in found.items() if name not in TIMES}


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[bytes] | None" = None) -> None:
    """Wait for an event."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        assert process is None or process.poll() is None, "the process has ended"
        time.sleep(0.1)


NIM = dicent.make("dice-nim")


def finished_game(number: int, result: int | None = 1) -> FinishedGame:
    """Return a game with data of the right shapes; its choices are not legal."""
    rng = np.random.default_rng(number % 1000)
    start = NIM.initial_state(1).cells
    states = np.stack([start] * int(rng.integers(1, 5)))
    data = values_only(states, rng.uniform(-1, 1, len(states)))
    plies = int(rng.integers(1, 9))
    return FinishedGame(
        number=number,
        result=result,
        plies=plies,
        start=start,
        chosen=rng.integers(0, 3, 2 * plies).astype(np.int32),
        root_values=rng.uniform(-1, 1, plies),
        dataset=data,
    )


def node(cores: int, gpus: int = 0, is_ours: bool = False, name: str = "a") -> Node:
    """Return a machine of a cluster."""
    return Node(name, f"10.0.0.{ord(name)}", cores, gpus, 2**30, is_ours)


LOCAL = """
import sys
import dicent

if __name__ == "__main__":
    few = {"games_at_once": 4, "evaluations_per_move": 8, "hidden": 8, "layers": 1, "measurements": 0}
    dicent.train(dicent.config("laptop", game="dice-nim", games=10**9, **few), "run", cluster="auto")
"""


@contextlib.contextmanager
def local_run(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a run on a cluster of its own, and wait until a worker plays."""
    (folder / "driver.py").write_text(LOCAL)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    driver = subprocess.Popen(
        [sys.executable, "driver.py"],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(
        lambda: any(command(one).startswith("ray::ClusterWorker.play") for one in descendants(driver.pid)),
        driver,
    )
    yield driver
    driver.kill()
    driver.wait()

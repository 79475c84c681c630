"""Ray clusters of several machines on this one, for tests."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dicent.learn.cluster_worker import Answer, ClusterWorker

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


def processes(start: bytes = b"ray::ClusterWorker") -> list[int]:
    """Return the processes on this machine whose command starts like this."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().startswith(start):
                found.append(int(folder.name))
    return found


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

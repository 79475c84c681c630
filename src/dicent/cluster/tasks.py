"""Tasks: independent calls of a function on the machines of a cluster."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from dicent.cluster.causes import cause_of, machine_of
from dicent.cluster.connection import Connection, count, ray
from dicent.errors import DicentError

Result = TypeVar("Result")
RETRIES = 20  # of a call whose process or machine is lost
PATIENCE = 0.2  # seconds to wait for results before the driver does something else
LOOK_AROUND = 5.0  # seconds between two looks at the machines, while no result arrives
MOST_SUBMITTED = 4000  # calls that wait or run at once; the others need no memory of the cluster
HELD = 4  # shared values that a process keeps


@dataclass(frozen=True)
class Shared:
    """A value that many calls share: each process of the cluster opens it once."""

    key: str
    reference: object

    def get(self) -> Any:
        """Return the value."""
        if self.key not in _values:
            while len(_values) >= HELD:
                del _values[next(iter(_values))]
            _values[self.key] = ray().get(self.reference)
        return _values[self.key]


_values: dict[str, object] = {}  # of this process, by key


class Tasks:
    """Calls functions in processes on the machines of a cluster.

    Each call gets some cores, and GPUs if it needs them. A call whose process or machine is lost runs again
    elsewhere, so that functions must have no effect but their result.
    """

    def __init__(
        self,
        connection: Connection,
        cores: int = 1,
        gpus: int = 0,
    ) -> None:
        self.connection, self.cores, self.gpus = connection, cores, gpus
        self._ray = ray()

    @property
    def places(self) -> int:
        """The number of calls that the machines of this moment can run at once."""
        return sum(
            min(node.cores // self.cores, node.gpus // self.gpus if self.gpus else node.cores)
            for node in self.connection.nodes()
        )

    def share(self, value: object) -> Shared:
        """Put a value into the object store, for the arguments of calls."""
        return Shared(secrets.token_hex(8), self._ray.put(value))

    def run(
        self,
        function: Callable[..., Result],
        calls: Iterable[tuple[object, ...]],
        tick: Callable[[], object] = lambda: None,
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with each of these arguments; yield the numbers and results of calls as they end.

        `tick` is called several times a second. If the caller leaves the loop, the other calls are cancelled.
        """
        remote = self._ray.remote(function).options(
            num_cpus=self.cores, num_gpus=self.gpus, max_retries=RETRIES
        )
        left, waiting = enumerate(calls), dict[object, int]()
        looked, warned = time.monotonic(), False
        try:
            while True:
                for number, arguments in itertools.islice(left, MOST_SUBMITTED - len(waiting)):
                    waiting[remote.remote(*arguments)] = number
                if not waiting:
                    return
                ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=PATIENCE)
                for reference in ready:
                    yield waiting.pop(reference), self._result(reference)
                tick()
                if not ready and time.monotonic() - looked > LOOK_AROUND:
                    looked, alone = time.monotonic(), self.places == 0
                    if alone and not warned:
                        warnings.warn(self._needed(), stacklevel=2)
                    warned = alone
        finally:
            for reference in waiting:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

    def _needed(self) -> str:
        gpus = f" and {count(self.gpus, 'GPU')}" if self.gpus else ""
        return f"no machine of the cluster has {count(self.cores, 'core')}{gpus}; waiting for one to join"

    def _result(self, reference: object) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise DicentError(f"{machine_of(error)}: {cause_of(error)}") from error
        except errors.RayError as error:
            cause = cause_of(error)
            raise DicentError(
                f"a call failed on the cluster, after up to {RETRIES} retries: {cause}"
            ) from error

"""Connection: join a running Ray cluster, or start one on this machine that nobody else can reach."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dicent.cluster.causes import cause_of, why_not_joined
from dicent.errors import DicentError, MissingRayError
from dicent.version import __version__

if TYPE_CHECKING:
    from types import TracebackType

AUTO, LOCAL = "auto", "local"
# Ray reads these when it is imported. The last one keeps a cluster to one machine: all ports on loopback.
PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
TOKEN = "RAY_AUTH_TOKEN"
# What a cluster on one machine does not need, and what would take time from its workers.
NEEDLESS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
    "RAY_task_events_report_interval_ms": "0",  # never
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}
ATTEMPTS = {"RAY_gcs_server_port_wait_time_s": "3"}  # to join a cluster that answers, one a second
LAST_PORT = 65535
KNOCK = 10.0  # seconds to wait for an address that does not answer; Ray itself waits for minutes
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # of gRPC, with no settings
SETTINGS = 4  # type of the first frame of the answer, after three bytes of its size


def ray() -> Any:
    """Return the module ray, which is imported here only."""
    try:
        import ray as module
    except ModuleNotFoundError:
        raise MissingRayError from None
    return module


def check_version(driver: str) -> None:
    """Raise an error if the driver has another version of Dicent than this machine."""
    if driver != __version__:
        raise DicentError(
            f"this machine has Dicent {__version__}, and the driver {driver}: install the same version on all"
        )


def count(number: int, what: str) -> str:
    """Return a number of things in words, such as "1 core"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Node:
    """A machine of a cluster."""

    id: str
    address: str
    cores: int
    gpus: int
    memory: int  # bytes
    is_ours: bool  # the machine that this process runs on

    def in_words(self) -> str:
        """Return a line for people."""
        gpus = f", {count(self.gpus, 'GPU')}" if self.gpus else ""
        here = ", this machine" if self.is_ours else ""
        return f"{self.address}: {count(self.cores, 'core')}{gpus}, {self.memory / 2**30:,.1f} GB{here}"


class Connection:
    """A connection to a cluster, until it is closed.

    `address` is that of a running cluster. The address "auto" is that of the variable RAY_ADDRESS, else a
    cluster on this machine that ends with the connection. Such a cluster listens on loopback only, has no
    dashboard, sends no usage statistics, and asks every client for a token that only this process and its
    children know. Its sockets and logs are in a folder of the user alone. As for Ray itself, RAY_ADDRESS may
    be "auto", a cluster that runs on this machine, or "local", a new one.
    """

    def __init__(self, address: str = AUTO) -> None:
        if not address:
            raise DicentError(f"cluster must be {AUTO} or the address of a Ray cluster (got {address!r})")
        found = os.environ.get("RAY_ADDRESS") or LOCAL if address == AUTO else address
        self._folder = ""  # of a cluster that this connection has started
        self._variables = _set(_private_settings() if found == LOCAL else _unless_set(ATTEMPTS))
        try:
            self._connect(found)
        except BaseException:
            self._restore()
            raise

    def _connect(self, found: str) -> None:
        module = ray()
        if found != LOCAL:
            _private.clear()  # Ray, in this process, then works as that cluster does
        if found not in (LOCAL, AUTO):
            _knock(found)
        if module.is_initialized():
            raise DicentError("this process is connected to a Ray cluster already: call ray.shutdown() first")
        quiet = {"log_to_driver": False, "logging_level": "error"}
        try:
            if found == LOCAL:
                self._folder = tempfile.mkdtemp(prefix="ray-", dir=_short_folder())
                ours = {"_node_ip_address": "127.0.0.1", "_temp_dir": self._folder}
                module.init(address=LOCAL, include_dashboard=False, **ours, **quiet)
            else:
                module.init(address=found, **quiet)
        except (OSError, RuntimeError, ValueError, module.exceptions.RayError) as error:
            if found == LOCAL:
                cause = " ".join(str(error).split())
                raise DicentError(f"no Ray cluster can be started on this machine: {cause}") from error
            raise DicentError(why_not_joined(error, found)) from error
        _print_notices(False)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, ray().exceptions.RayError):  # as when a disk is full: no user wants a traceback
            raise DicentError(f"the cluster failed: {cause_of(error)}") from error

    def close(self) -> None:
        """Leave the cluster; a cluster that this connection has started ends."""
        ray().shutdown()
        _print_notices(True)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._restore()

    def _restore(self) -> None:
        """Restore the environment."""
        for name, value in self._variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._variables = {}

    def nodes(self) -> list[Node]:
        """Return the machines that are alive, this one first."""
        module = ray()
        ours = module.get_runtime_context().get_node_id()
        found = [
            Node(
                id=str(node["NodeID"]),
                address=str(node["NodeManagerAddress"]),
                cores=int(node["Resources"].get("CPU", 0)),
                gpus=int(node["Resources"].get("GPU", 0)),
                memory=int(node["Resources"].get("memory", 0)),
                is_ours=node["NodeID"] == ours,
            )
            for node in module.nodes()
            if node["Alive"]
        ]
        return sorted(found, key=lambda node: (not node.is_ours, node.address, node.id))


@contextlib.contextmanager
def joined(cluster: Connection | str | None) -> Iterator[Connection | None]:
    """Return a context with a connection: to an address until the context ends, or one that exists."""
    if isinstance(cluster, str):
        with Connection(cluster) as connection:
            yield connection
    else:
        yield cluster


def _knock(address: str) -> None:
    """Raise an error if no gRPC server, such as the head of a Ray cluster, answers at an address."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > LAST_PORT:
        raise DicentError(f"cluster must be {AUTO} or an address such as 10.0.0.7:6379 (got {address!r})")
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), KNOCK) as found,
            found.makefile("rb") as answers,
        ):
            found.sendall(HELLO)
            answer = answers.read(4)
    except OSError as error:
        raise DicentError(f"no Ray cluster answers at {address}: {error}") from error
    is_encrypted = os.environ.get("RAY_USE_TLS", "0") != "0"
    if not is_encrypted and answer[3:] != bytes([SETTINGS]):
        raise DicentError(
            f"the program that answers at {address} is no Ray cluster; the port of Ray is often 6379"
        )


def _short_folder() -> str | None:
    """Return a folder for temporary ones; a path to a socket has at most 103 characters on some systems."""
    return os.environ.get("RAY_TMPDIR") or ("/tmp" if Path("/tmp").is_dir() else None)


def _print_notices(is_printed: bool) -> None:
    """Let Ray print its notices about machines, or not: it prints them among our results, also in JSON."""
    # `log_to_driver` is for the output of workers only.
    ray()._private.worker._worker_logs_enabled = is_printed


def _private_settings() -> dict[str, str]:
    """Return variables with which clusters of this process listen on loopback only, and ask for a token."""
    chosen = _unless_set(NEEDLESS)
    if PRIVATE.items() <= os.environ.items():
        return chosen
    if sys.modules.get("ray") is not None and not _private:
        settings = " ".join(f"{name}={value}" for name, value in PRIVATE.items())
        raise DicentError(
            "ray was imported before a cluster was asked for, so that a cluster on this machine would be "
            f"open to others: set {settings} before Python starts"
        )
    if not _private:
        _private.update({**PRIVATE, TOKEN: secrets.token_hex(32)})
    return chosen | _private


def _unless_set(variables: dict[str, str]) -> dict[str, str]:
    """Return variables with the values of the environment, or else with these."""
    return {name: os.environ.get(name, value) for name, value in variables.items()}


def _set(variables: dict[str, str]) -> dict[str, str | None]:
    """Set variables of the environment; return them as they were."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    return before


_private: dict[str, str] = {}  # settings with which this process has imported Ray for a cluster of its own

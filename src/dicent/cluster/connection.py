"""Connection: join a running Ray cluster, or start one on this machine that nobody else can reach."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dicent.errors import DicentError, MissingRayError

if TYPE_CHECKING:
    from types import TracebackType

AUTO, LOCAL = "auto", "local"
# Ray reads these when it is imported. The last one keeps a cluster to one machine: all ports on loopback.
PRIVATE = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
TOKEN, USAGE = "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"
KNOCK = 10.0  # seconds to wait for an address that does not answer; Ray itself waits for minutes


def ray() -> Any:
    """Return the module ray, which is imported here only."""
    try:
        import ray as module
    except ModuleNotFoundError:
        raise MissingRayError from None
    return module


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
        gpus = f", {self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ""
        here = ", this machine" if self.is_ours else ""
        return f"{self.address}: {self.cores} cores{gpus}, {self.memory / 2**30:,.1f} GB{here}"


class Connection:
    """A connection to a cluster, until it is closed.

    `address` is that of a running cluster. The address "auto" is that of the variable RAY_ADDRESS, else a
    cluster on this machine that ends with the connection. Such a cluster listens on loopback only, has no
    dashboard, sends no usage statistics, and asks every client for a token that only this process and its
    children know. As for Ray itself, RAY_ADDRESS may be "auto", a cluster that runs on this machine, or
    "local", a new one.
    """

    def __init__(self, address: str = AUTO) -> None:
        if not address:
            raise DicentError(f"cluster must be {AUTO} or the address of a Ray cluster (got {address!r})")
        found = os.environ.get("RAY_ADDRESS") or LOCAL if address == AUTO else address
        self._variables = _keep_private() if found == LOCAL else {}
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
                module.init(address=LOCAL, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
            else:
                module.init(address=found, **quiet)
        except (ConnectionError, RuntimeError, ValueError, module.exceptions.RayError) as error:
            where = "on this machine" if found in (LOCAL, AUTO) else f"at {found}"
            hint = "if the cluster has a token, this process needs it and RAY_AUTH_MODE=token, too"
            raise DicentError(f"no Ray cluster answers {where}: {error}; {hint}") from error

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; a cluster that this connection has started ends."""
        ray().shutdown()
        self._restore()

    def _restore(self) -> None:
        """Restore the environment that a private cluster has changed."""
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
    """Raise an error if nothing answers at an address."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise DicentError(f"cluster must be {AUTO} or an address such as 10.0.0.7:6379 (got {address!r})")
    try:
        with contextlib.closing(socket.create_connection((host.strip("[]"), int(port)), KNOCK)):
            pass
    except (OSError, OverflowError) as error:
        raise DicentError(f"no Ray cluster answers at {address}: {error}") from error


def _keep_private() -> dict[str, str | None]:
    """Make the clusters that this process starts listen on loopback only, and ask for a token.

    Return the variables of the environment that this changes, as they were.
    """
    if PRIVATE.items() <= os.environ.items():
        return {}
    if "ray" in sys.modules and not _private:
        settings = " ".join(f"{name}={value}" for name, value in PRIVATE.items())
        raise DicentError(
            "ray was imported before a cluster was asked for, so that a cluster on this machine would be "
            f"open to others: set {settings} before Python starts"
        )
    if not _private:
        _private.update({**PRIVATE, TOKEN: secrets.token_hex(32)})
    changes = {**_private, USAGE: os.environ.get(USAGE, "0")}
    before = {name: os.environ.get(name) for name in changes}
    os.environ |= changes
    return before


_private: dict[str, str] = {}  # settings with which this process has imported Ray for a cluster of its own

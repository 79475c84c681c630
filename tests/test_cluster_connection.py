"""Connections to a cluster: addresses, settings, and what fails."""

import os
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dicent
from dicent.cluster import connection
from dicent.cluster.connection import PRIVATE, TOKEN, Connection
from dicent.errors import DicentError, MissingRayError


@pytest.mark.parametrize("address", ["nonsense", "host:", ":", "a:b", "", "ray://10.0.0.7:10001", "a:65536"])
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


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_another_program_at_the_address_is_noticed(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the port of the dashboard; Ray itself would try again for a quarter of an hour."""
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as client:
                client.recv(100)
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(DicentError, match="is no Ray cluster"):
            Connection(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_failed_connection_leaves_no_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with pytest.raises(DicentError, match="cluster must be auto or"):
        dicent.train(dicent.config("laptop", game="dice-nim", games=1), tmp_path / "run", cluster="nonsense")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379"])
def test_missing_ray_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(connection, "_private", {})
    for name in (*PRIVATE, "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingRayError, match=r"pip install 'dicent\[cluster\]'"):
        Connection(address)


def test_local_cluster_is_refused_if_it_would_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(DicentError, match="open to others"):
        Connection("auto")


class PretendedRay:
    """Keeps what it is asked to join."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self) -> None:
        self._private = SimpleNamespace(worker=SimpleNamespace())
        self.is_connected = False
        self.asked: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return self.is_connected

    def init(self, **given: Any) -> None:
        self.asked.append(given)

    def shutdown(self) -> None:
        pass


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
    with Connection("auto"):
        pass
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
    with Connection("auto"):
        pass
    assert pretended.asked[0]["address"] == joined
    assert (pretended.asked[0].get("_node_ip_address") == "127.0.0.1") == is_private


@pytest.fixture
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is not imported, and the environment says nothing about it."""
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(connection, "_private", {})
    for name in (*PRIVATE, TOKEN, "RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.delenv(name, raising=False)


def test_settings_of_a_local_cluster_end_with_it(
    pretended: PretendedRay, fresh_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later local cluster is as private; a later cluster of others is asked for no token of ours."""
    tokens = []
    for _ in range(2):
        with Connection("auto"):
            tokens.append(os.environ[TOKEN])
            assert PRIVATE.items() <= os.environ.items()
            monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())  # the first cluster imports it
        assert not {*PRIVATE, TOKEN, "RAY_USAGE_STATS_ENABLED"} & os.environ.keys()
    assert len(set(tokens)) == 1
    with Connection("10.1.2.3:6379"):
        assert not {*PRIVATE, TOKEN} & os.environ.keys()
    with pytest.raises(DicentError, match="open to others"):
        Connection("auto")


def test_settings_of_a_local_cluster_end_with_its_failure(
    pretended: PretendedRay, fresh_process: None
) -> None:
    pretended.is_connected = True
    with pytest.raises(DicentError, match="connected to a Ray cluster already"):
        Connection("auto")
    assert not {*PRIVATE, TOKEN} & os.environ.keys()


def test_local_cluster_that_cannot_start_is_an_error_of_one_line(
    pretended: PretendedRay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in PRIVATE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))

    def fail(**given: Any) -> None:
        raise PermissionError(13, "Permission denied\n", "/tmp/ray")

    monkeypatch.setattr(pretended, "init", fail)
    with pytest.raises(
        DicentError, match=r"no Ray cluster can be started on this machine: .*Permission"
    ) as found:
        Connection("auto")
    assert "\n" not in str(found.value)


@pytest.fixture
def private_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have imported Ray."""
    for name, value in PRIVATE.items():
        monkeypatch.setenv(name, value)


def test_folder_of_a_local_cluster_is_closed_to_others_and_ends_with_it(
    pretended: PretendedRay, private_from_the_start: None
) -> None:
    """Ray itself would let all users write in the folder of its sockets."""
    with Connection("local"):
        folder = Path(pretended.asked[0]["_temp_dir"])
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a log").touch()
    assert not folder.exists()


def test_other_errors_of_ray_are_one_line(pretended: PretendedRay, private_from_the_start: None) -> None:
    with pytest.raises(DicentError, match=r"^the cluster failed: the disk is full$"), Connection("local"):
        raise RuntimeError("\tip: 10.0.0.7\nthe disk is full")


def test_settings_of_the_user_stay(
    pretended: PretendedRay, fresh_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local cluster works without metrics and idle processes, unless the user wants them."""
    chosen, other = "RAY_enable_metrics_collection", "RAY_enable_worker_prestart"
    monkeypatch.setenv(chosen, "1")
    with Connection("local"):
        assert (os.environ[chosen], os.environ[other]) == ("1", "0")
    assert (os.environ[chosen], other in os.environ) == ("1", False)


def test_a_process_joins_one_cluster(pretended: PretendedRay) -> None:
    pretended.is_connected = True
    with pytest.raises(DicentError, match="connected to a Ray cluster already"):
        Connection("10.1.2.3:6379")

"""Slow clients, many clients, and what they make the server log."""

import contextlib
import logging
import socket
import sys
import time
from pathlib import Path

import httpx
import pytest

from dicent import machine
from dicent.web import connections
from dicent.web.connections import LogRateLimit, rate_limited_logs

from .serving import PATIENCE, Process, begin, free_port, served


def half_sent(client: httpx.Client) -> socket.socket:
    raw = socket.create_connection((client.base_url.host, client.base_url.port or 0))
    raw.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    return raw


def test_half_sent_requests_are_closed_before_the_token_is_checked(tmp_path: Path) -> None:
    with served(tmp_path, host="0.0.0.0", token="correct-horse", header_seconds=0.2) as own:
        silent = socket.create_connection((own.base_url.host, own.base_url.port or 0))
        kept = socket.create_connection((own.base_url.host, own.base_url.port or 0))
        kept.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: ")
        with contextlib.ExitStack() as stack:
            for raw in (silent, kept, *(half_sent(own) for _ in range(50))):
                stack.enter_context(raw)
                raw.settimeout(600)
                with contextlib.suppress(ConnectionResetError):
                    while raw.recv(65536):  # ends only when the server closes the connection
                        pass
        assert own.get("/api/info").status_code == 401
        assert own.get("/api/info", headers={"Authorization": "Bearer correct-horse"}).is_success


def test_a_body_that_nobody_waits_for_does_not_hold_a_connection(tmp_path: Path) -> None:
    """The request is refused at once, and its body trickles in after that."""
    with served(tmp_path, host="0.0.0.0", token="correct-horse", header_seconds=0.2) as own:
        raw = socket.create_connection((own.base_url.host, own.base_url.port or 0))
        with raw, contextlib.suppress(ConnectionError):
            raw.settimeout(600)
            raw.sendall(b"POST /api/import HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n")
            assert b"401" in raw.recv(65536)
            while True:
                raw.sendall(b" " * 100)
                raw.settimeout(0.02)
                with contextlib.suppress(TimeoutError):
                    if not raw.recv(65536):
                        break


def test_answers_that_nobody_reads_do_not_hold_a_connection(tmp_path: Path) -> None:
    with served(tmp_path, host="0.0.0.0", token="correct-horse", answer_seconds=0.2) as own:
        raw = socket.create_connection((own.base_url.host, own.base_url.port or 0))
        with raw, contextlib.suppress(ConnectionError):  # the server has closed it
            raw.settimeout(PATIENCE)
            while True:  # until the buffers between both sides are full
                raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_server_with_few_file_handles_answers_among_half_sent_requests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = Process(tmp_path, free_port(), handles=160)
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                with contextlib.suppress(ConnectionError):
                    stack.enter_context(half_sent(server.client))
            end = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(httpx.TransportError):
                    assert httpx.get(server.client.base_url.join("/api/games"), timeout=PATIENCE).is_success
                    break
                assert time.monotonic() < end
                time.sleep(0.1)
        assert begin(server.client)["steps"] == []
    finally:
        server.stop()
    assert "Too many open files" not in capfd.readouterr().err


def test_connections_beyond_the_limit_are_closed(tmp_path: Path) -> None:
    with served(tmp_path, connections=5) as own, contextlib.ExitStack() as stack:
        own.get("/api/info")  # one of them, and it stays open
        held = [stack.enter_context(half_sent(own)) for _ in range(8)]
        for raw in held[4:]:
            raw.settimeout(600)
            with contextlib.suppress(ConnectionResetError):
                assert raw.recv(1) == b""
        assert own.get("/api/info").is_success


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_few_file_handles_mean_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for handles, most in ((1 << 20, connections.MOST), (256, 96), (64, 8)):
        monkeypatch.setattr(machine.resource, "getrlimit", lambda kind, n=handles: (n, n))
        assert connections.most_connections() == most


def test_the_log_is_limited_and_says_what_it_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    limit, log = LogRateLimit(3, 60.0, lambda: now[0]), logging.getLogger("dicent.web.test")
    log.addFilter(limit)
    for _ in range(1000):
        log.warning("out of %s", "handles")
    now[0] = 61.0
    log.warning("once %s", "more")
    assert [record.getMessage() for record in caplog.records] == [
        *["out of handles"] * 3,
        "once more (997 messages before this one were left out)",
    ]
    before = list(logging.getLogger("asyncio").filters)
    with rate_limited_logs():
        assert len(logging.getLogger("asyncio").filters) == len(before) + 1
    assert logging.getLogger("asyncio").filters == before

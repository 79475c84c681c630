"""Security of the server: refused requests, tokens and headers."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dicent.cli import main
from dicent.web.server import Settings, _listen

from .serving import begin, served

TOKEN = "correct-horse"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Yield a server that other machines can reach."""
    with served(tmp_path_factory.mktemp("guarded"), host="0.0.0.0", token=TOKEN) as client:
        yield client


def address(client: httpx.Client, scheme: str = "http") -> str:
    return f"{scheme}://{client.base_url.host}:{client.base_url.port}"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "", "["])
def test_unknown_hosts_are_refused(client: httpx.Client, host: str) -> None:
    for path in ("/", "/api/info", "/static/app.js"):
        assert client.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_own_hosts_are_accepted(client: httpx.Client, host: str) -> None:
    assert client.get("/api/info", headers={"Host": f"{host}:{client.base_url.port}"}).is_success


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "x", "http://["])
def test_other_origins_are_refused(client: httpx.Client, origin: str) -> None:
    game = {"game": "ewn", "players": {"MAX": "human", "MIN": "human"}}
    assert client.post("/api/games", json=game, headers={"Origin": origin}).status_code == 403
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"{address(client, 'ws')}/api/engine", origin=origin)  # type: ignore[arg-type]


def test_own_origin_is_accepted(client: httpx.Client) -> None:
    game = {"game": "ewn", "players": {"MAX": "human", "MIN": "human"}}
    assert client.post("/api/games", json=game, headers={"Origin": address(client)}).is_success
    with connect(f"{address(client, 'ws')}/api/engine", origin=address(client)) as engine:  # type: ignore[arg-type]
        engine.send('{"id": 1, "query": "version"}')
        assert '"dicent"' in str(engine.recv(60))


def test_forms_of_other_sites_are_refused(client: httpx.Client) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
    assert client.post("/api/import", content='{"text": ""}', headers=headers).status_code == 403


def test_security_headers_are_sent(client: httpx.Client) -> None:
    for path in ("/", "/api/info", "/nothing", "/api/position?game=none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_the_token_is_needed(guarded: httpx.Client) -> None:
    for path in ("/", "/api/info", "/static/app.js", "/api/info?token=wrong", "/?token="):
        answer = guarded.get(path)
        assert (answer.status_code, "token" in answer.json()["error"]) == (401, True)
    assert guarded.get("/api/info", headers={"Cookie": "dicent=x; ;;="}).status_code == 401
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"{address(guarded, 'ws')}/api/engine")


def test_the_token_becomes_a_cookie(guarded: httpx.Client) -> None:
    answer = guarded.get(f"/%2Fevil.example/?a=1&token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/evil.example/?a=1"  # the redirect stays on this server
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    name, value = cookie.split(";")[0].split("=")
    headers = {"Cookie": f"{name}={value}"}
    assert guarded.get("/api/info", headers=headers).is_success
    with connect(f"{address(guarded, 'ws')}/api/engine", additional_headers=headers) as engine:
        engine.send('{"id": 1, "query": "version"}')
        assert engine.recv(60)
    beside = {"Cookie": f'of@another={{"program": 1}}; {name}={value}'}
    assert guarded.get("/api/info", headers=beside).is_success
    guarded.cookies.clear()
    assert guarded.get("/api/info", headers={"Authorization": f"Bearer {TOKEN}"}).is_success


def test_serve_refuses_no_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--no-browser", "--threads", "0"]) == 1
    assert "--threads must be 1 or more (got 0)" in capsys.readouterr().err


def test_token_is_generated_for_other_machines() -> None:
    assert Settings().token is None
    first, second = Settings(host="0.0.0.0"), Settings(host="192.168.1.2")
    assert first.token
    assert first.token != second.token
    assert second.address == f"http://192.168.1.2:8420/?token={second.token}"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2f..%2ferrors.py",
        "/static//etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/api/runs/..%2f..%2fetc",
        "/api/games/..%2f..%2fgames.sqlite/export",
    ],
)
def test_paths_do_not_reach_files_outside_the_pages(client: httpx.Client, path: str) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.split()[1] in (b"404", b"405", b"422")
    assert b"root:" not in answer
    assert b"import" not in answer


@pytest.mark.parametrize(
    "game", ["evil.py", "/tmp/evil.py", "ewn:setup=evil.py", "ewn.py:rules=paper", "../x.py"]
)
def test_no_game_is_loaded_from_a_file(
    client: httpx.Client, game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("evil.py", "ewn:setup=evil.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'loaded')!r}, 'w')")
    text = f'{{"format": 1, "game": "{game}", "players": ["", ""], "start": "", "steps": [], "result": null, '
    text += '"seed": 0, "number": 0}'
    players = {"MAX": "human", "MIN": "human"}
    answers = [
        client.get("/api/position", params={"game": game}),
        client.post("/api/position", json={"game": game, "position": "", "step": ""}),
        client.post("/api/games", json={"game": game, "players": players}),
        client.post("/api/import", json={"text": text}),
    ]
    assert {answer.status_code for answer in answers} == {422}
    assert not (tmp_path / "loaded").exists()


def test_long_requests_are_refused(client: httpx.Client) -> None:
    long = "x" * 3_000_000
    assert client.post("/api/import", json={"text": long}).status_code == 413
    assert client.post("/api/position", json={"game": long}).status_code == 413

    def parts() -> Iterator[bytes]:  # without a content length
        for _ in range(100):
            yield b" " * 10_000

    assert client.post("/api/games", content=parts()).status_code == 413
    answer = client.get("/api/position", params={"game": "ewn", "position": "A" * 3000})
    assert (answer.status_code, answer.json()["field"]) == (422, "position")
    game = begin(client)
    answer = client.post(f"/api/games/{game['id']}/steps", json={"at": 0, "step": "6" * 200})
    assert (answer.status_code, answer.json()["field"]) == (422, "step")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'"\xff"', b'{"at": 1e999}', b"[" * 5000, b'{"at": "\\ud800"}']
)
def test_malformed_requests_get_client_errors(client: httpx.Client, content: bytes) -> None:
    game = begin(client)
    for path in ("/api/position", "/api/games", f"/api/games/{game['id']}/steps", "/api/import"):
        answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
        assert 400 <= answer.status_code < 500, answer.text
        assert set(answer.json()) == {"error", "field"}


def test_port_in_use_is_reported(client: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    port = client.base_url.port
    assert main(["serve", "--no-browser", "--port", str(port)]) == 1
    assert f"port {port} is in use" in capsys.readouterr().err.replace("\n", " ")
    assert main(["serve", "--no-browser", "--port", "99999"]) == 1
    assert "port must be from 0 to 65535" in capsys.readouterr().err


def test_missing_extra_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("dicent.web.server", "uvicorn"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--no-browser"]) == 1
    assert "pip install 'dicent[web]'" in " ".join(capsys.readouterr().err.split())


def test_listening_socket_knows_its_protocol() -> None:
    """A socket that does not know its protocol gets no TCP_NODELAY, and each answer comes 40 ms late."""
    with _listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP

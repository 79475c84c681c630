"""A server for tests, in this process or in its own."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from dicent.game import registry
from dicent.web.server import Settings, serve

PATIENCE = 600.0  # seconds to wait for a server, also on a very slow machine
FIRST = {"MAX": "human", "MIN": "steady"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    """Yield a client of a server that runs in a thread. Its games are no longer offered afterwards."""
    chosen = Settings(**{"folder": folder, "runs": folder / "runs", "port": free_port(), **settings})
    ready, servers, offered = threading.Event(), list[Any](), dict(registry._offered)
    thread = threading.Thread(
        target=serve, args=(chosen, lambda server: (servers.append(server), ready.set()))
    )
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{chosen.port}", timeout=PATIENCE) as client:
            yield client
    finally:
        servers[0].should_exit = True
        thread.join(PATIENCE)
        registry._offered.clear()
        registry._offered.update(offered)


class Process:
    """A server in its own process, which may be killed."""

    def __init__(self, folder: Path, port: int, handles: int | None = None) -> None:
        """Start the server; `handles` limits the files and connections that it may open."""
        arguments = ["serve", "--no-browser", "--port", str(port), "--folder", str(folder)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "dicent.cli", *arguments]
        if handles is not None:
            command = ["sh", "-c", f'ulimit -n {handles}; exec "$0" "$@"', *command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self.client.get("/api/info")
                return
            except httpx.TransportError:
                assert self.process.poll() is None
                time.sleep(0.1)
        raise TimeoutError("the server does not answer")

    def stop(self, how: int = signal.SIGKILL) -> int:
        self.client.close()
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


def post(client: httpx.Client, path: str, **content: Any) -> dict[str, Any]:
    """Send a request and return the answer, which must be a success."""
    answer = client.post(path, json=content)
    assert answer.is_success, answer.text
    return dict(answer.json())


def begin(client: httpx.Client, **wanted: Any) -> dict[str, Any]:
    return post(client, "/api/games", **{"game": "ewn", "players": FIRST, **wanted})


def go_on(client: httpx.Client, game: dict[str, Any]) -> dict[str, Any]:
    """Make the next step of a game; a human plays the first legal action."""
    path, position = f"/api/games/{game['id']}", game["position"]
    seen = {"at": len(game["steps"])}
    if position["to_play"] == "CHANCE":
        return post(client, f"{path}/roll", **seen)
    if game["players"][position["to_play"]] == "human":
        return post(client, f"{path}/steps", **seen, step=position["actions"][0]["text"])
    return post(client, f"{path}/reply", **seen)


BY_HAND = {"players": {"MAX": "human", "MIN": "human"}, "dice": "hand"}
START = "ABC2/DE3/F3f/3de/2abc 1 -"


def step(client: httpx.Client, game: dict[str, Any], text: str) -> dict[str, Any]:
    return post(client, f"/api/games/{game['id']}/steps", at=len(game["steps"]), step=text)


def play(client: httpx.Client, game: dict[str, Any], *steps: str) -> dict[str, Any]:
    for text in steps:
        game = step(client, game, text)
    return game


def until(condition: Callable[[], Any]) -> Any:
    """Call `found` until it returns a true value; return that value."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found

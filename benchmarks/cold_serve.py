"""Measure a cold start of `dicent serve`: the board, the computer's first move and the first hint.

    python benchmarks/cold_serve.py [--rounds 5] [--game ewn] [--strength full] [--json FILE]

Each round starts two servers, each with an empty library and an empty cache of native code. Of both the
script measures the seconds from the start of the process to the first board. On the first server a person
then moves, and the script times the computer's reply; on the second one it times the first hint. It prints
the median of the rounds with the smallest and the largest value, the load of the machine and the version of
Python.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 600.0  # seconds for one answer, also on a very slow machine


@contextmanager
def cold_server(folder: Path) -> Iterator[tuple[httpx.Client, float]]:
    """Yield a client of a server with empty folders, and when its process was started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-P", "-m", "dicent.cli", "serve", "--no-browser", "--port", str(port)]
    command += ["--folder", str(folder / "library"), "--runs", str(folder / "runs")]
    environment = {**os.environ, "DICENT_CACHE": str(folder / "cache")}
    begin = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            yield client, begin
    finally:
        server.kill()
        server.wait()


def first_board(client: httpx.Client, game: str) -> None:
    """Ask for the page and the board until the server answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            for path in ("/", "/api/info", f"/api/position?game={game}"):
                client.get(path).raise_for_status()
            return
        except httpx.TransportError:
            time.sleep(0.02)
    raise SystemExit("the server does not answer")


def post(client: httpx.Client, path: str, **content: object) -> dict:
    return client.post(path, json=content).raise_for_status().json()


def first_decision(client: httpx.Client, game: str, strength: str) -> dict:
    """Begin a game, and roll until the person is to move."""
    found = post(client, "/api/games", game=game, players={"MAX": "human", "MIN": strength})
    return rolled(client, found)


def rolled(client: httpx.Client, game: dict) -> dict:
    """Roll the dice that are due."""
    while game["position"]["to_play"] == "CHANCE":
        game = post(client, f"/api/games/{game['id']}/roll", at=len(game["steps"]))
    return game


def measure_round(game: str, strength: str) -> dict[str, list[float]]:
    """Return the seconds of one round."""
    found: dict[str, list[float]] = {"board": [], "first move": [], "first hint": []}
    for what in ("first move", "first hint"):
        with tempfile.TemporaryDirectory() as folder, cold_server(Path(folder)) as (client, begin):
            first_board(client, game)
            found["board"].append(time.perf_counter() - begin)
            state = first_decision(client, game, strength)
            path = f"/api/games/{state['id']}"
            if what == "first move" and state["position"]["to_play"] == "MAX":
                step = state["position"]["actions"][0]["text"]
                state = rolled(client, post(client, f"{path}/steps", at=len(state["steps"]), step=step))
            asked = time.perf_counter()
            request = "reply" if state["position"]["to_play"] == "MIN" else "hint"
            post(client, f"{path}/{request}", at=len(state["steps"]))
            found[what].append(time.perf_counter() - asked)
    return found


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return the settings in the words of a command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--game", default="ewn")
    parser.add_argument("--strength", default="full")
    parser.add_argument("--json", type=Path, help="also write all values to this file")
    return parser.parse_args(words)


def main() -> None:
    given = arguments()
    seconds: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        for what, values in measure_round(given.game, given.strength).items():
            seconds.setdefault(what, []).extend(values)
    for what, values in seconds.items():
        middle = statistics.median(values)
        print(f"{what}: {middle:.2f} s ({min(values):.2f} to {max(values):.2f}, {len(values)} values)")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}")
    if given.json is not None:
        given.json.write_text(json.dumps({**vars(given), "json": None, "seconds": seconds, "load": load}))


if __name__ == "__main__":
    main()

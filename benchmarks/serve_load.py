"""Let many clients play at once; check that every move is answered and nothing is lost, and time the answers.

    python benchmarks/serve_load.py [MINUTES] [--games N] [--clients 50] [--think 0.5] [--strength advanced]

The script starts a server with its library in a temporary folder. Each client plays one game after another as
a browser does: it rolls, moves after some seconds, and asks for the reply of the computer. Two more analyse
until the others stop. Then the script kills the server, restarts it, and compares every game with the state
that its client saw last. With `--games` each client plays N games to their ends, however long that takes.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from websockets.asyncio.client import connect

PATIENCE = 600.0  # seconds for one answer, also on a very slow machine
KINDS = ("begin", "roll", "steps", "reply")
POSITION = "ABC2/DE3/F3f/3de/2abc 1 -"


class Load:
    def __init__(
        self, port: int, think: float, strength: str, until: float, games: int | None = None
    ) -> None:
        self.base, self.port = f"http://127.0.0.1:{port}", port
        self.think, self.strength, self.until = think, strength, until
        self.times: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.seen: dict[str, dict] = {}  # each game in its last answer
        self.failures: list[str] = []
        self.analyses = 0
        self.games = games  # games per client; None: until the time is over
        self.playing = 0  # number of active clients

    def is_over(self) -> bool:
        return self.games is None and time.monotonic() >= self.until

    async def client(self, number: int) -> None:
        chooser = random.Random(number)
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(base_url=self.base, timeout=PATIENCE, limits=limits) as client:
            await asyncio.sleep(chooser.random() * 2 * self.think)
            played = 0
            while not self.is_over() and played != self.games:
                await self.game(client, chooser)
                played += 1
        self.playing -= 1

    async def game(self, client: httpx.AsyncClient, chooser: random.Random) -> None:
        sides = chooser.sample(["human", self.strength], 2)
        players = dict(zip(("MAX", "MIN"), sides, strict=True))
        game = await self.ask(client, "begin", "/api/games", {"game": "ewn", "players": players})
        while game is not None and game["ended"] is None and not self.is_over():
            path, at = f"/api/games/{game['id']}", {"at": len(game["steps"])}
            position = game["position"]
            if position["to_play"] == "CHANCE":
                game = await self.ask(client, "roll", f"{path}/roll", at)
            elif players[position["to_play"]] != "human":
                game = await self.ask(client, "reply", f"{path}/reply", at)
            else:
                await asyncio.sleep(self.think * 2 * chooser.random())
                step = chooser.choice(position["actions"])["text"]
                game = await self.ask(client, "steps", f"{path}/steps", {**at, "step": step})

    async def ask(self, client: httpx.AsyncClient, kind: str, path: str, content: dict) -> dict | None:
        began = time.perf_counter()
        try:
            answer = await client.post(path, json=content)
        except httpx.HTTPError as error:
            self.failures.append(f"{kind}: {error!r}")
            return None
        self.times[kind].append(time.perf_counter() - began)
        if not answer.is_success:
            self.failures.append(f"{kind}: {answer.status_code} {answer.text[:200]}")
            return None
        game = answer.json()
        game.pop("link", None)  # only the answer to a new game has it
        expected = 0 if kind == "begin" else content["at"] + 1
        if len(game["steps"]) != expected:
            self.failures.append(f"{kind}: {len(game['steps'])} steps instead of {expected}")
        self.seen[game["id"]] = game
        return game

    async def analyst(self) -> None:
        query = {"query": "analyse", "game": "ewn", "position": POSITION, "every": 1, "limit": {"time": 20}}
        async with connect(f"ws://127.0.0.1:{self.port}/api/engine") as engine:
            while self.playing:
                await engine.send(json.dumps({"id": self.analyses, **query}))
                while json.loads(await engine.recv()).get("partial"):
                    if not self.playing:
                        return
                self.analyses += 1

    async def run(self, clients: int, analysts: int) -> None:
        self.playing = clients
        players = [self.client(number) for number in range(clients)]
        await asyncio.gather(*players, *(self.analyst() for _ in range(analysts)))


def start(folder: str, port: int) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "dicent.cli",
        "serve",
        "--no-browser",
        "--port",
        str(port),
        "--folder",
        folder,
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/info")
            return server
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def warm(port: int, strength: str) -> None:
    """Let the server compile its kernels, so that only playing is timed."""
    load = Load(port, 0, strength, time.monotonic() + 3600)

    async def one() -> None:
        async with httpx.AsyncClient(base_url=load.base, timeout=PATIENCE) as client:
            await load.game(client, random.Random(0))

    asyncio.run(one())


def lost(load: Load) -> list[str]:
    """Return the games that differ from the state that their client saw last."""
    with httpx.Client(base_url=load.base, timeout=PATIENCE) as client:
        return [id for id, game in load.seen.items() if client.get(f"/api/games/{id}").json() != game]


def report(load: Load, seconds: float, clients: int, gone: list[str]) -> dict:
    rows = {}
    print(
        f"{clients} clients, {seconds:.0f} s, strength {load.strength}, {load.think} s of thinking per move"
    )
    print(f"{'ms':8}{'requests':>9}{'median':>9}{'90 %':>9}{'99 %':>9}{'maximum':>9}")
    for kind in KINDS:
        times = sorted(load.times[kind])
        if not times:
            continue
        marks = [times[min(len(times) - 1, int(share * len(times)))] * 1000 for share in (0.5, 0.9, 0.99, 1)]
        rows[kind] = {"asked": len(times), "ms": marks}
        print(f"{kind:8}{len(times):9,}" + "".join(f"{mark:9.1f}" for mark in marks))
    ended = sum(game["ended"] is not None for game in load.seen.values())
    print(f"{len(load.seen):,} games, {ended:,} finished; {load.analyses} analyses of up to 20 s in parallel")
    print(f"{len(load.failures)} requests failed, {len(gone)} games differ after a kill and a restart")
    for failure in load.failures[:5]:
        print(f"  {failure}")
    return {
        "rows": rows,
        "failures": len(load.failures),
        "lost": len(gone),
        "games": len(load.seen),
        "ended": ended,
    }


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", type=float, nargs="?", default=5)
    parser.add_argument("--games", type=int, help="games per client; without a time limit")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--analysts", type=int, default=2)
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--strength", default="advanced")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        port = free_port()
        server = start(folder, port)
        warm(port, given.strength)
        began = time.monotonic()
        load = Load(port, given.think, given.strength, began + 60 * given.minutes, given.games)
        asyncio.run(load.run(given.clients, given.analysts))
        seconds = time.monotonic() - began
        server.send_signal(signal.SIGKILL)
        server.wait()
        server = start(folder, port)
        found = report(load, seconds, given.clients, lost(load))
        server.terminate()
        server.wait()
    return found


if __name__ == "__main__":
    found = main()
    sys.exit(bool(found["failures"] or found["lost"]))

"""Train several variations in parallel, each on its own cores, and measure each result.

    python benchmarks/sweep.py OUT --minutes 5 --cores 2 --games 2000 plain: wide:hidden=512 small:hidden=64

A variation is a name, a colon and settings that differ from the defaults. A line of JSON for each goes to
OUT/sweep.jsonl, with its scores against random and uct:1000 (three plies ahead, and one), and its accuracy on
exact endgames (one ply ahead: best moves and regret in win probability; bare: error of the win probability).
`--games 0` leaves the measurements out.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

from dicent.exact.sample import exact_sample


def parse(text: str) -> tuple[str, dict[str, object]]:
    name, _, settings = text.partition(":")
    given: dict[str, object] = {}
    for item in filter(None, settings.split(",")):
        key, _, value = item.partition("=")
        try:
            given[key] = json.loads(value)
        except json.JSONDecodeError:
            given[key] = value
    return name, given


def one(out: Path, text: str, minutes: float, games: int) -> None:
    """Train and measure one variation, in its own process."""
    import dicent
    from dicent.learn.config import config as make_config
    from dicent.learn.train import train

    name, settings = parse(text)
    preset = str(settings.pop("preset", "laptop"))
    latest = deque(maxlen=1)
    config = make_config(preset, **{"minutes": minutes, "measurements": 0, **settings})
    path = train(config, out / name, watch=latest.append)
    status = latest[0]
    network = dicent.load_network(path, device="cuda" if config.run.device == "cuda" else "cpu")
    row: dict[str, object] = {
        "name": name,
        "settings": settings,
        "minutes": minutes,
        "games": status.games,
        "evaluations": status.evaluations,
        "states": status.states,
        "self_play_seconds": round(status.self_play_seconds, 1),
        "learning_seconds": round(status.learning_seconds, 1),
    }
    if games:
        row |= measured(network, config.game, games)
    with open(out / "sweep.jsonl", "a") as file:
        file.write(json.dumps(row) + "\n")


def measured(network: object, text: str, games: int) -> dict[str, object]:
    """Return scores of a network, and its accuracy on exact endgames."""
    import dicent
    from dicent.play.player import Player

    row: dict[str, object] = {}
    players = {
        "one ply": Player(dicent.Greedy(network)),
        "three plies": Player(dicent.Expectiminimax(network), dicent.Limit(depth=3)),
    }
    for (how, player), opponent in itertools.product(players.items(), ("random", "uct:1000")):
        result = dicent.play_match(player, opponent, text, games, seed=1)
        row[f"{how} v {opponent}"] = [round(result.score, 4), *(round(end, 4) for end in result.interval)]
    game = dicent.make(text)
    sample = exact_sample(game, positions=100)
    ruled = dicent.accuracy(dicent.Greedy(network), sample, dicent.Limit(depth=1))[-1]
    row["endgames"] = {"decisions": ruled.decisions, "best": round(ruled.optimal.mean, 4)}
    row["endgames"] |= {"regret": round(ruled.regret.mean, 4)}
    row["endgames"]["error"] = round(dicent.accuracy(network, sample)[-1].error.mean, 4)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("variations", nargs="+")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--one", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.one:
        one(given.out, given.variations[0], given.minutes, given.games)
        return
    cores = sorted(os.sched_getaffinity(0))
    waiting = list(given.variations)
    free = [cores[i : i + given.cores] for i in range(0, len(cores) - given.cores + 1, given.cores)]
    running: list[tuple[subprocess.Popen[bytes], list[int]]] = []
    while waiting or running:
        while waiting and free:
            mine = free.pop()
            command = [sys.executable, __file__, str(given.out), waiting.pop(0), "--one"]
            command += ["--minutes", str(given.minutes), "--games", str(given.games)]
            pinned = ["taskset", "-c", ",".join(map(str, mine)), *command]
            running.append((subprocess.Popen(pinned), mine))
        for process, mine in list(running):
            if process.poll() is not None:
                running.remove((process, mine))
                free.append(mine)
        time.sleep(0.5)
    rows = [json.loads(line) for line in (given.out / "sweep.jsonl").read_text().splitlines()]
    for row in rows:
        scores = "  ".join(f"{key} {value[0]:.1%}" for key, value in row.items() if " v " in key)
        if "endgames" in row:
            scores += f"  best moves {row['endgames']['best']:.1%}"
        print(f"{row['name']:16} {row['games']:7} games {row['evaluations']:10} evaluations  {scores}")


if __name__ == "__main__":
    main()

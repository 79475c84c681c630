"""Play matches of several players against several opponents, each match split over the cores of the machine.

    python benchmarks/parallel_match.py ewn --players expectiminimax:NET,time=0.002 \\
        --against expectiminimax:net-official,depth=3 --games 4000

Players with a limit of time play one game at a time, so one process per core gives every player its own core.
Prints for each match A's score without luck and as it was, then the mean over A's, whose interval is over the
players (Student's distribution).
"""

import argparse
import itertools
import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from dicent import machine
from dicent.play.match import play_match
from dicent.stats.welch import student_quantile


def one_part(game: str, luck: str | None, games: int, part: tuple[str, str, int]) -> dict[str, object]:
    """Play one part of a match; return the shares of its pairs."""
    a, b, seed = part
    result = play_match(a, b, game, games, seed=seed, threads=1, luck=luck)
    adjusted = result.adjusted_pairs
    pairs = result.pairs
    return {
        "players": (a, b),
        "pairs": pairs.tolist(),
        "adjusted": (pairs if adjusted is None else adjusted).tolist(),
        "plies": int(result.plies.sum()),
        "seconds": result.seconds,
    }


def interval(shares: list[float]) -> tuple[float, float]:
    """Return the mean, and half of its 95 % interval."""
    values = np.array(shares)
    factor = student_quantile(0.95, len(values) - 1)
    return float(values.mean()), factor * float(values.std(ddof=1)) / len(values) ** 0.5


def in_words(shares: list[float]) -> str:
    mean, half = interval(shares)
    return f"{mean:.2%} ± {half:.2%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("--players", nargs="+", required=True)
    parser.add_argument("--against", nargs="+", required=True)
    parser.add_argument("--games", type=int, default=400, help="of each player against each opponent")
    parser.add_argument("--parts", type=int, help="of each match; by default as many as use all cores")
    parser.add_argument("--processes", type=int, default=machine.cores())
    parser.add_argument("--luck", help="the network that adjusts luck; by default one of the players'")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="append a line of JSON for each match")
    given = parser.parse_args()
    matches = list(itertools.product(given.players, given.against))
    parts = given.parts or -(-given.processes // len(matches))
    games = max(2, given.games // parts // 2 * 2)
    tasks = [(a, b, given.seed + 1000 * i) for i in range(parts) for a, b in matches]
    os.environ["OMP_NUM_THREADS"] = "1"
    spawn = multiprocessing.get_context("spawn")
    results: dict[tuple[str, str], list[dict]] = {match: [] for match in matches}
    with ProcessPoolExecutor(given.processes, spawn) as pool:
        for found in pool.map(partial(one_part, given.game, given.luck, games), tasks):
            results[found["players"]].append(found)
    means: dict[str, list[float]] = {}
    for (a, b), found in results.items():
        pairs, adjusted = ([x for part in found for x in part[key]] for key in ("pairs", "adjusted"))
        seconds, plies = (sum(part[key] for part in found) for key in ("seconds", "plies"))
        means.setdefault(a, []).append(float(np.mean(adjusted)))
        print(f"{a} v {b}: {in_words(adjusted)} luck-adjusted, {in_words(pairs)} as played", end="")
        print(f", {2 * len(pairs)} games, {1000 * seconds / plies:.1f} ms per ply", flush=True)
        if given.out:
            row = {
                "a": a,
                "b": b,
                "games": 2 * len(pairs),
                "adjusted": interval(adjusted),
                "score": interval(pairs),
            }
            with open(given.out, "a") as file:
                file.write(json.dumps(row) + "\n")
    if len(means) > 1:
        print(f"mean over {len(means)} players: {in_words([float(np.mean(m)) for m in means.values()])}")


if __name__ == "__main__":
    main()

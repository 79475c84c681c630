"""Native against dense networks, learned side by side from zero, at equal processor time per move.

    python benchmarks/equal_time.py FOLDER learn --minutes 1
    python benchmarks/equal_time.py FOLDER play --rounds 10
    python benchmarks/equal_time.py FOLDER table

`docs/lab/performance.md` settles games, seeds and numbers. `learn` trains a dense and a sparse network of
each game and seed at the same time, one core each. `play` plays every sparse network against every dense one;
finished matches are kept, so that the same command resumes. All times are processor time of the process that
learns or plays, so other programs on the machine take nothing from either side.

Connect Four begins after four random moves, since players without dice would repeat one game.
"""

import argparse
import inspect
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dicent
from dicent import machine
from dicent.exact.accuracy import mean_of
from dicent.games import connect_four
from dicent.learn.config import config
from dicent.learn.train import train
from dicent.search.tree_search import Search
from dicent.stats.intervals import pair_interval

DICE = f"{Path(__file__).with_name('ewn_dice.py').resolve()}:dice=3"
GAMES = ("connect-four", "ewn-dice")
KINDS = ("dense", "sparse")
DENSE_PLAYERS = ("expectiminimax", "descent")
MOVE = 0.1  # seconds
FIRST_MOVES = 4
START = "def initial(s, rng):\n    s[:] = 0\n    s[MOVER] = MAX\n"
OPENED = f"    for _ in range({FIRST_MOVES}):\n        apply_action(s, draw(rng, COLUMNS))\n"


def game_of(folder, name):
    """Return the text of a game; Connect Four gets random first moves."""
    if name != "connect-four":
        return DICE
    source, file = inspect.getsource(connect_four), folder / "connect_four_opened.py"
    assert START in source
    changed = source.replace(START, START + OPENED).replace("import CHANCE", "import draw, CHANCE")
    if not file.exists():
        file.write_text(changed, encoding="utf-8")
    return str(file.resolve())


def learn_one(folder, name, kind, seed, minutes):
    """Train one network, in its own process, whose minutes are those of its processor time."""
    time.monotonic = time.process_time
    settings = {"game": game_of(folder, name), "network": kind, "seed": seed, "measurements": 0, "threads": 1}
    latest = []
    train(
        config("laptop", minutes=minutes, device="cpu", **settings),
        folder / f"{name}-{kind}-{seed}",
        watch=lambda status: latest.__setitem__(slice(None), [status]),
    )
    row = {"game": name, "kind": kind, "seed": seed, "games": latest[0].games}
    row |= {"evaluations": latest[0].evaluations, "seconds": round(time.process_time(), 1)}
    with open(folder / "learned.jsonl", "a") as file:
        file.write(json.dumps(row) + "\n")


def learned(folder):
    """Return the rows of the finished networks by game, kind and seed."""
    return {(row["game"], row["kind"], row["seed"]): row for row in rows_of(folder / "learned.jsonl")}


def rows_of(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def learn(folder, games, seeds, minutes):
    """Train what is missing, both networks of a game and seed at the same time."""
    cores = machine.numbered_cores()
    for seed, name in itertools.product(seeds, games):
        missing = [kind for kind in KINDS if (name, kind, seed) not in learned(folder)]
        running = []
        for i, kind in enumerate(missing):
            core = cores[(i + seed) % len(cores)]
            command = [sys.executable, __file__, str(folder), "one", "--games-of", name, "--kind", kind]
            command += ["--seeds", str(seed), "--minutes", str(minutes)]
            running.append(subprocess.Popen(["taskset", "-c", str(core), *command]))
        if any(process.wait() for process in running):
            sys.exit(f"{name}, seed {seed}: a run failed")


def play(folder, games, searches, rounds):
    """Play the matches that are missing, one game at a time; a round has four games of every two networks."""
    Search.clock = staticmethod(time.thread_time)
    seeds = {name: sorted({s for n, _, s in learned(folder) if n == name}) for name in games}
    done = {tuple(row["match"]) for row in rows_of(folder / "matches.jsonl")}
    for number, name, search in itertools.product(range(rounds), games, searches):
        game = dicent.make(game_of(folder, name))
        for a, b in itertools.product(seeds[name], seeds[name]):
            if (name, search, a, b, number) in done:
                continue
            sparse, dense = (folder / f"{name}-{kind}-{seed}" for kind, seed in (("sparse", a), ("dense", b)))
            result = dicent.play_match(
                f"expectiminimax:{sparse},time={MOVE},prune",
                f"{search}:{dense},time={MOVE}",
                *(game, 4),
                seed=100 * number + 10 * a + b,
                threads=1,
                luck=str(sparse) if game.num_outcomes else None,
            )
            adjusted = result.adjusted_pairs
            row = {"match": (name, search, a, b, number), "pairs": result.pairs.tolist()}
            row["adjusted"] = (result.pairs if adjusted is None else adjusted).tolist()
            row["seconds"] = result.seconds_per_move
            with open(folder / "matches.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")


def ends(adjusted):
    """Return the ends of the interval of luck-adjusted pairs."""
    found = mean_of(adjusted)
    return found.low, found.high


def table(folder):
    """Print what was learned and how the matches ended."""
    for name, kind in itertools.product(GAMES, KINDS):
        some = [row for key, row in learned(folder).items() if key[:2] == (name, kind)]
        for key in ("games", "evaluations", "seconds"):
            print(name, kind, key, *(row[key] for row in some))
    print("| game | search of the dense network | games | score of the sparse network | each pair | ms |")
    print("|---|---|---|---|---|---|")
    for name, search in itertools.product(GAMES, DENSE_PLAYERS):
        rows = [r for r in rows_of(folder / "matches.jsonl") if r["match"][:2] == [name, search]]
        if not rows:
            continue
        pairs = np.concatenate([row["adjusted"] for row in rows])
        low, high = pair_interval(pairs) if name == "connect-four" else ends(pairs)
        means: dict[tuple[int, int], list[float]] = {}
        for row in rows:
            means.setdefault(tuple(row["match"][2:4]), []).extend(row["adjusted"])
        each = ", ".join(f"{np.mean(shares):.1%}" for _, shares in sorted(means.items()))
        a, b = (1000 * np.mean([row["seconds"][side] for row in rows]) for side in (0, 1))
        print(
            f"| {name} | {search} | {2 * len(pairs)} | {pairs.mean():.1%} ({low:.1%} to {high:.1%}) "
            f"| {each} | {a:.0f}, {b:.0f} |"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", choices=("learn", "one", "play", "table"))
    parser.add_argument("--games-of", nargs="+", default=GAMES, choices=GAMES)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--searches", nargs="+", default=DENSE_PLAYERS, choices=DENSE_PLAYERS)
    parser.add_argument("--rounds", type=int, default=10, help="of four games of every two networks")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.work == "learn":
        learn(given.folder, given.games_of, given.seeds, given.minutes)
    elif given.work == "one":
        learn_one(given.folder, given.games_of[0], given.kind, given.seeds[0], given.minutes)
    elif given.work == "play":
        play(given.folder, given.games_of, given.searches, given.rounds)
    else:
        table(given.folder)


if __name__ == "__main__":
    main()

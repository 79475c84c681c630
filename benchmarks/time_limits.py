"""Measure by how much searches exceed limits of time, on an idle and on a busy machine.

    python benchmarks/time_limits.py --load 4

Each search runs at positions of random games of `ewn` with each limit. The time is taken outside the search.
With `--load N` it is measured once more beside N processes that never pause. The worst overrun is reported,
in milliseconds, beside the median. On a busy machine it includes what the system gives to other processes.
"""

import argparse
import subprocess
import sys
import time
from statistics import median

import numpy as np

import dicent
from dicent.search.warm_up import warm_up

PLAYERS = (
    "expectiminimax:net-official-sparse,prune",
    "expectiminimax:net-official-sparse",
    "descent:net-official-sparse",
    "unbounded:net-official-sparse",
    "uct",
    "expectiminimax:net-official",
    "descent:net-official",
)
LIMITS = (0.01, 0.1, 1.0)
BUSY = "while True: pass"


def positions(count: int) -> list[dicent.State]:
    """Return decisions of random games."""
    game, rng, found = dicent.make("ewn"), np.random.default_rng(1), []
    for seed in range(count):
        state = game.initial_state(seed)
        for _ in range(1 + 3 * (seed % 6)):
            if state.is_chance:
                state = state.apply_outcome(int(rng.integers(len(state.outcomes))))
            following = state.apply(int(rng.choice(state.legal_actions)))
            if following.result is not None:
                break
            state = following
        found.append(state.apply_outcome(0) if state.is_chance else state)
    return found


def overruns(search: dicent.Search, states: list[dicent.State], seconds: float) -> list[float]:
    """Return the seconds beyond the limit at each position."""
    found = []
    for state in states:
        begin = time.perf_counter()
        search.analyse(state, dicent.Limit(time=seconds))
        found.append(time.perf_counter() - begin - seconds)
    return found


def report(title: str, players: list[str], count: int) -> None:
    """Print a table of the worst overruns."""
    print(f"| {title} | " + " | ".join(f"{seconds:g} s" for seconds in LIMITS) + " |")
    print("|---" * (len(LIMITS) + 1) + "|")
    for text in players:
        search, cells = dicent.parse_player(text).search, []
        states = positions(count)
        warm_up(search, states[0])
        for seconds in LIMITS:
            found = overruns(search, states, seconds)
            cells.append(f"{1000 * max(found):+.1f} ({1000 * median(found):+.1f})")
        print(f"| `{text}` | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--players", nargs="+", default=list(PLAYERS))
    parser.add_argument("--positions", type=int, default=12)
    parser.add_argument("--load", type=int, default=0, help="processes beside the measured one")
    given = parser.parse_args()
    report("worst overrun (median), ms", given.players, given.positions)
    if given.load:
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(given.load)]
        try:
            report(f"the same beside {given.load} busy processes", given.players, given.positions)
        finally:
            for other in others:
                other.kill()


if __name__ == "__main__":
    main()

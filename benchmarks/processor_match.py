"""A match whose limits of time count processor time, so that other programs take nothing from either side.

    python benchmarks/processor_match.py expectiminimax:net-official-sparse,time=0.01,prune uct:1000

Each round plays 20 games of EWN with its own seed, luck-adjusted with `net-official-sparse`.
"""

import argparse
import time

import numpy as np

import dicent
from dicent.exact.accuracy import mean_of
from dicent.search.tree_search import Search


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("players", nargs=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=700)
    given = parser.parse_args()
    Search.clock = staticmethod(time.thread_time)
    pairs = []
    for seed in range(given.seed, given.seed + given.rounds):
        match = dicent.play_match(*given.players, "ewn", 20, seed=seed, threads=1, luck="net-official-sparse")
        pairs.append(match.adjusted_pairs)
        found = mean_of(np.concatenate(pairs))
        score = f"{100 * found.mean:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"
        print(f"{20 * len(pairs):,} games: {score}", flush=True)


if __name__ == "__main__":
    main()

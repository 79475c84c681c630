"""Compare the speed of Descent and Unbounded on a game with cycles and on one without, of the same branching.

The games are mazes (`tests/data/mazes.py`). In the large ones the searches expand new states all the time.
The small one with cycles is soon known completely: then iterations only back up values, and the limit charges
their steps. Each figure is the median of several interleaved runs, in CPU time of one thread, with random
values in place of a network.
"""

import argparse
import statistics
import time
from pathlib import Path

import dicent
from dicent.evaluate.native import RandomEvaluator
from dicent.search.descent import Descent
from dicent.search.unbounded import Unbounded

MAZES = Path(__file__).parent.parent / "tests" / "data" / "mazes.py"
GAMES = {
    "large, without cycles": {"rooms": 1_000_000, "layered": True},
    "large, with cycles": {"rooms": 1_000_000},
    "small, with cycles": {"rooms": 8},
}
NUMBERS = 1, 2, 3, 5  # of mazes whose values are not proved soon


def speed(search: Descent | Unbounded, start: dicent.State, evaluations: int) -> float:
    """Return evaluations, or steps that are charged as one, per second of CPU time."""
    begin = time.process_time()
    analysis = search.analyse(start, dicent.Limit(evaluations=evaluations))
    seconds = time.process_time() - begin
    if analysis.proved:
        raise ValueError(f"{start} is proved after {analysis.evaluations} evaluations, too few to measure")
    return evaluations / seconds


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    games = {name: dicent.load(MAZES, **options) for name, options in GAMES.items()}
    for kind in (Descent, Unbounded):
        found: dict[str, list[float]] = {name: [] for name in games}
        for turn in range(chosen.rounds + 1):
            for name, game in games.items():
                start = game.state([NUMBERS[turn % len(NUMBERS)], 0, 0])
                measured = speed(kind(RandomEvaluator(seed=turn)), start, chosen.evaluations)
                if turn > 0:  # the first one compiles
                    found[name].append(measured)
        base = statistics.median(found["large, without cycles"])
        for name, speeds in found.items():
            middle = statistics.median(speeds)
            low, high = min(speeds) / base, max(speeds) / base
            print(
                f"{kind.__name__:10} {name:22} {middle:12,.0f} evaluations/s  "
                f"{middle / base:5.2f} ({low:.2f} to {high:.2f}) of the game without cycles"
            )


if __name__ == "__main__":
    main()

"""Solve whole games with cycles, and print states, time and memory of each.

    python benchmarks/solve_games.py ur-blitz:pieces=7 ur hypergammon
    python benchmarks/solve_games.py ur:pieces=5 --stages

Games are solved one after the other, each in a process of its own, on all cores. A game that does not fit
into the free memory is refused by the solver, and the next one follows. Values are for the first player. The
first time includes compiling, about 20 s.
"""

import argparse
import multiprocessing
import resource
import time

import dicent
from dicent.errors import DicentError
from dicent.exact.graph_solver import GraphSolver
from dicent.exact.progress import SolveProgress
from dicent.kernels.graph import MOST_NODES

EVERY = 20.0  # seconds between lines of progress


def solve(name: str, values: str | None, stages: bool) -> None:
    """Solve a game and print a row of the table."""
    game = dicent.make(name)
    scores = game.has_score if values is None else values == "score"
    solver = GraphSolver(game, MOST_NODES, scores)
    begin, ends, shown = time.perf_counter(), {}, 0.0

    def note(progress: SolveProgress) -> None:
        nonlocal shown
        now = time.perf_counter() - begin
        ends[progress.stage] = now
        if stages and now - shown > EVERY:
            shown = now
            print(
                f"  {now:6.0f} s: {progress.states:,} states, {progress.share:.0%} {progress.stage}",
                flush=True,
            )

    try:
        low, high = solver.bounds_of(game.initial_state(), note)
    except DicentError as error:
        print(f"| `{game.name}` | {error} |", flush=True)
        return
    seconds = time.perf_counter() - begin
    report, value = solver.report, (low + high) / 2
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    shown_value = f"{value:+.12f} points" if scores else f"{(1 + value) / 2:.12%}"
    parts = ", ".join(f"{stage} {end:.0f}" for stage, end in ends.items())
    print(
        f"| `{game.name}` | {shown_value} | {report.states:,} | {report.links / report.states:.1f} | "
        f"{report.components:,} | {report.largest:,} | {report.sweeps:,} | {report.bound:.0e} | "
        f"{seconds:.0f} s ({parts}) | {report.memory / 1e9:.2f} GB, peak {peak / 1e9:.2f} GB |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", nargs="+")
    parser.add_argument("--values", choices=("score", "gain"))
    parser.add_argument("--stages", action="store_true", help="print progress")
    chosen = parser.parse_args()
    print("| game | value | states | links a state | components | largest | sweeps | bound | time | memory |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    spawning = multiprocessing.get_context("spawn")
    for name in chosen.game:
        process = spawning.Process(target=solve, args=(name, chosen.values, chosen.stages))
        process.start()
        process.join()
        if process.exitcode:
            print(f"| `{name}` | ended with status {process.exitcode} |", flush=True)


if __name__ == "__main__":
    main()

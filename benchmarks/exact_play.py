"""Solve hypergammon and the Royal Game of Ur, and measure networks and searches against exact play.

    python benchmarks/exact_play.py runs/exact --minutes 5 --seconds 480 --ur 5 6 7

Two networks learn hypergammon from the first second on, two cores each, one for wins and one for points.
All other cores solve: hypergammon for wins and for points, then Ur with more pieces. In between, exact play
meets `uct:200`. Then the networks are measured. Every part is a process of its own, which ends at the latest
when the seconds have passed. Parts can be run alone:

    python benchmarks/exact_play.py runs/exact solve hypergammon score
    python benchmarks/exact_play.py runs/exact play exact uct:200 gain
    python benchmarks/exact_play.py runs/exact accuracy gain
"""

import argparse
import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import dicent
from dicent import machine
from dicent.errors import DicentError
from dicent.exact.accuracy import Estimate, accuracy
from dicent.exact.progress import SolveProgress
from dicent.exact.sample import exact_sample
from dicent.exact.solution_file import ExactEvaluator, load_solution, save_solution
from dicent.exact.solver import Solver
from dicent.kernels.graph import MOST_NODES
from dicent.play.player import parse_player

EVERY = 10.0  # seconds between lines of progress
TRAINED = 4  # cores that the two trainings share


@dataclass(frozen=True)
class Place:
    """Where the files are, and the game that networks learn."""

    folder: Path
    game: str


def solve(at: Place, name: str, values: str) -> None:
    """Solve a game, save hypergammon, and print what it took."""
    game = dicent.make(name)
    solver = Solver(game, MOST_NODES, values=values)
    begin, ends, shown = time.perf_counter(), {}, 0.0

    def note(progress: SolveProgress) -> None:
        nonlocal shown
        now = time.perf_counter() - begin
        ends[progress.stage] = now
        if now - shown > EVERY:
            shown = now
            print(f"{now:.0f} s: {progress.states:,} states, {progress.share:.0%} {progress.stage}")

    start = game.initial_state()
    try:
        value = solver.value_of(start, note)
    except DicentError as error:
        print(f"after {time.perf_counter() - begin:.0f} s: {error}")
        return
    seconds = time.perf_counter() - begin
    spans = (
        f"{stage} {last - first:.1f} s"
        for (stage, last), first in zip(ends.items(), [0.0, *ends.values()], strict=False)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{game.name}, {values}: value {value:+.13f}, as a share of wins {(1 + value) / 2:.13%}")
    print(f"{seconds:.1f} s on {machine.cores()} cores ({', '.join(spans)}), peak {peak / 1e9:.2f} GB")
    assert solver.report is not None
    print(solver.report.in_words())
    if name == at.game:
        save_solution(solution_of(at, values), solver)
        print(f"saved after {time.perf_counter() - begin:.1f} s")
        for who, side in (("MAX", dicent.MAX), ("MIN", dicent.MIN)):
            rolled = [(start.apply_outcome(o), p) for o, p in start.outcomes]
            ours = [(solver.value_of(state), p) for state, p in rolled if state.to_play == side]
            mean = sum(v * p for v, p in ours) / sum(p for _, p in ours)
            print(f"{who} has won the opening roll: {side * mean:+.13f} for {who}")


def train(at: Place, minutes: float, terminal: str) -> None:
    """Train a network with the default settings, for wins (gain) or points (score)."""
    from dicent.learn.train import train

    config = dicent.config("laptop", game=at.game, minutes=minutes, terminal=terminal)
    print(train(config, at.folder / f"run-{terminal}"))


def play(at: Place, a: str, b: str, values: str, games: int) -> None:
    """Play a match; the judge of luck has the exact values."""
    game = dicent.make(at.game)
    judge = ExactEvaluator(load_solution(solution_of(at, values)))
    players = [parse_player(text_of(at, name, values)) for name in (a, b)]
    match = dicent.play_match(*players, game, games=games, seed=1, luck=judge)
    low, high = match.interval
    print(f"{a} against {b}, {values}, {games} games, {match.seconds:.0f} s")
    print(f"wins of {a}: {match.score:.2%} ({low:.2%} to {high:.2%})")
    if values == "gain":
        low, high = match.adjusted_interval
        print(f"wins, luck-adjusted: {match.adjusted:.2%} ({low:.2%} to {high:.2%})")
    elif match.points is not None:
        low, high = match.points.interval
        print(f"points per game: {match.points.mean:+.4f} ({low:+.4f} to {high:+.4f})")
        if match.points.adjusted is not None:
            low, high = match.points.adjusted_interval
            print(f"points, luck-adjusted: {match.points.adjusted:+.5f} ({low:+.5f} to {high:+.5f})")


def measure(at: Place, values: str, positions: int) -> None:
    """Measure a network on random decisions of the whole game."""
    game, solution = dicent.make(at.game), load_solution(solution_of(at, values))
    sample = exact_sample(game, positions, values=values, solution=solution)
    network = dicent.load_network(network_of(at, values))
    for label, player in (
        ("network alone", network),
        ("one ply ahead", dicent.Greedy(network)),
        ("three plies ahead", dicent.Expectiminimax(network)),
    ):
        few = sample if label != "three plies ahead" else sample[: positions // 10]
        limit = dicent.Limit(depth=3) if label == "three plies ahead" else None
        row = accuracy(player, few, limit)[-1]
        print(
            f"{label}: {row.decisions} decisions, {values}, error {shown(row.error)}, worst {row.worst:.4f}"
        )
        if row.optimal is not None and row.regret is not None:
            print(f"{label}: best moves {shown(row.optimal)}, lost by a decision {shown(row.regret)}")


def shown(estimate: Estimate) -> str:
    """Return a mean with its interval."""
    return f"{estimate.mean:.6f} ({estimate.low:.6f} to {estimate.high:.6f})"


def solution_of(at: Place, values: str) -> Path:
    """Return the file of the game's solution."""
    return at.folder / f"solution-{values}"


def network_of(at: Place, values: str) -> Path:
    """Return the folder of the run for these values."""
    return at.folder / f"run-{values}"


def text_of(at: Place, name: str, values: str) -> str:
    """Return the text of a player; `exact`, `network` and `network-3` stand for those of these values."""
    return {
        "exact": f"greedy:solution={solution_of(at, values)}",
        "network": f"greedy:{network_of(at, values)}",
        "network-3": f"expectiminimax:{network_of(at, values)},depth=3",
    }.get(name, name)


class Lane:
    """Parts that run one after the other on some cores, with their output line by line."""

    def __init__(self, at: Place, cores: list[int], begin: float, seconds: float) -> None:
        self.at, self.cores, self.begin, self.seconds = at, cores, begin, seconds

    def run(self, *part: object) -> None:
        """Run a part in a process of its own, until the seconds have passed."""
        label, left = " ".join(map(str, part)), self.begin + self.seconds - time.perf_counter()
        if left <= 0:
            print(f"[{label}] not started: no time left", flush=True)
            return
        own = [str(self.at.folder), *map(str, part), "--game", self.at.game]
        command = [sys.executable, "-u", __file__, *own]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cores),
        )
        stop = threading.Timer(left, process.kill)
        stop.start()
        assert process.stdout is not None
        for line in process.stdout:
            print(f"[{time.perf_counter() - self.begin:3.0f} s, {label}] {line}", end="", flush=True)
        code = process.wait()
        stop.cancel()
        if code:
            print(f"[{time.perf_counter() - self.begin:3.0f} s, {label}] ended with {code}", flush=True)


def run_all(at: Place, minutes: float, seconds: float, pieces: list[int], games: int) -> None:
    """Train and solve side by side, then measure."""
    begin, cores = time.perf_counter(), sorted(os.sched_getaffinity(0))
    few = min(TRAINED, max(1, len(cores) // 2))
    two = [cores[:few][i::2] or cores[:1] for i in range(2)]
    rest = cores[few:] or cores
    kinds = ("gain", "score")
    solved = {kind: threading.Event() for kind in kinds}

    def learn(kind: str, own: list[int]) -> None:
        lane = Lane(at, own, begin, seconds)
        lane.run("train", kind, minutes)
        solved[kind].wait()
        lane.run("play", "network", "exact", kind, games)
        lane.run("accuracy", kind, games)
        lane.run("play", "network-3", "exact", kind, games // 4)
        lane.run("play", "network", "uct:200", kind, games)

    def find() -> None:
        lane = Lane(at, rest, begin, seconds)
        try:
            lane.run("solve", at.game, "gain")
            solved["gain"].set()
            lane.run("play", "exact", "uct:200", "gain", games)
            lane.run("solve", at.game, "score")
        finally:
            for event in solved.values():
                event.set()
        lane.run("play", "exact", "uct:200,terminal=score", "score", games)
        for count in pieces:
            lane.run("solve", f"ur:pieces={count}", "gain")

    jobs = [(learn, (kind, own)) for kind, own in zip(kinds, two, strict=True)]
    threads = [threading.Thread(target=job, args=arguments) for job, arguments in [(find, ()), *jobs]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Run a part, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("part", nargs="*", metavar="PART", help="solve, play, accuracy or train; else all")
    parser.add_argument("--game", default="hypergammon", help="that networks learn; it must have a score")
    parser.add_argument("--minutes", type=float, default=5.0, help="of each training")
    parser.add_argument("--seconds", type=float, default=480.0, help="of all parts together")
    parser.add_argument("--ur", type=int, nargs="*", default=[5, 6], help="numbers of pieces")
    parser.add_argument("--games", type=int, default=1000, help="games of a match, decisions of a sample")
    chosen = parser.parse_intermixed_args()
    at, part = Place(chosen.folder, chosen.game), chosen.part
    at.folder.mkdir(parents=True, exist_ok=True)
    if not part:
        run_all(at, chosen.minutes, chosen.seconds, chosen.ur, chosen.games)
    elif part[0] == "solve":
        solve(at, *part[1:])
    elif part[0] == "train":
        train(at, float(part[2]), part[1])
    elif part[0] == "play":
        play(at, *part[1:4], int(part[4]) if len(part) > 4 else chosen.games)
    elif part[0] == "accuracy":
        measure(at, part[1], int(part[2]) if len(part) > 2 else chosen.games)
    else:
        parser.error(f"PART must be solve, play, accuracy or train (got {part[0]})")


if __name__ == "__main__":
    main()

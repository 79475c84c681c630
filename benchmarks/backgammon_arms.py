"""The paper's searches with 21 outcomes: learn hypergammon and backgammon with each, and compare.

    python benchmarks/backgammon_arms.py FOLDER hypergammon --solution hypergammon.solution
    python benchmarks/backgammon_arms.py FOLDER backgammon

`docs/lab/backgammon.md` settles arms, budgets, seeds and rulers. An arm is a search with a terminal value.
All arms have the same evaluations per move, cut off there, and learn for the same time, one core each. The
last networks meet after equal time, snapshots after equal evaluations, one ply ahead. FOLDER/GAME gets
pairs.csv, runs.csv and errors.csv. Finished runs and matches are reused, so that the same command resumes.
`dicent solve hypergammon --save hypergammon.solution` makes the exact ruler of hypergammon; that of
backgammon is `backgammon.jsonl.gz`. `--learn` leaves matches and errors to a later call. `--minutes` stops
after so many minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from reproduction_studies import ALONE, costs_of, is_finished

import dicent
from dicent import machine
from dicent.evaluate.network_file import load_network
from dicent.exact.decision_file import read_decisions
from dicent.exact.sample import Decision, exact_sample
from dicent.exact.solution_file import load_solution
from dicent.learn.config import Config
from dicent.learn.snapshots import EVALUATIONS, snapshots
from dicent.play.tournament import play_tournament
from dicent.reproduction.learning import Learners, Task
from dicent.reproduction.pairs import END, ERRORS, PAIRS, RUNS, Cost, Error, Pair, pairs_of, write_rows

SEARCHES = ("descent", "expectiminimax", "determinized")
TERMINALS = ("gain", "score")
ARMS = [(search, terminal) for search in SEARCHES for terminal in TERMINALS]
SEED = 20_000
BENCHMARK = Path(__file__).with_name("backgammon.jsonl.gz")
Say = Callable[[str], object]


class Size(NamedTuple):
    """How much is learned, played and measured."""

    seconds: float
    networks: int
    games: int = 400  # of each pair of networks
    positions: int = 2000  # of the exact ruler
    settings: dict[str, Any] = {}  # noqa: RUF012


SIZES = {"hypergammon": Size(seconds=150.0, networks=4), "backgammon": Size(seconds=300.0, networks=2)}
SETTINGS: dict[str, Any] = {
    "evaluations_per_move": 400,
    "whole_descents": False,
    "snapshot_evaluations": 1_000_000,
    "symmetries": True,
}


def runs(game: str, size: Size) -> dict[str, Config]:
    """Return the settings of all runs by their names; arms alternate, so that a break leaves whole sets."""
    found = {}
    for number in range(1, size.networks + 1):
        for k, (search, terminal) in enumerate(ARMS):
            changes = {**SETTINGS, **size.settings}
            if search == "expectiminimax":
                changes.pop("whole_descents", None)
            found[f"{search}-{terminal}-{number}"] = ALONE.replace(whole_descents=False).replace(
                game=game,
                search=search,
                terminal=terminal,
                seed=SEED + 100 * number + k,
                minutes=size.seconds / 60,
                **changes,
            )
    return found


def learn(home: Path, wanted: dict[str, Config], end: float, say: Say) -> None:
    """Train the networks that are missing, as many at the same time as there are cores."""
    left = [name for name in wanted if not is_finished(home / name)]
    at_once = min(len(left), machine.cores())
    if not left:
        return
    with Learners(at_once, say, each=1) as learners:
        learners.compile([wanted[name] for name in left[:at_once]])
        for first in range(0, len(left), at_once):
            together = left[first : first + at_once]
            tasks = [Task(wanted[name], home / name) for name in together]
            learners.learn(tasks, end - time.monotonic(), lambda i, progress: None)
            say(f"learned: {', '.join(together)}")


def play(
    home: Path, game: dicent.Game, names: Sequence[str], games: int, stop: Callable[..., None]
) -> Iterator[Pair]:
    """Play the networks of all arms against each other, after equal time and after equal evaluations."""
    points = {END: {name: home / name for name in names}}
    found = {name: snapshots(home / name, EVALUATIONS) for name in names}
    if common := set.intersection(*map(set, found.values())):
        points[f"{EVALUATIONS}-{max(common)}"] = {name: found[name][max(common)] for name in names}
    judge = load_network(home / "descent-score-1", "cpu", compiled=True)
    for point, networks in points.items():
        players = [
            dicent.Player(dicent.Greedy(load_network(path, "cpu")), dicent.Limit(depth=1), name)
            for name, path in networks.items()
        ]
        result = play_tournament(
            *(home / "matches" / point, players, game, games, SEED), luck=judge, progress=stop
        )
        yield from pairs_of(game.name, point, result)


def ruler(game: dicent.Game, positions: int, solution: Path | None) -> list[Decision]:
    """Return decisions in points: of the benchmark for backgammon, else exact ones."""
    if game.name == "backgammon":
        return read_decisions(BENCHMARK, game)[:positions]
    stored = None if solution is None else load_solution(solution, game)
    return exact_sample(game, positions, values="score", solution=stored)


def errors(
    game: dicent.Game, home: Path, names: Sequence[str], sample: Sequence[Decision]
) -> Iterator[Error]:
    """Return the error of each network in its own unit, and the points that it loses one ply ahead.

    Networks of results have no points: their error is not a number.
    """
    for name in names:
        network = load_network(home / name, "cpu")
        player, limit = dicent.Greedy(network), dicent.Limit(depth=1)
        lost = [decision.lost_by(player.play(decision.state, limit)) for decision in sample]
        error = float("nan")
        if network.in_points:
            states = np.array([decision.state.cells for decision in sample])
            exact = np.array([decision.value for decision in sample])
            error = float(np.abs(network.evaluate(game, states) - exact).mean())
        yield Error(game.name, name, error, float(np.mean(lost)))


def run(
    folder: Path,
    game: str,
    size: Size,
    solution: Path | None = None,
    end: float = np.inf,
    say: Say = print,
    only_learn: bool = False,
) -> None:
    """Learn, play and measure what is missing, and write the tables."""
    made, wanted = dicent.make(game), runs(game, size)
    home = folder / made.name.replace(":", "-")

    def stop(*_: object) -> None:
        if time.monotonic() > end:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        learn(home, wanted, end, say)
        if not only_learn and all(is_finished(home / name) for name in wanted):
            pairs = list(play(home, made, list(wanted), size.games, stop))
            write_rows(home / PAIRS, Pair, pairs)
            sample = ruler(made, size.positions, solution)
            write_rows(home / ERRORS, Error, errors(made, home, list(wanted), sample))
            say(f"{len(pairs)} matches, {len(sample):,} decisions")
    write_rows(home / RUNS, Cost, costs_of(home, [name for name in wanted if is_finished(home / name)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("game", choices=list(SIZES))
    parser.add_argument("--solution", type=Path, help="of `dicent solve hypergammon --save FILE`")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--learn", action="store_true", help="only learn")
    given = parser.parse_args()
    begin = time.monotonic()
    run(
        *(given.folder, given.game, SIZES[given.game], given.solution, begin + 60 * given.minutes),
        lambda text: print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True),
        given.learn,
    )


if __name__ == "__main__":
    main()

"""Studies beside the scales of `dicent reproduce`: thinking per move, weight decay, longer learning.

    python benchmarks/reproduction_studies.py FOLDER sweep
    python benchmarks/reproduction_studies.py FOLDER ablation
    python benchmarks/reproduction_studies.py FOLDER longer --minutes 9

`sweep` compares Descent Expectiminimax and Expectiminimax at four budgets per move after equal evaluations,
with sparse networks on a CPU. `ablation` compares the depth heuristic with the gain, with and without weight
decay. `longer` lets both searches learn with the paper's network on a GPU for 300 seconds and compares
snapshots.

Finished runs and matches in FOLDER are reused, so that the same command resumes. FOLDER/STUDY gets pairs.csv
and runs.csv. `--learn` and `--play` do one part only. `--minutes` starts nothing that would take longer.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import dicent
from dicent import machine
from dicent.evaluate.network_file import load_network
from dicent.game.registry import PAPER_GAME
from dicent.learn.run_reader import RunReader
from dicent.learn.snapshots import EVALUATIONS, SECONDS, snapshots
from dicent.play.tournament import play_tournament
from dicent.reproduction.learning import Learners, Task
from dicent.reproduction.pairs import END, PAIRS, RUNS, Cost, Pair, pairs_of, write_rows
from dicent.reproduction.scale import SCALES, Arm, Run

ALONE = dicent.preset("paper").replace(
    network="sparse",
    batch=512,
    games_at_once=4,
    games_per_update=4,
    waves=False,
    overlap=False,
    measurements=0,
    save_games_in_flight=False,
    record_every=1000,
    keep_checkpoints=1,
    device="cpu",
    threads=1,
)
# By the budget of Expectiminimax with the same cost per move: Descent finishes its last descent. One whole
# descent costs about 118, so that those of the smallest budget are cut off.
DESCENTS = {
    60: {"evaluations_per_move": 62, "whole_descents": False},
    130: {"evaluations_per_move": 70},
    300: {"evaluations_per_move": 258},
    600: {"evaluations_per_move": 580},
}
LONGER = {"minutes": 5.0, "snapshot_seconds": 45.0, "snapshot_evaluations": 4_000_000}


@dataclass
class Study:
    """Cases with several networks each, which all play each other."""

    cases: dict
    networks: int = 4
    games: int = 100
    seed: int = 0  # of the first network
    together: bool = False  # all begin at the same time, for equal seconds
    warm: dict = field(default_factory=dict)  # changes for a trial


def studies(gpu="gpu"):
    sweep = {
        f"{search}-{budget}": ALONE.replace(
            search=search,
            evaluations=8_000_000,
            **(DESCENTS[budget] if search == "descent" else {"evaluations_per_move": budget}),
        )
        for budget in DESCENTS
        for search in ("descent", "expectiminimax")
    }
    ablation = {
        f"{search}-{terminal}-{name}": ALONE.replace(
            search=search,
            terminal=terminal,
            evaluations=4_000_000,
            evaluations_per_move=60 if search == "descent" else 125,
            weight_decay=decay,
        )
        for search in ("descent", "expectiminimax")
        for terminal in ("gain", "depth")
        for name, decay in (("decay", 1e-4), ("none", 0.0))
    }
    arms = [Arm(search, "depth") for search in ("descent", "expectiminimax")]
    longer = {arm.name: SCALES[gpu].config(Run(arm, 1, 0)).replace(**LONGER) for arm in arms}
    return {
        "sweep": Study(sweep, networks=4, seed=400),
        "ablation": Study(ablation, seed=200),
        "longer": Study(longer, networks=3, games=160, seed=300, together=True),
    }


def runs_of(study):
    """Return the settings of each run by its name, the first networks of all cases before the second ones."""
    seeds = itertools.count(study.seed)
    return {
        f"{case}-{number}": config.replace(seed=next(seeds))
        for number in range(1, study.networks + 1)
        for case, config in study.cases.items()
    }


def is_finished(path):
    state = RunReader(path).state()
    return state is not None and state.finished


def learn_one(config, path):
    """Train a network in a process of its own."""
    dicent.train(config, path)
    return path


def learn(folder, study, processes, end, say):
    """Train the networks that are missing; return whether none is left."""
    left = {name: config for name, config in runs_of(study).items() if not is_finished(folder / name)}
    if not left:
        return True
    if study.together:
        # Every process gets an equal share of the cores; the searches alternate, so that their shares mix.
        with Learners(len(left), say) as learners:
            learners.compile(list({config.search.search: config for config in left.values()}.values()))
            tasks = [Task(config, folder / name) for name, config in left.items()]
            learners.learn(tasks, end - time.monotonic(), lambda i, progress: None)
        return True
    longest, begun = 0.0, {}
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting, running = list(left.items()), {}
        while waiting or running:
            while waiting and len(running) < processes and time.monotonic() + longest < end:
                name, config = waiting.pop(0)
                running[pool.submit(learn_one, config, folder / name)] = name
                begun[name] = time.monotonic()
            if not running:
                break
            for job in as_completed(list(running)):
                name = running.pop(job)
                job.result()
                longest = max(longest, time.monotonic() - begun[name])
                say(f"{name} has learned in {time.monotonic() - begun[name]:.0f} s")
                break
    return not waiting


def points_of(folder, study):
    """Return the network of each run at each point: the end, and where all runs have a snapshot."""
    names = list(runs_of(study))
    points = {END: {name: folder / name for name in names}}
    for unit in (SECONDS, EVALUATIONS):
        found = {name: snapshots(folder / name, unit) for name in names}
        common = set.intersection(*map(set, found.values()))
        for point in sorted(common, reverse=True)[::2] if unit == EVALUATIONS else sorted(common)[::2]:
            points[f"{unit}-{point}"] = {name: found[name][point] for name in names}
    return points


def play(folder, study, end, say):
    """Play the matches that are missing, and return their results."""
    rows = []
    names = list(runs_of(study))
    device = next(iter(study.cases.values())).run.device
    # A judge of luck must value results, as no network with the depth heuristic does.
    judge_run = next((folder / name for name in names if "-depth" not in name), "net-paper")
    judge = load_network(judge_run, device, compiled=True)
    for point, networks in points_of(folder, study).items():
        if time.monotonic() > end:
            break
        players = [
            dicent.Player(
                dicent.Expectiminimax(load_network(path, device, compiled=True), completion=False),
                dicent.Limit(depth=3),
                name,
            )
            for name, path in networks.items()
        ]

        def stop(*_):
            if time.monotonic() > end:
                raise KeyboardInterrupt

        at_once = 1 if device == "cpu" else machine.cores()
        try:
            result = play_tournament(
                *(folder / "matches" / point, players, PAPER_GAME, study.games, study.seed),
                luck=judge,
                progress=stop,
                at_once=at_once,
            )
        except KeyboardInterrupt:
            say(f"{point}: not finished, the same command resumes")
            break
        rows += pairs_of(folder.name, point, result)
        say(f"{point}: {len(result.encounters)} matches of {study.games} games")
    return rows


def costs(folder, study):
    for name in runs_of(study):
        s = RunReader(folder / name).state()
        if s is not None and s.finished:
            seed = RunReader(folder / name).config().seed
            yield Cost(
                *(folder.name, name, seed, s.seconds, s.games, s.evaluations),
                *(s.moves, s.iterations, s.depths, s.game_seconds, s.states),
            )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("study", choices=studies())
    parser.add_argument("--processes", type=int, default=machine.cores())
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--learn", action="store_true", help="learn only")
    parser.add_argument("--play", action="store_true", help="play only")
    parser.add_argument("--trial", action="store_true", help="tiny, to try the script")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    end = begin + 60 * given.minutes
    study, folder = studies("smoke" if given.trial else "gpu")[given.study], given.folder / given.study
    if given.trial:
        study.networks, study.games = 2, 4
        tiny = {"minutes": 0.1, "snapshot_seconds": 1.0, "snapshot_evaluations": 1000}
        for case, config in study.cases.items():
            few = {"evaluations": 30_000} if config.run.evaluations else tiny
            study.cases[case] = config.replace(**few, device="cpu")
    folder.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"{time.monotonic() - begin:7.1f} s  {given.study}: {text}", flush=True)

    rows = []
    with contextlib.suppress(KeyboardInterrupt):
        done = given.play or learn(folder, study, given.processes, end, say)
        rows = play(folder, study, end, say) if done and not given.learn else []
    if rows:
        write_rows(folder / PAIRS, Pair, rows)
    write_rows(folder / RUNS, Cost, costs(folder, study))
    say("done" if rows or given.learn else "not finished")


if __name__ == "__main__":
    main()

"""Studies beside the scales of `dicent reproduce`; `docs/lab/reproduction/plan.md` settles each of them.

    python benchmarks/reproduction_studies.py FOLDER sweep
    python benchmarks/reproduction_studies.py FOLDER longer --minutes 9

sweep           Descent Expectiminimax and Expectiminimax at four budgets per move, equal evaluations
ablation        gain, scaled gain and depth heuristic, with and without weight decay, equal evaluations
staleness       4 and 128 games at once, equal evaluations
determinization Descent Expectiminimax and determinization after equal time and equal evaluations
longer          both searches with the paper's network on a GPU for 300 seconds; snapshots meet

Finished runs and matches in FOLDER are reused, so that the same command resumes. FOLDER/STUDY gets pairs.csv
and runs.csv. `--learn` and `--play` do one part only. `--minutes` starts nothing that would take longer.
"""

import argparse
import contextlib
import itertools
import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import dicent
from dicent import machine
from dicent.evaluate.network_file import load_network
from dicent.evaluate.terminal_value import TERMINAL_VALUES, TerminalKind, register_terminal_value
from dicent.game.registry import PAPER_GAME
from dicent.learn.run_reader import RunReader
from dicent.learn.snapshots import EVALUATIONS, SECONDS, snapshots
from dicent.play.tournament import play_tournament
from dicent.reproduction.learning import Learners, Task
from dicent.reproduction.pairs import END, PAIRS, RUNS, Cost, Pair, pairs_of, write_rows
from dicent.reproduction.scale import SCALES, Arm, Run

# The gain as large as values of the depth heuristic, so that the network has its linear output and its
# weight decay acts alike. Spawned workers import this module, which registers the name in them, too.
SCALED = "scaled"
if SCALED not in TERMINAL_VALUES:
    register_terminal_value(SCALED, TerminalKind(lambda result, ply, horizon, weight: 20.0 * result))

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


SEARCHES = ("descent", "expectiminimax")
MATCHED = {"descent": 60, "determinized": 120, "expectiminimax": 125}  # evaluations per move, same cost


@dataclass
class Study:
    """Cases with several networks each, which play each other."""

    cases: dict
    networks: int = 4
    games: int = 100
    seed: int = 0  # of the first network
    slot: int = 0  # networks of each case that learn at the same time on their own cores; 0: no slots
    leagues: tuple = ("",)  # starts of names; only networks of a league play each other


def sweep():
    cases = {
        f"{search}-{budget}": ALONE.replace(
            search=search,
            evaluations=8_000_000,
            **(DESCENTS[budget] if search == "descent" else {"evaluations_per_move": budget}),
        )
        for budget in DESCENTS
        for search in SEARCHES
    }
    return Study(cases, networks=4, seed=400)


def ablation():
    cases = {
        f"{search}-{terminal}-{name}": ALONE.replace(
            search=search,
            terminal=terminal,
            evaluations=1_500_000,
            evaluations_per_move=MATCHED[search],
            weight_decay=decay,
        )
        for search in SEARCHES
        for terminal in ("gain", SCALED, "depth")
        for name, decay in (("decay", 1e-4), ("none", 0.0))
    }
    return Study(cases, games=60, seed=200, leagues=SEARCHES)


def staleness():
    cases = {
        f"{search}-{count}": ALONE.replace(
            search=search,
            evaluations=8_000_000,
            evaluations_per_move=MATCHED[search],
            games_at_once=count,
            snapshot_evaluations=1_000_000,
        )
        for search in SEARCHES
        for count in (4, 128)
    }
    return Study(cases, networks=3, seed=600)


def determinization():
    cases = {
        search: ALONE.replace(
            search=search,
            minutes=1.25,
            evaluations_per_move=MATCHED[search],
            snapshot_evaluations=500_000,
        )
        for search in ("descent", "determinized")
    }
    return Study(cases, seed=500, slot=1)


def longer(gpu):
    arms = [Arm(search, "depth") for search in SEARCHES]
    cases = {arm.name: SCALES[gpu].config(Run(arm, 1, 0)).replace(**LONGER) for arm in arms}
    return Study(cases, networks=3, games=160, seed=300, slot=3)


def studies(gpu="gpu"):
    return {
        "sweep": sweep(),
        "ablation": ablation(),
        "staleness": staleness(),
        "determinization": determinization(),
        "longer": longer(gpu),
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


def learn_slots(folder, study, end, say):
    """Train the networks slot by slot; a resumed slot has the cores that it had before."""
    count, runs = study.slot * len(study.cases), list(runs_of(study).items())
    with Learners(count, say) as learners:
        learners.compile(list({config.search.search: config for _, config in runs}.values()))
        for first in range(0, len(runs), count):
            slot = runs[first : first + count]
            left = [Task(config, folder / name) for name, config in slot if not is_finished(folder / name)]
            if left and len(left) < len(slot):
                say("some runs of this slot have finished: its seconds are not equal in every way")
            if left:
                learners.learn(left, end - time.monotonic(), lambda i, progress: None)
                say(f"{', '.join(name for name, _ in slot)} have learned")
    return True


def learn(folder, study, processes, end, say):
    """Train the networks that are missing; return whether none is left."""
    left = {name: config for name, config in runs_of(study).items() if not is_finished(folder / name)}
    if not left:
        return True
    if study.slot:
        return learn_slots(folder, study, end, say)
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
    runs = runs_of(study)
    points = {END: {name: folder / name for name in runs}}
    budget = min((config.run.evaluations or math.inf) for config in runs.values())
    for unit in (SECONDS, EVALUATIONS):
        found = {name: snapshots(folder / name, unit) for name in runs}
        common = set.intersection(*map(set, found.values()))
        if unit == EVALUATIONS:
            common = {point for point in common if point < budget}  # the end comes after equal evaluations
        for point in sorted(common, reverse=True)[::2] if unit == EVALUATIONS else sorted(common)[::2]:
            points[f"{unit}-{point}"] = {name: found[name][point] for name in runs}
    return points


def play(folder, study, end, say):
    """Play the matches that are missing, and return their results."""
    rows = []
    runs = runs_of(study)
    device = next(iter(runs.values())).run.device
    # A judge of luck must value results, as a network that learned the gain does.
    judge_run = next((folder / name for name in runs if runs[name].search.terminal == "gain"), "net-paper")
    judge = load_network(judge_run, device, compiled=True)
    for point, networks in points_of(folder, study).items():
        for league in study.leagues:
            players = [
                dicent.Player(
                    dicent.Expectiminimax(load_network(path, device, compiled=True), completion=False),
                    dicent.Limit(depth=3),
                    name,
                )
                for name, path in networks.items()
                if name.startswith(league)
            ]

            def stop(*_):
                if time.monotonic() > end:
                    raise KeyboardInterrupt

            try:
                stop()
                result = play_tournament(
                    *(folder / "matches" / point / league, players, PAPER_GAME, study.games, study.seed),
                    luck=judge,
                    progress=stop,
                    at_once=1 if device == "cpu" else machine.cores(),
                )
            except KeyboardInterrupt:
                say(f"{point}: not finished, the same command resumes")
                return rows
            rows += pairs_of(folder.name, point, result)
            say(f"{point}: {len(result.encounters)} matches of {study.games} games")
    return rows


def matches_of(study):
    """Return the number of matches at one point."""
    names = list(runs_of(study))
    return sum(math.comb(sum(name.startswith(league) for name in names), 2) for league in study.leagues)


def costs_of(folder, names):
    """Yield what the finished runs of a study have cost."""
    for name in names:
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
        if not given.play:
            learn(folder, study, given.processes, end, say)
        left = [name for name in runs_of(study) if not is_finished(folder / name)]
        if left:
            say(f"these runs have not finished: {', '.join(left)}")
        rows = play(folder, study, end, say) if not left and not given.learn else []
    if rows:
        write_rows(folder / PAIRS, Pair, rows)
    write_rows(folder / RUNS, Cost, costs_of(folder, runs_of(study)))
    over = bool(rows) and len(rows) == len(points_of(folder, study)) * matches_of(study)
    say(f"the tables have {len(rows)} matches; {'all matches are over' if over else 'not finished'}")


if __name__ == "__main__":
    main()

"""Does determinization pay when chance branches widely? Learn EWN with more outcomes, and compare.

    python benchmarks/wide_chance.py FOLDER            # 8 conditions, 4 networks per search, 60 s each
    python benchmarks/wide_chance.py FOLDER --exact    # the small board, with errors against exact values
    python benchmarks/wide_chance.py FOLDER --tables docs/lab/wide-chance

`docs/lab/wide-chance.md` settles conditions, seeds and the rule of decision. `ewn_dice.py` is the game. A
slot is a process of Descent Expectiminimax and one of determinization at the same time, with one core each.
The last networks meet after equal time, snapshots after equal evaluations. Finished runs and matches are
reused, so that the same command resumes. `--learn` leaves matches and errors to a later call. `--minutes`
stops after so many minutes.
"""

import argparse
import contextlib
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from reproduction_studies import ALONE, costs_of, is_finished

import dicent
from dicent import machine
from dicent.evaluate.network_file import load_network
from dicent.learn.snapshots import EVALUATIONS, snapshots
from dicent.play.tournament import play_tournament
from dicent.reproduction.learning import Learners, Task
from dicent.reproduction.pairs import (
    END,
    ERRORS,
    PAIRS,
    RUNS,
    Cost,
    Error,
    Pair,
    pairs_of,
    read_rows,
    write_rows,
)
from dicent.reproduction.wide_figures import chart_of

FILE = Path(__file__).with_name("ewn_dice.py").resolve()
BOARD, SMALL_BOARD = {"size": 5, "pieces": 6}, {"size": 4, "pieces": 3}
OPTIONS = [*({"dice": n} for n in (1, 2, 3, 4)), *({"copies": k} for k in (2, 4, 8, 16))]
ARMS = ("descent", "determinized")
# Descents are cut off at the budget, so that both searches think equally long per move: with 56 outcomes a
# whole descent costs more than the budget.
SETTINGS = {"evaluations_per_move": 240, "whole_descents": False, "snapshot_evaluations": 250_000}
SEED = 10_000
POSITIONS = 2000  # of which errors are the mean


class Condition(NamedTuple):
    """A number of outcomes: dice that are rolled, or copies of the faces of one die."""

    study: str
    game: str
    options: dict


class Size(NamedTuple):
    """How much is learned and played."""

    seconds: float = 60.0
    networks: int = 4
    games: int = 200
    settings: dict = {}  # noqa: RUF012


def conditions(exact=False):
    """Return all conditions; the name of a study has what widens chance, and the number of outcomes."""
    found = []
    for options in OPTIONS:
        together = {**(SMALL_BOARD if exact else BOARD), **options}
        (kind,) = options
        game = f"{FILE}:{','.join(f'{name}={value}' for name, value in together.items())}"
        outcomes = dicent.load(FILE, **together).num_outcomes
        study = f"{'exact' if exact else 'wide'}-{kind}-{options[kind]}-{outcomes}"
        found.append(Condition(study, game, together))
    return found


def slots(chosen, size):
    """Return the runs of each slot by study and name; a slot has one network of each search."""
    for number in range(1, size.networks + 1):
        for i, condition in enumerate(chosen):
            seed = SEED + 100 * i + 10 * number + 1000 * condition.study.startswith("exact")
            yield {
                (condition.study, f"{arm}-{number}"): ALONE.replace(
                    game=condition.game,
                    search=arm,
                    seed=seed + k,
                    minutes=size.seconds / 60,
                    **{**SETTINGS, **size.settings},
                )
                for k, arm in enumerate(ARMS)
            }


def learn(folder, chosen, size, end, say):
    """Train the networks that are missing: as many slots at the same time as there are pairs of cores."""
    left = [slot for slot in slots(chosen, size) if not all(is_finished(folder / s / n) for s, n in slot)]
    if not left:
        return
    at_once = min(len(left), max(1, machine.cores() // 2))
    with Learners(2 * at_once, say, each=1) as learners:
        kinds = {(config.game, config.search.search): config for slot in left for config in slot.values()}
        needed = list(kinds.values())
        for first in range(0, len(needed), 2 * at_once):
            learners.compile(needed[first : first + 2 * at_once])
        for first in range(0, len(left), at_once):
            together = [run for slot in left[first : first + at_once] for run in slot.items()]
            tasks = [
                Task(config, folder / s / n) for (s, n), config in together if not is_finished(folder / s / n)
            ]
            learners.learn(tasks, end - time.monotonic(), lambda i, progress: None)
            say(f"learned: {', '.join(f'{study} {name}' for (study, name), _ in together)}")


def play(folder, condition, size, stop, say):
    """Play the matches of a condition, one ply ahead, and return their results."""
    home, game = folder / condition.study, dicent.make(condition.game)
    names = [f"{arm}-{number}" for arm in ARMS for number in range(1, size.networks + 1)]
    if missing := [name for name in names if not is_finished(home / name)]:
        say(f"{condition.study}: not finished: {', '.join(missing)}")
        return []
    points = {END: {name: home / name for name in names}}
    found = {name: snapshots(home / name, EVALUATIONS) for name in names}
    if common := set.intersection(*map(set, found.values())):
        points[f"{EVALUATIONS}-{max(common)}"] = {name: found[name][max(common)] for name in names}
    rows = []
    judge = load_network(home / "descent-1", "cpu", compiled=True)
    for point, networks in points.items():
        players = [
            dicent.Player(
                dicent.Greedy(load_network(path, "cpu", compiled=True)), dicent.Limit(depth=1), name
            )
            for name, path in networks.items()
        ]
        result = play_tournament(
            *(home / "matches" / point, players, game, size.games, SEED), luck=judge, progress=stop
        )
        rows += pairs_of(condition.study, point, result)
    say(f"{condition.study}: {len(rows)} matches")
    return rows


def decisions(game, count):
    """Return states in which a player chooses, from random games."""
    rng, found, seed = np.random.default_rng(SEED), [], 0
    while len(found) < count:
        state, seed = game.initial_state(seed), seed + 1
        while state.result is None:
            if state.is_chance:
                outcomes, p = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(int(rng.choice(outcomes, p=p)))
                continue
            found.append(state)
            state = state.apply(int(rng.choice(state.legal_actions)))
    return found[:count]


class Exact:
    """Exact values of decisions, and of what follows each of their actions.

    A network sees no copies, so that its errors are measured in the game without copies.
    """

    def __init__(self, game, count=POSITIONS):
        solver = dicent.solve(game).solver
        self.game, met = game, decisions(game, count)
        self.after = [[state.apply(action) for action in state.legal_actions] for state in met]
        self.values = [
            np.array([s.result if s.result is not None else solver.value_of(s) for s in row])
            for row in self.after
        ]
        self.signs = np.array([state.to_play for state in met])

    def measure(self, network):
        """Return the mean error of the values after each action, and the mean loss of a decision."""
        errors, lost = [], []
        for row, exact, sign in zip(self.after, self.values, self.signs, strict=True):
            open_ones = np.array([s.cells for s in row if s.result is None])
            found = exact.copy()
            if len(open_ones):
                unknown = np.array([s.result is None for s in row])
                found[unknown] = network.evaluate(self.game, open_ones)
                errors += np.abs(found - exact)[unknown].tolist()
            lost.append(sign * (exact[np.argmax(sign * exact)] - exact[np.argmax(sign * found)]))
        return float(np.mean(errors)), float(np.mean(lost))


def exact_errors(folder, chosen, size, count=POSITIONS):
    """Return the errors of all finished networks against exact values; copies change none of these."""
    known = {}
    for condition in chosen:
        plain = {**condition.options, "copies": 1}
        key = plain.get("dice", 1)
        if key not in known:
            known[key] = Exact(dicent.load(FILE, **plain), count)
        for number in range(1, size.networks + 1):
            for arm in ARMS:
                path = folder / condition.study / f"{arm}-{number}"
                if is_finished(path):
                    yield Error(condition.study, path.name, *known[key].measure(load_network(path, "cpu")))


def run(
    folder,
    exact=False,
    size=None,
    end=np.inf,
    say=print,
    chosen=None,
    positions=POSITIONS,
    only_learn=False,
):
    """Learn, play and measure what is missing, and write the tables of this folder."""
    size, chosen = size or Size(seconds=20.0 if exact else 60.0), chosen or conditions(exact)

    def stop(*_):
        if time.monotonic() > end:
            raise KeyboardInterrupt

    rows = []
    with contextlib.suppress(KeyboardInterrupt):
        learn(folder, chosen, size, end, say)
        for condition in () if only_learn else chosen:
            stop()
            rows += play(folder, condition, size, stop, say)
    runs = {(study, name): None for slot in slots(chosen, size) for study, name in slot}
    spent = [cost for study, name in runs for cost in costs_of(folder / study, [name])]
    merge(folder, PAIRS, Pair, rows)
    merge(folder, RUNS, Cost, spent)
    if exact and not only_learn:
        merge(folder, ERRORS, Error, exact_errors(folder, chosen, size, positions))


def merge(folder, name, kind, rows):
    """Write rows, beside those of other studies that are there."""
    rows = list(rows)
    old = read_rows(folder / name, kind) if (folder / name).exists() else []
    mine = {row.study for row in rows}
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / name, kind, [row for row in old if row.study not in mine] + rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--exact", action="store_true", help="the small board, with exact errors")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--learn", action="store_true", help="only learn")
    parser.add_argument("--seconds", type=float, help="of learning, for each network")
    parser.add_argument("--networks", type=int, default=Size().networks)
    parser.add_argument("--tables", type=Path, metavar="TO", help="only copy the tables, and draw the chart")
    given = parser.parse_args(arguments)
    begin = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True)

    if given.tables:
        for name, kind in ((PAIRS, Pair), (RUNS, Cost), (ERRORS, Error)):
            if (given.folder / name).exists():
                merge(given.tables, name, kind, read_rows(given.folder / name, kind))
        (given.tables / "chart.svg").write_text(chart_of(read_rows(given.tables / PAIRS, Pair)))
        return
    seconds = given.seconds or (20.0 if given.exact else 60.0)
    size = Size(seconds=seconds, networks=given.networks)
    run(given.folder, given.exact, size, begin + 60 * given.minutes, say, only_learn=given.learn)


if __name__ == "__main__":
    main()

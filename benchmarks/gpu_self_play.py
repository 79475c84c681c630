"""Measure how well self-play and learning fill a GPU: evaluations per second against the bare network's.

The first figures are the throughput of the CPU without a network: all states get the same value.

    python benchmarks/gpu_self_play.py OUT --seconds 40 --sizes 16384 more:games_at_once=32768,groups=8
    python benchmarks/gpu_self_play.py OUT --game backgammon --seconds 40
    python benchmarks/gpu_self_play.py OUT --share

`--game` is the game of the search without a network, of the bare network and of all cases that name no other.
`--share` compares the searches of the scale `gpu`: its last line is the evaluations per second of PUCT as a
share of those of Descent Expectiminimax, in one run on one device.

A case is a name, a colon and settings that differ from the preset `gpu`, or from `preset=NAME`; `seconds` may
be among them. A duplication near zero disables learning.
"""

import argparse
import itertools
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from gpu_network import ceilings
from sweep import parse

import dicent
from dicent import machine
from dicent.gpu.batches import Batches
from dicent.gpu.network import SIZES, GpuStage
from dicent.learn.learner import Learner
from dicent.learn.local_workers import ThreadedWorkers
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.learn.train import Training
from dicent.reproduction.scale import ALPHAZERO, SCALES, Arm, Run

CASES = (
    "alone:games_at_once=43008,groups=14,duplication=1e-9,evaluations_per_move=150",
    "learning:seconds=60,games_at_once=43008,groups=14,batch=16384,games_per_update=2048,evaluations_per_move=150",
    "one-match:seconds=50,preset=paper,game=ewn,evaluations_per_move=150,device=cuda,width=96,hidden_width=432",
)
SHARE = ("descent", "puct")
WARM_UP = 0.4  # share of the time that is not counted: the first games all begin at once


class Alike(dicent.Evaluator):
    """Evaluate all states as equal."""

    def evaluate(self, game, states):
        return np.zeros(len(states))


def searching(game, threads, seconds=3.0):
    """Return evaluations per second of self-play without a network."""
    search, limit = dicent.Descent(Alike()), dicent.Limit(evaluations=150)
    few, *plays = (
        SelfPlay(search, game, size, limit, Ordinal(), itertools.count(i, 1 + threads))
        for i, size in enumerate([1] + [1024] * threads)
    )
    for play in (few, *plays):
        play.deal()
    while not few.play_on(0.5):  # compiles
        few.advance()
        few.value_waiting()
    groups = ThreadedWorkers(search.evaluator, plays)
    seen = []
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        groups.play_on(0.5)
        seen.append((time.monotonic(), sum(play.evaluations for play in plays)))
    groups.close()
    first = next(row for row in seen if row[0] - begin >= WARM_UP * seconds)
    return (seen[-1][1] - first[1]) / (seen[-1][0] - first[0])


def timed(owner, names, spent):
    """Add up the seconds spent in methods."""

    def wrap(name, call):
        def wrapper(*arguments, **named):
            begin = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                spent[name] += time.perf_counter() - begin
                spent[f"{name}, times"] += 1

        return wrapper

    for name in names:
        setattr(owner, name, wrap(name, getattr(owner, name)))


def counted(spent):
    """Count the rows of graphs, filled or not, and the states that games add to the replay buffer."""
    send = GpuStage.send

    def wrapper(self, count):
        spent["rows filled"] += count
        spent["rows"] += next(size for size in SIZES if size >= count)
        return send(self, count)

    GpuStage.send = wrapper
    store = Training._store

    def stored(self, game):
        spent["states"] += len(game.dataset)
        store(self, game)

    Training._store = stored


def config_of(seconds, game, settings):
    """Return the settings of a case: a preset, or a search of the scale `gpu`, with changes."""
    settings = dict(settings)
    name = settings.pop("preset", "gpu")
    alone = {"minutes": seconds / 60, "measurements": 0, "save_games_in_flight": False}
    if (scale := settings.pop("scale", None)) is not None:
        arm = ALPHAZERO if settings.pop("search") == "puct" else Arm("descent")
        return SCALES[scale].config(Run(arm, 1, 0)).replace(**{"game": game} | alone | settings)
    return dicent.preset(str(name)).replace(**{"game": game} | alone | settings)


def self_play(folder, config, seconds, spent):
    """Return evaluations, games and states learned per second, after the warm-up."""
    seen = []

    def watch(status):
        if not seen:
            spent.clear()  # drop the figures of the preflight
        played = spent["states"]
        seen.append((time.monotonic(), status.evaluations, status.games, status.states, played))

    dicent.train(config, folder, watch=watch)
    first = next(row for row in seen if row[0] - seen[0][0] >= WARM_UP * seconds)
    last = seen[-1]
    taken = last[0] - first[0]
    return {
        "evaluations": (last[1] - first[1]) / taken,
        "games": (last[2] - first[2]) / taken,
        "learned": (last[3] - first[3]) / taken,
        "times": (last[3] - first[3]) / max(1, last[4] - first[4]),
    }


def sizes(text):
    """Parse batch sizes separated by commas; a list of arguments would swallow the cases after it."""
    return tuple(int(size) for size in text.split(","))


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="batch sizes, like 4096,16384")
    parser.add_argument("--game", default="ewn")
    parser.add_argument("--share", action="store_true", help="compare PUCT with Descent Expectiminimax")
    parser.add_argument("cases", nargs="*", default=CASES)
    given = parser.parse_intermixed_args(words)
    if given.share:
        given.cases = [f"{search}:scale=gpu,search={search}" for search in SHARE]
    return given


def main():
    given = arguments()
    game = dicent.make(given.game)
    for threads in (1, max(1, machine.cores() - 2)):
        rate = searching(game, threads)
        print(f"searches without a network, {threads} threads: {rate / 1e6:.2f} M evaluations/s", flush=True)
    ceiling = max(ceilings(game, given.sizes).values())
    spent = defaultdict(float)
    timed(SelfPlay, ("value_waiting", "play_on", "advance", "_finish_all"), spent)
    timed(Training, ("_store", "_finish_phase", "_learn", "_measure_and_save_when_due"), spent)
    timed(Batches, ("_send", "_take", "_write", "_read"), spent)
    counted(spent)
    timed(Learner, ("phase",), spent)
    found = {"bare": ceiling}
    for case in given.cases:
        name, settings = parse(case)
        spent.clear()
        seconds = float(settings.pop("seconds", given.seconds))
        config = config_of(seconds, given.game, settings)
        row = found[name] = self_play(given.out / name, config, seconds, spent)
        print(
            f"{name}: {row['evaluations'] / 1e6:.3f} M evaluations/s, {row['evaluations'] / ceiling:.0%} of "
            f"the bare network; {row['games']:.0f} games/s, {row['learned'] / 1e6:.2f} M states "
            f"learned/s, each {row['times']:.2f} times, "
            f"{spent['rows filled'] / max(1, spent['_send, times']):.0f} states per batch, "
            f"{spent['rows filled'] / max(1, spent['rows']):.0%} of its rows filled",
            flush=True,
        )
        print("   seconds:", {key: round(value, 1) for key, value in spent.items()}, flush=True)
        (given.out / "gpu.json").write_text(json.dumps(found))
    if all(search in found for search in SHARE):
        descent, puct = (found[search]["evaluations"] for search in SHARE)
        print(f"PUCT makes {puct / descent:.0%} of the evaluations per second of Descent Expectiminimax")


if __name__ == "__main__":
    main()

"""How well self-play and learning fill a GPU, in one run: evaluations a second beside the bare network's.

    python benchmarks/gpu_self_play.py OUT --seconds 40 more:at_once=32768,groups=8,duplication=1e-9

A case is a name, a colon and settings that differ from the preset `gpu`, or from `preset=NAME`. A
duplication of almost nothing leaves learning out.
"""

import argparse
import copy
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from sweep import parse

import dicent
from dicent.evaluate.gpu import SIZES, GpuNetwork
from dicent.evaluate.network import Network
from dicent.learn.learner import Learner
from dicent.learn.self_play import SelfPlay
from dicent.learn.train import Training

CASES = (
    "alone:at_once=24576,groups=12,duplication=1e-9,evaluations_per_move=150",
    "learning:at_once=16384,groups=12,matches_per_update=512,batch=8192,evaluations_per_move=150",
    "one-match:preset=paper,device=cuda,width=96",
)
WARM_UP = 0.4  # of the time, not counted: the first matches all begin at once


def bare(game, seconds=2.0):
    """The compiled network by itself, its inputs on the device, for each size of batch."""
    module = dicent.ResidualNetwork(game.input_shape, width=96)
    network = Network(copy.deepcopy(module), "cuda", compiled=True)
    states = np.stack([game.initial_state(seed).cells for seed in range(512)])
    difference = np.abs(network.evaluate(game, states) - Network(module).evaluate(game, states)).max()
    print(f"half precision differs from float32 on a CPU by {difference:.1e} at the most", flush=True)
    network.prepare(game)
    speeds = {}
    for size in SIZES:
        graph = network.on_gpu(game).graphs[size].recorded
        torch.cuda.synchronize()
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(10):
                graph.replay()
            torch.cuda.synchronize()
            done += 10 * size
        speeds[size] = done / (time.perf_counter() - begin)
        print(f"bare network, batches of {size}: {speeds[size] / 1e6:.2f} M/s", flush=True)
    begin, done = time.perf_counter(), 0
    batch = np.resize(states, (SIZES[-1], states.shape[1]))
    while time.perf_counter() - begin < seconds:
        network.evaluate(game, batch)
        done += len(batch)
    print(
        f"encoded, sent and judged, one after the other: {done / (time.perf_counter() - begin) / 1e6:.2f} M/s"
    )
    return max(speeds.values())


def timed(owner, names, spent):
    """Add up the seconds that methods take."""

    def wrap(name, call):
        def wrapper(*arguments):
            begin = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                spent[name] += time.perf_counter() - begin
                spent[f"{name}, times"] += 1

        return wrapper

    for name in names:
        setattr(owner, name, wrap(name, getattr(owner, name)))


def self_play(folder, seconds, spent, **settings):
    """Evaluations, matches and states learned a second, once all is under way."""
    base = dicent.preset(str(settings.pop("preset", "gpu")))
    config = base.replace(minutes=seconds / 60, measurements=0, **settings)
    seen = []

    def watch(status):
        if not seen:
            spent.clear()  # of the preflight
        seen.append((time.monotonic(), status.evaluations, status.matches, status.states))

    dicent.train(config, folder, watch=watch)
    first = next(row for row in seen if row[0] - seen[0][0] >= WARM_UP * seconds)
    last = seen[-1]
    taken = last[0] - first[0]
    return {
        "evaluations": (last[1] - first[1]) / taken,
        "matches": (last[2] - first[2]) / taken,
        "learned": (last[3] - first[3]) / taken,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("cases", nargs="*", default=CASES)
    given = parser.parse_args()
    ceiling = bare(dicent.make("ewn"))
    spent = defaultdict(float)
    timed(SelfPlay, ("value_waiting", "play_on", "advance", "_finish_all"), spent)
    timed(Training, ("_take", "_finish_phase", "_learn", "_housekeeping"), spent)
    timed(GpuNetwork, ("_send",), spent)
    timed(Learner, ("phase",), spent)
    found = {"bare": ceiling}
    for case in given.cases:
        name, settings = parse(case)
        spent.clear()
        row = found[name] = self_play(given.out / name, given.seconds, spent, **settings)
        print(
            f"{name}: {row['evaluations'] / 1e6:.3f} M evaluations/s, {row['evaluations'] / ceiling:.0%} of "
            f"the bare network; {row['matches']:.0f} matches/s, {row['learned'] / 1e6:.2f} M states "
            f"learned/s, {row['evaluations'] * given.seconds / max(1, spent['_send, times']):.0f} to a batch",
            flush=True,
        )
        print("   seconds:", {key: round(value, 1) for key, value in spent.items()}, flush=True)
        (given.out / "gpu.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()

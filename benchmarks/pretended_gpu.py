"""Measure the contention between self-play threads on any machine, with a pretended GPU.

    python benchmarks/pretended_gpu.py --groups 1 2 4 8 16

Each group of games plays in its own thread, as on a GPU. The pretended device takes CALL seconds per batch
and EACH seconds per state, one batch after another, and returns random values. Any further slowdown comes
from Python's lock and the threads that wait for it. Each row measures Descent Expectiminimax and PUCT with
`--leaves` leaves per search, one after the other in the same run; the share is PUCT's evaluations per second
over Descent's. The last columns are how often threads slept.
"""

import argparse
import ctypes
import itertools
import resource
import threading
import time

import numpy as np

import dicent
from dicent.evaluate.base import PolicyEvaluator
from dicent.game.binding import bind
from dicent.gpu.batches import Batches
from dicent.kernels import encoding as encoding_kernels
from dicent.learn.local_workers import ThreadedWorkers
from dicent.learn.selection import ByVisits, Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.reproduction.scale import MATCHED

CALL, EACH = 0.12e-3, 1e-7
ROWS, STAGES = 16_384, 4
WARM_UP = 0.3  # share of the time that is not counted

sleep = ctypes.CDLL(None).usleep  # releases Python's lock, like waiting for a GPU


class Device:
    """A device that processes one batch after another."""

    def __init__(self):
        self.lock, self.free_at = threading.Lock(), 0.0

    def work(self, seconds):
        with self.lock:
            self.free_at = max(self.free_at, time.perf_counter()) + seconds
            return self.free_at


class Done:
    def __init__(self, when):
        self.when = when

    def synchronize(self):
        if (left := self.when - time.perf_counter()) > 0:
            sleep(int(left * 1e6))


class Stage:
    def __init__(self, game, device, policy=False):
        self.device, self.logits = device, None
        self.planes = np.zeros((ROWS, *game.input_shape), np.uint8)
        rng = np.random.default_rng(1)
        self.values = rng.normal(0, 0.3, ROWS).astype(np.float32)
        if policy:
            self.logits = rng.normal(0, 1, (ROWS, game.num_actions)).astype(np.float32)

    def send(self, count):
        return Done(self.device.work(CALL + EACH * count))


class Pretended(PolicyEvaluator):
    """Evaluate on the device, in batches shared by all threads."""

    def __init__(self, game, policy=False):
        device = Device()
        self.batches = Batches([Stage(game, device, policy) for _ in range(STAGES)])
        self.encode = bind(game).kernel(encoding_kernels.encode_batch)

    def evaluate(self, game, states):
        states = np.ascontiguousarray(states)
        return self.evaluate_with_policy(game, states)[0]

    def evaluate_with_policy(self, game, states):
        states = np.ascontiguousarray(states)
        return self.batches.evaluate(len(states), lambda a, b, planes: self.encode(states[a:b], planes))


def speed(game, at_once, number, seconds, leaves=None):
    """Return evaluations and sleeps per second of `at_once` games in a number of groups.

    The search is PUCT with `leaves`, or Descent Expectiminimax with whole descents.
    """
    evaluator = Pretended(game, policy=leaves is not None)
    if leaves is None:
        search, kind = dicent.Descent(evaluator, completion=False, whole=True), "descent"
    else:
        search, kind = dicent.Puct(evaluator, noise=0.25, leaves=leaves), "puct"
    limit, numbers = (
        dicent.Limit(evaluations=MATCHED[kind]),
        [itertools.count(i, number) for i in range(number)],
    )
    how = {"targets": "tree"} if leaves is None else {"targets": "policy"}
    law = Ordinal() if leaves is None else ByVisits(1.0)
    plays = [SelfPlay(search, game, at_once // number, limit, law, own, **how) for own in numbers]
    for play in plays:
        play.deal()
    groups = ThreadedWorkers(evaluator, plays)
    seen, begin = [], time.monotonic()
    while time.monotonic() - begin < seconds or not (seen and seen[-1][1] > seen[0][1]):
        groups.play_on(0.5)
        slept = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        seen.append((time.monotonic(), sum(play.evaluations for play in plays), slept))
    groups.close()
    counted = (row for row in seen[:-1] if row[0] - begin >= WARM_UP * seconds)
    first, last = next(counted, seen[0]), seen[-1]
    return [(b - a) / (last[0] - first[0]) for a, b in zip(first[1:], last[1:], strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--at-once", type=int, default=2048)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--leaves", type=int, default=8)
    given = parser.parse_args()
    game = dicent.make("ewn")
    for leaves in (None, given.leaves):
        speed(game, 16, 1, 1.0, leaves)  # compiles
    print("groups   Descent, M evaluations/s   PUCT   share   sleeps/s, Descent   PUCT")
    for number in given.groups:
        descent, puct = (speed(game, given.at_once, number, given.seconds, n) for n in (None, given.leaves))
        print(
            f"{number:6}   {descent[0] / 1e6:24.2f}   {puct[0] / 1e6:4.2f}   {puct[0] / descent[0]:5.0%}   "
            f"{descent[1]:17,.0f}   {puct[1]:4,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

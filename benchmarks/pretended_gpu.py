"""Measure the contention between self-play threads on any machine, with a pretended GPU.

    python benchmarks/pretended_gpu.py --groups 1 2 4 8 16

Each group of games plays in its own thread, as on a GPU. The pretended device takes CALL seconds per batch
and EACH seconds per state, one batch after another, and returns random values. Any further slowdown comes
from Python's lock and the threads that wait for it. The last column is how often threads slept.
"""

import argparse
import ctypes
import itertools
import resource
import threading
import time

import numpy as np

import dicent
from dicent.game.binding import bind
from dicent.gpu.batches import Batches
from dicent.kernels import encoding as encoding_kernels
from dicent.learn.local_workers import ThreadedWorkers
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay

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
    def __init__(self, game, device):
        self.device, self.logits = device, None
        self.planes = np.zeros((ROWS, *game.input_shape), np.uint8)
        self.values = np.random.default_rng(1).normal(0, 0.3, ROWS).astype(np.float32)

    def send(self, count):
        return Done(self.device.work(CALL + EACH * count))


class Pretended(dicent.Evaluator):
    """Evaluate on the device, in batches shared by all threads."""

    def __init__(self, game):
        device = Device()
        self.batches = Batches([Stage(game, device) for _ in range(STAGES)])
        self.encode = bind(game).kernel(encoding_kernels.encode_batch)

    def evaluate(self, game, states):
        states = np.ascontiguousarray(states)
        return self.batches.evaluate(len(states), lambda a, b, planes: self.encode(states[a:b], planes))[0]


def speed(game, at_once, number, seconds):
    """Return evaluations and sleeps per second of `at_once` games in a number of groups."""
    evaluator = Pretended(game)
    search, limit = dicent.Descent(evaluator), dicent.Limit(evaluations=60)
    numbers = [itertools.count(i, number) for i in range(number)]
    plays = [SelfPlay(search, game, at_once // number, limit, Ordinal(), own) for own in numbers]
    for play in plays:
        play.deal()
    groups = ThreadedWorkers(evaluator, plays)
    seen, begin = [], time.monotonic()
    while time.monotonic() - begin < seconds:
        groups.play_on(0.5)
        slept = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        seen.append((time.monotonic(), sum(play.evaluations for play in plays), slept))
    groups.close()
    first, last = next(row for row in seen if row[0] - begin >= WARM_UP * seconds), seen[-1]
    return [(b - a) / (last[0] - first[0]) for a, b in zip(first[1:], last[1:], strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--at-once", type=int, default=2048)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    game = dicent.make("ewn")
    speed(game, 16, 1, 1.0)  # compiles
    print("groups   M evaluations/s   sleeps/s")
    for number in given.groups:
        rate, sleeps = speed(game, given.at_once, number, given.seconds)
        print(f"{number:6}   {rate / 1e6:15.2f}   {sleeps:8,.0f}", flush=True)


if __name__ == "__main__":
    main()

"""Measure the training speed of a reproduction's processes by the number of groups.

    python benchmarks/scale_speed.py --scale gpu --arm descent-gain --groups 2 3 4 8

The script runs a short training for each number of groups, with the settings of the arm. It does not count
the first part of the time, as learning starts after the first games. *learner* is the share of the time in
which the learner was busy. The seconds in brackets are those of the whole training, including compilation.
"""

import argparse
import itertools
import tempfile
import time

import dicent
from dicent.reproduction.scale import ALPHAZERO, ARMS, Run, scale_of

WARM_UP = 0.4  # share of the time that is not counted


def speeds(config, folder):
    """Return evaluations, states, games, phases and seconds of learning, each per second."""
    seen = []

    def watch(status):
        counts = status.evaluations, status.states, status.games, status.phases, status.learning_seconds
        seen.append((status.seconds, *counts))

    dicent.train(config, folder, watch=watch)
    last = seen[-1]
    first = next(row for row in seen if row[0] >= WARM_UP * last[0])
    seconds, *counts = (b - a for a, b in zip(first, last, strict=True))
    return [count / max(1e-9, seconds) for count in counts]


def main():
    arms = {arm.name: arm for arm in (*ARMS, ALPHAZERO)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", default="gpu")
    parser.add_argument("--arm", choices=arms, nargs="+", default=["descent-gain"])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 3, 4, 8])
    parser.add_argument("--games-at-once", type=int)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    scale = scale_of(given.scale)
    print("arm                      groups   M evaluations/s   M states/s     games/s   phases/s   learner")
    for name, groups in itertools.product(given.arm, given.groups):
        config = scale.config(Run(arms[name], 1, 0)).replace(groups=groups, minutes=given.seconds / 60)
        config = config.replace(games_at_once=given.games_at_once or config.self_play.games_at_once)
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            evaluations, states, games, phases, busy = speeds(config, folder)
        print(
            f"{name:22}   {groups:6}   {evaluations / 1e6:15.2f}   {states / 1e6:10.2f}   {games:9.0f}   "
            f"{phases:8.1f}   {busy:7.0%}   ({time.monotonic() - begin:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Timing: rows of the benchmarks, and speeds measured in turn."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    value: float
    unit: str
    note: str = ""


def timed(work: Callable[[], float]) -> float:
    """Return the amount of work that a function does per second."""
    begin = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - begin)


def in_turn(rounds: int, *works: Callable[[], float]) -> list[list[float]]:
    """Return speeds of several functions, measured in turn so that other load slows all of them."""
    speeds: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for measured, work in zip(speeds, works, strict=True):
            measured.append(timed(work))
    return speeds


def ratio(ours: list[float], theirs: list[float]) -> str:
    """Return in words how many times as fast ours is, with the range over the rounds."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return f"ours is {median(ratios):.1f} times as fast ({ratios[0]:.1f} to {ratios[-1]:.1f})"


STARTED = "import time; t = time.perf_counter(); import dicent; {work}; print(time.perf_counter() - t)"


def start(work: str, cache: str | None = None) -> float:
    """Return the seconds from `import dicent` in a new process to the end of some work."""
    env = dict(os.environ) if cache is None else {**os.environ, "DICENT_CACHE": cache}
    command = [sys.executable, "-c", STARTED.format(work=work)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)

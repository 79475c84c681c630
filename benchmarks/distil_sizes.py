"""Distil one network into sparse networks of several sizes, which learn the same games side by side.

    python benchmarks/distil_sizes.py net-official OUT --sizes 64,32 256,32 --games 150000 --passes 3

The teacher plays once, and each student learns in its own process. OUT/64-32-0.safetensors is a student.
"""

import argparse
import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dicent.evaluate.network_file import describe_network, load_network
from dicent.game.registry import make
from dicent.learn.config_sections import Distillation
from dicent.learn.dataset import values_only
from dicent.learn.distil import Lesson, Progress, learn, prepare

BEGIN = time.monotonic()
NUMBERS = {
    "games": 150_000,
    "evaluations_per_move": 100,
    "random_starts": 0.5,
    "passes": 3,
    "batch": 4096,
    "learning_rate": 2e-3,
    "seed": 0,
}


def sizes(text: str) -> list[int]:
    """Return the units of all layers from a text such as 64,32."""
    numbers = [int(n) for n in text.split(",")]
    return [*numbers, 0][:3]


def reporter(name: str, every: float = 10.0) -> Callable[[Progress], object]:
    """Return a function that prints the progress now and then."""
    shown = [0.0]

    def report(p: Progress) -> None:
        if time.monotonic() - shown[0] > every or p.share == 1.0:
            shown[0] = time.monotonic()
            seconds = time.monotonic() - BEGIN
            print(
                f"{name}: {seconds:.0f} s, {p.stage} {p.share:.1%}, {p.states:,} states, loss {p.loss:.5f}",
                flush=True,
            )

    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("teacher")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", nargs="+", type=sizes, default=[[64, 32, 0]])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--student", type=sizes, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0.0, help=argparse.SUPPRESS)
    for name, default in NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = parser.parse_args()
    settings = Distillation(device=given.device, **{name: getattr(given, name) for name in NUMBERS})
    if given.student:
        return teach_one(given.teacher, given.out, given.student, settings, given.seconds)
    given.out.mkdir(parents=True, exist_ok=True)
    lesson = prepare(given.teacher, settings, reporter("teacher"))
    np.save(given.out / "states.npy", lesson.data.states)
    np.save(given.out / "values.npy", lesson.data.values)
    arguments = [sys.executable, *sys.argv, "--seconds", str(lesson.seconds)]
    students = [
        subprocess.Popen([*arguments, "--student", ",".join(map(str, units))]) for units in given.sizes
    ]
    failed = sum(student.wait() != 0 for student in students)
    sys.exit(f"{failed} students failed" if failed else 0)


def teach_one(teacher: str, out: Path, units: list[int], settings: Distillation, seconds: float) -> None:
    """Teach one student what the teacher has played."""
    description = describe_network(teacher)
    game = load_network(teacher).with_encoding(make(description.game))
    states, values = (np.load(out / f"{name}.npy", mmap_mode="r") for name in ("states", "values"))
    lesson = Lesson(f"{teacher}.safetensors", description, game, values_only(states, values), seconds)
    name = "-".join(map(str, units))
    first, second, third = units
    settings = dataclasses.replace(settings, units=first, second_units=second, third_units=third)
    learn(lesson, out / f"{name}.safetensors", settings, reporter(name))


if __name__ == "__main__":
    main()

"""The round-robin scheduler of the engine: turns of owners, priorities, heavy jobs."""

import threading
import time
from typing import Any

from dicent.engine import Workers
from dicent.engine.workers import Job

PATIENCE = 600.0  # seconds to wait, also on a very slow machine


class Counted(Job):
    """A job of some slices that records its turns."""

    def __init__(self, name: str, turns: list[str], owner: object, slices: int, **more: Any) -> None:
        super().__init__(owner, **more)
        self.name, self.turns, self.slices = name, turns, slices

    def advance(self) -> bool:
        self.turns.append(self.name)
        self.slices -= 1
        return self.slices > 0


def run_jobs(*jobs: Counted, most: int = 8) -> None:
    """Run jobs on one thread with a stopped clock, so that turns depend on the count of slices only."""
    workers, begin = Workers(1, most, clock=lambda: 0.0), threading.Event()

    class Gate(Job):
        def advance(self) -> bool:
            return not begin.wait(PATIENCE)

    workers.add(Gate(object()))
    for job in jobs:
        workers.add(job)
    begin.set()
    while any(job.slices for job in jobs):
        time.sleep(0.01)
    workers.close()


def test_owners_take_turns_and_their_jobs_go_by_priority() -> None:
    turns: list[str] = []
    a, b = object(), object()
    run_jobs(
        Counted("a1", turns, a, 2),
        Counted("a2", turns, a, 2, priority=7),
        Counted("b1", turns, b, 2),
        Counted("b2", turns, b, 2),
    )
    assert turns == ["a2", "b1", "a2", "b2", "a1", "b1", "a1", "b2"]


def test_number_of_heavy_jobs_is_limited() -> None:
    turns: list[str] = []
    owner = object()
    jobs = [Counted(name, turns, owner, 3, heavy=True) for name in "abc"]
    run_jobs(*jobs, Counted("light", turns, owner, 1), most=2)
    assert turns[:3] == ["a", "b", "light"]
    assert turns.index("c") > min(i for i, name in enumerate(turns) if turns[: i + 1].count(name) == 3)

"""The speed of the solver on a game with cycles."""

import time
from collections.abc import Iterator

from dicent.bench.timing import Row
from dicent.exact.graph_solver import GraphSolver
from dicent.exact.progress import SolveProgress
from dicent.game.registry import make


def cyclic_rows(scale: float) -> Iterator[Row]:
    """Measure how fast states are enumerated and bounds are swept, on all cores."""
    game = make("ur:pieces=3" if scale >= 1 else "ur:pieces=2")
    GraphSolver(game, 10_000_000).bounds_of(game.initial_state())  # compiles
    solver = GraphSolver(game, 10_000_000)
    stages: dict[str, float] = {}

    def note(progress: SolveProgress) -> None:
        stages.setdefault(progress.stage, time.perf_counter())

    begin = time.perf_counter()
    solver.bounds_of(game.initial_state(), note)
    end, report = time.perf_counter(), solver.report
    found = min(stages.get(stage, end) for stage in ("components", "values"))
    what = f"{game.name}, {report.states:,} states, {report.links:,} links"
    yield Row("solver with cycles, states found", report.states / (found - begin) / 1e6, "M states/s", what)
    note_of_all = f"{report.sweeps:,} sweeps, bounds within {report.bound:.0e}"
    yield Row(
        "solver with cycles, states solved", report.states / (end - begin) / 1e6, "M states/s", note_of_all
    )

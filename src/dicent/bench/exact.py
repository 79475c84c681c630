"""The exact values' part of the bench."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from dicent import machine
from dicent.bench.timing import Row, in_turn
from dicent.exact.ewn_tables import Tables
from dicent.exact.solver import Solver
from dicent.exact.table_build import build_tables
from dicent.game.registry import make


def exact_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure the building of tables, probes and the solver, a row at a time."""
    pieces = 4 if scale >= 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        tables, seconds, size = _build(pieces, Path(folder))
        what = f"{tables.positions:,} positions, {size / 1e6:.1f} MB, {machine.cores()} threads"
        yield Row(f"EWN tables up to {pieces} pieces", seconds, "s", what)
        yield from _probe_rows(tables, rounds, max(10_000, int(1_000_000 * scale)))
    yield from _solver_rows(scale)


def _build(pieces: int, folder: Path) -> tuple[Tables, float, int]:
    ewn = make("ewn")
    build_tables(ewn, 2, folder / "first")  # compiles
    begin = time.perf_counter()
    tables = build_tables(ewn, pieces, folder)
    seconds = time.perf_counter() - begin
    return tables, seconds, (folder / tables.name).stat().st_size


def _probe_rows(tables: Tables, rounds: int, count: int) -> Iterator[Row]:
    """Random positions before a roll with as many pieces as the table has, half of them each side's."""
    game, module = tables.game, tables.game.rules.module
    rng = np.random.default_rng(1)
    mine, theirs = tables.pieces // 2, tables.pieces - tables.pieces // 2
    cells = rng.permuted(np.tile(np.arange(1, module.CELLS - 1), (count, 1)), axis=1)  # no one's corner
    labels = rng.permuted(np.tile(np.arange(module.PIECES), (2 * count, 1)), axis=1)
    states = np.full((count, game.state_size), module.OFF, game.state_dtype)
    np.put_along_axis(states, labels[:count, :mine], cells[:, :mine], axis=1)
    np.put_along_axis(states, module.PIECES + labels[count:, :theirs], cells[:, mine : tables.pieces], axis=1)
    states[:, module.MOVER] = rng.choice([-1, 1], count)
    states[:, module.DIE] = module.TO_ROLL
    states[:, module.WINNER] = 0
    assert not np.isnan(tables.values(states)).any()

    def work() -> float:
        tables.values(states)
        return float(count)

    [speeds] = in_turn(rounds, work)
    note = f"random positions with {tables.pieces} pieces, {count:,} in a batch"
    yield Row("EWN table probes, one thread", median(speeds) / 1e6, "M probes/s", note)


def _solver_rows(scale: float) -> Iterator[Row]:
    game = make("ewn:size=4,pieces=3" if scale >= 1 else "ewn:size=3,pieces=3")
    state = game.initial_state(1)
    Solver(game).value_of(game.parse("AB2/4/4/2ab 1 -") if scale >= 1 else state)  # compiles
    begin = time.perf_counter()
    solver = Solver(game)
    solver.value_of(state)
    seconds = time.perf_counter() - begin
    yield Row("solver", solver.states / seconds / 1e6, "M states/s", f"{game.name}, {solver.states:,} states")

"""Benchmarks of this game: positions, the same ones for OpenSpiel, and rows of exact values."""

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dicent import machine
from dicent.bench.benchmark import Benchmark
from dicent.bench.timing import Row, in_turn
from dicent.exact.solver import Solver
from dicent.exact.tablebase import Tablebase, build_tablebase
from dicent.game.registry import make
from dicent.games.ewn.openspiel import GAME, position_text


def openspiel_rolled() -> Any:
    """Return OpenSpiel's state with both sides dealt in order, then a roll of 2."""
    import pyspiel

    state = pyspiel.load_game(GAME).new_initial_state()
    for outcome in (0, 0, 1):
        state.apply_action(outcome)
    return state


def openspiel_middle() -> tuple[Any, str]:
    """Return OpenSpiel's state after six random moves, and our text of it."""
    import pyspiel

    state = pyspiel.load_game(GAME).new_initial_state()
    rng, die, moves = random.Random(4), 0, 0
    while moves < 6 or state.is_chance_node():
        if state.is_chance_node():
            die = 1 + rng.randrange(6)
            state.apply_action(rng.randrange(720) if len(state.history()) < 2 else die - 1)
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            moves += 1
    return state, position_text(state, die)


def exact_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure the building of a tablebase, probes and the solver, a row at a time."""
    pieces = 4 if scale >= 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        tablebase, seconds = _build(pieces, Path(folder))
        size = tablebase.path.stat().st_size
        note = f"{tablebase.positions:,} positions, {size / 1e6:.1f} MB, {machine.cores()} threads"
        yield Row(f"EWN tablebase up to {pieces} pieces", seconds, "s", note)
        yield from _probe_rows(tablebase, rounds, max(10_000, int(1_000_000 * scale)))
    yield from _solver_rows(scale)


def _build(pieces: int, folder: Path) -> tuple[Tablebase, float]:
    ewn = make("ewn")
    build_tablebase(ewn, 2, folder / "first")  # compiles
    begin = time.perf_counter()
    tablebase = build_tablebase(ewn, pieces, folder)
    return tablebase, time.perf_counter() - begin


def _probe_rows(tablebase: Tablebase, rounds: int, count: int) -> Iterator[Row]:
    """Measure probes of random positions before a roll, with half of the pieces on each side."""
    game, module = tablebase.game, tablebase.game.rules.module
    rng = np.random.default_rng(1)
    mine, theirs = tablebase.pieces // 2, tablebase.pieces - tablebase.pieces // 2
    cells = rng.permuted(np.tile(np.arange(1, module.CELLS - 1), (count, 1)), axis=1)  # no one's corner
    labels = rng.permuted(np.tile(np.arange(module.PIECES), (2 * count, 1)), axis=1)
    states = np.full((count, game.state_size), module.OFF, game.state_dtype)
    np.put_along_axis(states, labels[:count, :mine], cells[:, :mine], axis=1)
    np.put_along_axis(
        states, module.PIECES + labels[count:, :theirs], cells[:, mine : tablebase.pieces], axis=1
    )
    states[:, module.MOVER] = rng.choice([-1, 1], count)
    states[:, module.DIE] = module.TO_ROLL
    states[:, module.WINNER] = 0
    assert not np.isnan(tablebase.values(states)).any()

    def work() -> float:
        tablebase.values(states)
        return float(count)

    [speeds] = in_turn(rounds, work)
    note = f"random positions with {tablebase.pieces} pieces, {count:,} in a batch"
    yield Row("EWN tablebase probes, one thread", median(speeds) / 1e6, "M probes/s", note)


def _solver_rows(scale: float) -> Iterator[Row]:
    game = make("ewn:size=4,pieces=3" if scale >= 1 else "ewn:size=3,pieces=3")
    state = game.initial_state(1)
    Solver(game).value_of(game.parse("AB2/4/4/2ab 1 -") if scale >= 1 else state)  # compiles
    begin = time.perf_counter()
    solver = Solver(game)
    solver.value_of(state)
    seconds = time.perf_counter() - begin
    yield Row("solver", solver.states / seconds / 1e6, "M states/s", f"{game.name}, {solver.states:,} states")


BENCHMARK = Benchmark(
    label="EWN",
    start="ABC2/DE3/F3f/3de/2abc 1 -",
    rolled="ABC2/DE3/F3a/3bc/2def 2 2",
    middle="A4/1BC2/D1f2/2ae1/3c1 1 3",
    paper="ewn:planes=pieces",
    openspiel_rolled=openspiel_rolled,
    openspiel_middle=openspiel_middle,
    exact_rows=exact_rows,
)

"""Solver: exact values of any finite game that is small enough.

A game without cycles is solved by a depth-first walk, which needs the least memory. At the first cycle that
the walk meets, a `GraphSolver` takes over.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import DicentError
from dicent.exact.enumeration import require_memory
from dicent.exact.graph_report import GraphReport
from dicent.exact.graph_solver import GraphSolver
from dicent.exact.progress import Report, SolveProgress
from dicent.exact.solution import Solution, ValueKind, describe, describe_deals
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import solve as solve_kernels
from dicent.kernels.solve import CYCLE, DEEP, FULL

STEPS = 100_000  # states visited in a call, well under 50 ms
MOVED = 1 << 18  # slots moved in a call
MAX_STATES = 20_000_000
MAX_STARTS = 1000
DRAWS = 50  # for each different start; one as likely as the others is missed once in exp(50)
FIRST_SLOTS, FIRST_DEPTH = 1 << 12, 64  # of the hash table and of the path
LOAD = 0.7  # how full a hash table may be


class Solver:
    """Exact values of the states of one game, computed on demand and then stored.

    `values` is "score", expected points, or "gain", the expected result from -1 to 1. By default it is the
    score if the game has one. Best play aims at these values, so the one does not follow from the other.
    """

    def __init__(
        self,
        game: Game,
        max_states: int = MAX_STATES,
        compiled: bool | None = None,
        values: ValueKind | None = None,
    ) -> None:
        if max_states < 1:
            raise DicentError(f"max_states must be 1 or more (got {max_states})")
        self.values = values_of(game, values)
        self.game = game
        self.max_states = max_states
        self.bound = bind(game, compiled)
        self._stored = self._new_table(FIRST_SLOTS)
        self._path = self._new_path()
        self._graph: GraphSolver | None = None  # solves a game with cycles

    @property
    def states(self) -> int:
        """The number of stored states; decisions that follow a chance state are not stored."""
        return int(self._stored.filled[0]) if self._graph is None else self._graph.states

    @property
    def report(self) -> GraphReport | None:
        """How a game with cycles was solved; None for a game without."""
        return None if self._graph is None else self._graph.report

    def stored(self) -> tuple[Cells, npt.NDArray[np.float64]]:
        """Return the stored states [N, S] and their values [N]."""
        if self._graph is not None:
            return self._graph.stored()
        there = ~np.isnan(self._stored.value)
        return self._stored.state[there], self._stored.value[there]

    def value_of(self, state: State, progress: Report | None = None) -> float:
        """Return the value of a state for MAX: exact, or within `report.bound` if the game has cycles.

        The bound is usually far below 1e-10, or 1e-10 of the largest score.
        """
        if not state.game.is_like(self.game):
            raise DicentError(f"this solver is for {self.game.name}, not for {state.game.name}")
        if self._graph is None:
            value = self._walk_or_forget(state, progress)
            if value is not None:
                return value
            self._graph = GraphSolver(
                self.game, self.max_states, self.values == "score", compiled=self.bound.compiled
            )
        return self._graph.value_of(state, progress)

    def solve(self, state: State, progress: Report | None = None) -> Solution:
        """Return the exact value of a state, its moves and its outcomes."""
        self.value_of(state, progress)
        return describe(state, self.value_of, "solver", self.states, self, self.values)

    def _walk_or_forget(self, state: State, progress: Report | None) -> float | None:
        """Walk, and drop all values if the walk is abandoned: some states on its path would have none."""
        value = None
        try:
            value = self._walk(state, progress)
        finally:
            if value is None:
                self._forget()
        return value

    def _walk(self, state: State, progress: Report | None) -> float | None:
        """Return the value of a state, or None if the walk meets a cycle."""
        kernel = self.bound.kernel(solve_kernels.solve)
        scores = self.values == "score"
        self._path.state[0] = state.cells
        self._path.width[0] = -1
        level = 0
        while level >= 0:
            size = len(self._stored.value)
            most = min(self.max_states, int(LOAD * size))
            level, why = kernel(self._stored, self._path, level, scores, most, STEPS)
            if why == CYCLE:
                return None
            if why == FULL:
                self._grow(state)
            elif why == DEEP:
                self._path = _longer(self._path)
            if progress is not None:
                progress(SolveProgress(self.states, _share(self._path, level)))
        return float(self._path.value[0])

    def _grow(self, state: State) -> None:
        if self.states >= self.max_states:
            raise DicentError(
                f"{self.game.name} is too large to be solved from {state}: more than "
                f"{self.max_states:,} states follow. Start nearer to the end, or allow more with max_states"
            )
        needed = 3 * (self._stored.state.nbytes + self._stored.value.nbytes)
        require_memory(self.game, self.states, needed, machine.free_memory())
        old, new = self._stored, self._new_table(2 * len(self._stored.value))
        move = self.bound.kernel(solve_kernels.move)
        for first in range(0, len(old.value), MOVED):
            move(old, new, first, min(first + MOVED, len(old.value)))
        self._stored = new

    def _forget(self) -> None:
        self._stored = self._new_table(FIRST_SLOTS)
        self._path = self._new_path()

    def _new_path(self) -> solve_kernels.Line:
        game, depth = self.game, FIRST_DEPTH
        return solve_kernels.Line(
            state=np.zeros((depth, game.state_size), game.state_dtype),
            actions=game.empty_actions(depth),
            p=np.zeros((depth, max(1, game.num_outcomes)), np.float64),
            player=np.zeros(depth, np.int64),
            width=np.zeros(depth, np.int64),
            child=np.zeros(depth, np.int64),
            first=np.zeros(depth, np.float64),
            value=np.zeros(depth, np.float64),
        )

    def _new_table(self, slots: int) -> solve_kernels.Known:
        return solve_kernels.Known(
            state=np.empty((slots, self.game.state_size), self.game.state_dtype),
            value=np.full(slots, np.nan),
            filled=np.zeros(1, np.int64),
        )


def solve(
    start: Game | State,
    max_states: int = MAX_STATES,
    progress: Report | None = None,
    compiled: bool | None = None,
    values: ValueKind | None = None,
) -> Solution:
    """Solve a position, or a whole game from all of its start positions.

    `max_states` bounds the memory: a state takes about 16 bytes more than twice its size, and more in a game
    with cycles. `values` is "score" or "gain", by default the score if the game has one.
    """
    if isinstance(start, State):
        return Solver(start.game, max_states, compiled, values).solve(start, progress)
    starts = start_states(start)
    solver = Solver(start, max_states, compiled, values)
    if len(starts) == 1:
        return solver.solve(starts[0], progress)
    by_start = {state: solver.value_of(state, progress) for state in starts}
    return describe_deals(by_start, "solver", solver.states, solver, solver.values)


def values_of(game: Game, values: ValueKind | None) -> ValueKind:
    """Return the kind of values that is asked for, or the default of a game."""
    if values is None:
        return "score" if game.has_score else "gain"
    if values not in ("score", "gain"):
        raise DicentError(f"values must be score or gain (got {values!r})")
    if values == "score" and not game.has_score:
        raise DicentError(f"{game.name} has no score: its values can only be gain")
    return values


def start_states(game: Game) -> list[State]:
    """Return all start positions of a game, sorted by text; raise an error if they are many."""
    starts: set[State] = set()
    seed = 0
    while seed < DRAWS * max(1, len(starts)):
        starts.add(game.initial_state(seed))
        seed += 1
        if len(starts) > MAX_STARTS:
            raise DicentError(f"{game.name} deals more than {MAX_STARTS:,} starts: give a position to solve")
    return sorted(starts, key=str)


def _longer(path: solve_kernels.Line) -> solve_kernels.Line:
    """Return a copy of the path with room for twice as many states."""
    return solve_kernels.Line(*(np.concatenate([array, np.zeros_like(array)]) for array in path))


def _share(path: solve_kernels.Line, level: int) -> float:
    """Estimate the finished share of the search, as if all children took the same time."""
    share, part = 0.0, 1.0
    for i in range(level):
        part /= max(1, int(path.width[i]))
        share += part * (int(path.child[i]) - 1)
    return share if level >= 0 else 1.0

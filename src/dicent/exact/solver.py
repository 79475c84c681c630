"""Solver: exact values of any game that is finite, without cycles and small enough for the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dicent.errors import DicentError
from dicent.exact.solution import Solution, describe, describe_deals
from dicent.game import Game, State
from dicent.game.binding import bind
from dicent.kernels import solve as solve_kernels
from dicent.kernels.solve import CYCLE, DEEP, FULL

STEPS = 100_000  # states looked at in a call, well under 50 ms
MOVED = 1 << 18  # slots moved in a call
MAX_STATES = 20_000_000
MAX_STARTS = 1000
DRAWS = 50  # for each different start; one as likely as the others is missed once in exp(50)
LOAD = 0.7  # how full a hash table may be


@dataclass(frozen=True)
class SolveProgress:
    """How far a solver has come."""

    states: int
    share: float  # of the work, an estimate: the share of the lines of play


Report = Callable[[SolveProgress], object]


class Solver:
    """Exact values of the states of one game, worked out when they are asked for and then kept."""

    def __init__(self, game: Game, max_states: int = MAX_STATES, compiled: bool | None = None) -> None:
        if max_states < 1:
            raise DicentError(f"max_states={max_states}: at least one state is needed")
        self.game = game
        self.max_states = max_states
        self.bound = bind(game, compiled)
        self._known: Any = None
        self._line: Any = None
        self._forget()

    @property
    def states(self) -> int:
        """How many states are kept: chance states, and decisions that chance has not just led to."""
        return int(self._known.filled[0])

    def known(self) -> tuple[Any, Any]:
        """The states kept [N, S] and their values [N]."""
        there = ~np.isnan(self._known.value)
        return self._known.state[there], self._known.value[there]

    def value_of(self, state: State, progress: Report | None = None) -> float:
        """The exact value of a state for MAX."""
        if not state.game.is_like(self.game):
            raise DicentError(f"this solver is for {self.game.name}, not for {state.game.name}")
        try:
            return self._walk(state, progress)
        except BaseException:  # a walk that is given up leaves states without a value
            self._forget()
            raise

    def solve(self, state: State, progress: Report | None = None) -> Solution:
        """The exact value of a state, its moves and its outcomes."""
        self.value_of(state, progress)
        return describe(state, self.value_of, "solver", self.states, self)

    def _walk(self, state: State, progress: Report | None) -> float:
        kernel = self.bound.kernel(solve_kernels.solve)
        line = self._line
        line.state[0] = state.cells
        line.width[0] = -1
        level = 0
        while level >= 0:
            size = len(self._known.value)
            level, why = kernel(self._known, self._line, level, min(self.max_states, int(LOAD * size)), STEPS)
            if why == CYCLE:
                again = self.game.state(self._line.state[level])
                raise DicentError(
                    f"{self.game.name} has cycles, and only games without them can be solved: "
                    f"{again} comes again after {_cycle_length(self._line.state, level)} plies "
                    f"({self.states:,} states were found)"
                )
            if why == FULL:
                self._grow(state)
            elif why == DEEP:
                self._line = _longer(self._line)
            if progress is not None:
                progress(SolveProgress(self.states, _share(self._line, level)))
        return float(self._line.value[0])

    def _grow(self, state: State) -> None:
        if self.states >= self.max_states:
            raise DicentError(
                f"{self.game.name} is too large to be solved from {state}: more than "
                f"{self.max_states:,} states follow. Start nearer to the end, or allow more with max_states"
            )
        old, new = self._known, self._table(2 * len(self._known.value))
        move = self.bound.kernel(solve_kernels.move)
        for first in range(0, len(old.value), MOVED):
            move(old, new, first, min(first + MOVED, len(old.value)))
        self._known = new

    def _forget(self) -> None:
        self._known = self._table(1 << 12)
        game, depth = self.game, 64
        self._line = solve_kernels.Line(
            state=np.zeros((depth, game.state_size), game.state_dtype),
            actions=np.zeros((depth, game.num_actions), np.int64),
            p=np.zeros((depth, max(1, game.num_outcomes)), np.float64),
            player=np.zeros(depth, np.int64),
            width=np.zeros(depth, np.int64),
            child=np.zeros(depth, np.int64),
            first=np.zeros(depth, np.float64),
            value=np.zeros(depth, np.float64),
        )

    def _table(self, slots: int) -> Any:
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
) -> Solution:
    """Solve a position, or a whole game from its start; where starts are dealt, from all of them.

    `max_states` bounds the memory: a state takes about twice its own size and 16 bytes.
    """
    if isinstance(start, State):
        return Solver(start.game, max_states, compiled).solve(start, progress)
    starts = start_states(start)
    solver = Solver(start, max_states, compiled)
    if len(starts) == 1:
        return solver.solve(starts[0], progress)
    values = {state: solver.value_of(state, progress) for state in starts}
    return describe_deals(values, "solver", solver.states, solver)


def start_states(game: Game) -> list[State]:
    """All start positions of a game, in the order of their texts; an error where they are too many."""
    starts: set[State] = set()
    seed = 0
    while seed < DRAWS * max(1, len(starts)):
        starts.add(game.initial_state(seed))
        seed += 1
        if len(starts) > MAX_STARTS:
            raise DicentError(f"{game.name} deals more than {MAX_STARTS:,} starts: give a position to solve")
    return sorted(starts, key=str)


def _longer(line: Any) -> Any:
    """The same line of play with room for twice as many states."""
    return type(line)(*(np.concatenate([array, np.zeros_like(array)]) for array in line))


def _share(line: Any, level: int) -> float:
    """How much of the walk is done, as if all children of a state took the same time."""
    share, part = 0.0, 1.0
    for i in range(level):
        part /= max(1, int(line.width[i]))
        share += part * (int(line.child[i]) - 1)
    return share if level >= 0 else 1.0


def _cycle_length(states: Any, level: int) -> int:
    same = (states[:level] == states[level]).all(axis=1)
    return int(level - np.flatnonzero(same)[-1])

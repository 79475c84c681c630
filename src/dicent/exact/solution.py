"""Solution: the exact value of a position, from a solver or a tablebase."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from dicent.game import State
from dicent.kernels.constants import MAX
from dicent.search.analysis import MoveInfo, OutcomeInfo, point_of_view, win_probability

if TYPE_CHECKING:
    from dicent.exact.graph_report import GraphReport
    from dicent.exact.solver import Solver

ValueKind = Literal["score", "gain"]  # expected points, or the expected result from -1 to 1


@dataclass(frozen=True)
class Solution:
    """The exact value of a position, and of its moves or outcomes.

    `value` is for MAX, `win` for the player to move, as in an `Analysis`. Where values are points, win
    probabilities are unknown, NaN. A chance state has no `moves`, and a decision has no `outcomes`. For a
    whole game with several starts, `state` is None, starts are outcomes.
    """

    state: State | None
    value: float
    win: float
    moves: tuple[MoveInfo, ...]  # best first
    outcomes: tuple[OutcomeInfo, ...]
    source: str  # "solver" or "tablebase"
    states: int = 0  # states in the memory of the solver
    solver: Solver | None = field(default=None, repr=False, compare=False)
    values: ValueKind = "gain"  # the unit of `value`
    graph: GraphReport | None = field(default=None, compare=False)  # how a game with cycles was solved

    @property
    def best(self) -> int:
        """A best action."""
        return self.moves[0].action

    @property
    def equity(self) -> float:
        """The value for the player to move: expected points, or the expected result."""
        return self.value * (MAX if self.state is None else point_of_view(self.state))

    @property
    def bound(self) -> float:
        """How far apart the bounds of a value can be: 0 unless the game has cycles."""
        return 0.0 if self.graph is None else self.graph.bound

    def value_of(self, state: State) -> float:
        """Return the value of another state for MAX; fast if the solver has visited it."""
        if self.solver is None:
            raise TypeError("this solution comes from a tablebase: ask the tablebase")
        return self.solver.value_of(state)

    def to_dict(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return {
            "values": self.values,
            "value": self.value,
            "equity": self.equity,
            "win": None if math.isnan(self.win) else self.win,
            "exact": True,
            "bound": self.bound,
            "graph": None if self.graph is None else asdict(self.graph),
            "moves": [{"move": move.text, "value": move.value} for move in self.moves],
            "outcomes": [{"outcome": o.text, "p": o.p, "value": o.value} for o in self.outcomes],
            "source": self.source,
        }


def describe(
    state: State,
    value_of: Callable[[State], float],
    source: str,
    states: int = 0,
    solver: Solver | None = None,
    values: ValueKind = "gain",
) -> Solution:
    """Return the solution of a position, given the values of the next states."""
    game, player, graph = state.game, state.to_play, _graph_of(solver)
    outcomes = tuple(
        OutcomeInfo(o, game.format_outcome(state, o), p, value_of(state.apply_outcome(o)))
        for o, p in state.outcomes
    )
    listed = []
    for action in state.legal_actions:
        text, value = game.format_action(state, action), value_of(state.apply(action))
        listed.append(MoveInfo(action, text, value, _win(value, player, values), 0, True, (text,)))
    moves = tuple(sorted(listed, key=lambda move: player * move.value, reverse=True))
    value = value_of(state)
    win = _win(value, point_of_view(state), values)
    return Solution(state, value, win, moves, outcomes, source, states, solver, values, graph)


def describe_deals(
    by_start: dict[State, float],
    source: str,
    states: int = 0,
    solver: Solver | None = None,
    values: ValueKind = "gain",
) -> Solution:
    """Return the solution of a game with several start positions of equal probability."""
    p = 1 / len(by_start)
    outcomes = tuple(OutcomeInfo(i, str(s), p, v) for i, (s, v) in enumerate(by_start.items()))
    value = sum(by_start.values()) * p
    win, graph = _win(value, MAX, values), _graph_of(solver)
    return Solution(None, value, win, (), outcomes, source, states, solver, values, graph)


def _graph_of(solver: Solver | None) -> GraphReport | None:
    return None if solver is None else solver.report


def _win(value: float, player: int, values: ValueKind) -> float:
    return win_probability(value, player) if values == "gain" else math.nan

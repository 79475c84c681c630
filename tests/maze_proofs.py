"""Random positions of small games with cycles: are claimed proofs right, and do values converge?"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import MAX
from dicent.evaluate.native import RandomEvaluator
from dicent.evaluate.terminal_value import terminal_value
from dicent.exact.graph_solver import GraphSolver
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.tree_search import TreeSearch

MAZES = Path(__file__).parent / "data" / "mazes.py"
TRUE = 1e-9  # the largest error of a proved value


@dataclass
class Found:
    """What searches claimed in some mazes."""

    full_width: bool  # Expectiminimax converges slowly: each depth repeats the states of the depths before
    scale: float  # of the values
    positions: int = 0
    proved: int = 0  # roots
    moves: int = 0  # proved moves of roots
    claims: int = 0  # proved states of the trees, ends of games left out
    errors: list[float] = field(default_factory=list)  # of the roots' values

    @property
    def mean_error(self) -> float:
        return sum(self.errors) / len(self.errors)

    def __str__(self) -> str:
        errors = f"error of values {self.mean_error:.5f}, at most {max(self.errors):.4f}"
        return (
            f"{self.positions:,} positions; proved: {self.proved:,} of them, {self.moves:,} of their moves, "
            f"{self.claims:,} states of trees; {errors}"
        )

    def converged(self) -> bool:
        """Return whether the values have come close to the exact ones."""
        mean, most = (0.08, 0.4) if self.full_width else (0.005, 0.1)
        return self.mean_error < mean * self.scale and max(self.errors) < most * self.scale


class Exact:
    """Exact values of mazes, as results or points."""

    def __init__(self, game: dicent.Game, scored: bool) -> None:
        self.game, self.scored = game, scored
        self.solver = GraphSolver(game, 10_000_000, scores=scored)
        self._known: dict[bytes, float] = {}

    def add(self, starts: list[dicent.State]) -> None:
        """Solve these positions and all that can follow them."""
        for start in starts:
            self.solver.bounds_of(start)
        cells, values = self.solver.stored()
        self._known |= {row.tobytes(): value for row, value in zip(cells, values.tolist(), strict=True)}

    def value_of(self, state: dicent.State) -> float:
        key = state.cells.tobytes()
        if key not in self._known:
            self._known[key] = self._follow(state)
        return self._known[key]

    def _follow(self, state: dicent.State) -> float:
        """Return the value of a decision or an end: the solver stores the states before rolls."""
        if state.result is not None:
            return float(self.game.call("score", state.cells)) if self.scored else float(state.result)
        values = [self.value_of(state.apply(action)) for action in state.legal_actions]
        return max(values) if state.to_play == MAX else min(values)


def search_mazes(
    make: Callable[[dicent.Evaluator], TreeSearch], exact: Exact, starts: list[dicent.State]
) -> Found:
    """Search every position; fail if a value that is claimed to be exact is wrong anywhere in a tree."""
    game, full_width = exact.game, isinstance(make(RandomEvaluator(1)), Expectiminimax)
    found = Found(full_width, scale=3.0 if exact.scored else 1.0)
    limit = dicent.Limit(evaluations=600 if full_width else 5000)
    for number, start in enumerate(starts):
        evaluator = RandomEvaluator(seed=number)
        if exact.scored:
            evaluator.terminal = terminal_value("score", game)
        analysis = make(evaluator).analyse(start, limit)
        value = exact.value_of(start)
        found.positions += 1
        found.errors.append(abs(analysis.value - value))
        if analysis.proved:
            found.proved += 1
            assert analysis.value == pytest.approx(value, abs=TRUE), str(start)
        for move in analysis.moves:
            if move.proved:
                found.moves += 1
                child = exact.value_of(start.apply(move.action))
                assert move.value == pytest.approx(child, abs=TRUE), (str(start), move.text)
        found.claims += _check_tree(analysis, exact)
    return found


def _check_tree(analysis: dicent.Analysis, exact: Exact) -> int:
    """Compare every proved state of a tree; return how many there were. Searches that prune keep no tree."""
    if analysis.tree is None:
        return 0
    tree, claims = analysis.tree.tree, 0
    for node in np.flatnonzero(tree.resolved[0, : int(tree.nodes[0])]).tolist():
        state = exact.game.state(tree.state[0, node])
        if state.result is None:
            claims += 1
            assert tree.value[0, node] == pytest.approx(exact.value_of(state), abs=TRUE), str(state)
    return claims


def starts_of(game: dicent.Game, mazes: range) -> list[dicent.State]:
    """Return a room of each maze."""
    rooms = 2 * int(game.options["rooms"])
    return [game.state([maze, 0, maze % rooms]) for maze in mazes]

"""Exact values by brute force in plain Python, for tests to hold searches against."""

from collections.abc import Callable

import numpy as np

import dicent
from dicent import MAX


class Exact:
    """Values for MAX with best play by both sides, each state worked out once.

    `outcome` says what chance does where it is resolved beforehand; without it chance is a mean.
    """

    def __init__(self, outcome: Callable[[dicent.State], int] | None = None) -> None:
        self.outcome = outcome
        self.known: dict[dicent.State, float] = {}

    def value(self, state: dicent.State) -> float:
        if state not in self.known:
            self.known[state] = self._work_out(state)
        return self.known[state]

    def moves(self, state: dicent.State) -> dict[int, float]:
        """The value of each legal action."""
        return {action: self.value(state.apply(action)) for action in state.legal_actions}

    def _work_out(self, state: dicent.State) -> float:
        if state.result is not None:
            return float(state.result)
        if not state.is_chance:
            return (max if state.to_play == MAX else min)(self.moves(state).values())
        if self.outcome is not None:
            return self.value(state.apply_outcome(self.outcome(state)))
        return sum(p * self.value(state.apply_outcome(outcome)) for outcome, p in state.outcomes)


def value_at_horizon(state: dicent.State, depth: int, evaluator: dicent.Evaluator) -> float:
    """The same with a horizon `depth` plies ahead, where the evaluator judges; rolls are plies too."""
    if state.result is not None:
        return float(state.result)
    if depth == 0:
        return float(evaluator.evaluate(state.game, np.array([state.cells]))[0])
    if state.is_chance:
        return sum(
            p * value_at_horizon(state.apply_outcome(outcome), depth - 1, evaluator)
            for outcome, p in state.outcomes
        )
    values = [value_at_horizon(state.apply(a), depth - 1, evaluator) for a in state.legal_actions]
    return max(values) if state.to_play == MAX else min(values)

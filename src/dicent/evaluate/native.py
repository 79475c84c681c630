"""Evaluators without a network: kernels run them at native speed."""

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.terminal_value import GAIN, TerminalValue
from dicent.game import Cells, Game
from dicent.game.arrays import new_scratch
from dicent.kernels import values as values_kernels
from dicent.kernels.values import CONSTANT, RANDOM, ROLLOUT, SCORED_ROLLOUT, Native


class NativeEvaluator(Evaluator):
    """The base of the evaluators below.

    `terminal` is the value of finished games in searches with this evaluator: "gain", the result, or "score",
    the game's points.
    """

    def __init__(self, terminal: str = "gain") -> None:
        if terminal not in ("gain", "score"):
            raise DicentError(f"terminal must be gain or score (got {terminal!r})")
        self.terminal = GAIN if terminal == "gain" else TerminalValue(terminal)

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        self.terminal.require(game)
        values = np.empty(len(states), np.float64)
        bound = self.bind(game)
        bound.kernel(values_kernels.leaf_values)(
            np.ascontiguousarray(states), values, self.native, self.in_points, new_scratch(bound)
        )
        return values


class ConstantEvaluator(NativeEvaluator):
    """The value 0 for every state, to measure a search alone."""

    native = Native(CONSTANT)


class RandomEvaluator(NativeEvaluator):
    """A random value from -1 to 1, always the same for the same state and seed."""

    def __init__(self, seed: int = 0, terminal: str = "gain") -> None:
        super().__init__(terminal)
        self.native = Native(RANDOM, seed % 2**63)


class Rollout(NativeEvaluator):
    """The mean result of `games` random games, which depend on the state and the seed only.

    With `terminal="score"` it is the mean score.
    """

    def __init__(self, games: int = 1, seed: int = 0, terminal: str = "gain") -> None:
        super().__init__(terminal)
        if games < 1:
            raise DicentError(f"Rollout needs at least one game (got games={games})")
        self.native = Native(SCORED_ROLLOUT if self.in_points else ROLLOUT, seed % 2**63, games)

"""Evaluator: the judge f_theta of states that go on. It is asked for many at once, never for one."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dicent.game import Cells, Game
from dicent.kernels.leaf import OUTSIDE

Values = npt.NDArray[np.float64]


class Evaluator(ABC):
    """Values of states for MAX, in batches."""

    # Kind, seed and number of games, for evaluators that kernels can run by themselves.
    native: tuple[int, int, int] = (OUTSIDE, 0, 0)

    @abstractmethod
    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S], none of them finished."""


class PolicyEvaluator(Evaluator):
    """An evaluator that also says which actions look good."""

    @abstractmethod
    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Values [B] and the logits [B, A] of all actions."""

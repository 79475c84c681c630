"""Evaluator: the judge f_theta of states that go on. It is asked for many at once, never for one."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dicent.evaluate.terminal_value import GAIN, GainMap, TerminalValue
from dicent.game import Cells, Game
from dicent.kernels.values import OUTSIDE

Values = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


class Evaluator(ABC):
    """Values of states for MAX, in batches."""

    # Kind, seed and number of games, for evaluators that kernels can run by themselves.
    native: tuple[int, int, int] = (OUTSIDE, 0, 0)
    # What finished games are worth beside these values: every search with this evaluator uses it.
    terminal: TerminalValue = GAIN
    gain_map: GainMap | None = None  # from its values to expected results, where they are no gains

    def gain(self, value: float) -> float:
        """The expected result, from -1 to 1 for MAX, behind a value."""
        return value if self.gain_map is None else self.gain_map(value)

    def gains(self, values: Values) -> Values:
        """The same for many values."""
        return values if self.gain_map is None else np.array([self.gain_map(v) for v in values.tolist()])

    @abstractmethod
    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S], none of them finished."""

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """The values, and which of them are exact; None where the evaluator knows of none."""
        return self.evaluate(game, states), None


class PolicyEvaluator(Evaluator):
    """An evaluator that also says which actions look good."""

    @abstractmethod
    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Values [B] and the logits [B, A] of all actions."""

"""Evaluator: f_theta, the values of unfinished states. It evaluates states in batches, never one by one."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.terminal_value import GAIN, GainMap, TerminalValue
from dicent.game import Cells, Game
from dicent.game.binding import Bound, bind
from dicent.kernels.values import OUTSIDE, Native

Values = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
Logits = npt.NDArray[np.float32]


class Evaluator(ABC):
    """Values of states for MAX, in batches."""

    native: Native = Native(OUTSIDE)  # for evaluators that kernels run themselves
    # The values of finished games that go with these values: every search with this evaluator uses it.
    terminal: TerminalValue = GAIN
    gain_map: GainMap | None = None  # from its values to expected results, where values are not gains

    looks_up = False  # it has `exact_values`

    @property
    def in_points(self) -> bool:
        """Whether its values are the game's points, and not expected results."""
        return self.terminal.uses_score

    @property
    def knows_gains(self) -> bool:
        """Whether `gain` returns expected results: values are gains, or a map was fitted."""
        return self.gain_map is not None or self.terminal.name == "gain"

    def gain(self, value: float) -> float:
        """Return the expected result, from -1 to 1 for MAX, behind a value; NaN if it is unknown.

        Points alone do not determine it: one point may be a sure win, or two points half of the time.
        """
        return float(self.gains(np.array([value]))[0])

    def gains(self, values: Values) -> Values:
        """Return the expected results behind many values; NaN if they are unknown."""
        if self.gain_map is not None:
            return self.gain_map.at(values)
        return np.full(len(values), np.nan) if self.in_points else values

    def bind(self, game: Game, compiled: bool | None = None) -> Bound:
        """Return the kernels of a game for searches with this evaluator."""
        return bind(game, compiled)

    @abstractmethod
    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S], none of them finished."""

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """Return the values, and which of them are exact; None if none is."""
        return self.evaluate(game, states), None

    @property
    def marks(self) -> bool:
        """Whether `evaluate_marked` may mark values as exact."""
        return type(self).evaluate_marked is not Evaluator.evaluate_marked

    def exact_values(self, game: Game, states: Cells) -> Values:
        """Return the values that are exact, found without evaluating a state; NaN for other states."""
        return np.full(len(states), np.nan)

    @property
    def offers_policy(self) -> bool:
        """Whether `evaluate_with_policy` may be called; a network without a policy still raises there."""
        return False

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, Logits]:
        """Return the values [B] and the logits [B, A] of all actions."""
        raise DicentError(f"{type(self).__name__} has no policy")


class PolicyEvaluator(Evaluator):
    """An evaluator that also says which actions look good."""

    @property
    def offers_policy(self) -> bool:
        """See `Evaluator.offers_policy`."""
        return True

    @abstractmethod
    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, Logits]:
        """See `Evaluator.evaluate_with_policy`."""

"""WithTablebase: an evaluator that looks states up in a tablebase first."""

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Marks, PolicyEvaluator, Values
from dicent.exact.tablebase import Tablebase
from dicent.game import Cells, Game


class WithTablebase(PolicyEvaluator):
    """Exact values of states in the tablebase; other values and all policies of `evaluator`.

    Searches with completion treat exact values as proved.
    """

    def __init__(self, evaluator: Evaluator, tablebase: Tablebase) -> None:
        if evaluator.terminal.name != "gain" or evaluator.gain_map is not None:
            raise DicentError(
                f"tables hold chances of winning, and the values of this evaluator are of another kind "
                f"({evaluator.terminal.name}): they cannot be mixed"
            )
        self.evaluator = evaluator
        self.tablebase = tablebase

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        return self.evaluate_marked(game, states)[0]

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """Return the values, and which of them are exact."""
        if not self.tablebase.is_for(game):
            return self.evaluator.evaluate_marked(game, states)
        values = self.tablebase.values(states)
        exact = ~np.isnan(values)
        if not exact.all():
            values[~exact] = self.evaluator.evaluate(game, states[~exact])
        return values, exact

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Return values [B] and the evaluator's logits [B, A] of all actions."""
        if not isinstance(self.evaluator, PolicyEvaluator):
            raise DicentError(f"{type(self.evaluator).__name__} has no policy")
        values, logits = self.evaluator.evaluate_with_policy(game, states)
        if self.tablebase.is_for(game):
            known = self.tablebase.values(states)
            values = np.where(np.isnan(known), values, known)
        return values, logits

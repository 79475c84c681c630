"""WithTablebase: an evaluator that looks states up in a tablebase first."""

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Marks, PolicyEvaluator, Values
from dicent.exact.tablebase import Tablebase, open_tablebase
from dicent.game import Cells, Game


class WithTablebase(PolicyEvaluator):
    """Exact values of states in the tablebase; other values and all policies of `evaluator`.

    Searches with completion treat exact values as proved. Without a `tablebase`, each game has the largest
    one that is built for it.
    """

    looks_up = True

    def __init__(self, evaluator: Evaluator, tablebase: Tablebase | None = None) -> None:
        if evaluator.terminal.name != "gain" or evaluator.gain_map is not None:
            raise DicentError(
                f"a tablebase holds win probabilities, and the values of this evaluator are of another kind "
                f"({evaluator.terminal.name}): they cannot be mixed"
            )
        self.evaluator = evaluator
        self.tablebase = tablebase
        self._opened: dict[Game, Tablebase] = {}

    def tablebase_of(self, game: Game) -> Tablebase | None:
        """Return the tablebase for a game; None if the one that was given is for another game."""
        if self.tablebase is not None:
            return self.tablebase if self.tablebase.is_for(game) else None
        if game not in self._opened:
            self._opened[game] = open_tablebase(game)
        return self._opened[game]

    def exact_values(self, game: Game, states: Cells) -> Values:
        """Return the values [B] in the tablebase; NaN for other states."""
        tablebase = self.tablebase_of(game)
        return super().exact_values(game, states) if tablebase is None else tablebase.values(states)

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        return self.evaluate_marked(game, states)[0]

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """Return the values, and which of them are exact."""
        tablebase = self.tablebase_of(game)
        if tablebase is None:
            return self.evaluator.evaluate_marked(game, states)
        values = tablebase.values(states)
        exact = ~np.isnan(values)
        if not exact.all():
            values[~exact] = self.evaluator.evaluate(game, states[~exact])
        return values, exact

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Return values [B] and the evaluator's logits [B, A] of all actions."""
        if not isinstance(self.evaluator, PolicyEvaluator):
            raise DicentError(f"{type(self.evaluator).__name__} has no policy")
        values, logits = self.evaluator.evaluate_with_policy(game, states)
        known = self.exact_values(game, states)
        return np.where(np.isnan(known), values, known), logits

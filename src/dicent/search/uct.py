"""Uct: Monte Carlo tree search with random rollouts, the classic opponent."""

import math

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native import Rollout
from dicent.game.binding import Bound
from dicent.kernels import uct as uct_kernels
from dicent.kernels.searches import Searches
from dicent.kernels.tree import Scratch, Settings, Tree
from dicent.search.search_kernels import SearchKernels
from dicent.search.simulation_search import SimulationKernels, SimulationSearch


class UctKernels(SimulationKernels):
    """The kernels of `Uct`."""

    def __init__(self, bound: Bound, evaluator: Evaluator, settings: Settings, exploration: float) -> None:
        super().__init__(bound, evaluator, settings)
        self.exploration = exploration

    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """See `SearchKernels.advance`."""
        self.bound.kernel(uct_kernels.advance)(
            *(tree, searches, self.statistics, first, last),
            *(self.exploration, self.settings, scratch, steps),
        )


class Uct(SimulationSearch):
    """UCB1 with constant `exploration`, and `rollouts` random games per simulation (`kernels/uct.py`).

    With `terminal="score"` it plays for the game's points, and not for wins. `exploration` is then relative
    to the largest score.
    """

    replaces_evaluator = False  # the kernel plays random games itself
    plays_random_games = True

    def __init__(
        self,
        rollouts: int = 1,
        exploration: float = math.sqrt(2),
        seed: int = 0,
        terminal: str = "gain",
    ) -> None:
        super().__init__(Rollout(rollouts, terminal=terminal), completion=False, seed=seed)
        if not exploration >= 0:
            raise DicentError(f"exploration must be 0 or more (got {exploration})")
        self.exploration = float(exploration)

    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """See `TreeSearch.kernels`."""
        largest = bound.game.max_score or 1.0 if self.evaluator.in_points else 1.0
        return UctKernels(bound, self.evaluator, self.settings(), self.exploration * largest)

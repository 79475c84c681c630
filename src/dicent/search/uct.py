"""Uct: Monte Carlo tree search with random rollouts, the classic opponent."""

import math
from typing import Any

from dicent.errors import DicentError
from dicent.evaluate.native import Rollout
from dicent.kernels import uct as uct_kernels
from dicent.search.group import Group
from dicent.search.simulation_search import SimulationSearch


class Uct(SimulationSearch):
    """UCB1 with constant `exploration`, and `rollouts` random games a simulation (`kernels/uct.py`)."""

    def __init__(self, rollouts: int = 1, exploration: float = math.sqrt(2), seed: int = 0) -> None:
        super().__init__(Rollout(rollouts), completion=False, seed=seed)
        if not exploration >= 0:
            raise DicentError(f"exploration is {exploration}; it must be 0 or more")
        self.exploration = float(exploration)

    def advance(self, group: Group, first: int, last: int, work: Any, steps: int) -> None:
        """Run the kernel on members `first` to `last`."""
        group.bound.kernel(uct_kernels.advance)(
            group.tree,
            group.searches,
            self.statistics(group),
            first,
            last,
            self.exploration,
            group.settings,
            work,
            steps,
        )

"""Puct: the search of AlphaZero and Polygames, by the policy and value of a network."""

from typing import Any

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import PolicyEvaluator
from dicent.game import Game, State
from dicent.kernels import puct as puct_kernels
from dicent.search.group import Group
from dicent.search.limit import Limit
from dicent.search.simulation_search import SimulationSearch

SIMULATIONS = 1600  # Polygames' default


class Puct(SimulationSearch):
    """Simulations led by priors (`kernels/puct.py`).

    For learning, `noise` of the root's priors are replaced by draws from a Dirichlet distribution
    with parameter `alpha`, and `temperature` chooses by visits to the power of its inverse; 0 plays
    the most visited action.
    """

    def __init__(
        self,
        evaluator: PolicyEvaluator,
        exploration: float = 1.25,
        noise: float = 0.0,
        alpha: float = 0.3,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(evaluator, completion=False, seed=seed)
        if not isinstance(evaluator, PolicyEvaluator):
            raise DicentError(
                f"Puct needs an evaluator with a policy, and {type(evaluator).__name__} has none"
            )
        if not (exploration >= 0 and 0 <= noise <= 1 and 0 < alpha < np.inf and temperature >= 0):
            raise DicentError(
                "Puct: exploration is 0 or more, noise from 0 to 1, alpha positive and finite, "
                "temperature 0 or more"
            )
        self.policy = evaluator
        self.exploration, self.noise, self.alpha = float(exploration), float(noise), float(alpha)
        self.temperature = temperature

    def begin(self, group: Group, members: Any) -> None:
        """Draw the root's noise, other noise for every move."""
        super().begin(group, members)
        if self.noise > 0:
            statistics, draw = self.statistics(group), group.bound.kernel(puct_kernels.draw_noise)
            group.in_threads(
                lambda first, last, _: draw(group.searches, statistics, members[first:last], self.alpha),
                len(members),
            )

    def advance(self, group: Group, first: int, last: int, work: Any, steps: int) -> None:
        """Run the kernel on members `first` to `last`."""
        statistics = self.statistics(group)
        group.bound.kernel(puct_kernels.advance)(
            *(group.tree, group.searches, statistics, first, last),
            *(self.exploration, self.noise, group.settings, work, steps),
        )

    def ask(self, game: Game, states: Any) -> Any:
        """Values and logits of states."""
        return self.policy.evaluate_with_policy(game, states)

    def take_in(self, group: Group, answer: Any, offsets: Any) -> None:
        """Values and priors for the states that wait."""
        values, logits = np.asarray(answer[0], np.float64), np.asarray(answer[1], np.float64)
        trees, matches, statistics = group.tree, group.searches, self.statistics(group)
        absorb = group.bound.kernel(puct_kernels.absorb)
        group.in_threads(
            lambda first, last, _: absorb(trees, matches, statistics, first, last, offsets, values, logits)
        )

    def play(self, state: State, limit: Limit | None = None, ply: int = 0) -> int:
        """The action that the search would play, by default after 1,600 simulations."""
        limit = limit or Limit(evaluations=SIMULATIONS)
        if self.temperature == 0 or not state.legal_actions:
            return super().play(state, limit, ply)
        moves = self.analyse(state, limit, ply=ply).moves
        visits = np.array([move.visits for move in moves], np.float64)
        weights = (visits / max(1.0, visits.max())) ** (1 / self.temperature)
        rng = np.random.default_rng([self.seed % 2**63, *state.cells.tobytes()])
        chosen = rng.choice(len(moves), p=weights / weights.sum())
        return moves[int(chosen)].action

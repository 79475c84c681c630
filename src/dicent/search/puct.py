"""Puct: the search of AlphaZero and Polygames, by the policy and value of a network."""

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import Cells, Game, State
from dicent.game.binding import Bound
from dicent.kernels import puct as puct_kernels
from dicent.kernels.searches import Searches
from dicent.kernels.tree import Scratch, Settings, Tree
from dicent.search.limit import Limit
from dicent.search.search_kernels import Answer, Indices, SearchKernels
from dicent.search.simulation_search import SimulationKernels, SimulationSearch

SIMULATIONS = 1600  # Polygames' default


class PuctKernels(SimulationKernels):
    """The kernels of `Puct`."""

    waits = True

    def __init__(
        self,
        bound: Bound,
        evaluator: Evaluator,
        settings: Settings,
        exploration: float,
        noise: float,
        alpha: float,
        parallel: int,
    ) -> None:
        super().__init__(bound, evaluator, settings)
        self.exploration, self.noise, self.alpha, self.parallel = exploration, noise, alpha, parallel

    @property
    def leaves(self) -> int:
        """The most simulations of a search that wait for values at once."""
        return self.parallel

    @property
    def noise_width(self) -> int:
        """Every action has a weight."""
        return self.bound.game.num_actions

    def begin(self, searches: Searches, members: Indices) -> None:
        """Draw the noise at the roots, different noise for every move."""
        super().begin(searches, members)
        if self.noise > 0:
            self.bound.kernel(puct_kernels.draw_noise)(searches, self.statistics, members, self.alpha)

    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """See `SearchKernels.advance`."""
        self.bound.kernel(puct_kernels.advance)(
            *(tree, searches, self.statistics, first, last),
            *(self.exploration, self.noise, self.settings, scratch, steps),
        )

    def break_off(self, tree: Tree, searches: Searches, row: int) -> None:
        """Forget the simulations that wait for a value."""
        self.bound.kernel(puct_kernels.let_go)(tree, searches, self.statistics, row)

    def ask(self, game: Game, states: Cells) -> Answer:
        """Evaluate states, with the logits of their actions."""
        values, logits = self.evaluator.evaluate_with_policy(game, states)
        return Answer(np.asarray(values, np.float64), None, np.asarray(logits, np.float64))

    def absorb(
        self, tree: Tree, searches: Searches, first: int, last: int, offsets: Indices, answer: Answer
    ) -> None:
        """Give the waiting simulations their values and priors."""
        self.bound.kernel(puct_kernels.absorb)(
            tree, searches, self.statistics, first, last, offsets, answer.values, answer.logits
        )


class Puct(SimulationSearch):
    """Simulations guided by priors (`kernels/puct.py`).

    For learning, a share of `noise` of the root's priors is replaced by draws from a Dirichlet distribution
    with parameter `alpha`. With a `temperature` above 0, moves are drawn by visits to the power of its
    inverse; 0 plays the most visited action. With more than one of `leaves`, so many simulations wait for the
    network at once, which fills its batches. Each counts as a loss on its path until its value arrives.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        exploration: float = 1.25,
        noise: float = 0.0,
        alpha: float = 0.3,
        temperature: float = 0.0,
        seed: int = 0,
        leaves: int = 1,
    ) -> None:
        super().__init__(evaluator, completion=False, seed=seed)
        if not evaluator.offers_policy:
            raise DicentError(
                f"Puct needs an evaluator with a policy, and {type(evaluator).__name__} has none"
            )
        if not (exploration >= 0 and 0 <= noise <= 1 and 0 < alpha < np.inf and temperature >= 0):
            raise DicentError(
                "Puct needs exploration and temperature of 0 or more, noise from 0 to 1, and a positive, "
                f"finite alpha (got exploration {exploration}, temperature {temperature}, noise {noise}, "
                f"alpha {alpha})"
            )
        if leaves < 1:
            raise DicentError(f"leaves must be 1 or more (got {leaves})")
        self.leaves = leaves
        self.exploration, self.noise, self.alpha = float(exploration), float(noise), float(alpha)
        self.temperature = temperature

    @property
    def plays_best(self) -> bool:
        """See `Search.plays_best`."""
        return self.temperature == 0

    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """See `TreeSearch.kernels`."""
        numbers = self.exploration, self.noise, self.alpha, self.leaves
        return PuctKernels(bound, self.evaluator, self.settings(), *numbers)

    def play(self, state: State, limit: Limit | None = None, ply: int = 0) -> int:
        """Return the action to play, by default after 1,600 simulations."""
        limit = limit or Limit(evaluations=SIMULATIONS)
        if self.temperature == 0 or not state.legal_actions:
            return super().play(state, limit, ply)
        moves = self.analyse(state, limit, ply=ply).moves
        visits = np.array([move.visits for move in moves], np.float64)
        weights = (visits / max(1.0, visits.max())) ** (1 / self.temperature)
        rng = np.random.default_rng([self.seed % 2**63, *state.cells.tobytes()])
        chosen = rng.choice(len(moves), p=weights / weights.sum())
        return moves[int(chosen)].action

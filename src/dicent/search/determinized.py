"""Determinized: a search of the game in which the outcomes of chance are known in advance."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import State
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch


class Determinized(Search):
    """Any tree search, on the game whose chance states are resolved by `d`.

    `d` gives each chance state one outcome, with the game's probability, from a hash of `seed` and the
    state, and of the ply and the rolls since then if positions can recur. The same seed always gives the same
    outcomes, and nothing is stored. In self-play the dice of the game come from the same `d`; against others
    the seed is the player's own, so that it cannot see the real dice. Random rollouts beyond the tree roll
    freely.
    """

    inner: TreeSearch

    def __init__(self, inner: TreeSearch, seed: int = 0) -> None:
        if not inner.batchable:
            raise DicentError(f"{type(inner).__name__} with prune cannot be determinized: use prune=no")
        self.inner = copy.copy(inner)
        self.inner.determinized = 1
        self.inner.determinization_seed = seed % 2**63
        self.evaluator: Evaluator = inner.evaluator
        self.seed = inner.seed
        self.replaces_evaluator = inner.replaces_evaluator
        self.determinization_seed = self.inner.determinization_seed
        self.keeps_tree, self.native, self.pausable = inner.keeps_tree, inner.native, inner.pausable
        self.ranks_by_visits, self.layered, self.whole = inner.ranks_by_visits, inner.layered, inner.whole
        self.targets = inner.targets

    @property
    def batched(self) -> TreeSearch | None:
        """The search inside, which has the determinization's seed."""
        return self.inner.batched

    def with_seeds(self, seed: int, determinization_seed: int) -> Determinized:
        """See `Search.with_seeds`."""
        return Determinized(self.inner.with_seeds(seed, 0), determinization_seed)

    def with_evaluator(self, evaluator: Evaluator) -> Determinized:
        """See `Search.with_evaluator`."""
        return Determinized(self.inner.with_evaluator(evaluator), self.determinization_seed)

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """See `Search.stream`."""
        return self.inner.stream(state, limit, after, every, ply)

    def outcome(self, state: State, ply: int = 0, rolls: int = 0) -> int:
        """Return d(state), the outcome that chance has at a chance state.

        In a game with cycles it depends on `ply`, too, the number of actions played before, and on `rolls`,
        the number of outcomes since the last action.
        """
        return self.inner.determinized_outcome(state, ply, rolls)

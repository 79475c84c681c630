"""Determinized: a search of the game in which chance is resolved beforehand."""

import copy
from collections.abc import Iterator

from dicent.game import State
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch


class Determinized(Search):
    """Any search, on the game whose chance states are resolved by `d`.

    `d` gives each chance state one outcome, with the game's probability, from a hash of `seed` and
    the state: always the same for the same seed, and nothing is stored. In self-play the dice of the
    match come from the same `d`; against others the seed is the player's own, so that it cannot see
    the real dice. Random rollouts beyond the tree roll freely.
    """

    def __init__(self, inner: TreeSearch, seed: int = 0) -> None:
        self.inner = copy.copy(inner)
        self.inner.determinized = 1
        self.inner.determinization_seed = seed % 2**63

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

    def outcome(self, state: State) -> int:
        """d(state): the outcome that chance has at a chance state."""
        return self.inner.resolve(state)

"""Unbounded Minimax (Korf and Chickering, as used by Cohen-Solal) and its expectiminimax form."""

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game.binding import Bound
from dicent.kernels.tree import Tree
from dicent.search.descent import DescentKernels
from dicent.search.search_kernels import SearchKernels
from dicent.search.tree_search import TreeSearch

DECISIONS = ("best", "safe")


class SafeKernels(DescentKernels):
    """The kernels of `Unbounded` with the safe decision."""

    def order(self, tree: Tree, row: int, node: int, edge: int) -> tuple[float, ...]:
        """Return (c, n, v) in place of (c, v, n), unless the values are exact."""
        c, v, n = super().order(tree, row, node, edge)
        return (c, v, n) if tree.resolved[row, node] else (c, n, v)


class Unbounded(TreeSearch):
    """Best-first search that expands one state in each iteration.

    `decision` is "best" (by value) or "safe": a proved win, else the most visited action without a proved
    loss. Both play the best action of a proved state.
    """

    keeps_tree = True

    def __init__(
        self, evaluator: Evaluator, completion: bool = True, decision: str = "best", seed: int = 0
    ) -> None:
        super().__init__(evaluator, completion, seed)
        if decision not in DECISIONS:
            raise DicentError(f"decision must be one of {', '.join(DECISIONS)} (got {decision!r})")
        self.decision = decision

    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """See `TreeSearch.kernels`."""
        make = SafeKernels if self.decision == "safe" else DescentKernels
        return make(bound, self.evaluator, self.settings(), unbounded=True, whole=False)

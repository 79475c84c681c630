"""Descent Minimax on games without chance, Descent Expectiminimax on games with it."""

from dicent.evaluate.base import Evaluator
from dicent.game.binding import Bound
from dicent.kernels import descent as descent_kernels
from dicent.kernels.searches import Searches
from dicent.kernels.tree import Scratch, Settings, Tree
from dicent.search.search_kernels import SearchKernels
from dicent.search.tree_search import TreeSearch


class DescentKernels(SearchKernels):
    """The kernels of `Descent`."""

    def __init__(
        self, bound: Bound, evaluator: Evaluator, settings: Settings, unbounded: bool, whole: bool
    ) -> None:
        super().__init__(bound, evaluator, settings)
        self.unbounded, self.whole = unbounded, whole

    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """See `SearchKernels.advance`."""
        self.bound.kernel(descent_kernels.advance)(
            *(tree, searches, first, last, self.unbounded, self.whole, self.settings, scratch, steps)
        )

    def settle(self, tree: Tree, searches: Searches, first: int, last: int) -> None:
        """Back up the descents that are under way."""
        self.bound.kernel(descent_kernels.settle)(tree, searches, first, last, self.settings.completion)


class Descent(TreeSearch):
    """Best-first descents to the end of the game (`kernels/descent.py`).

    With `completion` the search never revisits a proved node, and a proved root ends it; the paper's
    experiments have it off. A limit of nodes or evaluations ends a descent where it stands. With `whole`,
    as in the paper, the last descent continues to the end of the game, beyond the limit.
    """

    keeps_tree = True

    def __init__(
        self, evaluator: Evaluator, completion: bool = True, seed: int = 0, whole: bool = False
    ) -> None:
        super().__init__(evaluator, completion, seed)
        self.whole = whole

    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """See `TreeSearch.kernels`."""
        return DescentKernels(bound, self.evaluator, self.settings(), unbounded=False, whole=self.whole)

"""Descent Minimax on games without chance, Descent Expectiminimax on games with it."""

from typing import Any

from dicent.evaluate.base import Evaluator
from dicent.kernels import descent as descent_kernels
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch


class Descent(TreeSearch):
    """Best-first descents to the end of the game (`kernels/descent.py`).

    With `completion` what is proved is never visited again, and a proved root ends the search; the
    paper's experiments have it off. A limit of nodes or evaluations ends a descent where it stands, unless
    descents are to be `whole`, as in the paper: then the last one goes on to its end, beyond the limit.
    """

    keeps_tree = True
    unbounded = False

    def __init__(
        self, evaluator: Evaluator, completion: bool = True, seed: int = 0, whole: bool = False
    ) -> None:
        super().__init__(evaluator, completion, seed)
        self.whole = whole

    def advance(self, group: Group, first: int, last: int, work: Any, steps: int) -> None:
        """Run the kernel on members `first` to `last`."""
        group.bound.kernel(descent_kernels.advance)(
            *(group.tree, group.searches, first, last),
            *(self.unbounded, self.whole, group.settings, work, steps),
        )

    def settle(self, group: Group) -> None:
        """Back up the descents that are under way."""
        group.bound.kernel(descent_kernels.settle)(
            group.tree, group.searches, 0, group.size, int(self.completion)
        )

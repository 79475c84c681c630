"""Expectiminimax by iterative deepening; plain minimax on games without chance."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.terminal_value import GAIN
from dicent.game import Game, State
from dicent.game.binding import Bound
from dicent.kernels import expectiminimax as expectiminimax_kernels
from dicent.kernels.values import OUTSIDE
from dicent.search.analysis import Analysis
from dicent.search.group import Group
from dicent.search.limit import Limit
from dicent.search.star import StarRun
from dicent.search.tree_search import Search, TreeSearch

MAX_DEPTH = 500


class Expectiminimax(TreeSearch):
    """Full width, one ply deeper each time, every ply counted (`kernels/expectiminimax.py`).

    `largest` is the largest batch to ask of the evaluator. Without `completion` nothing is proved: it goes
    by values alone, and expands whatever the limit allows. With `prune` the search goes depth first, with
    alpha-beta, Star1 and Star2 (`kernels/star.py`): the same values from fewer nodes, for evaluators that
    native code runs itself, where finished games are worth their result.
    """

    path_length = 1

    def __init__(
        self,
        evaluator: Evaluator,
        largest: int = 4096,
        prune: bool = False,
        seed: int = 0,
        completion: bool = True,
    ) -> None:
        super().__init__(evaluator, completion, seed)
        if prune and evaluator.native[0] == OUTSIDE:
            raise DicentError(f"prune=True needs a native evaluator, and {type(evaluator).__name__} is none")
        self.largest = largest
        self.prune = prune

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """See `Search.stream`."""
        if self.prune and not self.determinized and self.evaluator.terminal == GAIN:
            return StarRun(self.evaluator, state, limit).analyses(every)
        return super().stream(state, limit, after, every, ply)

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """The action that the search would play."""
        return Search.play(self, state, limit, ply) if self.prune else super().play(state, limit, ply)

    def batch(self, game: Game) -> int:
        """The most leaves that a member waits for at once."""
        return max(self.largest, super().batch(game)) if self.evaluator.native[0] == OUTSIDE else 1

    def extra(self, bound: Bound, size: int) -> Any:
        """Where the layers begin."""
        return expectiminimax_kernels.Layers(
            start=np.zeros((size, MAX_DEPTH + 2), np.int64),
            depth=np.zeros(size, np.int64),
            cursor=np.zeros(size, np.int64),
            valued=np.zeros(size, np.int64),
            largest=self.batch(bound.game) if self.evaluator.native[0] == OUTSIDE else 2**62,
        )

    def begin(self, group: Group, members: Any) -> None:
        """Layer 0 is the root."""
        group.extra.start[members, 0] = 0
        group.extra.start[members, 1] = 1
        group.extra.depth[members] = 0
        group.extra.cursor[members] = 0
        last = np.minimum(group.searches.max_depth[members], MAX_DEPTH)
        group.extra.valued[members] = last if group.only_last_layer else 0

    def is_backed_up(self, group: Group, m: int, node: int) -> bool:
        """Layers up to the depth that was finished."""
        return bool(node < group.extra.start[m, group.extra.depth[m]])

    def advance(self, group: Group, first: int, last: int, work: Any, steps: int) -> None:
        """Run the kernel on members `first` to `last`."""
        group.bound.kernel(expectiminimax_kernels.advance)(
            group.tree, group.searches, group.extra, first, last, group.settings, work, steps
        )

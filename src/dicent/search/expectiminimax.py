"""Expectiminimax by iterative deepening; plain minimax on games without chance."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.terminal_value import GAIN
from dicent.game import State
from dicent.game.binding import Bound
from dicent.kernels import expectiminimax as expectiminimax_kernels
from dicent.kernels.expectiminimax import Layers
from dicent.kernels.searches import Searches
from dicent.kernels.tree import Scratch, Settings, Tree
from dicent.kernels.values import OUTSIDE
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.search_kernels import Indices, SearchKernels
from dicent.search.star import StarRun
from dicent.search.tree_search import Search, TreeSearch

MAX_DEPTH = 500
UNLIMITED = 2**62


class ExpectiminimaxKernels(SearchKernels):
    """The kernels of `Expectiminimax`, with the layers of the trees.

    With `only_last_layer` the inner layers get no values of their own: the depth alone must end the search,
    and nothing may be read before.
    """

    path_length = 1
    memory: Layers

    def __init__(
        self,
        bound: Bound,
        evaluator: Evaluator,
        settings: Settings,
        size: int,
        largest: int,
        only_last_layer: bool,
    ) -> None:
        super().__init__(bound, evaluator, settings)
        self.largest, self.only_last_layer = largest, only_last_layer
        self.memory = Layers(
            start=np.zeros((size, MAX_DEPTH + 2), np.int64),
            depth=np.zeros(size, np.int64),
            cursor=np.zeros(size, np.int64),
            valued=np.zeros(size, np.int64),
            largest=self.leaves if settings.evaluator == OUTSIDE else UNLIMITED,
        )

    @property
    def leaves(self) -> int:
        """The most leaves that a search waits for at once: a batch of `largest`."""
        return max(self.largest, super().leaves) if self.settings.evaluator == OUTSIDE else 1

    @property
    def layers(self) -> Layers:
        """See `SearchKernels.layers`."""
        return self.memory

    def begin(self, searches: Searches, members: Indices) -> None:
        """Make the root layer 0."""
        layers = self.memory
        layers.start[members, 0] = 0
        layers.start[members, 1] = 1
        layers.depth[members] = 0
        layers.cursor[members] = 0
        last = np.minimum(searches.max_depth[members], MAX_DEPTH)
        layers.valued[members] = last if self.only_last_layer else 0

    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """See `SearchKernels.advance`."""
        self.bound.kernel(expectiminimax_kernels.advance)(
            tree, searches, self.memory, first, last, self.settings, scratch, steps
        )

    def edges(self, tree: Tree, row: int, node: int) -> range:
        """Return the edges of a node above the depth that was finished."""
        finished = node < self.memory.start[row, self.memory.depth[row]]
        return super().edges(tree, row, node) if finished else range(0)


class Expectiminimax(TreeSearch):
    """Full-width search, one ply deeper each time, every ply counted (`kernels/expectiminimax.py`).

    `largest` is the largest batch for the evaluator. Without `completion` nothing is proved: the search goes
    by values alone, and expands whatever the limit allows. With `prune` the search goes depth first, with
    alpha-beta, Star1 and Star2 (`kernels/star.py`): the same values from fewer nodes. Pruning needs values
    from -1 to 1, so it takes evaluators that native code runs, and finished games count as their result.
    """

    layered = True
    only_last_layer = False

    @property
    def counts_turns(self) -> bool:  # type: ignore[override]  # a plain attribute of other searches
        """See `Search.counts_turns`. A node has room for a ply or a turn, not for both."""
        return not (self.prune or self.determinized or self.evaluator.terminal.uses_ply)

    def __init__(
        self,
        evaluator: Evaluator,
        largest: int = 4096,
        prune: bool = False,
        seed: int = 0,
        completion: bool = True,
    ) -> None:
        super().__init__(evaluator, completion, seed)
        self.largest = largest
        self.prune = prune
        if prune and evaluator.native[0] == OUTSIDE:
            raise DicentError(
                f"prune needs values from native code, such as rollouts (got {type(evaluator).__name__})"
            )
        if prune and evaluator.terminal != GAIN:
            raise DicentError(f"prune needs the terminal value gain (got {evaluator.terminal.name})")
        if prune:  # a search of its own, without a tree
            self.replaces_evaluator = self.pausable = self.layered = False
            self.targets = ()

    @property
    def batched(self) -> TreeSearch | None:
        """The search itself, unless it prunes."""
        return None if self.prune else self

    @property
    def plays_best(self) -> bool:
        """See `Search.plays_best`."""
        return True

    def unobserved(self, limit: Limit) -> TreeSearch:
        """Return a search that evaluates its last layer only, where the depth alone ends the search.

        An evaluator with exact values gets all layers: a proved state makes the layers below it unnecessary.
        """
        if not limit.is_depth_only or self.evaluator.marks:
            return self
        search = copy.copy(self)
        search.only_last_layer = True
        return search

    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """See `TreeSearch.kernels`."""
        return ExpectiminimaxKernels(
            bound, self.evaluator, self.settings(), size, self.largest, self.only_last_layer
        )

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """See `Search.stream`."""
        if self.prune:
            return StarRun(self.evaluator, state, limit).analyses(every)
        return super().stream(state, limit, after, every, ply)

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """See `Search.play`."""
        return Search.play(self, state, limit, ply) if self.prune else super().play(state, limit, ply)

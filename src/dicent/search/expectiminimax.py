"""Expectiminimax by iterative deepening; plain minimax on games without chance."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.terminal_value import GAIN
from dicent.game import State
from dicent.game.binding import Bound
from dicent.kernels import expectiminimax as expectiminimax_kernels
from dicent.kernels.constants import NONE
from dicent.kernels.expectiminimax import Layers
from dicent.kernels.searches import WAITING, Searches
from dicent.kernels.tree import Scratch, Settings, Tree, tree_of
from dicent.kernels.values import OUTSIDE
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.search_kernels import Answer, Indices, SearchKernels
from dicent.search.star import StarRun
from dicent.search.tree_search import TreeSearch

MAX_DEPTH = 500
UNLIMITED = 2**62


class ExpectiminimaxKernels(SearchKernels):
    """The kernels of `Expectiminimax`, with the layers of the trees.

    With `only_last_layer` the inner layers get no values of their own, except exact ones that the evaluator
    looks up: the depth alone must end the search, and nothing may be read before.
    """

    path_length = 1
    passes = 3.0
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
        proves = bool(settings.completion) and not settings.determinized
        self.looks_up = only_last_layer and evaluator.looks_up and proves
        self.memory = Layers(
            start=np.zeros((size, MAX_DEPTH + 2), np.int64),
            depth=np.zeros(size, np.int64),
            cursor=np.zeros(size, np.int64),
            order=np.zeros((size, 0), np.int64),
            backing=np.full(size, NONE, np.int64),
            partial=np.zeros(size, np.int64),
            valued=np.zeros(size, np.int64),
            largest=self.leaves if settings.evaluator.kind == OUTSIDE else UNLIMITED,
        )

    @property
    def leaves(self) -> int:
        """The most leaves that a search waits for at once: a batch of `largest`."""
        return max(self.largest, super().leaves) if self.settings.evaluator.kind == OUTSIDE else 1

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
        layers.backing[members] = NONE
        layers.partial[members] = 0
        last = np.minimum(searches.max_depth[members], MAX_DEPTH)
        layers.valued[members] = last if self.only_last_layer and not self.looks_up else 0

    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """See `SearchKernels.advance`."""
        kernel = self.bound.kernel(expectiminimax_kernels.advance)
        kernel(tree, searches, self.memory, first, last, self.settings, scratch, steps)
        while self.looks_up and len(rows := first + self._within(searches, slice(first, last))):
            self._look_up(tree, searches, rows)
            kernel(tree, searches, self.memory, first, last, self.settings, scratch, steps)

    def _within(self, searches: Searches, some: slice) -> Indices:
        """Return which searches wait for values above their last layer."""
        inner = self.memory.depth[some] + 1 < np.minimum(searches.max_depth[some], MAX_DEPTH)
        found: Indices = np.flatnonzero(inner & (searches.status[some] == WAITING))
        return found

    def _look_up(self, tree: Tree, searches: Searches, rows: Indices) -> None:
        """Give waiting states their exact values, and others 0 until their layer is expanded."""
        counts = searches.waiting[rows]
        leaves = [tree.state[row, searches.leaves[row, :n]] for row, n in zip(rows, counts, strict=True)]
        values = self.evaluator.exact_values(self.bound.game, np.concatenate(leaves))
        exact = ~np.isnan(values)
        answer = Answer(np.where(exact, values, 0.0), exact)
        offsets = np.zeros(len(searches.waiting), np.int64)
        offsets[rows] = np.cumsum(counts) - counts
        searches.evaluations[rows] -= counts
        for row in rows.tolist():
            self.absorb(tree, searches, row, row + 1, offsets, answer)

    def prepare_deadline(self) -> None:
        """Expand the best actions first, so that they are complete when the time is over."""
        game = self.bound.game
        order = np.zeros((len(self.memory.depth), max(game.max_legal, game.num_outcomes)), np.int64)
        self.memory = self.memory._replace(order=order)

    def must_continue(self, tree: Tree, searches: Searches, row: int) -> bool:
        """Return whether the first depth is unfinished."""
        return bool(self.memory.depth[row] == 0)

    def dry_run(self, tree: Tree, searches: Searches, row: int) -> None:
        """See `rehearse`."""
        self.bound.kernel(expectiminimax_kernels.rehearse)(
            tree_of(tree, row), searches, self.memory, row, self.settings.completion
        )

    def break_off(self, tree: Tree, searches: Searches, row: int) -> None:
        """Use what the unfinished depth has found, where that is sound."""
        self.bound.kernel(expectiminimax_kernels.break_off)(
            tree_of(tree, row), searches, self.memory, row, self.settings
        )

    def edges(self, tree: Tree, row: int, node: int) -> range:
        """Return the edges of a node above the depth that was finished, or broken off."""
        layers = self.memory
        finished = node < layers.start[row, layers.depth[row]]
        deeper = layers.partial[row] and not tree.on_path[row, node]
        return super().edges(tree, row, node) if finished or deeper else range(0)

    def order(self, tree: Tree, row: int, node: int, edge: int) -> tuple[float, ...]:
        """Return the key by which actions are sorted; deeper values come first in a depth broken off."""
        key = super().order(tree, row, node, edge)
        if node or not self.memory.partial[row]:
            return key
        return (not tree.on_path[row, tree.child[row, edge]], *key)


class Expectiminimax(TreeSearch):
    """Full-width search, one ply deeper each time, every ply counted (`kernels/expectiminimax.py`).

    A limit of time may break a depth off. The actions that are complete at that depth then get their deeper
    values, if the best action so far is among them, and one of them is played.

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
        if prune and evaluator.native.kind == OUTSIDE:
            raise DicentError(
                "prune needs values from native code, such as a sparse network or rollouts "
                f"(got {type(evaluator).__name__})"
            )
        if prune and isinstance(evaluator, NativeNetwork) and not evaluator.bounded:
            raise DicentError("prune needs a network with values from -1 to 1 (bounded)")
        if prune and evaluator.terminal != GAIN:
            raise DicentError(f"prune needs the terminal value gain (got {evaluator.terminal.name})")
        if prune:  # a search of its own, without a tree
            self.replaces_evaluator = self.pausable = self.layered = False
            self.targets = ()
        self._speeds: dict[str, float] = {}  # nodes per second by game, measured by searches that prune

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

        A state that is proved by an exact value makes the layers below it unnecessary. An evaluator with such
        values gets all layers, unless it can look them up without evaluating the other states.
        """
        evaluator = self.evaluator
        if not limit.is_depth_only or (evaluator.marks and not evaluator.looks_up):
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
            return self._pruned(state, limit).analyses(every)
        return super().stream(state, limit, after, every, ply)

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """See `Search.play`."""
        if not self.prune or not state.legal_actions:
            return super().play(state, limit, ply)
        return self._pruned(state, limit).best_action()

    def _pruned(self, state: State, limit: Limit) -> StarRun:
        return StarRun(self.evaluator, state, limit, self.clock, self._speeds, self.completion)

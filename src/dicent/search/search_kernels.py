"""SearchKernels: the array operations of one kind of search, which a `Group` drives.

A search makes one such object for each group. It holds the game's kernels, the settings they need, and the
arrays beside the tree that only this kind of search has. All methods work on arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.evaluate.base import Evaluator, Marks, Values
from dicent.game import Cells, Game
from dicent.game.binding import Bound
from dicent.kernels import searches as searches_kernels
from dicent.kernels.constants import CHANCE, NONE
from dicent.kernels.expectiminimax import Layers
from dicent.kernels.searches import Searches
from dicent.kernels.tree import Scratch, Settings, Tree
from dicent.kernels.values import OUTSIDE

Indices = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]  # of any type, by name


class Answer(NamedTuple):
    """An evaluator's answer for a batch of states."""

    values: Values
    exact: Marks | None = None
    logits: npt.NDArray[np.float64] | None = None


class SearchKernels(ABC):
    """The kernels of a search, bound to a game, with its memory beside the tree.

    `first` and `last` bound the searches to work on; different threads get different ones. `row` is the
    index of one search.
    """

    path_length = 4096  # plies that an iteration may go down
    passes = 0.0  # times that `dry_run` takes, to end a search and make its tree readable
    memory: NamedTuple | None = None  # arrays beside the tree

    def __init__(self, bound: Bound, evaluator: Evaluator, settings: Settings) -> None:
        self.bound = bound
        self.evaluator = evaluator
        self.settings = settings

    # Memory

    @property
    def leaves(self) -> int:
        """The most leaves that a search waits for at once."""
        game = self.bound.game
        return game.max_legal + game.num_outcomes if self.settings.evaluator.kind == OUTSIDE else 1

    @property
    def layers(self) -> Layers | None:
        """Where the layers of the trees begin, for searches that grow trees layer by layer."""
        return None

    def fit(self, tree: Tree) -> None:  # noqa: B027  # most searches have nothing beside the tree
        """Make the memory beside the tree as large as the tree, and keep what it holds."""

    def arrays(self) -> Arrays:
        """Return the arrays beside the tree by name."""
        named = {} if self.memory is None else self.memory._asdict()
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    def restore(self, arrays: Arrays) -> None:
        """Replace arrays beside the tree by saved ones."""
        if self.memory is not None:
            self.memory = self.memory._replace(**arrays)

    # Searching

    def begin(self, searches: Searches, members: Indices) -> None:  # noqa: B027  # as above
        """Prepare the memory beside the tree for searches that begin."""

    @abstractmethod
    def advance(
        self, tree: Tree, searches: Searches, first: int, last: int, scratch: Scratch, steps: int
    ) -> None:
        """Search until each search waits for values or ends, for `steps` steps at the most."""

    def ask(self, game: Game, states: Cells) -> Answer:
        """Evaluate states. This touches no tree, so that other threads can search meanwhile."""
        values, exact = self.evaluator.evaluate_marked(game, states)
        return Answer(np.asarray(values, np.float64), exact)

    def absorb(
        self, tree: Tree, searches: Searches, first: int, last: int, offsets: Indices, answer: Answer
    ) -> None:
        """Give the waiting searches their values; those of search `row` begin at `offsets[row]`."""
        # Without completion nothing is proved before it is finished, and a value that is exact with dice
        # is not exact once the dice are fixed.
        if answer.exact is not None and self.settings.completion and not self.settings.determinized:
            self.bound.kernel(searches_kernels.mark)(
                tree, searches, first, last, offsets, answer.values, answer.exact, self.settings
            )
        self.bound.kernel(searches_kernels.absorb)(tree, searches, first, last, offsets, answer.values)

    def settle(  # noqa: B027  # some trees always are
        self, tree: Tree, searches: Searches, first: int, last: int
    ) -> None:
        """Make trees readable between two calls of `advance`."""

    def prepare_deadline(self) -> None:  # noqa: B027  # most searches can stop anywhere
        """Prepare for a search that its time may break off."""

    def must_continue(self, tree: Tree, searches: Searches, row: int) -> bool:
        """Return whether the root is not evaluated yet, so that nothing may break the search off."""
        return bool(searches.iterations[row] == 0 and searches.length[row] <= 1)

    def dry_run(self, tree: Tree, searches: Searches, row: int) -> None:
        """Do a part of the work of `break_off` and `settle` that changes no value, to measure it."""
        self.settle(tree, searches, row, row + 1)

    def break_off(self, tree: Tree, searches: Searches, row: int) -> None:
        """End a search whose time is over, with leaves that may still wait for values."""
        if searches.waiting[row]:
            self.bound.kernel(searches_kernels.drop)(tree, searches, row)

    # Reading

    def is_readable(self, tree: Tree, searches: Searches, row: int) -> bool:
        """Return whether the root has a value."""
        return not bool(np.isnan(tree.value[row, searches.root[row]]))

    def edges(self, tree: Tree, row: int, node: int) -> range:
        """Return the edges of a node whose values can be read."""
        first = int(tree.first_edge[row, node])
        return range(0) if first == NONE else range(first, first + int(tree.num_edges[row, node]))

    def edge_value(self, tree: Tree, row: int, edge: int) -> float:
        """Return the value of an action or outcome, for MAX."""
        return float(tree.value[row, tree.child[row, edge]])

    def order(self, tree: Tree, row: int, node: int, edge: int) -> tuple[float, ...]:
        """Return the key by which actions are sorted: (c, v, n) for the player to move."""
        child, sign = tree.child[row, edge], player_at(tree, row, node)
        c = sign * int(tree.completion[row, child]) if self.settings.completion else 0
        return (c, sign * float(tree.value[row, child]), int(tree.visits[row, edge]))


def player_at(tree: Tree, row: int, node: int) -> int:
    """Return the player to move at a node; MAX at a chance node."""
    kind = int(tree.kind[row, node])
    return 1 if kind == CHANCE else kind

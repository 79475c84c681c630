"""The common part of Uct and Puct: statistics of simulations on the edges, and the decision by visits."""

import numpy as np

from dicent.kernels import simulation as simulation_kernels
from dicent.kernels.searches import Searches
from dicent.kernels.simulation import Statistics
from dicent.kernels.tree import Tree
from dicent.search.search_kernels import Indices, SearchKernels, player_at
from dicent.search.tree_search import TreeSearch


class SimulationKernels(SearchKernels):
    """Kernels of searches that make simulations, with their statistics."""

    passes = 1.5
    memory: Statistics | None = None
    waits = False  # simulations wait for values from outside

    @property
    def leaves(self) -> int:
        """A simulation waits for one value at the most."""
        return 1

    @property
    def noise_width(self) -> int:
        """How many actions have a weight for exploration; none without noise."""
        return 0

    @property
    def statistics(self) -> Statistics:
        """The statistics beside the tree."""
        assert self.memory is not None, "fit comes first"
        return self.memory

    def fit(self, tree: Tree) -> None:
        """See `SearchKernels.fit`."""
        size, nodes = tree.kind.shape
        old = self.memory
        self.memory = Statistics(
            total=np.zeros(tree.child.shape, np.float64),
            through=np.zeros((size, nodes), np.int64),
            edge=np.zeros((size, self.path_length), np.int64),
            noise=np.zeros((size, self.noise_width), np.float64),
            above=np.zeros((size, nodes if self.waits else 0), np.int64),
            edge_above=np.zeros((size, nodes if self.waits else 0), np.int64),
            pending=np.zeros(tree.child.shape if self.waits else (size, 0), np.int64),
        )
        for smaller, larger in zip(old or (), self.memory, strict=False):
            larger[tuple(slice(0, n) for n in smaller.shape)] = smaller

    def begin(self, searches: Searches, members: Indices) -> None:
        """Forget earlier simulations: their statistics belong to another root."""
        self.statistics.through[members, 0] = 0

    def settle(self, tree: Tree, searches: Searches, first: int, last: int) -> None:
        """Give nodes the means of their simulations as values."""
        self.bound.kernel(simulation_kernels.summarise)(tree, self.statistics, first, last)

    def must_continue(self, tree: Tree, searches: Searches, row: int) -> bool:
        """Return whether no action of the root was tried."""
        return not self.is_readable(tree, searches, row)

    def break_off(self, tree: Tree, searches: Searches, row: int) -> None:
        """Leave the simulation under way, which counts nowhere yet."""
        searches.waiting[row] = searches.length[row] = 0

    def is_readable(self, tree: Tree, searches: Searches, row: int) -> bool:
        """Return whether any action of the root was tried by a simulation that waits for no value."""
        edges = self.edges(tree, row, int(searches.root[row]))
        some = slice(edges.start, edges.stop)
        tried = tree.visits[row, some]
        return bool((tried > self.statistics.pending[row, some] if self.waits else tried > 0).any())

    def edge_value(self, tree: Tree, row: int, edge: int) -> float:
        """Return the mean of the simulations through an edge; 0 without any."""
        visits = int(tree.visits[row, edge])
        return float(self.statistics.total[row, edge]) / visits if visits else 0.0

    def order(self, tree: Tree, row: int, node: int, edge: int) -> tuple[float, ...]:
        """Return the visits, then the value for the player to move."""
        return (
            int(tree.visits[row, edge]),
            player_at(tree, row, node) * self.edge_value(tree, row, edge),
        )


class SimulationSearch(TreeSearch):
    """A search whose values are the means of many simulations. An evaluation is one simulation."""

    ranks_by_visits = True
    targets = ("policy",)

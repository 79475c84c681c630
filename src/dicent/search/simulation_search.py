"""What Uct and Puct share: statistics of simulations on the edges, and the decision by visits."""

from typing import Any

import numpy as np

from dicent.game import Game
from dicent.kernels import simulation as simulation_kernels
from dicent.kernels.constants import CHANCE
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch


class SimulationSearch(TreeSearch):
    """A search whose values are the means of many simulations. An evaluation is one simulation."""

    def batch(self, game: Game) -> int:
        """A simulation waits for one value at the most."""
        return 1

    def begin(self, group: Group, members: Any) -> None:
        """An earlier tree is dropped: its statistics belong to another root."""
        self.statistics(group).through[members, 0] = 0

    def statistics(self, group: Group) -> Any:
        """The statistics beside the group's tree, made or enlarged as the tree needs it."""
        matches, nodes = group.tree.kind.shape
        old = group.extra
        if old is not None and old.through.shape[1] == nodes:
            return old
        new = simulation_kernels.Statistics(
            total=np.zeros(group.tree.child.shape, np.float64),
            through=np.zeros((matches, nodes), np.int64),
            edge=np.zeros((matches, self.path_length), np.int64),
            noise=np.zeros((matches, group.game.num_actions), np.float64),
        )
        if old is not None:
            for name in new._fields:
                getattr(new, name)[tuple(slice(0, n) for n in getattr(old, name).shape)] = getattr(old, name)
        group.extra = new
        return new

    def is_readable(self, group: Group, m: int) -> bool:
        """Has any action of the root been tried?"""
        root = group.searches.root[m]
        first = group.tree.first_edge[m, root]
        return bool(group.tree.visits[m, first : first + group.tree.num_edges[m, root]].any())

    def settle(self, group: Group) -> None:
        """Nodes get the means of their simulations as values."""
        group.bound.kernel(simulation_kernels.summarise)(group.tree, self.statistics(group), 0, group.size)

    def edge_value(self, group: Group, m: int, edge: int) -> float:
        """The mean of the simulations through an edge; 0 where there was none."""
        visits = int(group.tree.visits[m, edge])
        return float(self.statistics(group).total[m, edge]) / visits if visits else 0.0

    def order(self, group: Group, m: int, node: int, edge: int) -> tuple[float, ...]:
        """By visits, then by value for the player to move."""
        sign = int(group.tree.kind[m, node])
        sign = 1 if sign == CHANCE else sign
        return (int(group.tree.visits[m, edge]), sign * self.edge_value(group, m, edge))

"""Enumeration: the graph of all states that can follow some states, found by all cores within the memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dicent import machine
from dicent.errors import DicentError
from dicent.exact.threads import BLOCKS, Threads
from dicent.game import Game, State
from dicent.game.binding import Bound
from dicent.kernels import enumerate as enumerate_kernels
from dicent.kernels import graph as graph_kernels
from dicent.kernels.constants import NONE
from dicent.kernels.enumerate import Found
from dicent.kernels.graph import ENDS, EXPANDED, LINKS, MOST_NODES, NODES, VECTORS, Graph, Room

FOLLOWED = 1 << 18  # links of a block in a call of a kernel, which sees neither the clock nor Ctrl-C
MOST_EXPANDED = 1 << 12  # nodes of a block in a call
PENDING = 1 << 14  # states that a block may find in a round, and those of one node
REHASHED = 1 << 18  # nodes in a call
WORKING = 56  # bytes for each node that solving needs at the most, and GROUP more for each outcome
GROUP = 4
LOAD = 0.6  # how full the hash table may be
SHARE = 0.9  # of the free memory that may be used


class Enumeration:
    """The graph of a game's states, which grows by the states that follow its roots."""

    def __init__(
        self, game: Game, bound: Bound, max_states: int, scores: bool, largest: float, threads: Threads
    ) -> None:
        self.game, self.bound, self.scores, self.largest = game, bound, scores, largest
        self.max_states = min(max_states, MOST_NODES)
        self.working = WORKING + GROUP * max(1, game.num_outcomes)  # bytes for each node, to solve it
        self.widest = (2 + game.max_legal) * max(1, game.num_outcomes) + 2  # links of a node
        self._at_once = max(1, min(MOST_EXPANDED, FOLLOWED // self.widest))  # nodes of a block in a call
        self.graph = self._new_graph(1 << 12, 1 << 14, 1 << 13)
        self._threads = threads
        self._blocks = [(self._new_found(), new_room(game)) for _ in range(BLOCKS)]
        self._free = machine.free_memory()

    @property
    def states(self) -> int:
        """How many nodes the graph has."""
        return int(self.graph.counts[NODES])

    @property
    def bytes(self) -> int:
        """How much memory the nodes and links take, without room for more."""
        graph, counts = self.graph, self.graph.counts
        per_node = sum(array[:1].nbytes for array in _by_node(graph)) + graph.slots.nbytes // max(
            1, self.states
        )
        return int(counts[NODES]) * per_node + int(counts[LINKS]) * graph.links.itemsize

    def add(self, state: State) -> int:
        """Return the link of a state, which becomes a node if it is none."""
        self._reserve(1, 0, 1, 1)
        add_root = self.bound.kernel(graph_kernels.add_root)
        return int(add_root(self.graph, state.cells.copy(), self.scores, self._blocks[0][1]))

    def expand(self) -> Iterator[None]:
        """Find the links of all nodes that have none, round by round."""
        expand = self.bound.kernel(enumerate_kernels.expand_block)
        size = self._at_once
        while (first := int(self.graph.counts[EXPANDED])) < self.states:
            last = min(self.states, first + BLOCKS * size)
            cuts = np.linspace(first, last, BLOCKS + 1).astype(int).tolist()

            for found, _ in self._blocks:
                found.counts[:] = 0
                found.slots.fill(NONE)
            reached = self._threads.map(
                expand,
                [
                    (self.graph, found, self.scores, *span, self.widest, room)
                    for (found, room), span in zip(self._blocks, itertools.pairwise(cuts), strict=True)
                ],
            )
            # A block whose memory was full is adopted as far as it came, and later ones are expanded again.
            whole = next((i for i in range(BLOCKS) if reached[i] < cuts[i + 1]), BLOCKS - 1)
            self._adopt(cuts[: whole + 1], reached[: whole + 1])
            size = max(1, size // 2) if reached[whole] < cuts[whole + 1] else min(2 * size, self._at_once)
            if self.states > self.max_states:
                raise DicentError(
                    f"{self.game.name} is too large to be solved from here: more than {self.max_states:,} "
                    "states follow. Start nearer to the end, or allow more with max_states"
                )
            yield

    def _adopt(self, firsts: list[int], lasts: list[int]) -> None:
        """Add what the first blocks have found."""
        adopt = self.bound.kernel(enumerate_kernels.adopt)
        take = self.bound.kernel(enumerate_kernels.take_links)
        founds = [found for found, _ in self._blocks[: len(firsts)]]
        sums = np.sum([found.counts for found in founds], axis=0).tolist()
        self._reserve(sums[NODES], sums[LINKS], sums[VECTORS], sums[ENDS])
        counts, places = self.graph.counts, []
        for found in founds:
            adopt(self.graph, found)
            places.append(int(counts[LINKS]))
            counts[LINKS] += found.counts[LINKS]
        parts = zip(founds, firsts, lasts, places, strict=True)
        self._threads.map(take, [(self.graph, *part) for part in parts])
        counts[EXPANDED] = lasts[-1]

    # Memory

    def _reserve(self, nodes: int, links: int, vectors: int, ends: int) -> None:
        """Make room for so many more of each."""
        graph, counts = self.graph, self.graph.counts
        wanted = int(counts[NODES]) + nodes
        if wanted > len(graph.state):
            self._grow_nodes(_larger(wanted, len(graph.state)))
        if int(counts[LINKS]) + links > len(graph.links):
            size = _larger(int(counts[LINKS]) + links, len(graph.links))
            self._require((size - len(graph.links)) * graph.links.itemsize)
            graph.links.resize(size, refcheck=False)
        for array, more in ((graph.chances, counts[VECTORS] + vectors), (graph.ends, counts[ENDS] + ends)):
            if more > len(array):
                array.resize((_larger(int(more), len(array)), *array.shape[1:]), refcheck=False)
        if wanted > LOAD * len(graph.slots):
            self._rehash(2 * len(graph.slots), wanted)

    def _grow_nodes(self, size: int) -> None:
        """Let the arrays with an entry for each node grow in place."""
        graph, old = self.graph, len(self.graph.state)
        self._require((size - old) * (self.working + sum(array[:1].nbytes for array in _by_node(graph))))
        for array in _by_node(graph):
            extra = len(array) - old  # one more for `head`
            array.resize((size + extra, *array.shape[1:]), refcheck=False)
        graph.bounds[old:] = -self.largest, self.largest
        graph.forced[old:] = 3

    def _rehash(self, slots: int, nodes: int) -> None:
        while nodes > LOAD * slots:
            slots *= 2
        self._require((slots - len(self.graph.slots)) * self.graph.slots.itemsize)
        self.graph = self.graph._replace(slots=np.full(slots, NONE, np.int32))
        rehash = self.bound.kernel(graph_kernels.rehash)
        for first in range(0, self.states, REHASHED):
            rehash(self.graph, first, min(first + REHASHED, self.states))

    def _require(self, more: int) -> None:
        """Raise an error if so many more bytes, and those that solving takes, are not free."""
        needed = sum(array.nbytes for array in self.graph) + self.working * len(self.graph.state) + more
        require_memory(self.game, self.states, needed, self._free)

    def _new_graph(self, nodes: int, links: int, slots: int) -> Graph:
        game = self.game
        graph = Graph(
            state=np.zeros((nodes, game.state_size), game.state_dtype),
            head=np.zeros(nodes + 1, np.int64),
            links=np.zeros(links, np.int32),
            chances=np.zeros((16, max(1, game.num_outcomes))),
            ends=np.zeros(16),
            slots=np.full(slots, NONE, np.int32),
            place=np.zeros(nodes, np.int32),
            order=np.zeros(nodes, np.int32),
            bounds=np.empty((nodes, 2)),
            forced=np.full(nodes, 3, np.int8),
            counts=np.zeros(5, np.int64),
        )
        graph.bounds[:] = -self.largest, self.largest
        return graph

    def _new_found(self) -> Found:
        game, pending = self.game, PENDING + self.widest
        return Found(
            sizes=np.zeros(self._at_once + 1, np.int64),
            links=np.zeros(16 * PENDING + self.widest, np.int32),
            state=np.zeros((pending, game.state_size), game.state_dtype),
            hashes=np.zeros(pending, np.uint64),
            slots=np.full(1 << (2 * pending).bit_length(), NONE, np.int32),
            ends=np.zeros(pending),
            chances=np.zeros((1024, max(1, game.num_outcomes))),
            numbers=np.zeros((3, pending), np.int32),
            counts=np.zeros(4, np.int64),
        )


def new_room(game: Game) -> Room:
    """Return scratch memory of a thread."""
    rolled, after, image, best = (game.empty_cells() for _ in range(4))
    return Room(rolled, after, image, best, game.empty_actions(), np.zeros(max(1, game.num_outcomes)))


def require_memory(game: Game, states: int, needed: int, free: int | None) -> None:
    """Raise an error that says how far a solver came, if it needs more memory than is free."""
    if free is not None and needed > SHARE * free:
        raise DicentError(
            f"{game.name} does not fit into memory: {states:,} states are found and more follow. The next "
            f"step needs {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free. Start nearer to the end, "
            "or use a machine with more memory"
        )


def _by_node(graph: Graph) -> tuple[np.ndarray, ...]:
    return graph.state, graph.head, graph.place, graph.order, graph.bounds, graph.forced


def _larger(wanted: int, there: int) -> int:
    """Return a size that grows by steps of a quarter."""
    return max(wanted, there + there // 4)

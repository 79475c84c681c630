"""GraphSolver: values of any finite game, cycles included, with bounds that certify them.

Memory is the limit: a state takes its own size, about 70 bytes, and 4 bytes for each move after each roll.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import DicentError
from dicent.exact.progress import Report, SolveProgress
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import components as components_kernels
from dicent.kernels import graph as graph_kernels
from dicent.kernels import intervals as intervals_kernels
from dicent.kernels.components import Walk
from dicent.kernels.constants import NONE
from dicent.kernels.graph import DONE, ENDS, FULL, LINKS, NODES, VECTORS, Graph, Room

TOLERANCE = 1e-10  # how close the two bounds of every state come
EXPANDED = 5_000  # nodes in a call of a kernel, which sees neither the clock nor Ctrl-C
FOLLOWED = 1 << 20  # links in a call
SWEPT = 1 << 16  # nodes updated in a call
SMALL = 1000  # nodes of a component that a single call solves
BLOCKS = 8  # of a large component, whatever the number of cores: the result must not depend on it
MOST_SWEEPS = 100_000
STALLED = 1e-16  # a sweep that changes no bound by more will never end


@dataclass(frozen=True)
class GraphReport:
    """How a graph was solved."""

    states: int  # nodes, states that symmetries make equal counted once
    components: int  # strongly connected ones
    largest: int  # nodes of the largest of them
    sweeps: int  # over components of more than SMALL nodes
    bound: float  # the widest gap between the bounds of a state


class GraphSolver:
    """The values of all states that can follow the states asked for.

    `scores` counts a finished game by its score instead of its result, and `largest` is the largest
    score. Endless play is a draw. A game in which a player can force it is refused, since its bounds
    do not meet.
    """

    def __init__(
        self,
        game: Game,
        max_states: int,
        scores: bool = False,
        largest: float = 1.0,
        compiled: bool | None = None,
    ) -> None:
        self.game, self.max_states, self.scores, self.largest = game, max_states, scores, largest
        self.bound = bind(game, compiled)
        self._graph = self._new_graph(1 << 12, 1 << 16, 1 << 14, 16, 1 << 10)
        self._room = Room(
            rolled=game.empty_cells(),
            after=game.empty_cells(),
            image=game.empty_cells(),
            best=game.empty_cells(),
            actions=game.empty_actions(),
            p=np.zeros(max(1, game.num_outcomes)),
        )
        self._components = self._largest = self._sweeps = 0

    @property
    def states(self) -> int:
        """How many nodes the graph has."""
        return int(self._graph.counts[NODES])

    @property
    def report(self) -> GraphReport:
        """What was done so far."""
        n = self.states
        gap = float((self._graph.high[:n] - self._graph.low[:n]).max(initial=0.0))
        return GraphReport(n, self._components, self._largest, self._sweeps, gap)

    def stored(self) -> tuple[Cells, npt.NDArray[np.float64]]:
        """Return the states of the graph [N, S] and their values [N]."""
        n = self.states
        return self._graph.state[:n], (self._graph.low[:n] + self._graph.high[:n]) / 2

    def bounds_of(self, state: State, progress: Report | None = None) -> tuple[float, float]:
        """Return the lower and the upper bound of a state's value for MAX."""
        before = self.states
        if before + 1 >= len(self._graph.state):
            self._grow()
        add_root = self.bound.kernel(graph_kernels.add_root)
        link = int(add_root(self._graph, state.cells.copy(), self.scores, self._room))
        if link < 0:  # a finished game
            end = float(self._graph.ends[graph_kernels.END - link])
            return end, end
        if self.states > before:
            self._solve(before, progress)
        low, high = float(self._graph.low[link >> 1]), float(self._graph.high[link >> 1])
        return (-high, -low) if link & 1 else (low, high)

    def value_of(self, state: State, progress: Report | None = None) -> float:
        """Return the value of a state for MAX: the middle of its bounds, half of `TOLERANCE` off at most."""
        low, high = self.bounds_of(state, progress)
        return low if low == high else (low + high) / 2

    def _solve(self, base: int, progress: Report | None) -> None:
        """Solve the nodes from number `base` on, and all that they lead to."""
        for share in self._enumerate():
            _tell(progress, SolveProgress(self.states, share, "states"))
        walk = self._new_walk(base)
        components = self.bound.kernel(components_kernels.components)
        while components(self._graph, walk, FOLLOWED) != DONE:
            met = int(walk.counts[components_kernels.ORDERED])
            _tell(progress, SolveProgress(self.states, met / len(walk.order), "components"))
        order = walk.order
        del walk
        for share in self._iterate(order):
            _tell(progress, SolveProgress(self.states, share, "values"))

    # Enumerating states

    def _enumerate(self) -> Iterator[float]:
        """Expand nodes until none is left."""
        expand = self.bound.kernel(graph_kernels.expand)
        while (why := expand(self._graph, self.scores, EXPANDED, self._room)) != DONE:
            if self.states > self.max_states:
                raise DicentError(
                    f"{self.game.name} is too large to be solved from here: more than {self.max_states:,} "
                    "states follow. Start nearer to the end, or allow more with max_states"
                )
            if why == FULL:
                self._grow()
            yield float("nan")

    def _new_graph(self, nodes: int, links: int, slots: int, vectors: int, ends: int) -> Graph:
        game = self.game
        return Graph(
            state=np.zeros((nodes, game.state_size), game.state_dtype),
            head=np.zeros(nodes + 1, np.int64),
            links=np.zeros(links, np.int32),
            chances=np.zeros((vectors, max(1, game.num_outcomes))),
            ends=np.zeros(ends),
            slots=np.full(slots, NONE, np.int32),
            low=np.full(nodes, -self.largest),
            high=np.full(nodes, self.largest),
            block=np.full(nodes, NONE, np.int8),
            counts=np.zeros(5, np.int64),
        )

    def _grow(self) -> None:
        """Give the graph more room of whatever is short."""
        old, counts = self._graph, self._graph.counts
        widest = self.bound.kernel(graph_kernels.widest_node)(self._room)
        new = self._new_graph(
            _room_for(int(counts[NODES]) + widest, len(old.state)),
            _room_for(int(counts[LINKS]) + widest, len(old.links)),
            _room_for(2 * int(counts[NODES]), len(old.slots)),
            _room_for(int(counts[VECTORS]) + 1, len(old.chances)),
            _room_for(int(counts[ENDS]) + widest, len(old.ends)),
        )
        nodes = int(counts[NODES])
        for name in ("state", "head", "links", "chances", "ends", "low", "high"):
            source, target = getattr(old, name), getattr(new, name)
            target[: len(source)] = source
        new.counts[:] = counts
        if len(new.slots) == len(old.slots):
            new.slots[:] = old.slots
        elif nodes:
            self.bound.kernel(graph_kernels.rehash)(new)
        self._graph = new

    def _new_walk(self, base: int) -> Walk:
        n = self.states - base
        number, low, path, waiting, order = (np.zeros(n, np.int32) for _ in range(5))
        return Walk(number, low, np.zeros(n, np.int64), path, waiting, order, np.zeros(5, np.int64), base)

    # Values

    def _iterate(self, order: npt.NDArray[np.int32]) -> Iterator[float]:
        """Solve the components in their order."""
        solve_small = self.bound.kernel(intervals_kernels.solve_small)
        ends = np.flatnonzero(order < 0)
        self._components += len(ends)
        self._largest = max(self._largest, int(np.diff(ends, prepend=-1).max()))
        position = 0
        while position < len(order):
            position, end, _ = solve_small(self._graph, order, position, SMALL, TOLERANCE, MOST_SWEEPS, SWEPT)
            if end > position:
                for _ in self._solve_component(order, position, end):
                    yield position / len(order)
                position = end
            yield position / len(order)

    def _solve_component(self, order: npt.NDArray[np.int32], first: int, last: int) -> Iterator[None]:
        """Sweep over a large component until its bounds meet, in threads."""
        low, high = np.empty(len(self._graph.low)), np.empty(len(self._graph.low))
        cuts = np.linspace(first, last, BLOCKS + 1).astype(int).tolist()
        blocks = list(enumerate(itertools.pairwise(cuts)))
        mark, sweep, take = (
            self.bound.kernel(intervals_kernels.mark_block),
            self.bound.kernel(intervals_kernels.sweep_block),
            self.bound.kernel(intervals_kernels.take_block),
        )
        graph = self._graph
        with ThreadPoolExecutor(min(BLOCKS, machine.cores())) as pool:

            def in_blocks(kernel: Callable[..., object], *more: object) -> list[object]:
                return list(pool.map(lambda b: kernel(graph, low, high, order, *b[1], *more, b[0]), blocks))

            in_blocks(mark)
            gap, number = float("inf"), 0
            while gap > TOLERANCE:
                in_blocks(sweep, number & 1)
                taken = [take(graph, low, high, order, *block) for _, block in blocks]
                gap, change = max(t[0] for t in taken), max(t[1] for t in taken)
                number += 1
                self._sweeps += 1
                if gap > TOLERANCE and (change <= STALLED or number == MOST_SWEEPS):
                    self._refuse(order, first, last)
                yield
            mark(graph, low, high, order, first, last, NONE)

    def _refuse(self, order: npt.NDArray[np.int32], first: int, last: int) -> None:
        nodes = np.where(order[first:last] < 0, -1 - order[first:last], order[first:last])
        gaps = self._graph.high[nodes] - self._graph.low[nodes]
        worst = int(nodes[int(gaps.argmax())])
        state = self.game.state(self._graph.state[worst])
        raise DicentError(
            f"{self.game.name} cannot be solved: a player can repeat moves forever, as through {state}. "
            f"Its value lies between {self._graph.low[worst]:.6f} and {self._graph.high[worst]:.6f}. "
            "Add a rule that ends such games"
        )


def _room_for(wanted: int, there: int) -> int:
    """Return twice the room as often as needed."""
    while there < wanted:
        there *= 2
    return there


def _tell(progress: Report | None, now: SolveProgress) -> None:
    if progress is not None:
        progress(now)

"""GraphSolver: values of any finite game, cycles included, with bounds that certify them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.exact.enumeration import BLOCKS, WORKING, Enumeration, Threads
from dicent.exact.progress import Report, SolveProgress
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import components as components_kernels
from dicent.kernels import endless as endless_kernels
from dicent.kernels import intervals as intervals_kernels
from dicent.kernels.components import DONE, Walk
from dicent.kernels.constants import NONE
from dicent.kernels.graph import END, LINKS, REPEATED, Graph

TOLERANCE = 1e-10  # how close the two bounds of every state come
FOLLOWED = 1 << 20  # links in a call of a kernel, which sees neither the clock nor Ctrl-C
SWEPT = 1 << 16  # nodes updated in a call
SMALL = 1000  # nodes of a component that a single call solves
SMALL_SWEEPS = 1000  # after which endless play is looked for in a small component, too
MOST_SWEEPS = 100_000
STALLED = 1e-16  # a sweep that changes no bound by more will never end
SLOW = 1e-3  # a sweep that narrows the widest gap by a smaller share suggests endless play
EQUAL = 1e-13  # bounds that differ by less count as equal where endless play is looked for


@dataclass(frozen=True)
class GraphReport:
    """How a graph was solved."""

    states: int  # nodes, states that symmetries make equal counted once
    links: int
    components: int  # strongly connected ones
    largest: int  # nodes of the largest of them
    sweeps: int  # over components of more than SMALL nodes
    bound: float  # the widest gap between the bounds of a state
    forced: int  # states from which a player can force play without end, whatever the other does
    repeated: int  # states in which players can repeat moves forever, solved with that as a draw
    memory: int  # bytes

    def in_words(self) -> str:
        """Return a few lines for people."""
        endless = "no player can force it"
        if self.forced:
            endless = f"a player can force it from {self.forced:,} states"
        if self.repeated:
            endless += f"; moves can be repeated forever in {self.repeated:,} states"
        each = self.memory / max(1, self.states)
        return (
            f"the game has cycles: {self.components:,} components, the largest of {self.largest:,} "
            f"states; {self.sweeps:,} sweeps; all bounds within {self.bound:.0e}\n"
            f"endless play counts as a draw; {endless}\n"
            f"{self.links:,} links; {self.memory / 1e6:,.1f} MB, {each:,.0f} bytes a state"
        )


class GraphSolver:
    """The values of all states that can follow the states asked for.

    `scores` counts a finished game by its score instead of its result. Endless play is a draw, 0.
    """

    def __init__(
        self, game: Game, max_states: int, scores: bool = False, compiled: bool | None = None
    ) -> None:
        self.game, self.largest = game, game.max_score if scores else 1.0
        self.bound = bind(game, compiled)
        self._threads = Threads()
        self._enumeration = Enumeration(game, self.bound, max_states, scores, self.largest, self._threads)
        self._components = self._largest = self._sweeps = 0

    @property
    def states(self) -> int:
        """How many nodes the graph has."""
        return self._enumeration.states

    @property
    def _graph(self) -> Graph:
        return self._enumeration.graph

    @property
    def report(self) -> GraphReport:
        """What was done so far."""
        n, graph = self.states, self._graph
        return GraphReport(
            states=n,
            links=int(graph.counts[LINKS]),
            components=self._components,
            largest=self._largest,
            sweeps=self._sweeps,
            bound=max(0.0, float(np.ptp(graph.bounds[:n], axis=1).max(initial=0.0))),
            forced=int(np.count_nonzero(graph.forced[:n] & 3)),
            repeated=int(np.count_nonzero(graph.forced[:n] & REPEATED)),
            memory=self._enumeration.bytes + WORKING * n,
        )

    def stored(self) -> tuple[Cells, npt.NDArray[np.float64]]:
        """Return the states of the graph [N, S] and their values [N]."""
        n = self.states  # a copy, because the graph may move when it grows
        return self._graph.state[:n].copy(), self._graph.bounds[:n].mean(axis=1)

    def bounds_of(self, state: State, progress: Report | None = None) -> tuple[float, float]:
        """Return the lower and the upper bound of a state's value for MAX."""
        before = self.states
        link = self._enumeration.add(state)
        if link < 0:  # a finished game
            end = float(self._graph.ends[END - link])
            return end, end
        if self.states > before:
            self._solve(before, progress)
        low, high = self._graph.bounds[link >> 1].tolist()
        return (-high, -low) if link & 1 else (low, high)

    def value_of(self, state: State, progress: Report | None = None) -> float:
        """Return the value of a state for MAX: the middle of its bounds, half of `TOLERANCE` off at most."""
        low, high = self.bounds_of(state, progress)
        return low if low == high else (low + high) / 2

    def can_force_endless(self, state: State) -> tuple[bool, bool]:
        """Return whether MAX, and whether MIN, can force play without end from a state."""
        self.bounds_of(state)
        link = self._enumeration.add(state)
        bits = 0 if link < 0 else int(self._graph.forced[link >> 1])
        of_max, of_min = bool(bits & 1), bool(bits & 2)
        return (of_min, of_max) if link & 1 else (of_max, of_min)

    def _solve(self, base: int, progress: Report | None) -> None:
        """Solve the nodes from number `base` on, and all that they lead to."""
        for _ in self._enumeration.expand():
            _tell(progress, SolveProgress(self.states, float("nan"), "states"))
        walk = self._new_walk(base)
        components = self.bound.kernel(components_kernels.components)
        while components(self._graph, walk, FOLLOWED) != DONE:
            met = int(walk.counts[components_kernels.ORDERED])
            _tell(progress, SolveProgress(self.states, met / len(walk.order), "components"))
        order = walk.order
        del walk
        for share in self._iterate(order):
            _tell(progress, SolveProgress(self.states, share, "values"))
        self._find_forced(order)

    def _new_walk(self, base: int) -> Walk:
        n = self.states - base
        number, low, path, waiting, order = (np.zeros(n, np.int32) for _ in range(5))
        return Walk(number, low, np.zeros(n, np.int64), path, waiting, order, np.zeros(5, np.int64), base)

    def _iterate(self, order: npt.NDArray[np.int32]) -> Iterator[float]:
        """Solve the components in their order."""
        solve_small = self.bound.kernel(intervals_kernels.solve_small)
        ends = np.flatnonzero(order < 0)
        self._components += len(ends)
        self._largest = max(self._largest, int(np.diff(ends, prepend=-1).max()))
        position = 0
        while position < len(order):
            position, end, _ = solve_small(
                self._graph, order, position, SMALL, TOLERANCE, SMALL_SWEEPS, SWEPT
            )
            if end > position:
                for _ in self._solve_component(order, position, end):
                    yield position / len(order)
                position = end
            yield position / len(order)

    def _solve_component(self, order: npt.NDArray[np.int32], first: int, last: int) -> Iterator[None]:
        """Sweep over a component until its bounds meet, in threads."""
        graph, fresh = self._graph, np.empty((self.states, 2))
        cuts = np.linspace(first, last, BLOCKS + 1).astype(int).tolist()
        blocks = list(enumerate(itertools.pairwise(cuts)))
        mark, sweep, take = (
            self.bound.kernel(intervals_kernels.mark_block),
            self.bound.kernel(intervals_kernels.sweep_block),
            self.bound.kernel(intervals_kernels.take_block),
        )

        def in_blocks(kernel: Callable[..., object], *more: object) -> list[object]:
            return self._threads.map(kernel, [(graph, fresh, order, *span, *more, i) for i, span in blocks])

        in_blocks(mark)
        gap, number = float("inf"), 0
        while gap > TOLERANCE:
            in_blocks(sweep, number & 1)
            taken = self._threads.map(take, [(graph, fresh, order, *span) for _, span in blocks])
            gap, change = max(t[0] for t in taken), max(t[1] for t in taken)
            number += 1
            self._sweeps += last - first > SMALL
            stalled = change <= STALLED or number == MOST_SWEEPS
            if gap > TOLERANCE and (stalled or (change < SLOW * gap and number & (number - 1) == 0)):
                progress = self._look_for_endless_play(order, first, last, max(EQUAL, 16 * change))
                in_blocks(mark)
                if stalled and progress <= STALLED:
                    self._refuse(order, first, last)
            yield
        mark(graph, fresh, order, first, last, NONE)

    # Endless play

    def _look_for_endless_play(
        self, order: npt.NDArray[np.int32], first: int, last: int, margin: float
    ) -> float:
        """Make bounds that rest on endless play rest on exits; return the largest change."""
        graph = self._graph
        inside, exits = np.zeros(2 * self.states, np.int8), np.empty(2 * self.states)
        enter, shrink, find_exits, lower = (
            self.bound.kernel(endless_kernels.enter_all),
            self.bound.kernel(endless_kernels.shrink),
            self.bound.kernel(endless_kernels.find_exits),
            self.bound.kernel(endless_kernels.lower),
        )
        enter(graph, inside, exits, order, first, last)
        while shrink(graph, inside, order, first, last, margin):
            pass
        while find_exits(graph, inside, exits, order, first, last, margin):
            pass
        return float(lower(graph, inside, exits, order, first, last))

    def _find_forced(self, order: npt.NDArray[np.int32]) -> None:
        """Find the nodes from which a player can force endless play."""
        unforce = self.bound.kernel(endless_kernels.unforce)
        cuts = [*range(0, len(order), SWEPT), len(order)]
        for number in itertools.count():
            spans = list(itertools.pairwise(cuts))
            if number & 1:
                spans.reverse()
            if not sum(unforce(self._graph, order, *span, number & 1) for span in spans):
                return

    def _refuse(self, order: npt.NDArray[np.int32], first: int, last: int) -> None:
        nodes = np.where(order[first:last] < 0, -1 - order[first:last], order[first:last])
        gaps = np.ptp(self._graph.bounds[nodes], axis=1)
        worst = int(nodes[int(gaps.argmax())])
        state = self.game.state(self._graph.state[worst])
        low, high = self._graph.bounds[worst]
        raise DicentError(
            f"{self.game.name} cannot be solved: players can repeat moves forever, as through {state}. "
            f"Its value lies between {low:.6f} and {high:.6f}. Add a rule that ends such games"
        )


def _tell(progress: Report | None, now: SolveProgress) -> None:
    if progress is not None:
        progress(now)

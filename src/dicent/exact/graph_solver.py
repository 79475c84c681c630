"""GraphSolver: values of any finite game, cycles included, with bounds that certify them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

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
from dicent.kernels.graph import END, ENDS, LINKS, REPEATED, Graph

TOLERANCE = 1e-10  # how close the two bounds of every state come
FINE = 1e-13  # how close they come in a component by itself, so that gaps do not add up
FOLLOWED = 1 << 20  # links in a call of a kernel, which sees neither the clock nor Ctrl-C
SWEPT = 1 << 16  # nodes updated in a call
SMALL = 1000  # nodes of a component that a single call solves
SMALL_SWEEPS = 1000  # after which endless play is looked for in a small component, too
MOST_SWEEPS = 100_000
ALONE = 1 << 15  # nodes of a component that threads do not share
WAVE, MOST_WAVES = 1 << 13, 64  # nodes that threads update side by side in a sweep, at least; waves at most
SETTLED = 1e-14  # the largest change of a sweep after which bounds are taken as a guess
WIDTH = 1e-12  # by which a guess is widened to be proved
MOST_GUESSES = 1000  # sweeps that may settle or prove a guess
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
        largest = game.max_score if scores else 1.0
        if largest is None:
            raise DicentError(f"{game.name} does not state MAX_SCORE, which bounds the values of its states")
        self.game, self.largest = game, largest
        self.bound = bind(game, compiled)
        self._threads = Threads()
        self._max_states, self._scores = max_states, scores
        self._forget()

    def _forget(self) -> None:
        self._enumeration = Enumeration(
            self.game, self.bound, self._max_states, self._scores, self.largest, self._threads
        )
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
        return self._graph.state[:n].copy(), self._graph.bounds[self._graph.place[:n]].mean(axis=1)

    def bounds_of(self, state: State, progress: Report | None = None) -> tuple[float, float]:
        """Return the lower and the upper bound of a state's value for MAX."""
        before = self.states
        link = self._enumeration.add(state)
        if link < 0:  # a finished game
            end = float(self._graph.ends[END - link])
            return end, end
        if self.states > before:
            try:
                self._solve(before, progress)
            except BaseException:  # some states would have no value
                self._forget()
                raise
        low, high = self._graph.bounds[self._graph.place[link >> 1]].tolist()
        return (-high, -low) if link & 1 else (low, high)

    def value_of(self, state: State, progress: Report | None = None) -> float:
        """Return the value of a state for MAX: the middle of its bounds."""
        low, high = self.bounds_of(state, progress)
        return (low + high) / 2 + 0.0  # never -0.0

    def can_force_endless(self, state: State) -> tuple[bool, bool]:
        """Return whether MAX, and whether MIN, can force play without end from a state."""
        self.bounds_of(state)
        link = self._enumeration.add(state)
        bits = 0 if link < 0 else int(self._graph.forced[self._graph.place[link >> 1]])
        of_max, of_min = bool(bits & 1), bool(bits & 2)
        return (of_min, of_max) if link & 1 else (of_max, of_min)

    def _solve(self, base: int, progress: Report | None) -> None:
        """Solve the nodes from number `base` on, and all that they lead to."""
        for _ in self._enumeration.expand():
            _tell(progress, SolveProgress(self.states, float("nan"), "states"))
        self._check_scores()
        walk = self._new_walk(base)
        components = self.bound.kernel(components_kernels.components)
        while components(self._graph, walk, FOLLOWED) != DONE:
            met = int(walk.counts[components_kernels.ORDERED])
            _tell(progress, SolveProgress(self.states, met / len(walk.number), "components"))
        del walk
        spans = _spans(base, self.states)
        self._threads.map(
            self.bound.kernel(components_kernels.link_places), [(self._graph, *span) for span in spans]
        )
        for share in self._iterate(base):
            _tell(progress, SolveProgress(self.states, share, "values"))
        self._find_forced(base)

    def _check_scores(self) -> None:
        """Raise an error if a score is larger than the game says: bounds would not hold."""
        worst = float(np.abs(self._graph.ends[: self._graph.counts[ENDS]]).max(initial=0.0))
        if worst > self.largest:
            raise DicentError(
                f"{self.game.name} has a score of {worst:g}, and MAX_SCORE is {self.largest:g}: "
                f"set MAX_SCORE to {worst:g} or more"
            )

    def _new_walk(self, base: int) -> Walk:
        n = self.states - base
        number, low, path, waiting = (np.zeros(n, np.int32) for _ in range(4))
        return Walk(number, low, np.zeros(n, np.int64), path, waiting, np.zeros(5, np.int64), base)

    def _iterate(self, base: int) -> Iterator[float]:
        """Solve the components in their order, from a place on."""
        solve_small = self.bound.kernel(intervals_kernels.solve_small)
        n, place = self.states, base
        ends = np.flatnonzero(self._graph.order[base:n] < 0)
        self._components += len(ends)
        self._largest = max(self._largest, int(np.diff(ends, prepend=-1).max()))
        while place < n:
            place, end, _ = solve_small(self._graph, place, n, SMALL, FINE, TOLERANCE, SMALL_SWEEPS, SWEPT)
            if end > place:
                for _ in self._solve_component(place, end):
                    yield (place - base) / (n - base)
                place = end
            yield (place - base) / (n - base)

    def _solve_component(self, first: int, last: int) -> Iterator[None]:
        """Sweep over a component until its bounds meet, in threads."""
        component = _Component(self._graph, first, last, np.empty((self.states, 2)))
        proved = False
        if not self._can_stay_inside(component):
            proved = yield from self._guess_and_prove(component)
        if not proved:
            yield from self._narrow(component)

    def _guess_and_prove(self, component: _Component) -> Generator[None, None, bool]:
        """Let bounds settle, then prove slightly wider ones; return whether that worked."""
        graph = component.graph
        settled = np.empty((self.states, 2))
        widen = self.bound.kernel(intervals_kernels.widen_block)
        take = self.bound.kernel(intervals_kernels.take_guess)
        component.reset(0.0)
        for width in (0.0, WIDTH):
            self._threads.map(widen, [(graph, settled, width, *span) for span in component.spans])
            self._copy(component)
            for _ in range(MOST_GUESSES):
                change, excess = self._sweep(component, False, take, settled, width)
                yield
                if excess <= 0.0 if width else change <= SETTLED:
                    break
            else:
                component.reset(self.largest)
                return False
        return True

    def _narrow(self, component: _Component) -> Iterator[None]:
        """Raise lower bounds and lower upper bounds until they meet."""
        take = self.bound.kernel(intervals_kernels.take_block)
        self._copy(component)
        gap, change, number = math.inf, math.inf, 0
        while gap > FINE and (gap > TOLERANCE or change > FINE):
            gap, change = self._sweep(component, True, take)
            number += 1
            stalled = change <= STALLED or number == MOST_SWEEPS
            if gap > TOLERANCE and (stalled or (change < SLOW * gap and number & (number - 1) == 0)):
                progress = self._look_for_endless_play(component, max(EQUAL, 16 * change))
                self._copy(component)
                if stalled and progress <= STALLED:
                    self._refuse(component)
            yield

    def _sweep(
        self, component: _Component, narrow: bool, take: Callable[..., tuple[float, float]], *more: object
    ) -> tuple[float, float]:
        """Update all bounds, wave by wave; return the largest of the two figures that `take` returns."""
        c, first, second = component, 0.0, 0.0
        sweep = self.bound.kernel(intervals_kernels.sweep_block)
        self._sweeps += c.last - c.first > SMALL
        for wave in c.waves:
            arguments = c.graph, c.fresh
            self._threads.map(sweep, [(*arguments, *span, narrow) for span in wave])
            for one, other in self._threads.map(take, [(*arguments, *more, *span) for span in wave]):
                first, second = max(first, one), max(second, other)
        return first, second

    def _copy(self, component: _Component) -> None:
        """Make the fresh bounds of a component those of the graph."""
        c, copy = component, self.bound.kernel(intervals_kernels.copy_block)
        self._threads.map(copy, [(c.graph, c.fresh, *span) for span in c.spans])

    # Endless play

    def _can_stay_inside(self, component: _Component) -> bool:
        """Return whether play can stay in a component forever, if both players want that."""
        return self._inside(component, math.inf)[1] > 0

    def _inside(self, component: _Component, margin: float) -> tuple[npt.NDArray[np.int8], int]:
        """Return the largest set of vertices in which play can stay at equal bounds, and their number."""
        c, inside = component, np.zeros(2 * self.states, np.int8)
        enter = self.bound.kernel(endless_kernels.enter_all)
        count = sum(self._threads.map(enter, [(inside, *span) for span in c.spans]))
        # The largest such set is unique, so threads may see what others have removed or not.
        shrink = self.bound.kernel(endless_kernels.shrink)
        jobs = [(c.graph, inside, *span, margin) for span in c.spans]
        while out := sum(self._threads.map(shrink, jobs)):
            count -= out
        return inside, int(count)

    def _look_for_endless_play(self, component: _Component, margin: float) -> float:
        """Make bounds that rest on endless play rest on exits; return the largest change."""
        (inside, _), exits = self._inside(component, margin), np.zeros(2 * self.states)
        find_exits = self.bound.kernel(endless_kernels.find_exits)
        lower = self.bound.kernel(endless_kernels.lower)
        arguments = component.graph, inside, exits, component.first, component.last
        while find_exits(*arguments, margin):
            pass
        return float(lower(*arguments))

    def _find_forced(self, base: int) -> None:
        """Find the places from which a player can force endless play."""
        unforce, spans = self.bound.kernel(endless_kernels.unforce), _spans(base, self.states)
        for number in itertools.count():
            spans.sort(reverse=bool(number & 1))
            if not sum(self._threads.map(unforce, [(self._graph, *span, number & 1) for span in spans])):
                return

    def _refuse(self, component: _Component) -> None:
        graph, bounds = component.graph, component.graph.bounds
        worst = component.first + int(np.ptp(bounds[component.first : component.last], axis=1).argmax())
        node = int(graph.order[worst])
        low, high = bounds[worst]
        raise DicentError(
            f"{self.game.name} cannot be solved: players can repeat moves forever, as through "
            f"{self.game.state(graph.state[max(node, -1 - node)])}. Its value lies between {low:.6f} and "
            f"{high:.6f}. Add a rule that ends such games"
        )


@dataclass(frozen=True)
class _Component:
    """A component of the graph: the nodes at places `first` to `last`."""

    graph: Graph
    first: int
    last: int
    fresh: npt.NDArray[np.float64]  # [N, 2]  bounds that are being computed

    @cached_property
    def waves(self) -> list[list[tuple[int, int]]]:
        """Waves of blocks, each a span of places, from the last to the first."""
        if self.last - self.first <= ALONE:
            return [[(self.first, self.last)]]
        count = min(MOST_WAVES, 1 + (self.last - self.first) // WAVE)
        waves = np.linspace(self.last, self.first, count + 1).astype(int).tolist()
        cuts = (np.linspace(start, end, BLOCKS + 1).astype(int) for end, start in itertools.pairwise(waves))
        return [list(itertools.pairwise(cut.tolist())) for cut in cuts]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """All blocks of all waves."""
        return [span for wave in self.waves for span in wave]

    def reset(self, largest: float) -> None:
        """Forget the bounds."""
        self.graph.bounds[self.first : self.last] = -largest, largest


def _spans(first: int, last: int) -> list[tuple[int, int]]:
    """Cut places into spans that a call of a kernel works on."""
    return list(itertools.pairwise([*range(first, last, SWEPT), last]))


def _tell(progress: Report | None, now: SolveProgress) -> None:
    if progress is not None:
        progress(now)

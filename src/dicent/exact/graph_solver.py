"""GraphSolver: values of any finite game, cycles included, with bounds that certify them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.exact.component import FINE, SWEPT, TOLERANCE, Component
from dicent.exact.enumeration import Enumeration
from dicent.exact.graph_report import GraphReport
from dicent.exact.progress import Report, SolveProgress
from dicent.exact.stages import Span, Stage, find_stages
from dicent.exact.threads import Threads
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import endless as endless_kernels
from dicent.kernels import intervals as intervals_kernels
from dicent.kernels.graph import END, ENDS, LINKS, REPEATED, Graph

SMALL_SWEEPS = 1000  # after which endless play is looked for in a small component, too


class GraphSolver:
    """The values of all states that can follow the states asked for.

    `scores` counts a finished game by its score instead of its result. Endless play is a draw, 0.
    """

    def __init__(
        self, game: Game, max_states: int, scores: bool = False, compiled: bool | None = None
    ) -> None:
        largest = game.max_score if scores else 1.0
        if largest is None:
            raise DicentError(
                f"{game.name} does not state MAX_SCORE, which bounds the values of its states: set it to the "
                "largest absolute value of score, or solve for win probabilities (values of gain)"
            )
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
        """Counts and times of the work done so far."""
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
            memory=self._enumeration.bytes + self._enumeration.working * n,
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

        def tell(stage: str, share: float) -> None:
            if progress is not None:
                progress(SolveProgress(self.states, share, stage))

        for _ in self._enumeration.expand():
            tell("states", math.nan)
        self._check_scores()
        stages = find_stages(
            self._graph, base, self.states, self.bound, self._threads, lambda share: tell("components", share)
        )
        sizes = np.concatenate([np.diff(stage.cuts, prepend=stage.first) for stage in stages])
        self._components += len(sizes)
        self._largest = max(self._largest, int(sizes.max()))
        stays = self._can_stay(base, self.states)
        for solved in self._iterate(stages, stays):
            tell("values", (solved - base) / (self.states - base))
        if stays or self._graph.forced[:base].any():
            self._find_forced(base)
        else:
            self._graph.forced[base : self.states] = 0

    def _check_scores(self) -> None:
        """Raise an error if a score is larger than the game says: bounds would not hold."""
        worst = float(np.abs(self._graph.ends[: self._graph.counts[ENDS]]).max(initial=0.0))
        if worst > self.largest:
            raise DicentError(
                f"{self.game.name} has a score of {worst:g}, and MAX_SCORE is {self.largest:g}: "
                f"set MAX_SCORE to {worst:g} or more"
            )

    def _iterate(self, stages: list[Stage], stays: bool) -> Iterator[int]:
        """Solve all components, stage by stage, and yield places; `stays` says if play need not end."""
        scale = max(1.0, self.largest)
        solve_small = self.bound.kernel(intervals_kernels.solve_small)
        for stage in stages:
            place = stage.first if stage.small else stage.last
            while place < stage.last:
                place, end, sweeps = solve_small(
                    self._graph, place, stage.last, FINE * scale, TOLERANCE * scale, SMALL_SWEEPS, SWEPT
                )
                self._sweeps += sweeps
                if end > place:  # its bounds do not meet by themselves
                    for _ in self._solve_components([(place, end)], stays):
                        yield place
                    place = end
                yield place
            if not stage.small:
                for _ in self._solve_components(stage.spans, stays):
                    yield stage.first

    def _solve_components(self, spans: list[Span], stays: bool) -> Iterator[None]:
        """Solve components that do not lead to each other: large ones in all threads, others in one each."""
        parts = self.game, self.bound, self._threads, self._graph
        components = [Component(*parts, *span) for span in sorted(spans, key=lambda s: s[0] - s[1])]
        alone = []
        for component in components:  # the largest first
            its_stays = stays and self._can_stay(component.first, component.last)
            sweeps = component.solve(self.largest, its_stays)
            if component.is_shared:
                yield from sweeps
            else:
                alone.append(sweeps)
        yield from self._threads.exhaust(alone)
        self._sweeps += sum(component.sweeps for component in components)

    # Endless play

    def _can_stay(self, first: int, last: int) -> bool:
        """Return whether play can stay at some places forever, if both players want that."""
        inside = np.ones(last - first, np.int8)
        leave = self.bound.kernel(endless_kernels.leave_together)
        spans = _spans(first, last)
        left = [end - start for start, end in spans]
        for number in itertools.count():
            # The largest such set is unique, so threads may see what others have removed or not.
            there = [i for i, count in enumerate(left) if count]
            jobs = [(self._graph, inside, first, *spans[i], number & 1) for i in there]
            out = self._threads.map(leave, jobs)
            if not sum(out):
                return bool(there)
            for i, count in zip(there, out, strict=True):
                left[i] -= count
        raise AssertionError

    def _find_forced(self, base: int) -> None:
        """Find the places from which a player can force endless play."""
        unforce, spans = self.bound.kernel(endless_kernels.unforce), _spans(base, self.states)
        for number in itertools.count():
            spans.sort(reverse=bool(number & 1))
            if not sum(self._threads.map(unforce, [(self._graph, *span, number & 1) for span in spans])):
                return


def _spans(first: int, last: int) -> list[tuple[int, int]]:
    """Cut places into spans that a call of a kernel works on."""
    return list(itertools.pairwise([*range(first, last, SWEPT), last]))

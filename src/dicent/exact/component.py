"""Component: a strongly connected part of a graph, solved by sweeps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.exact.threads import BLOCKS, Threads
from dicent.game import Game
from dicent.game.binding import Bound
from dicent.kernels import endless as endless_kernels
from dicent.kernels import intervals as intervals_kernels
from dicent.kernels import policy_iteration
from dicent.kernels.graph import Graph
from dicent.kernels.policy_iteration import System

Values = npt.NDArray[np.float64]
Span = tuple[int, int]

# All tolerances are for values up to 1, and grow with the largest score.
TOLERANCE = 1e-10  # how close the two bounds of every state come
FINE = 1e-13  # how close they come in a component by itself, so that gaps do not add up
SWEPT = 1 << 16  # nodes updated in a call of a kernel, which sees neither the clock nor Ctrl-C
MOST_SWEEPS = 100_000
ALONE = 1 << 16  # nodes of a component that threads do not share
WAVE, MOST_WAVES = 1 << 18, 64  # nodes that threads update side by side in a sweep, at least; waves at most
FOLLOWS = 40  # sweeps along the best links after one over all links, at the most
FOLLOWED = 0.002  # they end when values change by a smaller share than the sweep over all links did
SETTLED = 1e-14  # the largest change of a sweep after which values are taken as a guess
WIDTH = 1e-13  # by which bounds are farther out than a guess, to be proved
MOST_GUESSES = 1000  # sweeps over all links that may settle a guess
MOST_PROOFS = 200  # sweeps that may prove it
STALLED = 1e-16  # a sweep that changes no bound by more will never end
NARROWED = FINE / 4  # by which a proof may add to the widest gap outside the component
SLOW = 1e-3  # a sweep that narrows the widest gap by a smaller share suggests endless play
EQUAL = 1e-13  # bounds that differ by less count as equal where endless play is looked for


class Component:
    """The nodes of a graph at places `first` to `last`, all of which lead to each other."""

    def __init__(
        self, game: Game, bound: Bound, threads: Threads, graph: Graph, first: int, last: int
    ) -> None:
        self.game, self.bound, self.threads, self.graph = game, bound, threads, graph
        self.first, self.last = first, last
        self.sweeps = 0
        self.scale, self.exit_gap = 1.0, 0.0

    def solve(self, largest: float, stays: bool) -> Iterator[None]:
        """Sweep until the bounds meet. `stays` says if play can stay here; no value is above `largest`.

        They come no closer than those of the states that the component leads to, by `exit_gap` at most.
        """
        self.scale = max(1.0, largest)
        exits = self.bound.kernel(policy_iteration.widest_exit)
        self.exit_gap = max(self.threads.map(exits, [(self.graph, self.first, *span) for span in self.spans]))
        proved = False
        if not stays:
            values = yield from self._guess()
            proved = values is not None and (yield from self._prove(values))
        if not proved:
            self.graph.bounds[self.first : self.last] = -largest, largest
            yield from self._narrow()

    @property
    def size(self) -> int:
        """How many nodes it has."""
        return self.last - self.first

    @property
    def is_shared(self) -> bool:
        """Whether threads share it; they must not be those that solve other components alone."""
        return self.size > ALONE

    @cached_property
    def waves(self) -> list[list[Span]]:
        """Waves of blocks, each a span of places, from the last to the first."""
        if not self.is_shared:
            return [[(self.first, self.last)]]
        count = min(MOST_WAVES, 1 + self.size // WAVE)
        waves = np.linspace(self.last, self.first, count + 1).astype(int).tolist()
        cuts = (np.linspace(start, end, BLOCKS + 1).astype(int) for end, start in itertools.pairwise(waves))
        return [list(itertools.pairwise(cut.tolist())) for cut in cuts]

    @property
    def spans(self) -> list[Span]:
        """All blocks of all waves."""
        return [span for wave in self.waves for span in wave]

    # Guess and proof

    def _guess(self) -> Generator[None, None, Values | None]:
        """Return values that have settled, or None."""
        improve = self.bound.kernel(policy_iteration.improve_block)
        follow = self.bound.kernel(policy_iteration.follow_block)
        system = self._new_system()
        old, new = np.zeros((2, self.size))
        follows, least = FOLLOWS, math.inf
        for _ in range(MOST_GUESSES):
            change = self._update(improve, system, old, new)
            old, new = new, old
            yield
            if change <= SETTLED * self.scale:
                return old
            if change >= least:  # best links that change in circles: without `follows` values must settle
                follows //= 2
            least = min(least, change)
            enough = max(SETTLED * self.scale, FOLLOWED * change)
            for _ in range(follows):
                change = self._update(follow, system, old, new)
                old, new = new, old
                yield
                if change <= enough:
                    break
        return None

    def _update(self, kernel: Callable[..., float], system: System, old: Values, new: Values) -> float:
        """Compute all new values, wave by wave; return the largest change."""
        self.sweeps += 1
        change = 0.0
        for wave in self.waves:
            done = max(last for _, last in wave)
            arguments = self.graph, system, old, new, self.first
            change = max(change, *self.threads.map(kernel, [(*arguments, *span, done) for span in wave]))
        return change

    def _new_system(self) -> System:
        n = self.size
        count = self.bound.kernel(policy_iteration.count_groups)
        head, vector = np.zeros(n + 1, np.int64), np.zeros(n, np.int32)
        for span in sorted(self.spans):
            count(self.graph, head, vector, self.first, *span)
        return System(head, np.zeros(head[-1], np.int32), vector, np.zeros(n))

    def _prove(self, values: Values) -> Generator[None, None, bool]:
        """Sweep bounds that are slightly farther out than the values; return whether all move inwards.

        Proved bounds then move inwards further, so that gaps do not add up from component to component.
        """
        spread = self.bound.kernel(policy_iteration.spread_block)
        take = self.bound.kernel(policy_iteration.take_proof)
        width = self.exit_gap / 2 + WIDTH * self.scale
        spread_arguments = self.graph, values, width, self.first
        self.threads.map(spread, [(*spread_arguments, *span) for span in self.spans])
        fresh = self._fresh()
        for _ in range(MOST_PROOFS):
            excess, _ = self._sweep(fresh, False, take, values, width)
            yield
            if excess <= 0.0:
                return (yield from self._tighten(fresh))
        return False

    def _tighten(self, fresh: Values) -> Generator[None, None, bool]:
        """Sweep proved bounds until they are narrow or stop changing; return whether they are narrow."""
        take = self.bound.kernel(intervals_kernels.take_block)
        gap = math.inf
        for _ in range(MOST_PROOFS):
            gap, change = self._sweep(fresh, True, take)
            yield
            if gap <= self.exit_gap + NARROWED * self.scale or change <= STALLED * self.scale:
                break
        return gap <= self.exit_gap + TOLERANCE * self.scale

    # Bounds from both sides

    def _narrow(self) -> Iterator[None]:
        """Raise lower bounds and lower upper bounds until they meet."""
        take = self.bound.kernel(intervals_kernels.take_block)
        fresh = self._fresh()
        gap, change, number = math.inf, math.inf, 0
        fine, tolerance = (self.exit_gap + each * self.scale for each in (FINE, TOLERANCE))
        stall = STALLED * self.scale
        while gap > fine and (gap > tolerance or change > FINE * self.scale):
            gap, change = self._sweep(fresh, True, take)
            number += 1
            stalled = change <= stall or number == MOST_SWEEPS
            if gap > tolerance and (stalled or (change < SLOW * gap and number & (number - 1) == 0)):
                progress = self._look_for_endless_play(max(EQUAL * self.scale, 16 * change))
                fresh = self._fresh()
                if stalled and progress <= stall:
                    self._refuse()
            yield

    def _sweep(
        self, fresh: Values, narrow: bool, take: Callable[..., tuple[float, float]], *more: object
    ) -> tuple[float, float]:
        """Update all bounds, wave by wave; return the largest of the two figures that `take` returns."""
        first, second = 0.0, 0.0
        sweep = self.bound.kernel(intervals_kernels.sweep_block)
        self.sweeps += 1
        arguments = self.graph, fresh, self.first
        for wave in self.waves:
            self.threads.map(sweep, [(*arguments, *span, narrow) for span in wave])
            for one, other in self.threads.map(take, [(*arguments, *more, *span) for span in wave]):
                first, second = max(first, one), max(second, other)
        return first, second

    def _fresh(self) -> Values:
        """Return a copy of the bounds, to be updated."""
        return self.graph.bounds[self.first : self.last].copy()

    # Endless play

    def _look_for_endless_play(self, margin: float) -> float:
        """Make bounds that rest on endless play rest on exits; return the largest change."""
        inside, exits = self._inside(margin), np.zeros(2 * self.size)
        find_exits = self.bound.kernel(endless_kernels.find_exits)
        lower = self.bound.kernel(endless_kernels.lower)
        arguments = self.graph, inside, exits, 2 * self.first, self.first, self.last
        while find_exits(*arguments, margin):
            pass
        return float(lower(*arguments))

    def _inside(self, margin: float) -> npt.NDArray[np.int8]:
        """Return the largest set of vertices in which play can stay at equal bounds."""
        inside = np.ones(2 * self.size, np.int8)
        # The largest such set is unique, so threads may see what others have removed or not.
        shrink = self.bound.kernel(endless_kernels.shrink)
        jobs = [(self.graph, inside, 2 * self.first, *span, margin) for span in self.spans]
        while sum(self.threads.map(shrink, jobs)):
            pass
        return inside

    def _refuse(self) -> None:
        graph, bounds = self.graph, self.graph.bounds
        worst = self.first + int(np.ptp(bounds[self.first : self.last], axis=1).argmax())
        node = int(graph.order[worst])
        low, high = bounds[worst]
        raise DicentError(
            f"{self.game.name} cannot be solved: players can repeat moves forever, as through "
            f"{self.game.state(graph.state[max(node, -1 - node)])}. Its value lies between {low:.6f} and "
            f"{high:.6f}. Add a rule that ends such games"
        )

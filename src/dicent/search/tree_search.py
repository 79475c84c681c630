"""The interface of all searches: analyse, play and stream, and attributes that say what a search can do."""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeVar

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import Game, State
from dicent.game.arrays import new_scratch
from dicent.game.binding import Bound, bind
from dicent.kernels import tree as tree_kernels
from dicent.kernels.searches import SEARCHING, WAITING
from dicent.kernels.tree import Settings
from dicent.kernels.values import OUTSIDE
from dicent.search.analysis import Analysis
from dicent.search.group import TURN, Group
from dicent.search.limit import Limit
from dicent.search.search_kernels import SearchKernels

FIRST_NODES = 4096  # room in a tree
FAST, SLOW = 1_500_000, 50_000  # nodes per second with native evaluators and others, for room in a tree
MOST_NODES = 1 << 23  # room in a tree, before it must grow

S = TypeVar("S", bound="Search")


class Search(ABC):
    """Something that looks at a position and reports on it.

    A subclass needs `stream` only. The attributes below tell callers what the search can do; a search around
    another one forwards those of the inner search.
    """

    evaluator: Evaluator | None = None  # the source of its values
    replaces_evaluator = False  # `with_evaluator` may give it another evaluator
    inner: Search | None = None  # the search around which this one is built
    seed: int | None = None  # of its random choices; None for a search that makes none
    determinization_seed = 0  # of the outcomes that a determinization gives to chance
    needs_limit = True  # a player needs a limit for it
    fixed_depth: int | None = None  # plies it looks ahead, whatever the limit
    plays_random_games = False  # each of its evaluations is a random game
    plays_uniformly = False  # it plays any legal action, all equally likely
    keeps_time = False  # it shares out the time of a game itself, by `play_by_clock(state, clock, ply)`
    needs_history = False  # it must see how a game went, by `play_after(game, history, seed)`
    keeps_tree = False  # a search that begins inside its tree can use that tree
    native = False  # kernels run it, which compile at the first use
    pausable = False  # its stream can be left, and resumed with a later limit
    ranks_by_visits = False  # its best action is the most visited one
    layered = False  # it grows trees layer by layer
    counts_turns = False  # it can end a line of play after some turns
    whole = False  # it finishes its last iteration beyond the limit
    targets: tuple[str, ...] = ()  # training targets that it yields
    source = "search"  # where its values come from, for answers of the engine
    clock: Callable[[], float] = staticmethod(time.perf_counter)  # seconds, for limits of time

    @abstractmethod
    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """Yield analyses about every `every` seconds, the last one when the limit is reached.

        `after` is an earlier analysis of this search, whose tree is used where `state` is in it. `ply` is
        the number of actions played before, for terminal values that depend on it. Leaving the loop ends
        the search.
        """

    def analyse(self, state: State, limit: Limit, after: Analysis | None = None, ply: int = 0) -> Analysis:
        """Search within the limit and return the last analysis. Ctrl-C ends the search early."""
        for analysis in self.stream(state, limit, after, float("inf"), ply):
            last = analysis
        return last

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """Return the action that the search would play."""
        if not state.legal_actions:
            raise DicentError(f"there is no action to play at {state}. {state.describe_legal()}")
        return self.analyse(state, limit, ply=ply).best

    # Capabilities of a search, beyond the attributes above

    @property
    def in_points(self) -> bool:
        """Whether it plays for the game's points, and not for wins."""
        return self.evaluator is not None and self.evaluator.in_points

    @property
    def seeded(self) -> bool:
        """Whether `with_seeds` changes its random choices."""
        return self.seed is not None

    @property
    def batched(self) -> TreeSearch | None:
        """The search that a `Group` runs to find the same moves, or None."""
        return None

    @property
    def batchable(self) -> bool:
        """Whether a `Group` can run it."""
        return self.batched is not None

    @property
    def plays_best(self) -> bool:
        """Whether its move is always the first one of its analysis."""
        return type(self).play is Search.play

    def with_seeds(self: S, seed: int, determinization_seed: int) -> S:
        """Return a copy with other seeds: its own, and that of its determinization."""
        search = copy.copy(self)
        if search.seeded:
            search.seed = seed
        return search

    def with_evaluator(self: S, evaluator: Evaluator) -> S:
        """Return a copy with another evaluator, for searches with `replaces_evaluator`."""
        if not self.replaces_evaluator:
            raise DicentError(f"the evaluator of {type(self).__name__} cannot be replaced")
        search = copy.copy(self)
        search.evaluator = evaluator
        return search

    def require(self, game: Game) -> None:  # noqa: B027  # most searches play every game
        """Raise an error unless the search can play this game."""


def inner_search(search: Search) -> Search:
    """Return the search that does the work, without those around it."""
    while search.inner is not None:
        search = search.inner
    return search


class TreeSearch(Search):
    """A search that grows a tree in native code; a `Group` drives its kernels."""

    evaluator: Evaluator
    replaces_evaluator = True
    seed: int
    native = True
    pausable = True
    targets: tuple[str, ...] = ("tree", "root", "terminal")
    determinized = 0  # 1: chance is resolved by d

    def __init__(self, evaluator: Evaluator, completion: bool = True, seed: int = 0) -> None:
        self.evaluator = evaluator
        self.completion = completion
        self.seed = seed

    @abstractmethod
    def kernels(self, bound: Bound, size: int) -> SearchKernels:
        """Return the kernels of this search, for a group of `size` searches."""

    @property
    def batched(self) -> TreeSearch | None:
        """The search itself."""
        return self

    @property
    def plays_best(self) -> bool:
        """See `Search.plays_best`."""
        return type(self).play is TreeSearch.play

    def unobserved(self, limit: Limit) -> TreeSearch:
        """Return a search that finds the same move within `limit`, for callers that read nothing before."""
        return self

    def settings(self) -> Settings:
        """Return the settings of the search, as kernels read them."""
        terminal = self.evaluator.terminal
        return Settings(
            completion=int(self.completion),
            determinized=self.determinized,
            evaluator=self.evaluator.native,
            uses_ply=int(terminal.uses_ply),
            uses_score=int(terminal.uses_score),
            largest=float(abs(terminal.table()).max()),
            gains=terminal.table(),
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
        for group, seconds, interrupted in self._run(state, limit, after, every, ply):
            yield group.analysis(0, seconds, interrupted)

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """Return the best action; the same as from `analyse`, without the cost of a report."""
        if not state.legal_actions:
            return super().play(state, limit)
        for group, _, _ in self._run(state, limit, None, float("inf"), ply):
            searched = group
        return searched.best_action()

    def _run(
        self, state: State, limit: Limit, after: Analysis | None, every: float, ply: int
    ) -> Iterator[tuple[Group, float, bool]]:
        """Search, and yield the readable group, the seconds so far, and whether Ctrl-C came."""
        begin = self.clock()
        deadline = begin + (math.inf if limit.time is None else limit.time)
        group = after.tree if after is not None else None
        keep = group is not None and group.search is self and group.game == state.game
        if group is None or not keep:
            group = Group(self, state.game, nodes=self._first_nodes(limit))
        if limit.time is not None:
            group.kernels.prepare_deadline()
        group.begin(0, state, limit, self.seed, keep, ply)
        interrupted, reported = False, begin
        try:
            while self._step(group, deadline, every):
                if self.clock() - reported >= every:
                    reported = self.clock()
                    if group.is_readable():
                        yield group, reported - begin, False
        except KeyboardInterrupt:
            interrupted = True
        while group.must_continue() and group.step(TURN):  # there must be a move to play, whatever the limit
            pass
        if group.searches.status[0] in (SEARCHING, WAITING):
            group.break_off()
        group.settle()
        yield group, self.clock() - begin, interrupted

    def _first_nodes(self, limit: Limit) -> int:
        """Return the room for nodes to begin with: growing takes time, and room alone takes little."""
        if limit.time is None:
            return FIRST_NODES
        rate = FAST if self.evaluator.native[0] != OUTSIDE else SLOW
        return int(max(FIRST_NODES, min(rate * limit.time, MOST_NODES, limit.nodes or math.inf)))

    def _step(self, group: Group, deadline: float, every: float) -> bool:
        """Advance the search; return whether it is under way and has time left."""
        left = deadline - self.clock() - group.reserve() if deadline < math.inf else math.inf
        if left <= 0:
            return group.must_continue() and group.step(TURN)
        return group.step(left, max(TURN, every))

    def determinized_outcome(self, state: State, ply: int = 0, rolls: int = 0) -> int:
        """Return the outcome that the determinization has for a chance state.

        It comes after `ply` actions and, since the last of these, after `rolls` outcomes in a row.
        """
        state.require_outcome(state.outcomes[0][0] if state.outcomes else 0)
        bound = bind(state.game)
        outcome = bound.kernel(tree_kernels.determinized_outcome)
        at = ply * tree_kernels.ROLLS + rolls
        return int(outcome(state.cells.copy(), at, self.determinization_seed, new_scratch(bound)))

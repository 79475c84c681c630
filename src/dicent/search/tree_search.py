"""The one interface of all searches: analyse, play, stream."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import Game, State
from dicent.game.arrays import new_scratch
from dicent.game.binding import Bound, bind
from dicent.kernels import searches as searches_kernels
from dicent.kernels import tree as tree_kernels
from dicent.kernels.constants import CHANCE
from dicent.kernels.values import OUTSIDE
from dicent.search.analysis import Analysis
from dicent.search.group import TURN, Group
from dicent.search.limit import Limit


class Search(ABC):
    """Something that looks at a position and reports on it."""

    @abstractmethod
    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """Analyses that grow, one about every `every` seconds, the last one when the limit is reached.

        `after` is an earlier analysis of this search, whose tree is kept where `state` is in it. `ply`
        says how many actions were played before, for terminal values that depend on it. Leaving the
        loop ends the search.
        """

    def analyse(self, state: State, limit: Limit, after: Analysis | None = None, ply: int = 0) -> Analysis:
        """What the search finds within the limit. Ctrl-C ends it early, with what is known."""
        for analysis in self.stream(state, limit, after, float("inf"), ply):
            last = analysis
        return last

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """The action that the search would play."""
        if not state.legal_actions:
            raise DicentError(f"there is no action to play at {state}. {state.describe_legal()}")
        return self.analyse(state, limit, ply=ply).best


class TreeSearch(Search):
    """A search that grows a tree in native code; kernels do the work, a `Group` drives them."""

    path_length = 4096  # plies that an iteration may go down
    keeps_tree = False  # is what it found of use to a search that begins inside its tree?
    determinized = 0
    determinization_seed = 0

    def __init__(self, evaluator: Evaluator, completion: bool = True, seed: int = 0) -> None:
        self.evaluator = evaluator
        self.completion = completion
        self.seed = seed

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
        """The action that the search would play; as `analyse`, without the trouble of a report."""
        if not state.legal_actions:
            return super().play(state, limit)
        for group, _, _ in self._run(state, limit, None, float("inf"), ply):
            searched = group
        return searched.best_action()

    def _run(
        self, state: State, limit: Limit, after: Analysis | None, every: float, ply: int
    ) -> Iterator[tuple[Group, float, bool]]:
        """Search, and hand out the group whenever it can be read; also the time, and about Ctrl-C."""
        begin = time.perf_counter()
        deadline = begin + (float("inf") if limit.time is None else limit.time)
        group = after.tree if after is not None else None
        keep = group is not None and group.search is self and group.game == state.game
        if group is None or not keep:
            group = Group(self, state.game)
        group.begin(0, state, limit, self.seed, keep, ply)
        interrupted, shown = False, begin
        try:
            while group.step(min(TURN, deadline - time.perf_counter())) and time.perf_counter() < deadline:
                if time.perf_counter() - shown >= every:
                    shown = time.perf_counter()
                    if group.is_readable():
                        yield group, shown - begin, False
        except KeyboardInterrupt:
            interrupted = True
            group.value_waiting()  # no leaf may stay without its value
        while not group.is_readable():  # there must be a move to play, whatever the limit
            group.step()
        yield group, time.perf_counter() - begin, interrupted

    def settings(self) -> tuple[Any, ...]:
        """What kernels need to know: completion, determinized, the evaluator's kind, terminal values."""
        terminal = self.evaluator.terminal
        values = int(terminal.uses_ply), int(terminal.uses_score), terminal.table()
        return (int(self.completion), self.determinized, *self.evaluator.native, *values)

    def batch(self, game: Game) -> int:
        """The most leaves that a member waits for at once."""
        return game.num_actions + game.num_outcomes if self.evaluator.native[0] == OUTSIDE else 1

    def extra(self, bound: Bound, size: int) -> Any:
        """More memory that this search needs."""
        return None

    def begin(self, group: Group, members: Any) -> None:
        """Get `members` ready, beyond what every search needs."""

    @abstractmethod
    def advance(self, group: Group, first: int, last: int, work: Any, steps: int) -> None:
        """Run the kernel on members `first` to `last`."""

    def ask(self, game: Game, states: Any) -> Any:
        """What the evaluator says of states; it touches no tree, so that other work can go on beside it."""
        return self.evaluator.evaluate_marked(game, states)

    def take_in(self, group: Group, answer: Any, offsets: Any) -> None:
        """Hand the members what `ask` has answered about the states that they wait for."""
        values, exact = np.asarray(answer[0], np.float64), answer[1]
        trees, matches = group.tree, group.searches
        if exact is not None and not self.determinized:  # what is exact with dice is not so without
            group.bound.kernel(searches_kernels.mark)(trees, matches, 0, group.size, offsets, values, exact)
        group.bound.kernel(searches_kernels.absorb)(trees, matches, 0, group.size, offsets, values)

    def resolve(self, state: State) -> int:
        """The outcome that the determinization has for a chance state."""
        state.require_outcome(state.outcomes[0][0] if state.outcomes else 0)
        bound = bind(state.game)
        return int(
            bound.kernel(tree_kernels.resolve)(
                state.cells.copy(), self.determinization_seed, new_scratch(bound)
            )
        )

    def settle(self, group: Group) -> None:
        """Make the trees readable between two steps."""

    def is_readable(self, group: Group, m: int) -> bool:
        """Does the root have a value?"""
        return not bool(np.isnan(group.tree.value[m, group.searches.root[m]]))

    def is_backed_up(self, group: Group, m: int, node: int) -> bool:
        """Does the value of an expanded node come from its children?"""
        return True

    def edge_value(self, group: Group, m: int, edge: int) -> float:
        """The value of an action or outcome, for MAX."""
        return float(group.tree.value[m, group.tree.child[m, edge]])

    def order(self, group: Group, m: int, node: int, edge: int) -> tuple[float, ...]:
        """What actions are sorted by: (c, v, n) for the player to move."""
        t, child = group.tree, group.tree.child[m, edge]
        sign = int(t.kind[m, node]) if t.kind[m, node] != CHANCE else 1
        c = sign * int(t.completion[m, child]) if self.completion else 0
        return (c, sign * float(t.value[m, child]), int(t.visits[m, edge]))

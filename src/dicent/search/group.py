"""Group: searches that advance together and share the batches of their evaluator.

A single search is a group of one. Kernels advance all searches until each waits for values or has ended. The
group sends all waiting states to the evaluator in one batch, hands the values to the kernels, and repeats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dicent import machine
from dicent.errors import DicentError
from dicent.game import Cells, Game, State
from dicent.game.arrays import grown, new_scratch, new_searches, new_tree
from dicent.kernels import searches as searches_kernels
from dicent.kernels.constants import SEARCH
from dicent.kernels.generator import open_stream
from dicent.kernels.searches import DONE, NO_ROOM, SEARCHING, WAITING
from dicent.kernels.tree import Scratch, Settings
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.report import TreeReader
from dicent.search.search_kernels import Answer, Indices

if TYPE_CHECKING:
    from dicent.search.tree_search import TreeSearch

ENDLESS = 2**62
TURN = 0.02  # seconds per kernel call: kernels see neither the clock nor Ctrl-C
MOST_STEPS = 100_000  # the most steps of a kernel call
MAX_NODES = 1 << 25  # the most nodes that a tree grows to; about 3 GB if a state has 15 bytes
GUESS = 10_000.0  # steps of a kernel per second, before they are measured
CAUTIOUS_GUESS = 500.0  # the same where time is limited
SOONEST = 1e-9  # seconds; the resolution of a clock
FIRST_BATCH = 8  # states that measure the throughput of an evaluator
LEAST, OF_TIME = 0.001, 0.02  # seconds worth a kernel call or a batch, and at most this share of the limit
LARGEST_SLICE = 0.1  # seconds of a batch, where time is limited
PASS = 2e-8  # seconds to pass over a node, before it is measured
REHEARSED = 20_000  # nodes of a tree, from which on that is measured
ITEMS_PER_THREAD = 256  # small pieces of work that are worth a thread


class Group:
    """M searches of the same kind on the same game.

    The group owns the arrays: the trees, the states of the searches, and scratch memory for each thread.
    `kernels` is the object that works on them.
    """

    def __init__(
        self,
        search: TreeSearch,
        game: Game,
        size: int = 1,
        nodes: int = 4096,
        threads: int | None = 1,
        compiled: bool | None = None,
    ) -> None:
        self.search = search
        self.game = game
        self.size = size
        search.evaluator.terminal.require(game)
        self.bound = search.evaluator.bind(game, compiled)
        self.kernels = search.kernels(self.bound, size)
        self.tree = new_tree(self.bound, size, nodes)
        self.searches = new_searches(self.bound, size, self.kernels.path_length, self.kernels.leaves)
        self.kernels.fit(self.tree)
        self.states: list[State | None] = [None] * size
        self.threads = max(1, min(size, threads or machine.cores()))
        self.scratches = [new_scratch(self.bound) for _ in range(self.threads)]
        self.ended = 0  # searches that had ended at the last call of `waiting_states`
        self._steps_per_second = 0.0  # of the kernels; 0: not measured yet; it may double with each step
        self._states_per_second = 0.0  # of the evaluator, likewise
        self._growing = 0.0  # seconds that the last `grow` took
        self._least = LEAST
        self._pass, self._measured_nodes = PASS, REHEARSED // 2  # measured with a tree of that many nodes
        self._steps = 0
        others = self.threads - 1  # beside the caller's own thread
        self._pool = ThreadPoolExecutor(others) if others else None

    @property
    def settings(self) -> Settings:
        """The settings of the search, as kernels read them."""
        return self.kernels.settings

    @property
    def memory(self) -> int:
        """Bytes of the arrays of all searches."""
        arrays = (*self.tree, *self.searches, *self.kernels.arrays().values())
        return sum(array.nbytes for array in arrays)

    # Searching

    def begin(
        self, row: int, state: State, limit: Limit, seed: int = 0, keep: bool = False, ply: int = 0
    ) -> None:
        """Begin search `row` of `state`; with `keep` in the tree that it has, if the state is in it.

        `ply` is the number of actions played before, for terminal values that depend on it.
        """
        self.states[row] = state
        open_stream(self.searches.rng[row], seed, 0, SEARCH)
        self.searches.d_seed[row] = self.search.determinization_seed
        self.begin_many(np.array([row]), state.cells[None].copy(), np.array([ply]), limit, keep)

    def begin_many(self, members: Indices, states: Cells, plies: Indices, limit: Limit, keep: bool) -> None:
        """Begin the searches `members` [n] of `states` [n, S], with the random streams that they have."""
        searches = self.searches
        searches.max_nodes[members] = _bound(limit.nodes)
        searches.max_evaluations[members] = _bound(limit.evaluations)
        searches.max_depth[members] = _bound(limit.depth if limit.depth is None else max(1, limit.depth))
        if limit.turns is not None and not self.search.counts_turns:
            name = "Determinized" if self.search.determinized else type(self.search).__name__
            raise DicentError(f"turns limits Expectiminimax, not {name}: use depth")
        searches.max_turns[members] = 0 if limit.turns is None else max(1, limit.turns)
        self._least = LEAST if limit.time is None else min(LEAST, OF_TIME * limit.time)
        searches.patience[members] = 1 if limit.is_depth_only else ENDLESS
        begin, keep = self.bound.kernel(searches_kernels.begin), keep and self.search.keeps_tree

        def part(first: int, last: int, _: Scratch) -> None:
            some = slice(first, last)
            begin(self.tree, searches, members[some], states[some], plies[some], keep, self.settings)
            self.kernels.begin(searches, members[some])

        self.in_threads(part, len(members))

    def step(self, left: float = math.inf, batch: float = math.inf) -> bool:
        """Advance every search and evaluate what waits; return whether any search is under way.

        Kernels run for about `TURN` seconds, estimated from the steps before. A group of one can have a
        deadline, `left` seconds from now: kernels and batches then take half of that time at the most. It can
        also limit the seconds of a `batch` of evaluations.
        """
        clock, status = self.search.clock, self.searches.status
        if (status == SEARCHING).any():
            begin = clock()
            rate = self._steps_per_second or (GUESS if left == math.inf else CAUTIOUS_GUESS)
            self.advance(max(1, min(MOST_STEPS, int(rate * min(TURN, left / 2)))))
            taken = max(SOONEST, clock() - begin)
            self._steps_per_second = min(2 * rate, self._steps / taken)
            left -= taken
        if not self._value_some(left, batch):
            return False
        if self.size == 1 and status[0] == NO_ROOM and self.tree.kind.shape[1] < MAX_NODES:
            status[0] = SEARCHING
            if 3 * self._growing > left:  # twice the memory takes twice the time
                return False
            self.grow()
        return bool(((status == SEARCHING) | (status == WAITING)).any())

    def _value_some(self, left: float, batch: float) -> bool:
        """Evaluate waiting states, as many as the time allows by the throughput of the batches before.

        Searches by layers wait with the rest. Others need all values at once: return False if there is not
        enough time for that.
        """
        if left == batch == math.inf:
            self.value_waiting()
            return True
        states, offsets = self.waiting_states()
        if not len(states):
            return True
        rate, count = self._states_per_second, len(states)
        if self.search.layered:
            seconds = min(batch, LARGEST_SLICE, max(self._least, left / 2))
            count = min(count, max(1, int(rate * seconds)) if rate else FIRST_BATCH)
        elif rate and count > rate * left and not self.must_continue():
            return False
        begin = self.search.clock()
        self.absorb(self.ask(states[:count]), offsets)
        measured = count / max(SOONEST, self.search.clock() - begin)
        self._states_per_second = min(2 * rate, measured) if rate else measured
        return True

    def run(self) -> None:
        """Search until every search has ended."""
        while self.step():
            pass

    def advance(self, steps: int) -> None:
        """Advance each search until it waits or ends, for `steps` steps at the most."""
        self._steps = steps
        self.in_threads(
            lambda first, last, scratch: self.kernels.advance(
                self.tree, self.searches, first, last, scratch, steps
            )
        )

    def value_waiting(self) -> int:
        """Evaluate all waiting states, and return how many there were."""
        states, offsets = self.waiting_states()
        if len(states):
            self.absorb(self.ask(states), offsets)
        return len(states)

    def waiting_states(self) -> tuple[Cells, Indices]:
        """Return the states [B, S] that wait for values, and where those of each search begin."""
        offsets = np.empty(self.size, np.int64)
        waiting, self.ended = self.bound.kernel(searches_kernels.line_up)(self.searches, offsets)
        states = np.empty((waiting, self.game.state_size), self.game.state_dtype)
        gather = self.bound.kernel(searches_kernels.gather)
        if len(states):
            self.in_threads(
                lambda first, last, _: gather(self.tree, self.searches, first, last, offsets, states)
            )
        return states, offsets

    def ask(self, states: Cells) -> Answer:
        """Evaluate states; other threads may advance other groups meanwhile."""
        return self.kernels.ask(self.game, states)

    def absorb(self, answer: Answer, offsets: Indices) -> None:
        """Give the searches the values of the states that `waiting_states` returned."""
        self.in_threads(
            lambda first, last, _: self.kernels.absorb(self.tree, self.searches, first, last, offsets, answer)
        )

    # Memory

    def grow(self) -> None:
        """Make room for twice as many nodes."""
        begin = self.search.clock()
        self.tree = grown(self.bound, self.tree)
        self.kernels.fit(self.tree)
        self._growing = self.search.clock() - begin

    def touch(self) -> None:
        """Write to all memory of the trees, so that the system reserves it at once."""

        def part(first: int, last: int, _: Scratch) -> None:
            self.tree.value[first:last] = 0.0
            self.tree.p[first:last] = 0.0

        self.in_threads(part)

    def in_threads(
        self,
        work: Callable[[int, int, Scratch], object],
        count: int | None = None,
        least: int = ITEMS_PER_THREAD,
    ) -> None:
        """Call `work(first, last, scratch)` for parts of all searches, or of `count` items, in threads.

        A thread gets at least `least` items.
        """
        if count is None:
            parts, count = self.threads, self.size
        else:
            parts = count // least
        if self._pool is None or parts < 2:
            work(0, count, self.scratches[0])
            return
        bounds = np.linspace(0, count, min(parts, self.threads) + 1).astype(int).tolist()
        mine, *parts_of_others = zip(bounds[:-1], bounds[1:], self.scratches, strict=False)
        others = [self._pool.submit(work, *part) for part in parts_of_others]
        work(*mine)
        for other in others:
            other.result()

    # The end of the time of a group of one

    def reserve(self) -> float:
        """Return the seconds to end the search and to read its tree, measured when the tree has doubled."""
        nodes = int(self.tree.nodes[0])
        if self.kernels.passes and nodes >= 2 * self._measured_nodes:
            begin = self.search.clock()
            self.kernels.dry_run(self.tree, self.searches, 0)
            self._pass, self._measured_nodes = (self.search.clock() - begin) / nodes, nodes
        return self._least + self.kernels.passes * self._pass * nodes

    def must_continue(self) -> bool:
        """Return whether the search must continue until it knows a move, whatever the time."""
        return self.kernels.must_continue(self.tree, self.searches, 0)

    def break_off(self) -> None:
        """End the search where it stands, and use what it has found."""
        self.kernels.break_off(self.tree, self.searches, 0)

    # Reading

    def settle(self) -> None:
        """Make the trees readable between two steps."""
        self.kernels.settle(self.tree, self.searches, 0, self.size)

    def is_readable(self, row: int = 0) -> bool:
        """Settle, and return whether search `row` knows enough to name a move."""
        self.settle()
        done = bool(self.searches.status[row] == DONE)
        return done or self.kernels.is_readable(self.tree, self.searches, row)

    def analysis(self, row: int = 0, seconds: float = 0.0, interrupted: bool = False) -> Analysis:
        """Return what search `row` has found."""
        state = self.states[row]
        assert state is not None
        return replace(self._reader(row).analysis(state, seconds, interrupted), tree=self)

    def best_action(self, row: int = 0) -> int:
        """Return the action that search `row` would play."""
        return self._reader(row).best_action()

    def _reader(self, row: int) -> TreeReader:
        return TreeReader(self.game, self.kernels, self.tree, self.searches, row)


def _bound(most: float | None) -> int:
    return ENDLESS if most is None else int(min(ENDLESS, most))

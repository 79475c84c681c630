"""Group: searches that advance together and share the batches of their evaluator.

A single search is a group of one. Kernels run all members until each waits for values or has ended;
the states that wait go to the evaluator in one batch; kernels take the values in and go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from dicent import machine
from dicent.game import Game, State
from dicent.game.arrays import grown, new_scratch, new_searches, new_tree
from dicent.game.binding import bind
from dicent.kernels import searches as searches_kernels
from dicent.kernels import tree as tree_kernels
from dicent.kernels.constants import CHANCE, NONE, SEARCH
from dicent.kernels.generator import open_stream
from dicent.kernels.searches import DONE, NO_ROOM, SEARCHING
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view, win_probability
from dicent.search.limit import Limit

if TYPE_CHECKING:
    from dicent.search.tree_search import TreeSearch

ENDLESS = 2**62
TURN = 0.02  # seconds to a call of a kernel, which sees neither the clock nor Ctrl-C
MOST_STEPS = 100_000  # and what it may do in them at the most
MAX_NODES = 1 << 25  # of a tree that grows; about 3 GB for EWN
PV_LENGTH = 20
A_THREAD = 256  # small things that are worth a thread


class Group:
    """M searches of the same kind on the same game."""

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
        self.bound = bind(game, compiled)
        self.tree = new_tree(self.bound, size, nodes)
        self.searches = new_searches(self.bound, size, search.path_length, search.batch(game))
        self.settings = tree_kernels.Settings(*search.settings())
        self.extra = search.extra(self.bound, size)
        self.only_last_layer = False  # for searches with a depth only, which nobody reads before their end
        self.states: list[State | None] = [None] * size
        self.threads = max(1, min(size, threads or machine.cores()))
        self.works = [new_scratch(self.bound) for _ in range(self.threads)]
        self.ended = 0  # members, when `waiting_states` was asked last
        self._steps_a_second = 10_000.0  # a cautious guess; it may double with each step
        self._steps = 0
        others = self.threads - 1  # beside the caller's own thread
        self._pool = ThreadPoolExecutor(others) if others else None

    def begin(
        self, m: int, state: State, limit: Limit, seed: int = 0, keep: bool = False, ply: int = 0
    ) -> None:
        """Let member `m` search `state`; with `keep` in the tree that it has, where that helps.

        `ply` says how many actions were played before, for terminal values that depend on it.
        """
        self.states[m] = state
        open_stream(self.searches.rng[m], seed, 0, SEARCH)
        self.searches.d_seed[m] = self.search.determinization_seed
        self.begin_many(np.array([m]), state.cells[None].copy(), np.array([ply]), limit, keep)

    def begin_many(self, members: Any, states: Any, plies: Any, limit: Limit, keep: bool) -> None:
        """Let `members` [n] search `states` [n, S], by the random streams that they have."""
        c = self.searches
        c.max_nodes[members] = min(ENDLESS, ENDLESS if limit.nodes is None else limit.nodes)
        c.max_evaluations[members] = min(ENDLESS, ENDLESS if limit.evaluations is None else limit.evaluations)
        c.max_depth[members] = min(ENDLESS, ENDLESS if limit.depth is None else max(1, limit.depth))
        only_depth = limit.nodes is None and limit.evaluations is None and limit.time is None
        c.patience[members] = 1 if only_depth else ENDLESS
        begin, keep = self.bound.kernel(searches_kernels.begin), keep and self.search.keeps_tree

        def part(first: int, last: int, _: Any) -> None:
            some = slice(first, last)
            begin(self.tree, c, members[some], states[some], plies[some], keep, self.settings)

        self.in_threads(part, len(members))
        self.search.begin(self, members)

    def step(self, seconds: float = TURN) -> bool:
        """Advance every member that searches, and value what waits; is any of them still searching?

        Native code runs for about `seconds`, which shorter steps before have taught how to fill.
        """
        begin = time.perf_counter()
        self.advance(max(8, min(MOST_STEPS, int(self._steps_a_second * seconds))))
        taken = time.perf_counter() - begin
        self._steps_a_second = min(2 * self._steps_a_second, self._steps / taken)
        self.value_waiting()
        status = self.searches.status
        if self.size == 1 and status[0] == NO_ROOM and self.tree.kind.shape[1] < MAX_NODES:
            self.grow()
            status[0] = SEARCHING
        return bool((status == SEARCHING).any())

    def advance(self, steps: int) -> None:
        """Let native code search for `steps` steps at the most, each member until it waits or ends."""
        self._steps = steps
        self.in_threads(lambda first, last, work: self.search.advance(self, first, last, work, steps))

    def grow(self) -> None:
        """Make room for twice as many nodes."""
        self.tree = grown(self.bound, self.tree)

    def touch(self) -> None:
        """Ask the system for all memory now, and not page by page in the midst of searches."""

        def part(first: int, last: int, _: Any) -> None:
            self.tree.value[first:last] = 0.0
            self.tree.p[first:last] = 0.0

        self.in_threads(part)

    def run(self) -> None:
        """Search until every member has ended."""
        while self.step():
            pass

    def settle(self) -> None:
        """Make the trees readable between two steps."""
        self.search.settle(self)

    def is_readable(self, m: int = 0) -> bool:
        """Settle, and say whether member `m` knows enough to name a move."""
        self.settle()
        return self.searches.status[m] == DONE or self.search.is_readable(self, m)

    def in_threads(
        self, work: Callable[[int, int, Any], object], count: int | None = None, least: int = A_THREAD
    ) -> None:
        """Call `work(first, last, scratch)` for parts of all members, or of `count` things, in threads.

        `least` things are worth a thread.
        """
        if count is None:
            parts, count = self.threads, self.size
        else:
            parts = count // least
        if self._pool is None or parts < 2:
            work(0, count, self.works[0])
            return
        bounds = np.linspace(0, count, min(parts, self.threads) + 1).astype(int).tolist()
        mine, *parts_of_others = zip(bounds[:-1], bounds[1:], self.works, strict=False)
        others = [self._pool.submit(work, *part) for part in parts_of_others]
        work(*mine)
        for other in others:
            other.result()

    def value_waiting(self) -> int:
        """Ask the evaluator for whatever waits; returns for how many states."""
        states, offsets = self.waiting_states()
        if len(states):
            self.search.take_in(self, self.search.ask(self.game, states), offsets)
        return len(states)

    def waiting_states(self) -> tuple[Any, Any]:
        """The states [B, S] that wait for values, and where those of each member begin."""
        offsets = np.empty(self.size, np.int64)
        waiting, self.ended = self.bound.kernel(searches_kernels.line_up)(self.searches, offsets)
        states = np.empty((waiting, self.game.state_size), self.game.state_dtype)
        gather = self.bound.kernel(searches_kernels.gather)
        if len(states):
            self.in_threads(
                lambda first, last, _: gather(self.tree, self.searches, first, last, offsets, states)
            )
        return states, offsets

    # Reading a tree

    def analysis(self, m: int = 0, seconds: float = 0.0, interrupted: bool = False) -> Analysis:
        """What member `m` has found out."""
        state, t, c = self.states[m], self.tree, self.searches
        assert state is not None
        root = int(c.root[m])
        value = float(t.value[m, root])
        return Analysis(
            state=state,
            value=value,
            win=win_probability(self.search.evaluator.gain(value), point_of_view(state)),
            proved=bool(t.resolved[m, root]),
            depth=int(c.depth[m]),
            nodes=int(c.nodes[m] + (t.nodes[m] - c.before[m] if c.length[m] > 0 else 0)),
            evaluations=int(c.evaluations[m]),
            time=seconds,
            moves=self._moves(m, root, state),
            by_outcome=self._by_outcome(m, root, state),
            full=bool(c.status[m] == NO_ROOM),
            interrupted=interrupted,
            tree=self,
        )

    def best_action(self, m: int = 0) -> int:
        """The action that member `m` would play."""
        root = int(self.searches.root[m])
        edge = max(self._edges(m, root), key=lambda e: self.search.order(self, m, root, e))
        return int(self.tree.choice[m, edge])

    def _edges(self, m: int, node: int) -> range:
        first = int(self.tree.first_edge[m, node])
        if first == NONE or not self.search.is_backed_up(self, m, node):
            return range(0)
        return range(first, first + int(self.tree.num_edges[m, node]))

    def _moves(self, m: int, root: int, state: State) -> tuple[MoveInfo, ...]:
        t = self.tree
        if not state.legal_actions:
            return ()
        edges = sorted(self._edges(m, root), key=lambda e: self.search.order(self, m, root, e), reverse=True)
        moves = []
        for edge in edges:
            action, child = int(t.choice[m, edge]), int(t.child[m, edge])
            value = float(self.search.edge_value(self, m, edge))
            after = state.apply(action)
            moves.append(
                MoveInfo(
                    action=action,
                    text=self.game.format_action(state, action),
                    value=value,
                    win=win_probability(self.search.evaluator.gain(value), state.to_play),
                    visits=int(t.visits[m, edge]),
                    proved=child != NONE and bool(t.resolved[m, child]),
                    pv=(self.game.format_action(state, action), *self._variation(m, child, after)),
                    by_outcome=self._by_outcome(m, child, after),
                )
            )
        return tuple(moves)

    def _by_outcome(self, m: int, node: int, state: State) -> tuple[OutcomeInfo, ...]:
        if node == NONE or not state.is_chance or self.tree.kind[m, node] != CHANCE:
            return ()
        return tuple(
            OutcomeInfo(
                outcome=(outcome := int(self.tree.choice[m, edge])),
                text=self.game.format_outcome(state, outcome),
                p=float(self.tree.p[m, edge]),
                value=float(self.search.edge_value(self, m, edge)),
            )
            for edge in self._edges(m, node)
        )

    def _variation(self, m: int, node: int, state: State) -> list[str]:
        """The best play from a node on, with the likeliest of the most visited rolls."""
        t, texts = self.tree, []
        for _ in range(PV_LENGTH):
            edges = self._edges(m, node) if node != NONE else range(0)
            if not edges or state.result is not None:
                break
            if t.kind[m, node] == CHANCE and state.is_chance:
                edge = max(edges, key=lambda e: (t.visits[m, e], t.p[m, e]))
                if t.child[m, edge] == NONE:
                    break
                outcome = int(t.choice[m, edge])
                texts.append(f"[{self.game.format_outcome(state, outcome)}]")
                state = state.apply_outcome(outcome)
            elif state.to_play == t.kind[m, node]:
                edge = max(edges, key=lambda e: self.search.order(self, m, node, e))
                if t.child[m, edge] == NONE:
                    break  # never tried
                action = int(t.choice[m, edge])
                texts.append(self.game.format_action(state, action))
                state = state.apply(action)
            else:  # a determinized search has jumped over chance
                break
            node = int(t.child[m, edge])
        return texts

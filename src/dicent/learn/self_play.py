"""SelfPlay: a group of searches that play games against themselves, and the training targets they yield.

The searches of all games advance together and share evaluation batches. When a search has ended, its game
continues: an action is selected, chance rolls, the next search begins. A finished game yields its dataset,
and a new game starts in its place.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.arrays import new_games
from dicent.kernels import self_play as self_play_kernels
from dicent.kernels import targets as targets_kernels
from dicent.kernels import tree as tree_kernels
from dicent.kernels.constants import CUT, ONGOING
from dicent.kernels.searches import DONE, IDLE, NO_ROOM, SEARCHING
from dicent.kernels.tree import ROLLS, TERMINAL, Scratch
from dicent.kernels.values import OUTSIDE
from dicent.learn.dataset import (
    Dataset,
    FinishedGame,
    SearchedStates,
    deepest_values,
    values_only,
)
from dicent.learn.selection import ByVisits, Selection
from dicent.search.group import MAX_NODES, Group
from dicent.search.limit import Limit
from dicent.search.search_kernels import Answer
from dicent.search.tree_search import TreeSearch

Integers = npt.NDArray[np.int64]
STEPS = 100_000  # of one kernel call, so that the clock does not matter
TIMED_STEPS = 500  # of one kernel call if moves end by the clock
LONGEST = 400  # plies of a game that states no usual maximum
SPARE = 64  # nodes and edges that a game may add between two searches


def first_nodes(game: Game, limit: Limit, whole: bool, keeps_tree: bool) -> int:
    """Return the nodes of a game's tree at the start; `keeps_tree` is for one tree of a whole game."""
    budget = limit.evaluations or limit.nodes or 64
    if whole:
        budget *= 2  # the last descent of a move goes beyond it
    moves = game.max_plies or 64 if keeps_tree else 1
    return min(1 << max(8, (budget * moves).bit_length()), 1 << 16)


class SelfPlay:
    """M games at once. `targets` is tree, root, terminal or policy: the states to learn from a game.

    `numbers` gives each game its number, which seeds all its random streams. With `waves` a finished game
    waits for the others, and `deal` starts the next ones together. A share of `random_starts` starts from
    random positions: those of the rules' `scatter`, or positions after random plies. A game of `max_plies`,
    by default twice the game's usual maximum, is cut: it has no result, and its states are learned with the
    values that the search gave them. If `limit` has a time, a search is over when it began that long ago,
    whatever the other games did meanwhile; with whole descents it finishes the last one.
    """

    def __init__(
        self,
        search: TreeSearch,
        game: Game,
        size: int,
        limit: Limit,
        selection: Selection,
        numbers: Iterator[int],
        seed: int = 0,
        annealed: bool = False,
        targets: str = "tree",
        waves: bool = False,
        random_starts: float = 0.0,
        max_plies: int | None = None,
        threads: int | None = 1,
        compiled: bool | None = None,
    ) -> None:
        self.search, self.game, self.limit, self.selection = search, game, limit, selection
        self.numbers, self.seed, self.annealed, self.targets = numbers, seed, annealed, targets
        self.waves, self.random_starts = waves, random_starts
        self.temperature = selection.temperature if isinstance(selection, ByVisits) else 1.0
        self.layered = search.layered
        self.by_visits = search.ranks_by_visits
        self.terminal = search.evaluator.terminal
        by_rolls = search.determinized and game.cyclic
        self.counts_plies = ROLLS if by_rolls else int(self.terminal.uses_ply)  # as in the kernels
        _check(search, targets)
        nodes = first_nodes(game, limit, search.whole, not (self.layered or self.by_visits))
        self.group = Group(search, game, size, nodes, threads, compiled)
        plies = max_plies or (2 * game.max_plies if game.max_plies else LONGEST)
        self.games = new_games(self.group.bound, size, plies, policy=targets == "policy")
        self.layers: list[list[SearchedStates]] = [[] for _ in range(size)]  # of layered searches, by move
        self.evaluations = 0  # requested so far
        self.moves = 0  # searched to the end so far
        self.iterations = 0  # of the searches of these moves: descents or simulations
        self.depths = 0  # the sum of the depths that these searches reached
        self.dealt = np.full(size, time.monotonic())  # when each game began; a resumed one at the resume
        self.begun = self.dealt.copy()  # when each search began
        self._asked: tuple[Future[Answer], Integers] | None = None  # answer and offsets of its states
        width = game.max_legal
        self._edges = np.zeros((size, width), np.int64)
        self._values = np.zeros((size, width))
        self._visits = np.zeros((size, width))
        self._counts = np.zeros(size, np.int64)
        self._draws = np.zeros(size)
        self._results = np.zeros(size, np.int64)
        self.group.searches.status[:] = IDLE
        self.group.touch()

    @property
    def is_idle(self) -> bool:
        """Have all games ended?"""
        return bool((self.group.searches.status == IDLE).all())

    @property
    def memory(self) -> int:
        """Return the bytes of all arrays."""
        return self.group.memory + sum(array.nbytes for array in self.games)

    # Between searches

    def deal(self) -> None:
        """Start a game in every free row."""
        members = np.flatnonzero(self.group.searches.status == IDLE)
        if len(members):
            self._deal(members)

    def _deal(self, members: Integers) -> None:
        group = self.group
        self.dealt[members] = time.monotonic()
        numbers = np.array([next(self.numbers) for _ in members])
        deal = group.bound.kernel(self_play_kernels.deal)

        results = np.zeros(len(members), np.int64)

        def part(first: int, last: int, scratch: Scratch) -> None:
            some = members[first:last], numbers[first:last]
            settings = self.seed, self.random_starts, group.settings
            deal(group.tree, group.searches, self.games, *some, *settings, scratch, results[first:last])

        group.in_threads(part, len(members))
        self._search(members)
        group.searches.status[members[results == CUT]] = DONE

    def _search(self, members: Integers) -> None:
        states, plies = self.games.state[members], self.games.ply[members]
        self.group.begin_many(members, states, plies, self.limit, keep=True)
        self.begun[members] = time.monotonic()

    def advance(self) -> None:
        """Advance the searches until each waits for values or has ended."""
        if self.limit.time is not None:  # kernels see no clock: a late search has its budget spent
            late = time.monotonic() - self.begun >= self.limit.time
            self.group.searches.max_evaluations[late] = 0
        self.group.advance(STEPS if self.limit.time is None else TIMED_STEPS)

    def ask(self, evaluation: Executor) -> None:
        """Send all waiting states to the evaluator in another thread; `take_in` collects the answer."""
        states, offsets = self.group.waiting_states()
        self.evaluations += len(states)
        if len(states):
            self._asked = evaluation.submit(self.group.ask, states), offsets

    def value_waiting(self) -> int:
        """Evaluate all waiting states; return how many there were."""
        count = self.group.value_waiting()
        self.evaluations += count
        return count

    def take_in(self) -> None:
        """Wait for the evaluator's answer, and give it to the searches."""
        if self._asked is not None:
            (answer, offsets), self._asked = self._asked, None
            self.group.absorb(answer.result(), offsets)

    def play_on(self, progress: float) -> list[FinishedGame]:
        """Play a move in each game whose search has ended; return the games that are over.

        `progress` is the run's, from 0 to 1.
        """
        group = self.group
        status = group.searches.status
        tree = group.tree
        is_full = (
            max(tree.nodes.max() - tree.kind.shape[1], tree.edges.max() - tree.child.shape[1]) + SPARE > 0
        )
        if (status == NO_ROOM).any() or is_full:
            if tree.kind.shape[1] >= MAX_NODES:
                raise DicentError(
                    f"a game has {tree.nodes.max():,} states in its tree; at most {MAX_NODES:,} are allowed: "
                    "start a new run with a lower evaluations_per_move"
                )
            group.grow()
            status[status == NO_ROOM] = SEARCHING
        members = np.flatnonzero(status == DONE)
        if not len(members):
            return []
        self._count_native(members)
        over = group.tree.kind[members, group.searches.root[members]] == TERMINAL  # chance ended the game
        endless = ~over & (self.games.steps[members] >= self.games.chosen.shape[1] - 1)  # before any action
        results = np.where(endless, CUT, ONGOING)
        results[over] = [self.game.rules.module.result(s) for s in self.games.state[members[over]]]
        if not (over | endless).all():
            results[~over & ~endless] = self._play(members[~over & ~endless], progress)
        ended = members[results != ONGOING]
        finished = self._finish_all(ended, results[results != ONGOING])
        going = members[results == ONGOING]
        if len(going):
            self._search(going)
        status[ended] = IDLE
        if len(ended) and not self.waves:
            self._deal(ended)
        return finished

    def _count_native(self, members: Integers) -> None:
        """Count the evaluations that kernels made themselves in the searches of a move."""
        if self.group.settings.evaluator.kind != OUTSIDE:
            self.evaluations += int(self.group.searches.evaluations[members].sum())

    def _play(self, members: Integers, progress: float) -> Integers:
        """Select and play an action for each of `members`; return the results, ONGOING for most."""
        group, n = self.group, len(members)
        if self.layered and self.targets == "tree":
            group.in_threads(lambda first, last, scratch: self._store_layers(members[first:last], scratch), n)
        edges, values, visits = self._edges[:n], self._values[:n], self._visits[:n]
        counts, draws, results = self._counts[:n], self._draws[:n], self._results[:n]
        arrays = group.tree, group.searches, self.games
        order, play = group.bound.kernel(self_play_kernels.order), group.bound.kernel(self_play_kernels.play)

        def sort(first: int, last: int, _: Scratch) -> None:
            rows = [a[first:last] for a in (edges, values, visits, counts, draws)]
            order(*arrays, members[first:last], self.by_visits, int(self.search.completion), *rows)

        group.in_threads(sort, n)
        exploitation = np.full(n, min(1.0, progress)) if self.annealed else draws
        most = int(counts.max())  # few moves have as many actions as the rules allow
        rows = values[:, :most], visits[:, :most]
        chosen = np.asarray(self.selection.probabilities(*rows, counts, exploitation))

        def move(first: int, last: int, scratch: Scratch) -> None:
            rows = [a[first:last] for a in (members, edges, counts, chosen)]
            play(*arrays, *rows, group.settings, scratch, results[first:last])

        group.in_threads(move, n)
        self.moves += n
        self.iterations += int(group.searches.iterations[members].sum())
        self.depths += int(group.searches.depth[members].sum())
        return results.copy()

    # Training targets

    def _finish_all(self, members: Integers, results: Integers) -> list[FinishedGame]:
        """Return the games that have ended, with their datasets."""
        if not len(members):
            return []
        finished: list[FinishedGame | None] = [None] * len(members)

        def part(first: int, last: int, scratch: Scratch) -> None:
            some = members[first:last]
            if self.targets == "tree" and not self.layered:
                data = self._tree_data(some)
            else:
                both = zip(some.tolist(), results[first:last].tolist(), strict=True)
                data = [self._dataset(m, result, scratch) for m, result in both]
            for i in range(first, last):
                finished[i] = self._finish(int(members[i]), int(results[i]), data[i - first])

        self.group.in_threads(part, len(members), least=1)
        return [game for game in finished if game is not None]

    def _finish(self, m: int, result: int, dataset: Dataset) -> FinishedGame:
        games = self.games
        plies, steps = int(games.ply[m]), int(games.steps[m])
        return FinishedGame(
            number=int(games.number[m]),
            result=None if result == CUT else result,
            plies=plies,
            start=games.start[m].copy(),
            chosen=games.chosen[m, :steps].copy(),
            root_values=games.value[m, :plies].copy(),
            dataset=dataset,
            seconds=time.monotonic() - float(self.dealt[m]),
        )

    def _dataset(self, m: int, result: int, scratch: Scratch) -> Dataset:
        games = self.games
        plies = int(games.ply[m])
        roots = games.root[m, :plies].copy()
        if self.targets == "root":
            return values_only(roots, games.value[m, :plies].copy())
        if self.targets in ("policy", "terminal"):
            end = self.game.state(games.state[m])
            # A game that was cut has no result: the last search stands in for it.
            value = games.value[m, plies - 1] if result == CUT else self.terminal.value(end, plies)
            values = np.full(plies, value, np.float32)
            if self.targets == "terminal":
                return values_only(roots, values)
            return Dataset(roots, values, _sharpened(games.policy[m, :plies], self.temperature))
        layers, self.layers[m] = self.layers[m], []
        merged = deepest_values([*layers, self._end_data(m, plies)], self.group.bound)
        return self._resolve_jumped(m, merged, scratch) if self.search.determinized else merged.dataset

    def _tree_data(self, members: Integers) -> list[Dataset]:
        """Return the datasets of whole trees."""
        tree = self.group.tree
        states = np.empty((int(tree.nodes[members].sum()), self.game.state_size), self.game.state_dtype)
        values, ends = np.empty(len(states), np.float32), np.empty(len(members), np.int64)
        kernel = self.group.bound.kernel(targets_kernels.tree_data)
        kernel(tree, members, self.search.determinized, states, values, ends)
        states, values = states[: ends[-1]].copy(), values[: ends[-1]].copy()
        firsts = [0, *ends.tolist()]
        return [values_only(states[a:b], values[a:b]) for a, b in itertools.pairwise(firsts)]

    def _end_data(self, m: int, plies: int) -> SearchedStates:
        """Return the last state of a game, which chance may have reached beyond the search tree."""
        end, terminal = self.game.state(self.games.state[m]), self.terminal
        states = end.cells[None].copy() if end.result is not None else self.games.state[:0]
        values = [terminal.value(end, plies)] if end.result is not None else []
        each = np.full(len(states), plies * self.counts_plies)
        return SearchedStates(values_only(states, values), each, np.zeros_like(each))

    def _resolve_jumped(self, m: int, merged: SearchedStates, scratch: Scratch) -> Dataset:
        """Give each chance state the value of the state that d leads to, from the deepest search."""
        skip = self.group.bound.kernel(tree_kernels.skip_chance)
        d_seed = self.group.searches.d_seed[m]
        rows = list(zip(map(bytes, merged.dataset.states), merged.plies.tolist(), strict=True))
        known = dict(zip(rows, merged.dataset.values.tolist(), strict=True))
        values = merged.dataset.values.copy()
        for i, (row, (_, ply)) in enumerate(zip(merged.dataset.states, rows, strict=True)):
            after = row.copy()
            ply = skip(after, ply, d_seed, self.group.settings, scratch)
            values[i] = known.get((bytes(after), ply), values[i])
        return values_only(merged.dataset.states, values)

    def _first_chance(self, m: int) -> list[SearchedStates]:
        """Return the chance state at the start of a game, with the value of the state that d chose there."""
        start = self.game.state(self.games.start[m])
        if not start.is_chance:
            return []
        tree, root, layers = self.group.tree, self.group.searches.root[m], self.group.kernels.layers
        assert layers is not None
        data = values_only(start.cells[None].copy(), tree.value[m, root : root + 1])
        return [SearchedStates(data, np.zeros(1, np.int64), layers.depth[m : m + 1].copy())]

    def _store_layers(self, members: Integers, scratch: Scratch) -> None:
        """Store the states and values of the searches of a move."""
        tree, layers = self.group.tree, self.group.kernels.layers
        assert layers is not None
        most = int(tree.nodes[members].sum() + tree.edges[members].sum())
        states = np.empty((most, self.game.state_size), self.game.state_dtype)
        values, ends = np.empty(most, np.float32), np.empty(len(members), np.int64)
        plies, depths = np.empty((2, most), np.int64)
        kernel = self.group.bound.kernel(targets_kernels.layer_data)
        kernel(
            *(tree, layers.start, layers.depth, members, self.search.determinized, scratch),
            *(states, values, plies, depths, ends),
        )
        n = int(ends[-1])
        data = values_only(states[:n].copy(), values[:n].copy())
        found = SearchedStates(data, plies[:n].copy(), depths[:n].copy())
        parts = itertools.pairwise([0, *ends.tolist()])
        for m, (first, last) in zip(members.tolist(), parts, strict=True):
            self.layers[m].append(found.part(first, last))
            if self.search.determinized and self.games.ply[m] == 0:
                self.layers[m] += self._first_chance(m)


def _sharpened(policy: npt.NDArray[np.float32], temperature: float) -> npt.NDArray[np.float32]:
    """Raise visit proportions to the power of 1 / temperature, and normalise them."""
    shares = (policy / np.maximum(policy.max(axis=1, keepdims=True), 1e-9)) ** (1 / temperature)
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9), np.float32)


def _check(search: TreeSearch, targets: str) -> None:
    if targets not in search.targets:
        accepted = ", ".join(search.targets) or "none"
        raise DicentError(f"targets of {type(search).__name__} must be one of {accepted} (got {targets!r})")

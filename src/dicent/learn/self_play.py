"""SelfPlay: a group of searches that play matches against themselves, and what is learned of each.

The searches of all matches advance together and share evaluation batches. Whenever one has ended, its
match is played on: an action is selected, chance rolls, the next search begins. A match that has ended
yields its dataset, and the next one is dealt in its place.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.arrays import new_games, new_tree
from dicent.kernels import self_play as self_play_kernels
from dicent.kernels import targets as targets_kernels
from dicent.kernels import tree as tree_kernels
from dicent.kernels.constants import ONGOING
from dicent.kernels.searches import DONE, IDLE, NO_ROOM, SEARCHING
from dicent.kernels.tree import TERMINAL
from dicent.learn.dataset import Dataset, Finished, Searched, concatenate, deepest_of_each, values_only
from dicent.learn.replay import Arrays
from dicent.learn.selection import ByVisits, Selection
from dicent.search.group import MAX_NODES, Group
from dicent.search.limit import Limit
from dicent.search.tree_search import TreeSearch

STEPS = 100_000  # of a kernel's call; the clock must not matter here
SPARE = 64  # nodes and edges that a match may add between two searches


class SelfPlay:
    """M matches at once. `data` is tree, root, terminal or policy: what is learned of a match.

    `numbers` gives each match its number, by which it draws all its random numbers. With `waves` a match
    that has ended waits for the others, and `deal` begins the next ones together. A share of
    `random_starts` begins anywhere: where the rules scatter, or else where random plies have led.
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
        data: str = "tree",
        waves: bool = False,
        random_starts: float = 0.0,
        threads: int | None = 1,
        compiled: bool | None = None,
    ) -> None:
        self.search, self.game, self.limit, self.selection = search, game, limit, selection
        self.numbers, self.seed, self.annealed, self.data, self.waves = numbers, seed, annealed, data, waves
        self.random_starts = random_starts
        self.temperature = selection.temperature if isinstance(selection, ByVisits) else 1.0
        self.layered = search.layered
        self.by_visits = search.ranks_by_visits
        _check(search, data)
        budget = limit.evaluations or limit.nodes or 64
        if search.whole:
            budget *= 2  # the last descent of a move goes beyond it
        moves = 1 if self.layered or self.by_visits else game.max_plies or 64
        nodes = 1 << max(8, (budget * moves).bit_length())
        self.group = Group(search, game, size, min(nodes, 1 << 16), threads, compiled)
        self.games = new_games(self.group.bound, size, policy=data == "policy")
        self.kept: list[list[Searched]] = [[] for _ in range(size)]  # of layered searches, move by move
        self.evaluations = 0  # asked for so far
        self._asked: tuple[Future[Any], Any] | None = None  # what the evaluator is at, and for whom
        width = game.num_actions
        self._edges = np.zeros((size, width), np.int64)
        self._values = np.zeros((size, width))
        self._visits = np.zeros((size, width))
        self._counts = np.zeros(size, np.int64)
        self._draws = np.zeros(size)
        self._results = np.zeros(size, np.int64)
        self.group.searches.status[:] = IDLE
        self.group.touch()

    @property
    def memory(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.save().values())

    # Between searches

    def deal(self) -> None:
        """Begin a match wherever there is none."""
        members = np.flatnonzero(self.group.searches.status == IDLE)
        if len(members):
            self._deal(members)

    def _deal(self, members: Any) -> None:
        group = self.group
        numbers = np.array([next(self.numbers) for _ in members])
        deal = group.bound.kernel(self_play_kernels.deal)

        def part(first: int, last: int, work: Any) -> None:
            some = members[first:last], numbers[first:last]
            settings = self.seed, self.random_starts, group.settings
            deal(group.tree, group.searches, self.games, *some, *settings, work)

        group.in_threads(part, len(members))
        self._search(members)

    def _search(self, members: Any) -> None:
        states, plies = self.games.state[members], self.games.ply[members]
        self.group.begin_many(members, states, plies, self.limit, keep=True)

    def advance(self) -> None:
        """Let the searches go on until each waits for values or has ended."""
        self.group.advance(STEPS)

    def ask(self, evaluation: Executor) -> None:
        """Ask the evaluator for whatever waits, beside other work; `take_in` has the answer."""
        states, offsets = self.group.waiting_states()
        self.evaluations += len(states)
        if len(states):
            self._asked = evaluation.submit(self.group.ask, states), offsets

    def value_waiting(self) -> int:
        """Ask the evaluator for whatever waits, and take in what it answers; returns for how many states."""
        count = self.group.value_waiting()
        self.evaluations += count
        return count

    def take_in(self) -> None:
        """Give the searches what the evaluator answers."""
        if self._asked is not None:
            (answer, offsets), self._asked = self._asked, None
            self.group.absorb(answer.result(), offsets)

    def play_on(self, progress: float) -> list[Finished]:
        """Play the matches whose searches have ended; `progress` is the run's, from 0 to 1."""
        group = self.group
        status = group.searches.status
        tree = group.tree
        is_full = (
            max(tree.nodes.max() - tree.kind.shape[1], tree.edges.max() - tree.child.shape[1]) + SPARE > 0
        )
        if (status == NO_ROOM).any() or is_full:
            if tree.kind.shape[1] >= MAX_NODES:
                raise DicentError(
                    f"a match has {tree.nodes.max():,} states in its tree, more than memory is meant for: "
                    "start a new run with a lower evaluations_per_move"
                )
            group.grow()
            status[status == NO_ROOM] = SEARCHING
        members = np.flatnonzero(status == DONE)
        if not len(members):
            return []
        over = group.tree.kind[members, group.searches.root[members]] == TERMINAL  # chance ended them at once
        results = np.zeros(len(members), np.int64)
        results[over] = group.tree.completion[members[over], group.searches.root[members[over]]]
        if not over.all():
            results[~over] = self._play(members[~over], progress)
        ended = members[results != ONGOING]
        finished = self._finish_all(ended, results[results != ONGOING])
        going = members[results == ONGOING]
        if len(going):
            self._search(going)
        status[ended] = IDLE
        if len(ended) and not self.waves:
            self._deal(ended)
        return finished

    def _play(self, members: Any, progress: float) -> Any:
        """Select and play an action for each of `members`; returns the results, ONGOING for most."""
        group, n = self.group, len(members)
        if self.layered and self.data == "tree":
            group.in_threads(lambda first, last, work: self._keep_layers(members[first:last], work), n)
        edges, values, visits = self._edges[:n], self._values[:n], self._visits[:n]
        counts, draws, results = self._counts[:n], self._draws[:n], self._results[:n]
        kept = group.tree, group.searches, self.games
        order, play = group.bound.kernel(self_play_kernels.order), group.bound.kernel(self_play_kernels.play)

        def sort(first: int, last: int, _: Any) -> None:
            rows = [a[first:last] for a in (edges, values, visits, counts, draws)]
            order(*kept, members[first:last], self.by_visits, int(self.search.completion), *rows)

        group.in_threads(sort, n)
        exploitation = np.full(n, min(1.0, progress)) if self.annealed else draws
        chosen = np.asarray(self.selection.probabilities(values, visits, counts, exploitation))

        def move(first: int, last: int, work: Any) -> None:
            rows = [a[first:last] for a in (members, edges, counts, chosen)]
            play(*kept, *rows, group.settings, work, results[first:last])

        group.in_threads(move, n)
        return results.copy()

    # What is learned

    def _finish_all(self, members: Any, results: Any) -> list[Finished]:
        """The matches that have ended, each with what is to be learned of it."""
        if not len(members):
            return []
        finished: list[Finished | None] = [None] * len(members)

        def part(first: int, last: int, work: Any) -> None:
            some = members[first:last]
            if self.data == "tree" and not self.layered:
                data = self._tree_data(some)
            else:
                both = zip(some.tolist(), results[first:last].tolist(), strict=True)
                data = [self._dataset(m, result, work) for m, result in both]
            for i in range(first, last):
                finished[i] = self._finish(int(members[i]), int(results[i]), data[i - first])

        self.group.in_threads(part, len(members), least=1)
        return [match for match in finished if match is not None]

    def _finish(self, m: int, result: int, data: Dataset) -> Finished:
        games = self.games
        plies, steps = int(games.ply[m]), int(games.steps[m])
        return Finished(
            number=int(games.number[m]),
            result=result,
            plies=plies,
            start=games.start[m].copy(),
            chosen=games.chosen[m, :steps].copy(),
            root_values=games.value[m, :plies].copy(),
            data=data,
        )

    def _dataset(self, m: int, result: int, work: Any) -> Dataset:
        games = self.games
        plies = int(games.ply[m])
        roots = games.root[m, :plies].copy()
        if self.data == "root":
            return values_only(roots, games.value[m, :plies].copy())
        if self.data == "policy":
            values = np.full(plies, result, np.float32)
            return Dataset(roots, values, _sharpened(games.policy[m, :plies], self.temperature))
        if self.data == "terminal":
            end = self.game.state(games.state[m])
            value = 0.0 if end.result is None else self.search.evaluator.terminal.value(end, plies)
            return values_only(roots, np.full(plies, value, np.float32))
        kept, self.kept[m] = self.kept[m], []
        merged = deepest_of_each([*kept, self._end_data(m, plies)], self.group.bound)
        return self._resolve_jumped(m, merged, work) if self.search.determinized else merged.data

    def _tree_data(self, members: Any) -> list[Dataset]:
        """What is learned of whole trees."""
        tree = self.group.tree
        states = np.empty((int(tree.nodes[members].sum()), self.game.state_size), self.game.state_dtype)
        values, ends = np.empty(len(states), np.float32), np.empty(len(members), np.int64)
        kernel = self.group.bound.kernel(targets_kernels.tree_data)
        kernel(tree, members, self.search.determinized, states, values, ends)
        states, values = states[: ends[-1]].copy(), values[: ends[-1]].copy()
        firsts = [0, *ends.tolist()]
        return [values_only(states[a:b], values[a:b]) for a, b in itertools.pairwise(firsts)]

    def _end_data(self, m: int, plies: int) -> Searched:
        """The last state of a match, which chance may have led to beyond what was searched."""
        end, terminal = self.game.state(self.games.state[m]), self.search.evaluator.terminal
        states = end.cells[None].copy() if end.result is not None else self.games.state[:0]
        values = [terminal.value(end, plies)] if end.result is not None else []
        each = np.full(len(states), plies * terminal.uses_ply)
        return Searched(values_only(states, values), each, np.zeros_like(each))

    def _resolve_jumped(self, m: int, merged: Searched, work: Any) -> Dataset:
        """Chance states take the value of the state that d leads to, as the deepest search found it."""
        skip = self.group.bound.kernel(tree_kernels.skip_chance)
        d_seed = self.group.searches.d_seed[m]
        rows = list(zip(map(bytes, merged.data.states), merged.plies.tolist(), strict=True))
        known = dict(zip(rows, merged.data.values.tolist(), strict=True))
        values = merged.data.values.copy()
        for i, (row, (_, ply)) in enumerate(zip(merged.data.states, rows, strict=True)):
            after = row.copy()
            skip(after, d_seed, work)
            values[i] = known.get((bytes(after), ply), values[i])
        return values_only(merged.data.states, values)

    def _first_chance(self, m: int) -> list[Searched]:
        """The chance state that a match began with has the value of the one that d made of it."""
        start = self.game.state(self.games.start[m])
        if not start.is_chance:
            return []
        tree, root, layers = self.group.tree, self.group.searches.root[m], self.group.kernels.layers
        assert layers is not None
        data = values_only(start.cells[None].copy(), tree.value[m, root : root + 1])
        return [Searched(data, np.zeros(1, np.int64), layers.depth[m : m + 1].copy())]

    def _keep_layers(self, members: Any, work: Any) -> None:
        """Keep what the searches of a move have found."""
        tree, layers = self.group.tree, self.group.kernels.layers
        assert layers is not None
        most = int(tree.nodes[members].sum() + tree.edges[members].sum())
        states = np.empty((most, self.game.state_size), self.game.state_dtype)
        values, ends = np.empty(most, np.float32), np.empty(len(members), np.int64)
        plies, left = np.empty((2, most), np.int64)
        kernel = self.group.bound.kernel(targets_kernels.layer_data)
        kernel(
            *(tree, layers.start, layers.depth, members, self.search.determinized, work),
            *(states, values, plies, left, ends),
        )
        n = int(ends[-1])
        data = values_only(states[:n].copy(), values[:n].copy())
        found = Searched(data, plies[:n].copy(), left[:n].copy())
        parts = itertools.pairwise([0, *ends.tolist()])
        for m, (first, last) in zip(members.tolist(), parts, strict=True):
            self.kept[m].append(found.part(first, last))
            if self.search.determinized and self.games.ply[m] == 0:
                self.kept[m] += self._first_chance(m)

    # Matches in flight, for checkpoints

    def save(self) -> Arrays:
        """Every array of the matches and their searches."""
        group = self.group
        saved: Arrays = {}
        for part in ("tree", "searches"):
            saved |= _arrays(part, getattr(group, part))
        saved |= {f"extra.{name}": array for name, array in group.kernels.arrays().items()}
        saved |= _arrays("games", self.games)
        saved["evaluations"] = np.array([self.evaluations])
        for m, kept in enumerate(self.kept):
            if kept:
                everything = concatenate([one.data for one in kept])
                saved |= {f"kept.{m}.states": everything.states, f"kept.{m}.values": everything.values}
                saved[f"kept.{m}.plies"] = np.concatenate([one.plies for one in kept])
                saved[f"kept.{m}.left"] = np.concatenate([one.left for one in kept])
        return saved

    def load(self, saved: Arrays) -> None:
        """Go on from what `save` gave."""
        group = self.group
        group.tree = new_tree(group.bound, group.size, saved["tree.kind"].shape[1])
        for name, array in _arrays("tree", group.tree).items():
            array[...] = saved[name]  # where it lies beside what belongs to it
        group.searches = _with_arrays("searches", group.searches, saved)
        group.kernels.fit(group.tree)
        beside = {key.removeprefix("extra."): saved[key] for key in saved if key.startswith("extra.")}
        group.kernels.restore(beside)
        self.games = _with_arrays("games", self.games, saved)
        self.evaluations = int(saved["evaluations"][0])
        for m in range(group.size):
            if f"kept.{m}.states" in saved:
                data = values_only(saved[f"kept.{m}.states"], saved[f"kept.{m}.values"])
                self.kept[m] = [Searched(data, saved[f"kept.{m}.plies"], saved[f"kept.{m}.left"])]


def _sharpened(policy: npt.NDArray[np.float32], temperature: float) -> npt.NDArray[np.float32]:
    """Visit proportions to the power of 1 / temperature, in proportion again."""
    shares = (policy / np.maximum(policy.max(axis=1, keepdims=True), 1e-9)) ** (1 / temperature)
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9), np.float32)


def _arrays(part: str, fields: Any) -> Arrays:
    """The arrays of a named tuple, by name."""
    if fields is None:
        return {}
    named = fields._asdict().items()
    return {f"{part}.{name}": value for name, value in named if isinstance(value, np.ndarray)}


def _with_arrays(part: str, fields: Any, saved: Arrays) -> Any:
    """A named tuple with its arrays from a checkpoint."""
    found = {name: saved[f"{part}.{name}"] for name in fields._fields if f"{part}.{name}" in saved}
    return fields._replace(**found)


def _check(search: TreeSearch, data: str) -> None:
    if data not in search.targets:
        accepted = ", ".join(search.targets) or "none"
        raise DicentError(f"targets of {type(search).__name__} must be one of {accepted} (got {data!r})")

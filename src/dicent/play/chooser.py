"""Choosers: how a player finds its moves at many positions at once."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.evaluate.base import Evaluator
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import match_games as match_games_kernels
from dicent.kernels.constants import SEARCH
from dicent.kernels.generator import open_stream
from dicent.kernels.searches import NO_ROOM
from dicent.kernels.values import OUTSIDE
from dicent.play.history import Played
from dicent.play.opponent import HistorySearch
from dicent.play.player import Player
from dicent.search.determinized import Determinized
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.group import MAX_NODES, Group
from dicent.search.limit import Limit
from dicent.search.puct import Puct
from dicent.search.simple import Greedy, Random
from dicent.search.tree_search import Search, TreeSearch

Numbers = npt.NDArray[np.int64]
FIRST_NODES = 512  # of a tree, until a search needs more
MEMORY = 1 << 29  # bytes of trees at the most
LARGEST = 1024  # searches that share the batches of a network
A_THREAD = 8  # searches a thread that need no batches: few, so that their trees stay in the cache


class Positions(NamedTuple):
    """K positions at which one player is to move."""

    cells: Cells  # [K, S]
    plies: Numbers  # [K]
    seeds: Numbers  # [K]  for the search, different for every game and move
    d_seeds: Numbers  # [K]  for the player's determinization, the same for a whole game
    history: Callable[[int], Played] | None = None  # of position k, for players that need it


class Chooser(ABC):
    """A player in a match."""

    @abstractmethod
    def choose(self, positions: Positions) -> Numbers:
        """An action [K] for each position."""


def chooser_of(player: Player, game: Game, threads: int | None) -> Chooser:
    """The chooser that suits a player: native or in groups where its budget does not depend on time."""
    search, limit, threads = player.search, player.budget, threads or machine.cores()
    if isinstance(search, Random):
        return RandomChooser(game)
    if isinstance(search, Greedy):
        return GroupChooser(Expectiminimax(search.evaluator), Limit(depth=1), game, threads)
    if isinstance(search, HistorySearch):
        return OpenSpielChooser(search, game)
    inner = search.inner if isinstance(search, Determinized) else search
    sampled = isinstance(inner, Puct) and inner.temperature > 0
    pruned = isinstance(inner, Expectiminimax) and inner.prune
    if limit.time is None and isinstance(inner, TreeSearch) and not (sampled or pruned):
        return GroupChooser(inner, limit, game, threads)
    return SingleChooser(search, limit, game)


class RandomChooser(Chooser):
    """Any legal action."""

    def __init__(self, game: Game) -> None:
        self.kernel = bind(game).kernel(match_games_kernels.random_actions)
        self.scratch = np.empty(game.num_actions, np.int64), np.empty(2, np.uint64)

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = np.empty(len(positions.seeds), np.int64)
        self.kernel(positions.cells, positions.seeds, chosen, *self.scratch)
        return chosen


class OpenSpielChooser(Chooser):
    """OpenSpiel's search, which must be led through each game."""

    def __init__(self, search: HistorySearch, game: Game) -> None:
        self.search, self.game = search, game

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        assert positions.history is not None
        chosen = [
            self.search.play_after(self.game, positions.history(k), seed)
            for k, seed in enumerate(positions.seeds.tolist())
        ]
        return np.array(chosen, np.int64)


class SingleChooser(Chooser):
    """One search after another, for budgets in seconds and for searches of one's own."""

    def __init__(self, search: Search, limit: Limit, game: Game) -> None:
        self.search, self.limit, self.game = search, limit, game

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = [
            seeded(self.search, int(seed), int(d_seed)).play(
                State(self.game, cells.copy()), self.limit, int(ply)
            )
            for cells, ply, seed, d_seed in zip(*positions[:4], strict=True)
        ]
        return np.array(chosen, np.int64)


def seeded(search: Search, seed: int, d_seed: int) -> Search:
    """A search like this one, with other seeds: its own, and that of its determinization."""
    if isinstance(search, Determinized):
        inner = copy.copy(search.inner)
        inner.seed = seed
        return Determinized(inner, d_seed)
    search = copy.copy(search)
    if hasattr(search, "seed"):
        search.seed = seed
    return search


class GroupChooser(Chooser):
    """Searches that advance together and share the batches of their evaluator."""

    def __init__(self, search: TreeSearch, limit: Limit, game: Game, threads: int) -> None:
        self.search, self.limit, self.game, self.threads = search, limit, game, threads
        self.nodes = FIRST_NODES
        self.most = 0  # positions that came at once so far
        self.group: Group | None = None
        self.room = 0  # searches that memory allows, with trees of that many nodes
        # Nobody looks at these searches before they end, so that inner layers need no values, unless
        # values can be exact and spare the search what is below.
        marks = type(search.evaluator).evaluate_marked is not Evaluator.evaluate_marked
        only_depth = limit.time is None and limit.nodes is None and limit.evaluations is None
        self.only_last_layer = isinstance(search, Expectiminimax) and only_depth and not marks

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = np.empty(len(positions.seeds), np.int64)
        left = list(range(len(chosen)))
        self.most = max(self.most, len(left))
        while left:
            group = self._group_for_most()
            now, left = left[: group.size], left[group.size :]
            full = self._search(group, positions, now, chosen)
            if full:  # what was found in too small a tree is dropped: more memory changes no move
                left = full + left
                self.group = None
                if self.nodes < MAX_NODES:
                    self.nodes *= 2
                else:  # the depth is out of reach: the last one that is finished needs its values
                    self.only_last_layer = False
        return chosen

    def _search(self, group: Group, positions: Positions, now: list[int], chosen: Numbers) -> list[int]:
        """Search the positions `now`; returns those that must be searched again, their trees full."""
        for m, seed in enumerate(positions.seeds[now].tolist()):
            open_stream(group.searches.rng[m], seed, 0, SEARCH)
        members = np.arange(len(now))
        group.searches.d_seed[members] = positions.d_seeds[now]
        group.begin_many(members, positions.cells[now], positions.plies[now], self.limit, keep=False)
        group.run()
        full = group.searches.status[: len(now)] == NO_ROOM
        if full.any():
            if self.nodes < MAX_NODES or self.only_last_layer:
                return self._finish(group, now, chosen, full)
            group.settle()
        return self._finish(group, now, chosen, np.zeros(len(now), bool))

    def _finish(self, group: Group, now: list[int], chosen: Numbers, full: Any) -> list[int]:
        for m, k in enumerate(now):
            if not full[m]:
                chosen[k] = group.best_action(m)
        return [k for m, k in enumerate(now) if full[m]]

    def _group_for_most(self) -> Group:
        """The group, made for the most positions that came at once so far, or as many as memory allows."""
        native = self.search.evaluator.native[0] != OUTSIDE
        size = min(self.most, A_THREAD * self.threads if native else LARGEST)
        if self.group is None or (self.group.size < size and self.group.size < self.room):
            self.room = max(1, MEMORY // self._bytes())
            self.group = Group(self.search, self.game, min(size, self.room), self.nodes, self.threads)
            self.group.only_last_layer = self.only_last_layer
        return self.group

    def _bytes(self) -> int:
        """What one search takes, by a look at a group of one."""
        one = Group(self.search, self.game, 1, self.nodes)
        parts = [one.tree, one.searches, *([one.extra] if one.extra is not None else [])]
        return sum(array.nbytes for part in parts for array in part if isinstance(array, np.ndarray))

"""Choosers: how a player finds its moves at many positions at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.kernels import match_games as match_games_kernels
from dicent.kernels.constants import SEARCH
from dicent.kernels.generator import open_stream
from dicent.kernels.searches import NO_ROOM
from dicent.kernels.values import OUTSIDE
from dicent.play.clock import Clock, play_by_clock
from dicent.play.history import Played
from dicent.play.opponent import HistorySearch
from dicent.play.player import Player
from dicent.search.group import MAX_NODES, Group
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch
from dicent.search.warm_up import warm_up

Numbers = npt.NDArray[np.int64]
FIRST_NODES = 512  # of a tree, until a search needs more
MEMORY = 1 << 29  # bytes of trees at the most
LARGEST = 1024  # searches that share the batches of a network
PER_THREAD = 8  # searches per thread that need no batches: few, so that their trees stay in the cache


class Positions(NamedTuple):
    """K positions at which one player is to move."""

    cells: Cells  # [K, S]
    plies: Numbers  # [K]
    seeds: Numbers  # [K]  for the search, different for every game and move
    d_seeds: Numbers  # [K]  for the player's determinization, the same for a whole game
    history: Callable[[int], Played] | None = None  # of position k, for players that need it
    clock: Clock | None = None  # of the player, in a match on time: then K is 1


class Chooser(ABC):
    """A player in a match."""

    @abstractmethod
    def choose(self, positions: Positions) -> Numbers:
        """Return an action [K] for each position."""


def chooser_of(player: Player, game: Game, threads: int | None, on_clock: bool = False) -> Chooser:
    """Return the fastest chooser that finds the moves of a player, who may have a clock."""
    search, limit, threads = player.search, player.budget, threads or machine.cores()
    if search.plays_uniformly:
        return RandomChooser(game)
    if search.needs_history:
        return HistoryChooser(cast(HistorySearch, search), game)
    if on_clock and not search.fixed_depth:
        return ClockChooser(player, game)
    if search.fixed_depth:
        limit = Limit(depth=search.fixed_depth)
    if search.batched is not None and search.plays_best and limit.time is None:
        return GroupChooser(search.batched, limit, game, threads)
    return SingleChooser(search, limit, game)


class RandomChooser(Chooser):
    """Any legal action."""

    def __init__(self, game: Game) -> None:
        self.kernel = bind(game).kernel(match_games_kernels.random_actions)
        self.scratch = game.empty_actions(), np.empty(2, np.uint64)

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = np.empty(len(positions.seeds), np.int64)
        self.kernel(positions.cells, positions.seeds, chosen, *self.scratch)
        return chosen


class HistoryChooser(Chooser):
    """A search that follows each game from its start."""

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
    """One search after another: for limits in seconds, and for searches that no group can run."""

    def __init__(self, search: Search, limit: Limit, game: Game) -> None:
        self.search, self.limit, self.game = search, limit, game
        if limit.time is not None:
            warm_up(search, game.initial_state(0))

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = [
            self.search.with_seeds(int(seed), int(d_seed)).play(
                State(self.game, cells.copy()), self.limit, int(ply)
            )
            for cells, ply, seed, d_seed in zip(*positions[:4], strict=True)
        ]
        return np.array(chosen, np.int64)


class ClockChooser(Chooser):
    """A player that shares out the time of a game among its moves."""

    def __init__(self, player: Player, game: Game) -> None:
        self.player, self.game = player, game
        start = game.initial_state(0)
        warm_up(player.search, start)
        if player.search.keeps_time:  # a program starts, and may compile, with its first question
            while start.is_chance:
                start = start.apply_outcome(start.outcomes[0][0])
            play_by_clock(player, start, Clock(1.0))

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        assert positions.clock is not None
        [cells], [ply], [seed], [d_seed] = positions[:4]
        search = self.player.search.with_seeds(int(seed), int(d_seed))
        state = State(self.game, cells.copy())
        return np.array(
            [play_by_clock(replace(self.player, search=search), state, positions.clock, int(ply))]
        )


class GroupChooser(Chooser):
    """Searches that advance together and share the batches of their evaluator."""

    def __init__(self, search: TreeSearch, limit: Limit, game: Game, threads: int) -> None:
        self.search, self.limit, self.game, self.threads = search, limit, game, threads
        self.running = search.unobserved(limit)  # the cheapest search that finds the same moves
        self.nodes = FIRST_NODES
        self.most = 0  # the most positions at once so far
        self.group: Group | None = None
        self.room = 0  # searches that memory allows, with trees of that many nodes

    def choose(self, positions: Positions) -> Numbers:
        """See `Chooser.choose`."""
        chosen = np.empty(len(positions.seeds), np.int64)
        left = list(range(len(chosen)))
        self.most = max(self.most, len(left))
        while left:
            group = self._group_for_most()
            now, left = left[: group.size], left[group.size :]
            full = self._search(group, positions, now, chosen)
            if full:  # these are searched again from the start, so that the tree's size changes no move
                left = full + left
                self.group = None
                if self.nodes < MAX_NODES:
                    self.nodes *= 2
                else:  # the limit is out of reach: the results so far must be readable
                    self.running = self.search
        return chosen

    def _search(self, group: Group, positions: Positions, now: list[int], chosen: Numbers) -> list[int]:
        """Search the positions `now`; return those that must be searched again, their trees full."""
        for row, seed in enumerate(positions.seeds[now].tolist()):
            open_stream(group.searches.rng[row], seed, 0, SEARCH)
        members = np.arange(len(now))
        group.searches.d_seed[members] = positions.d_seeds[now]
        group.begin_many(members, positions.cells[now], positions.plies[now], self.limit, keep=False)
        group.run()
        full = group.searches.status[: len(now)] == NO_ROOM
        if full.any() and self.nodes >= MAX_NODES and self.running is self.search:
            group.settle()
            full[:] = False
        for row, k in enumerate(now):
            if not full[row]:
                chosen[k] = group.best_action(row)
        return [k for row, k in enumerate(now) if full[row]]

    def _group_for_most(self) -> Group:
        """Return the group, made for the most positions at once so far, or as many as memory allows."""
        native = self.search.evaluator.native.kind != OUTSIDE
        size = min(self.most, PER_THREAD * self.threads if native else LARGEST)
        if self.group is None or (self.group.size < size and self.group.size < self.room):
            one = Group(self.running, self.game, 1, self.nodes)
            self.room = max(1, MEMORY // one.memory)
            self.group = Group(self.running, self.game, min(size, self.room), self.nodes, self.threads)
        return self.group

"""ClusterWorker: the self-play of a run in a process of its own, on any machine of a cluster."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from dicent import nets
from dicent.cluster.connection import check_version
from dicent.errors import DicentError
from dicent.evaluate.terminal_value import TERMINAL_VALUES, TerminalValue
from dicent.game import Game
from dicent.learn import factories
from dicent.learn.allowed_values import search_kind
from dicent.learn.config import Config, config_from
from dicent.learn.config_sections import settled
from dicent.learn.factories import Overrides, Threads
from dicent.learn.local_workers import make_local_workers
from dicent.learn.packed_games import Message, pack
from dicent.learn.preflight import first_games
from dicent.learn.selection import SELECTIONS
from dicent.version import __version__

Weights = Mapping[str, npt.NDArray[Any]]
GAMES_OF_WORKER = 1 << 36  # game numbers that each worker has to itself: 340 days at 2,300 games/s
WORKERS = 1 << 26  # possible numbers of workers; numbers of games must stay below 2 to the power of 63


@dataclass(frozen=True)
class Order:
    """Everything that a worker needs to begin."""

    config: str  # the settings of the run, as TOML
    game: Game
    number: int  # of the worker; no other of the session has it
    cores: int
    device: str
    dicent: str = __version__  # of the driver


@dataclass(frozen=True)
class Answer:
    """A worker's answer to one request."""

    message: Message
    version: int  # of the network that it used last
    number: int  # of this answer: 0, 1, 2, ...
    counts: dict[str, int]  # as in `Workers.counts`, since the answer before
    seconds: float


class ClusterWorker:
    """Plays like the threads of a local run, with its own network, and answers requests one by one."""

    def __init__(self, order: Order) -> None:
        check_version(order.dicent)
        torch.set_num_threads(1)
        config = config_from(tomllib.loads(order.config), "the driver")
        custom, game = Overrides(), order.game
        groups = config.self_play.groups
        threads = Threads.of_worker(config, order.device, order.cores)
        terminal = factories.make_terminal(config, game, custom)
        module = factories.make_module(config, game, terminal, custom)
        evaluator = factories.make_evaluator(module, order.device, threads.evaluate)
        evaluator.terminal = terminal
        search = factories.make_search(config, evaluator, custom)
        first = order.number * GAMES_OF_WORKER
        numbers = [_every(first + i, groups) for i in range(groups)]
        plays = factories.make_self_play(config, game, search, custom, numbers, threads.search)
        self._workers = make_local_workers(evaluator, plays, threads.groups)
        self._first_games = partial(first_games, config, game, search, custom)
        self._prepare_network = partial(evaluator.prepare, game)
        self._version, self._answers = -1, 0
        self._answered = self._workers.counts  # up to the last answer
        self._rested = time.monotonic()  # since the last answer

    def ready(self) -> None:
        """Answer as soon as the machine has room for this worker."""

    def prepare(self, version: int, weights: Weights) -> None:
        """Compile everything that the games need, so that no request waits for that, and deal the games."""
        self._use(version, weights)
        self._prepare_network()
        self._first_games()
        self._workers.deal()

    def play(self, version: int, weights: Weights, progress: float, seconds: float) -> Answer:
        """Play for some seconds with these weights; return the games that have ended."""
        self._use(version, weights)
        begin, games = time.monotonic(), []
        self._leave_out(begin - self._rested, begin)
        while (spent := time.monotonic() - begin) < seconds:
            games += self._workers.play_on(progress)
        self._workers.hold()  # the next request may bring new weights
        number, self._answers = self._answers, self._answers + 1
        before, self._answered = self._answered, self._workers.counts
        counts = {name: count - before[name] for name, count in self._answered.items()}
        self._rested = time.monotonic()
        return Answer(pack(games), version, number, counts, spent)

    def _leave_out(self, pause: float, now: float) -> None:
        """Let the clocks of games and searches not count the time without a request."""
        for play in self._workers.plays:
            for since in (play.dealt, play.begun):
                np.minimum(since + pause, now, out=since)

    def _use(self, version: int, weights: Weights) -> None:
        if version != self._version:
            # Arrays of the object store are read-only and shared; torch wants its own.
            self._workers.use({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
            self._version = version


def check_cluster(config: Config, custom: Overrides) -> None:
    """Raise an error if a run cannot use a cluster, whose workers know built-in components only."""
    if config.self_play.waves:
        raise DicentError("waves of games cannot be played on a cluster: set waves to false")
    given = [name for name, component in vars(custom).items() if component is not None]
    if given:
        raise DicentError(
            f"a cluster cannot use the object passed as {given[0]}: name components by settings"
        )
    named = config.flat()
    made_by: dict[str, object] = {
        "network": nets.NETWORKS[config.network.network],
        "search": search_kind(config.search.search).make,
        "selection": type(SELECTIONS[config.self_play.selection]),
        "terminal": TERMINAL_VALUES[settled(config.search.terminal)].formula or TerminalValue,
    }
    for setting, maker in made_by.items():
        if not str(getattr(maker, "__module__", "")).startswith("dicent."):
            raise DicentError(
                f"the {setting} {named[setting]} is registered in this process only, and not on the machines "
                f"of a cluster: train without a cluster, or choose a built-in {setting}"
            )


def _every(first: int, step: int) -> Iterator[int]:
    number = first
    while True:
        yield number
        number += step

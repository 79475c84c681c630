"""A pretended Ray: actors answer in this process, at once, and its clock moves when a test says so."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dicent
from dicent.evaluate.network import Network
from dicent.learn import cluster_workers
from dicent.learn.cluster_worker import GAMES_OF_WORKER, Answer
from dicent.learn.cluster_workers import ClusterWorkers
from dicent.learn.dataset import FinishedGame
from dicent.learn.in_flight import COUNTED
from dicent.learn.packed_games import pack
from dicent.nets.dense import DenseNetwork

from .clusters import NIM, finished_game, node

FEW_RECORDS = 10**6  # one in so many games; the pretended ones are not legal
CONFIG = dicent.config(
    "laptop",
    game="dice-nim",
    network="dense",
    games=100,
    games_at_once=2,
    evaluations_per_move=4,
    record_every=FEW_RECORDS,
)


class PretendedRayError(Exception):
    """What Ray raises if an actor is gone."""


class PretendedRay:
    """Answers in the order of the requests; `damage` may replace an answer, or raise an error."""

    exceptions = SimpleNamespace(RayError=PretendedRayError, RayTaskError=())
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
    )

    def __init__(self) -> None:
        self.answers: dict[int, Callable[[], Any]] = {}
        self.references = itertools.count()
        self.started: list[Any] = []
        self.killed: list[Any] = []
        self.damage: Callable[[Any, Answer], Answer] = lambda actor, answer: answer
        self.now = 0.0  # seconds
        self.puts = 0
        self.prepared: list[int] = []  # versions of the network that workers began with
        self.waiting: float | None = None  # seconds to wait in vain for an answer

    def remote(self, kind: type) -> Any:
        def options(**given: Any) -> Any:
            return SimpleNamespace(remote=lambda order: self.start(order, given["scheduling_strategy"]))

        return SimpleNamespace(options=options)

    def start(self, order: Any, place: str) -> Any:
        actor = SimpleNamespace(order=order, count=0, place=place)
        actor.ready = SimpleNamespace(remote=lambda: self.reference(lambda: None))
        actor.prepare = SimpleNamespace(remote=lambda version, weights: self.prepare(version))
        actor.play = SimpleNamespace(remote=lambda *given: self.reference(lambda: self.play(actor, *given)))
        self.started.append(actor)
        return actor

    def reference(self, work: Callable[[], Any]) -> int:
        number = next(self.references)
        self.answers[number] = work
        return number

    def play(self, actor: Any, version: int, weights: Any, progress: float, seconds: float) -> Answer:
        first = actor.order.number * GAMES_OF_WORKER
        message = pack([finished_game(first + actor.count)])
        answer = Answer(message, version, actor.count, dict.fromkeys(COUNTED, 10), 1.0)
        actor.count += 1
        return self.damage(actor, answer)

    def prepare(self, version: int) -> int:
        self.prepared.append(version)
        return self.reference(lambda: None)

    def put(self, weights: Any) -> Any:
        self.puts += 1
        return weights

    def wait(self, references: list[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        if self.waiting is None:
            return references[:num_returns], references[num_returns:]
        self.now += self.waiting
        return [], references

    def get(self, reference: int) -> Any:
        return self.answers.pop(reference)()

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


class Pretended:
    """A cluster of pretended machines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machines: int = 1) -> None:
        self.ray = PretendedRay()
        self.machines = [node(4, name=chr(ord("a") + i)) for i in range(machines)]
        self.warnings: list[str] = []
        monkeypatch.setattr(cluster_workers, "ray", lambda: self.ray)
        monkeypatch.setattr(cluster_workers, "LOOK_AROUND", -1.0)  # at every step
        monkeypatch.setattr(cluster_workers, "PATIENCE", 0.0)
        clock = SimpleNamespace(
            monotonic=lambda: self.ray.now, sleep=lambda seconds: self.ray.wait([], 0, 0.0)
        )
        monkeypatch.setattr(cluster_workers, "time", clock)
        numbers = itertools.count(1)
        random = SimpleNamespace(randbelow=lambda most: next(numbers))
        monkeypatch.setattr(cluster_workers, "secrets", random)
        evaluator = Network(DenseNetwork(NIM.input_shape, hidden=4))
        joined: Any = SimpleNamespace(nodes=lambda: self.machines)
        self.workers = ClusterWorkers(joined, CONFIG, NIM, evaluator, self.warnings.append)
        self.workers.deal()

    def play(self, steps: int = 5) -> list[FinishedGame]:
        return [found for _ in range(steps) for found in self.workers.play_on(0.5)]


def poisoned(actor: Any, answer: Answer) -> Answer:
    answer.message["values"][:] = np.nan
    return answer


def learn(cluster: Pretended) -> bool:
    """Give the workers new weights, unless a request would become too old."""
    may = cluster.workers.takes_weights
    if may:
        cluster.workers.use(cluster.workers.evaluator.module.state_dict())
    return may

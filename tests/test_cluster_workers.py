"""Workers of a cluster: the driver's side, with a pretended Ray, and the worker's side."""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import nets
from dicent.errors import DicentError
from dicent.evaluate.network import Network
from dicent.evaluate.terminal_value import TERMINAL_VALUES, TerminalKind
from dicent.game.binding import Bound
from dicent.learn import cluster_worker, cluster_workers, selection, self_play
from dicent.learn.cluster_worker import GAMES_OF_WORKER, Answer, ClusterWorker, Order, check_cluster
from dicent.learn.cluster_workers import IN_FLIGHT, ClusterWorkers
from dicent.learn.dataset import FinishedGame
from dicent.learn.factories import Overrides, Threads
from dicent.learn.fit import fit
from dicent.learn.in_flight import COUNTED
from dicent.learn.packed_games import pack
from dicent.learn.run_folder import RunFolder
from dicent.learn.train import Training
from dicent.nets.dense import DenseNetwork
from dicent.search.descent import Descent
from dicent.search.registry import SEARCHES, SearchKind

from .clusters import NIM, finished_game, node
from .running import TINY

FEW_RECORDS = 10**6  # one in so many games; the pretended ones are not legal
CONFIG = dicent.config(
    "laptop",
    game="dice-nim",
    games=100,
    games_at_once=2,
    evaluations_per_move=4,
    record_every=FEW_RECORDS,
)


# The driver's side


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


def test_every_worker_has_two_requests_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=3)
    found = cluster.play(10)
    assert len(cluster.ray.started) == 3
    assert len(cluster.ray.answers) == 3 * IN_FLIGHT
    assert len({played.number for played in found}) == len(found) == 3 * IN_FLIGHT * 9
    assert cluster.workers.counts["evaluations"] == 10 * len(found)
    assert [worker.state for worker in cluster.workers.status()] == ["playing"] * 3


def same_again(actor: Any, answer: Answer) -> Answer:
    first = actor.order.number * GAMES_OF_WORKER
    return dataclasses.replace(answer, message=pack([finished_game(first)]))


def poisoned(actor: Any, answer: Answer) -> Answer:
    answer.message["values"][:] = np.nan
    return answer


def illegal(actor: Any, answer: Answer) -> Answer:
    number = actor.order.number * GAMES_OF_WORKER + actor.count - 1
    first_of_records = number + -number % FEW_RECORDS
    return dataclasses.replace(answer, message=pack([finished_game(first_of_records)]))


DAMAGES: dict[str, Callable[[Any, Answer], Answer]] = {
    "NaN": poisoned,
    "a game twice": same_again,
    "another worker's game": lambda actor, answer: dataclasses.replace(
        answer, message=pack([finished_game(5)])
    ),
    "stale": lambda actor, answer: dataclasses.replace(answer, version=answer.version - 5),
    "no move of the game": illegal,
    "counts": lambda actor, answer: dataclasses.replace(answer, counts={}),
    "huge counts": lambda actor, answer: dataclasses.replace(answer, counts=dict.fromkeys(COUNTED, 10**30)),
    "endless seconds": lambda actor, answer: dataclasses.replace(answer, seconds=float("nan")),
    "counts of nothing": lambda actor, answer: dataclasses.replace(answer, counts=3),  # type: ignore[arg-type]
    "no array": lambda actor, answer: dataclasses.replace(answer, message=4),  # type: ignore[arg-type]
    "nothing": lambda actor, answer: None,  # type: ignore[dict-item, return-value]
    "out of turn": lambda actor, answer: dataclasses.replace(answer, number=answer.number + 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_wrong_answers_are_rejected_and_their_worker_replaced(
    damage: Callable[[Any, Answer], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Pretended(monkeypatch)
    good = cluster.play(3)
    first = cluster.ray.started[0]
    cluster.ray.damage = lambda actor, answer: damage(actor, answer) if actor is first else answer
    good += cluster.play(10)
    assert cluster.workers.rejected == 1
    assert len(cluster.ray.killed) == 1
    assert len(cluster.ray.started) == 2
    [status] = cluster.workers.status()
    assert (status.restarts, status.rejected, status.state) == (1, 1, "playing")
    assert len({played.number for played in good}) == len(good)


def test_dead_worker_costs_only_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=2)
    cluster.play(3)

    def die(actor: Any, answer: Answer) -> Answer:
        if actor is cluster.ray.started[0]:
            raise cluster.ray.exceptions.RayError("the actor died")
        return answer

    cluster.ray.damage = die
    before = cluster.workers.counts["evaluations"]
    cluster.play(5)
    assert cluster.workers.rejected == 0
    assert len(cluster.ray.started) == 3
    assert cluster.workers.counts["evaluations"] > before
    assert [worker.restarts for worker in cluster.workers.status()] == [1, 0]


def test_workers_that_fail_from_the_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)

    def fail(actor: Any, answer: Answer) -> Answer:
        raise cluster.ray.exceptions.RayError("No module named 'dicent'")

    cluster.ray.damage = fail
    with pytest.raises(DicentError, match=r"3 workers on 10\.0\.0\.97 failed one after the other: No module"):
        cluster.play(50)


def test_failing_machine_is_given_up_and_the_others_play_on(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=2)

    def fail(actor: Any, answer: Answer) -> Answer:
        if actor.place == "a":
            raise cluster.ray.exceptions.RayError("No module named 'dicent'")
        return answer

    cluster.ray.damage = fail
    assert len(cluster.play(20)) > 20
    assert [worker.state for worker in cluster.workers.status()] == ["failed", "playing"]
    assert len(cluster.ray.started) == 4
    assert "3 workers on 10.0.0.97 failed one after the other; another is tried" in cluster.warnings[-1]


def test_machines_that_leave_and_join_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    [machine], cluster.machines = cluster.machines, []
    cluster.play(1)  # answers that have arrived still count
    assert cluster.play(3) == []
    assert "no machine of the cluster can play; waiting for one that can" in cluster.warnings
    assert [worker.state for worker in cluster.workers.status()] == ["left"]
    cluster.machines = [machine]
    assert len(cluster.play(4)) > 0


def test_failed_machine_alone_is_no_machine_that_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=2)

    def fail(actor: Any, answer: Answer) -> Answer:
        if actor.place == "a":
            raise cluster.ray.exceptions.RayError("No module named 'dicent'")
        return answer

    cluster.ray.damage = fail
    cluster.play(20)
    del cluster.machines[1]
    cluster.play(3)
    assert cluster.warnings[-2:] == [
        "10.0.0.98 has left the cluster",
        "no machine of the cluster can play; waiting for one that can",
    ]


def test_workers_that_fail_later_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a worker is killed twice before its first answer, and then its machine is lost."""
    cluster = Pretended(monkeypatch)
    cluster.play(3)

    def fail(actor: Any, answer: Answer) -> Answer:
        raise cluster.ray.exceptions.RayError("the actor died")

    cluster.ray.damage = fail
    assert cluster.play(20) == []
    assert [worker.state for worker in cluster.workers.status()] == ["failed"]
    assert len(cluster.ray.started) == 3
    assert cluster.warnings[-1] == "no machine of the cluster can play; waiting for one that can"
    said = len(cluster.warnings)
    cluster.ray.waiting = cluster_workers.REST + 1
    cluster.play(1)
    cluster.ray.waiting, cluster.ray.damage = None, lambda actor, answer: answer
    assert len(cluster.play(5)) > 0
    assert [worker.state for worker in cluster.workers.status()] == ["playing"]
    assert len(cluster.warnings) == said


LONG = 1.5 * cluster_workers.SILENCE


def test_silent_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.waiting = LONG
    cluster.play(1)
    assert any("has not answered" in warning for warning in cluster.warnings)
    assert len(cluster.ray.started) == 2


@pytest.mark.parametrize("on_their_way", [0, 3])
def test_busy_driver_loses_no_worker(on_their_way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.now += LONG  # the driver measures; the answers wait, or must be sent first
    cluster.ray.waiting = 0.2
    assert cluster.play(on_their_way) == []
    cluster.ray.waiting = None
    assert len(cluster.play(3)) > 0
    assert len(cluster.ray.started) == 1


def test_worker_waits_for_the_cores_of_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.ray.waiting = LONG
    cluster.play(3)
    assert [worker.state for worker in cluster.workers.status()] == ["waiting"]
    assert len(cluster.ray.started) == 1
    cluster.ray.waiting = None
    assert len(cluster.play(3)) > 0


def learn(cluster: Pretended) -> bool:
    """Give the workers new weights, unless a request would become too old."""
    may = cluster.workers.takes_weights
    if may:
        cluster.workers.use(cluster.workers.evaluator.module.state_dict())
    return may


def test_learner_waits_for_requests_that_would_become_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.waiting = 0.0
    assert [learn(cluster) for _ in range(5)] == [True] * CONFIG.run.max_lag + [False] * 3
    cluster.ray.waiting = None
    cluster.play(1)
    assert [worker.lag for worker in cluster.workers.status()] == [CONFIG.run.max_lag]
    cluster.play(3)
    assert cluster.workers.rejected == 0
    assert learn(cluster)


def test_lag_counts_learning_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    for phases in (1, 2):
        for _ in range(phases):
            assert learn(cluster)
        cluster.play(1)
        assert [worker.lag for worker in cluster.workers.status()] == [phases]
        cluster.play(3)


def test_silent_worker_delays_the_others_only_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer comes too late: it is rejected and counted, and the worker plays on."""
    cluster = Pretended(monkeypatch, machines=2)
    cluster.play(3)
    silent = cluster.ray.started[0]
    hold = [reference for reference, asked in cluster.workers._asked.items() if asked.place.actor is silent]
    wait = cluster.ray.wait

    def answers_of_the_other(references: list[int], num_returns: int, timeout: float) -> Any:
        cluster.ray.now += 0.5  # the driver asks twice
        return wait([one for one in references if one not in hold], num_returns, timeout)

    monkeypatch.setattr(cluster.ray, "wait", answers_of_the_other)
    learned = []
    for _ in range(60):
        cluster.play(1)
        learned.append(learn(cluster))
    late = round(cluster_workers.LATE)
    assert learned[:late].count(True) == CONFIG.run.max_lag
    assert all(learned[late + 2 :])
    games = cluster.workers.status()[0].games
    hold.clear()
    cluster.play(1)
    [first, other] = cluster.workers.status()
    assert (first.rejected, first.restarts, first.games, other.rejected) == (2, 0, games, 0)
    cluster.play(3)
    assert cluster.workers.status()[0].games > games
    assert len(cluster.ray.started) == 2


def test_weights_are_stored_once_per_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=3)
    cluster.play(10)
    assert cluster.ray.puts == 1
    for version in (2, 3):
        assert learn(cluster)
        cluster.play(10)
        assert cluster.ray.puts == version
    assert learn(cluster)
    assert learn(cluster)
    cluster.play(10)
    assert cluster.ray.puts == 4  # the one between was never needed


def test_replacement_begins_with_the_newest_network(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    for _ in range(3):
        assert learn(cluster)
        cluster.play(3)
    first = cluster.ray.started[0]
    cluster.ray.damage = lambda actor, answer: poisoned(actor, answer) if actor is first else answer
    cluster.play(5)
    assert cluster.ray.prepared == [0, 3]


def test_clock_stops_while_no_worker_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.ray.waiting = 10.0
    cluster.play(1)
    cluster.ray.waiting = None
    cluster.play(5)
    assert (cluster.workers.waited, cluster.workers.seconds) == (10.0, 0.0)
    cluster.ray.now += 5.0
    cluster.play(1)
    assert (cluster.workers.waited, cluster.workers.seconds) == (10.0, 5.0)
    cluster.machines = []
    cluster.play(2)
    cluster.ray.now += 7.0
    cluster.play(1)
    assert (cluster.workers.waited, cluster.workers.seconds) == (17.0, 5.0)


def test_budget_in_minutes_leaves_out_the_time_without_workers(tmp_path: Path) -> None:
    config = TINY.replace(games=None, minutes=10.0)
    with (
        RunFolder(tmp_path / "run") as run,
        contextlib.closing(Training(config, run, Overrides(), lambda status: None)) as training,
    ):
        training._start -= 300.0
        assert training.progress() >= 0.5
        training.workers.waited = 280.0
        assert training.progress() < 0.5
        assert training.state.seconds >= 20.0


def test_speed_is_per_second_since_it_was_measured_last(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.now += 100.0
    cluster.workers.status()
    before = cluster.workers.counts["evaluations"]
    cluster.play(6)
    cluster.ray.now += 4.0
    [worker] = cluster.workers.status()
    done = cluster.workers.counts["evaluations"] - before
    assert done > 0
    assert worker.evaluations_per_second == done / 4.0
    cluster.ray.now += 4.0
    assert [worker.evaluations_per_second for worker in cluster.workers.status()] == [0.0]


def test_counts_survive_a_machine_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch, machines=2)
    cluster.play(3)
    first = cluster.ray.started[0]
    cluster.ray.damage = lambda actor, answer: poisoned(actor, answer) if actor is first else answer
    cluster.play(5)
    lost, stays = cluster.workers.status()
    assert (lost.restarts, lost.rejected) == (1, 1)
    assert lost.bytes > 0
    del cluster.machines[0]
    cluster.play(3)
    found, left = cluster.workers.status()
    assert found.node == stays.node
    assert (left.node, left.state) == ("machines that have left", "left")
    assert (left.restarts, left.rejected) == (1, 1)
    assert left.games >= lost.games
    assert left.bytes >= lost.bytes
    assert cluster.workers.rejected == 1


def test_error_without_words_is_named_by_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)

    def die(actor: Any, answer: Answer) -> Answer:
        if actor is cluster.ray.started[0]:
            raise PretendedRayError("")
        return answer

    cluster.ray.damage = die
    cluster.play(3)
    assert "is lost and will be replaced: PretendedRayError" in cluster.warnings[-1]


class Custom(DenseNetwork):
    """A network of the user's."""


class Uniform(selection.Ordinal):
    """A law of the user's."""


def test_components_that_only_this_process_knows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config, _ = fit(CONFIG, NIM)
    check_cluster(config, Overrides())
    monkeypatch.setattr(nets, "NETWORKS", dict(nets.NETWORKS))
    dicent.register_network("custom", Custom)
    with pytest.raises(DicentError, match="the network custom is registered in this process only"):
        check_cluster(config.replace(network="custom"), Overrides())
    monkeypatch.setitem(selection.SELECTIONS, "uniform", Uniform())
    with pytest.raises(DicentError, match="the selection uniform is registered in this process only"):
        check_cluster(config.replace(selection="uniform"), Overrides())
    monkeypatch.setitem(SEARCHES, "mine", SearchKind(lambda evaluator: Descent(evaluator), evaluator=True))
    with pytest.raises(DicentError, match="the search mine is registered in this process only"):
        check_cluster(config.replace(search="mine"), Overrides())
    monkeypatch.setitem(TERMINAL_VALUES, "half", TerminalKind(lambda result, *rest: result / 2))
    with pytest.raises(DicentError, match="the terminal half is registered in this process only"):
        check_cluster(config.replace(terminal="half"), Overrides())
    with pytest.raises(DicentError, match="waves"):
        check_cluster(config.replace(waves=True), Overrides())
    with pytest.raises(DicentError, match="the object passed as selection"):
        check_cluster(config, Overrides(selection=Uniform()))


# The worker's side


def test_worker_of_another_version_is_refused() -> None:
    order = Order(CONFIG.toml(), NIM, 0, 1, "cpu", dicent="0.0.1")
    with pytest.raises(DicentError, match=r"this machine has Dicent .*, and the driver 0\.0\.1"):
        ClusterWorker(order)


def weights() -> Any:
    module = DenseNetwork(NIM.input_shape, hidden=CONFIG.network.hidden, layers=CONFIG.network.layers)
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


@pytest.mark.usefixtures("uncompiled")
def test_first_request_needs_nothing_that_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    needed: set[Any] = set()
    kernel = Bound.kernel

    def note(self: Bound, function: Any) -> Any:
        needed.add(function)
        return kernel(self, function)

    monkeypatch.setattr(Bound, "kernel", note)
    worker = ClusterWorker(Order(CONFIG.toml(), NIM, 0, 1, "cpu"))
    worker.prepare(0, weights())
    prepared = set(needed)
    answer = worker.play(0, weights(), 0.0, 1.0)
    assert answer.message["games"][0] > 0
    assert needed == prepared


@pytest.mark.usefixtures("uncompiled")
def test_pauses_between_requests_count_for_no_move(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=1000.0)
    for module in (cluster_worker, self_play):
        monkeypatch.setattr(module, "time", clock)
    worker = ClusterWorker(Order(CONFIG.toml(), NIM, 0, 1, "cpu"))
    worker.prepare(0, weights())
    [play] = worker._workers.plays
    worker.play(0, weights(), 0.0, 0.0)
    clock.now += 5.0  # of play
    since = play.begun.copy(), play.dealt.copy()
    worker._rested = clock.now
    clock.now += 100.0  # of the driver, which measures
    worker.play(0, weights(), 0.0, 0.0)
    for now, before in zip((play.begun, play.dealt), since, strict=True):
        assert now.tolist() == (before + 100.0).tolist()


@pytest.mark.usefixtures("uncompiled")
def test_worker_counts_everything_and_plays_for_requests_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Threads, "of_worker", lambda config, device, cores: Threads(2, 1, 1))
    worker = ClusterWorker(Order(CONFIG.replace(groups=2).toml(), NIM, 0, 2, "cpu"))
    worker.prepare(0, weights())
    played = worker.play(0, weights(), 0.0, 0.2)
    for lock in worker._workers.locks:  # type: ignore[attr-defined]
        with lock:  # the groups have ended the steps that they had begun
            pass
    held = worker._workers.counts["evaluations"]
    rest = worker.play(0, weights(), 0.0, 0.0)
    assert played.counts["evaluations"] + rest.counts["evaluations"] == held > 0
    assert worker._workers.counts["evaluations"] == held
    worker._workers.close()


def test_worker_has_the_cores_of_its_place() -> None:
    assert Threads.of_worker(CONFIG, "cpu", 4) == Threads(1, 4, 4)
    assert Threads.of_worker(CONFIG.replace(groups=4), "cuda", 8) == Threads(4, 2, 1)

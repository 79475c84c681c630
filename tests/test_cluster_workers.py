"""The driver's side of a cluster, with a pretended Ray: messages, slots, and workers that go wrong."""

import dataclasses
import itertools
import pickle
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent.cluster import connection
from dicent.cluster.connection import Connection, Node
from dicent.errors import DicentError, MissingRayError
from dicent.evaluate.network import Network
from dicent.game.package import package_of
from dicent.learn import cluster_workers
from dicent.learn.cluster_worker import GAMES_OF_WORKER, Answer, ClusterWorker, Order
from dicent.learn.cluster_workers import IN_FLIGHT, ClusterWorkers, GameNumbersSeen, slots_of
from dicent.learn.dataset import FinishedGame, values_only
from dicent.learn.in_flight import COUNTED
from dicent.learn.message import Message, pack, unpack
from dicent.nets.dense import DenseNetwork

NIM = dicent.make("dice-nim")
FEW_RECORDS = 10**6  # one in so many games; the pretended ones are not legal
CONFIG = dicent.config(
    "laptop",
    game="dice-nim",
    games=100,
    games_at_once=2,
    evaluations_per_move=4,
    record_every=FEW_RECORDS,
)


def game(number: int, result: int | None = 1) -> FinishedGame:
    rng = np.random.default_rng(number % 1000)
    start = NIM.initial_state(1).cells
    states = np.stack([start] * int(rng.integers(1, 5)))
    data = values_only(states, rng.uniform(-1, 1, len(states)))
    plies = int(rng.integers(1, 9))
    return FinishedGame(
        number=number,
        result=result,
        plies=plies,
        start=start,
        chosen=rng.integers(0, 3, 2 * plies).astype(np.int32),
        root_values=rng.uniform(-1, 1, plies),
        dataset=data,
    )


# Messages


@pytest.mark.parametrize("count", [0, 1, 5])
def test_games_arrive_as_they_were_sent(count: int) -> None:
    sent = [game(i, [1, -1, 0, None, 1][i]) for i in range(count)]
    for ours, theirs in zip(sent, unpack(pack(sent), NIM, 1.0), strict=True):
        for field in dataclasses.fields(FinishedGame):
            a, b = getattr(ours, field.name), getattr(theirs, field.name)
            if field.name == "dataset":
                assert all((x == y).all() for x, y in zip(a.arrays, b.arrays, strict=True))
            else:
                assert np.array_equal(a, b), field.name


def damaged(change: Callable[[Message], object]) -> Message:
    message = pack([game(1), game(2)])
    change(message)
    return message


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m["values"].fill(np.nan), "no finite number"),
        (lambda m: m["values"].fill(1.5), "at most 1 is possible"),
        (lambda m: m.update(values=m["values"][:-1]), "do not add up"),
        (lambda m: m.update(values=m["values"].astype(np.float64)), "no finite number"),
        (lambda m: m.update(states=m["states"][:, :-1]), "states have shape"),
        (lambda m: m.pop("plies"), "plies"),
        (lambda m: m["root_values"].fill(np.inf), "no finite number"),
        (lambda m: m["chosen"].fill(99), "none of"),
        (lambda m: m["result"].fill(7), "has the result 7"),
        (lambda m: m["dataset.sizes"].fill(-1), "do not add up"),
        (lambda m: m.update(games=np.array([3])), "do not add up"),
        (lambda m: m.update(games=np.array([])), "out of bounds"),
        (lambda m: m.update(states="x"), "make no sense"),
    ],
)
def test_damaged_messages_are_refused(change: Callable[[Message], object], problem: str) -> None:
    with pytest.raises(DicentError, match=problem):
        unpack(damaged(change), NIM, 1.0)


# Machines


def node(cores: int, gpus: int = 0, is_ours: bool = False, name: str = "a") -> Node:
    return Node(name, f"10.0.0.{ord(name)}", cores, gpus, 2**30, is_ours)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (node(0), []),
        (node(4), [(4, 0)]),
        (node(6), [(3, 0), (3, 0)]),
        (node(1, is_ours=True), [(1, 0)]),
        (node(5, is_ours=True), [(4, 0)]),
        (node(17, gpus=2, is_ours=True), [(8, 1), (8, 1)]),
    ],
)
def test_a_machine_has_a_worker_per_gpu_or_few_cores(machine: Node, expected: list[tuple[int, int]]) -> None:
    assert [(slot.cores, slot.gpus) for slot in slots_of(machine)] == expected


def test_a_run_on_the_cpu_uses_no_gpu() -> None:
    assert [(slot.cores, slot.gpus) for slot in slots_of(node(8, gpus=1), "cpu")] == [(4, 0), (4, 0)]


def test_only_other_packages_travel_with_their_games() -> None:
    assert package_of(NIM.rules.path) is None
    assert package_of(dicent.make("ewn").rules.path) is None
    installed = Path(__file__).with_name("data") / "takeaway"
    assert package_of(installed / "rules.py") == installed


UNPICKLE = "import pickle, sys; print(pickle.load(sys.stdin.buffer).initial_state(0).legal_actions)"


def test_game_of_a_package_opens_where_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "takeaway"
    shutil.copytree(Path(__file__).with_name("data") / "takeaway", package)
    monkeypatch.syspath_prepend(str(tmp_path))
    game = dicent.load(package / "rules.py")
    actions, pickled = game.initial_state(0).legal_actions, pickle.dumps(game)
    shutil.rmtree(package)
    found = subprocess.run([sys.executable, "-c", UNPICKLE], input=pickled, capture_output=True)
    assert found.stdout.decode().strip() == str(actions), found.stderr.decode()


def test_worker_of_another_version_is_refused() -> None:
    order = Order(CONFIG.toml(), NIM, 0, 1, "cpu", dicent="0.0.1")
    with pytest.raises(DicentError, match=r"this machine has Dicent .*, and the driver 0\.0\.1"):
        ClusterWorker(order)


@given(st.permutations(range(12)), st.integers(1, 5))
def test_every_game_number_counts_once(order: list[int], size: int) -> None:
    first = 3 * GAMES_OF_WORKER
    seen = GameNumbersSeen(3)
    numbers = [first + n for n in order]
    for i in range(0, len(numbers), size):
        seen.add(numbers[i : i + size])
    assert not seen._above  # the memory of a run does not grow with its games
    for wrong in (first, first + 11, first - 1, first + GAMES_OF_WORKER):
        with pytest.raises(DicentError, match="a game twice"):
            seen.add([wrong])
    with pytest.raises(DicentError, match="a game twice"):
        seen.add([first + 12, first + 12])


@pytest.mark.parametrize("address", ["nonsense", "host:", ":", "a:b", ""])
def test_odd_addresses_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with pytest.raises(DicentError, match="cluster must be auto or"):
        Connection(address)


def test_silent_address_is_named_before_ray_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ray", SimpleNamespace)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        with pytest.raises(DicentError, match="no Ray cluster answers at 127"):
            Connection(f"127.0.0.1:{unused.getsockname()[1]}")


def test_missing_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingRayError, match=r"pip install 'dicent\[cluster\]'"):
        Connection("10.0.0.1:6379")


def test_local_cluster_is_refused_if_it_would_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(DicentError, match="open to others"):
        Connection("auto")


# Workers that go wrong


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
        self.is_silent = False

    def remote(self, kind: type) -> Any:
        def options(**given: Any) -> Any:
            return SimpleNamespace(remote=lambda order: self.start(order, given["scheduling_strategy"]))

        return SimpleNamespace(options=options)

    def start(self, order: Any, place: str) -> Any:
        actor = SimpleNamespace(order=order, count=0, place=place)
        actor.ready = SimpleNamespace(remote=lambda: self.reference(lambda: None))
        actor.prepare = SimpleNamespace(remote=lambda version, weights: self.reference(lambda: None))
        actor.play = SimpleNamespace(remote=lambda *given: self.reference(lambda: self.play(actor, *given)))
        self.started.append(actor)
        return actor

    def reference(self, work: Callable[[], Any]) -> int:
        number = next(self.references)
        self.answers[number] = work
        return number

    def play(self, actor: Any, version: int, weights: Any, progress: float, seconds: float) -> Answer:
        first = actor.order.number * GAMES_OF_WORKER
        message = pack([game(first + actor.count)])
        answer = Answer(message, version, actor.count, dict.fromkeys(COUNTED, 10), 1.0)
        actor.count += 1
        return self.damage(actor, answer)

    def put(self, weights: Any) -> Any:
        return weights

    def wait(self, references: list[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        return ([], references) if self.is_silent else (references[:num_returns], references[num_returns:])

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
    return dataclasses.replace(answer, message=pack([game(first)]))


def poisoned(actor: Any, answer: Answer) -> Answer:
    answer.message["values"][:] = np.nan
    return answer


def illegal(actor: Any, answer: Answer) -> Answer:
    number = actor.order.number * GAMES_OF_WORKER + actor.count - 1
    first_of_records = number + -number % FEW_RECORDS
    return dataclasses.replace(answer, message=pack([game(first_of_records)]))


DAMAGES: dict[str, Callable[[Any, Answer], Answer]] = {
    "NaN": poisoned,
    "a game twice": same_again,
    "another worker's game": lambda actor, answer: dataclasses.replace(answer, message=pack([game(5)])),
    "stale": lambda actor, answer: dataclasses.replace(answer, version=answer.version - 5),
    "no move of the game": illegal,
    "counts": lambda actor, answer: dataclasses.replace(answer, counts={}),
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
    assert "3 workers on 10.0.0.97 failed one after the other" in cluster.warnings[-1]


def test_machines_that_leave_and_join_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    [machine], cluster.machines = cluster.machines, []
    cluster.play(1)  # answers that have arrived still count
    assert cluster.play(3) == []
    assert "no machine of the cluster can play; waiting for one to join" in cluster.warnings
    assert cluster.workers.status() == ()
    cluster.machines = [machine]
    assert len(cluster.play(4)) > 0


def test_silent_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.is_silent = True
    pass_time(monkeypatch)
    cluster.play(1)
    assert any("has not answered" in warning for warning in cluster.warnings)
    assert len(cluster.ray.started) == 2


def pass_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let more time pass than a worker may be silent."""
    now = time.monotonic() + 1.5 * cluster_workers.SILENCE
    monkeypatch.setattr(cluster_workers, "time", SimpleNamespace(monotonic=lambda: now, sleep=time.sleep))


def test_busy_driver_loses_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    pass_time(monkeypatch)  # the driver measures, and the answers wait
    assert len(cluster.play(3)) > 0
    assert len(cluster.ray.started) == 1


def test_worker_waits_for_the_cores_of_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.ray.is_silent = True
    pass_time(monkeypatch)
    cluster.play(3)
    assert [worker.state for worker in cluster.workers.status()] == ["waiting"]
    assert len(cluster.ray.started) == 1
    cluster.ray.is_silent = False
    assert len(cluster.play(3)) > 0


def test_new_weights_wait_for_requests_that_would_become_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Pretended(monkeypatch)
    cluster.play(3)
    cluster.ray.is_silent = True
    weights = cluster.workers.evaluator.module.state_dict()
    for _ in range(10):
        cluster.workers.use(weights)
    assert cluster.workers._version == CONFIG.run.max_lag
    cluster.ray.is_silent = False
    cluster.play(4)
    assert cluster.workers._version == CONFIG.run.max_lag + 1  # the newest weights, once
    assert cluster.workers.rejected == 0
    assert max(worker.lag for worker in cluster.workers.status()) <= CONFIG.run.max_lag


def test_private_settings_are_not_asked_of_a_foreign_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    pretended = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **given: asked.append(given),
        exceptions=PretendedRay.exceptions,
    )
    monkeypatch.setattr(connection, "ray", lambda: pretended)
    monkeypatch.setattr(connection, "_knock", lambda address: None)
    monkeypatch.setenv("RAY_ADDRESS", "10.1.2.3:6379")
    Connection("auto")
    assert asked[0]["address"] == "10.1.2.3:6379"
    pretended.is_initialized = lambda: True
    with pytest.raises(DicentError, match="connected to a Ray cluster already"):
        Connection("auto")

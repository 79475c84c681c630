"""Workers of a cluster, the driver's side: requests, wrong answers, lost workers, counts."""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dicent.errors import DicentError
from dicent.learn import cluster_workers
from dicent.learn.cluster_worker import GAMES_OF_WORKER, Answer
from dicent.learn.cluster_workers import IN_FLIGHT
from dicent.learn.factories import Overrides
from dicent.learn.in_flight import COUNTED
from dicent.learn.packed_games import pack
from dicent.learn.run_folder import RunFolder
from dicent.learn.train import Training

from .clusters import finished_game
from .pretended_ray import FEW_RECORDS, Pretended, PretendedRayError, poisoned
from .running import TINY


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


# Time and counts


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

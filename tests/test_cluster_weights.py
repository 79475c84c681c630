"""Weights of a cluster's workers: how far they lag behind the learner, and how often they are sent."""

from typing import Any

import pytest

from dicent.learn import cluster_workers

from .pretended_ray import CONFIG, Pretended, learn, poisoned


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

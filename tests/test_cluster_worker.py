"""Workers of a cluster, the worker's side: what it accepts, prepares, counts."""

from types import SimpleNamespace
from typing import Any

import pytest

import dicent
from dicent import nets
from dicent.errors import DicentError
from dicent.evaluate.terminal_value import TERMINAL_VALUES, TerminalKind
from dicent.game.binding import Bound
from dicent.learn import cluster_worker, selection, self_play
from dicent.learn.cluster_worker import ClusterWorker, Order, check_cluster
from dicent.learn.factories import Overrides, Threads
from dicent.learn.fit import fit
from dicent.nets.dense import DenseNetwork
from dicent.search.descent import Descent
from dicent.search.registry import SEARCHES, SearchKind

from .clusters import NIM
from .pretended_ray import CONFIG


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

"""Batches that many threads share: everybody gets their own answers, and no stage is ever lost."""

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import dicent
from dicent import DicentError
from dicent.evaluate.network import Network
from dicent.gpu.batches import Batches
from dicent.gpu.network import SIZES, GpuNetwork
from dicent.nets.dense import DenseNetwork

WAIT = 60  # seconds after which a test counts as stuck


class Done:
    def __init__(self, work: Callable[[], None]) -> None:
        self.thread = threading.Thread(target=work)
        self.thread.start()

    def synchronize(self) -> None:
        self.thread.join()


class Stage:
    """Stands for a device: the value of a state is twice what its plane says, and it has one logit."""

    def __init__(self, rows: int, room: int = 10**9) -> None:
        self.planes = np.zeros((rows, 1, 1, 1))
        self.values = np.zeros(rows, np.float32)
        self.logits: np.ndarray | None = np.zeros((rows, 1), np.float32)
        self.room = room
        self.sent: list[int] = []
        self.failing = 0

    def send(self, count: int) -> Done:
        if count > self.room:
            raise torch.cuda.OutOfMemoryError
        self.failing -= 1
        if self.failing >= 0:
            raise RuntimeError("the device is gone")
        self.sent.append(count)

        def work() -> None:
            self.values[:count] = 2 * self.planes[:count, 0, 0, 0]
            assert self.logits is not None
            self.logits[:count, 0] = 3 * self.planes[:count, 0, 0, 0]

        return Done(work)


def judge(batches: Batches, numbers: np.ndarray) -> None:
    """Ask for some numbers, and look at the answer."""

    def write(first: int, last: int, planes: np.ndarray) -> None:
        planes[:, 0, 0, 0] = numbers[first:last]

    values, logits = batches.judge(len(numbers), write)
    assert (values == 2 * numbers).all()
    assert logits is None or (logits[:, 0] == 3 * numbers).all()


@pytest.mark.parametrize("most_asked", [5, 100])  # less than a stage, and more than all of them
def test_every_thread_gets_its_own_answers(most_asked: int) -> None:
    stages = [Stage(16) for _ in range(3)]
    batches = Batches(stages)

    def ask(seed: int) -> int:
        rng, asked = np.random.default_rng(seed), 0
        for _ in range(40):
            numbers = rng.integers(0, 1000, rng.integers(0, most_asked + 1)).astype(float)
            judge(batches, numbers)
            asked += len(numbers)
        return asked

    with ThreadPoolExecutor(8) as pool:
        asked = sum(pool.map(ask, range(8), timeout=WAIT))
    sent = [count for stage in stages for count in stage.sent]
    assert sum(sent) == asked  # nothing twice, and nothing that nobody asked for
    assert max(sent) <= 16
    if most_asked > 16:
        assert sent.count(16) > len(sent) / 2
    assert len(batches.free) + (batches.open is not None) == 3


def test_states_that_come_while_the_device_is_busy_go_together() -> None:
    stages, busy = [Stage(64) for _ in range(3)], threading.Event()
    batches = Batches(stages)
    with ThreadPoolExecutor(9) as pool:
        waiting = pool.submit(batches.call, lambda: busy.wait(WAIT))
        asks = [pool.submit(judge, batches, np.full(3, i)) for i in range(8)]
        while batches.open is None or batches.open.count < 24 or batches.open.writers:
            threading.Event().wait(0.001)
        busy.set()
        assert waiting.result(WAIT)
        for ask in asks:
            ask.result(WAIT)
    assert [count for stage in stages for count in stage.sent] == [24]


def test_what_goes_wrong_is_told_and_no_stage_is_lost() -> None:
    stages = [Stage(8), Stage(8)]
    batches = Batches(stages)
    for stage in stages:
        stage.failing = 10**9
    for _ in range(4):
        with pytest.raises(RuntimeError, match="the device is gone"):
            judge(batches, np.arange(5))
    for stage in stages:
        stage.failing = 0

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            batches.judge(5, broken)
    with pytest.raises(ZeroDivisionError):
        batches.call(lambda: 1 // 0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(judge, batches, np.arange(50)).result(WAIT)


def breaking_at(place: int) -> Callable[[int, int, np.ndarray], None]:
    def write(first: int, last: int, planes: np.ndarray) -> None:
        if first <= place < last:
            raise ZeroDivisionError

    return write


def test_batches_that_nobody_wants_any_more_make_room() -> None:
    """Threads give up what they have asked for, wherever it is."""
    stages = [Stage(4) for _ in range(3)]
    batches = Batches(stages)

    def ask(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(30):
            with pytest.raises(ZeroDivisionError):
                batches.judge(10, breaking_at(rng.integers(0, 10)))
            judge(batches, rng.integers(0, 1000, 10).astype(float))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6), timeout=WAIT))
    assert batches.flying == 0
    assert len(batches.free) + (batches.open is not None) == 3


def test_a_network_that_is_closed_keeps_nothing_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Gpu]] = []

    def make(*_: object) -> Gpu:
        gpu = Gpu(room=100)
        made.append(weakref.ref(gpu))
        return gpu

    monkeypatch.setattr("dicent.gpu.network.GpuNetwork", make)
    game = dicent.make("dice-nim")
    network = Network(DenseNetwork(game.input_shape, hidden=8))
    network.device = "cuda"  # as it were
    for _ in range(2):
        network.on_gpu(game)
        network.close()
        gc.collect()
        assert made[-1]() is None
    assert len(made) == 2


class Gpu(GpuNetwork):
    """One whose memory ends somewhere."""

    def __init__(self, room: int) -> None:
        self.batches = Batches([Stage(SIZES[-1], room) for _ in range(2)])
        self.encode = lambda states, planes: np.copyto(planes[:, 0, 0, 0], states[:, 0])


def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    gpu, states = Gpu(room=5000), np.arange(40_000)[:, None]
    for _ in range(2):
        values, _ = gpu.forward(states)
        assert (values == 2 * states[:, 0]).all()
    assert gpu.batches.most == 4096


def test_a_gpu_without_any_room_is_told() -> None:
    gpu = Gpu(room=10)
    with pytest.raises(DicentError, match="no memory left: use device=cpu"):
        gpu.forward(np.arange(100)[:, None])

"""Batches that many threads share: every thread gets its own answers, and no stage is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from dicent import DicentError
from dicent.gpu.batches import Batches
from dicent.gpu.network import SIZES, GpuNetwork

from .pretended_cuda import PretendedDevice

WAIT = 600  # seconds after which a test counts as stuck, also on a very slow machine


class Done:
    def __init__(self, work: Callable[[], None]) -> None:
        self.thread = threading.Thread(target=work)
        self.thread.start()

    def synchronize(self) -> None:
        self.thread.join()


class Stage:
    """A device: the value of a state is twice the number in its plane, and its one logit three times."""

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


def evaluate(batches: Batches, numbers: np.ndarray) -> None:
    """Evaluate some numbers and check the answer."""

    def write(first: int, last: int, planes: np.ndarray) -> None:
        planes[:, 0, 0, 0] = numbers[first:last]

    values, logits = batches.evaluate(len(numbers), write)
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
            evaluate(batches, numbers)
            asked += len(numbers)
        return asked

    with ThreadPoolExecutor(8) as pool:
        asked = sum(pool.map(ask, range(8), timeout=WAIT))
    sent = [count for stage in stages for count in stage.sent]
    assert sum(sent) == asked  # each state once, and no other states
    assert max(sent) <= 16
    if most_asked > 16:
        assert sent.count(16) > len(sent) / 2
    assert len(batches.free) + (batches.open is not None) == 3


def test_states_that_arrive_while_the_device_is_busy_share_a_batch() -> None:
    stages, busy = [Stage(64) for _ in range(3)], threading.Event()
    batches = Batches(stages)
    with ThreadPoolExecutor(9) as pool:
        waiting = pool.submit(batches.call, lambda: busy.wait(WAIT))
        asks = [pool.submit(evaluate, batches, np.full(3, i)) for i in range(8)]
        while batches.open is None or batches.open.count < 24 or batches.open.writers:
            threading.Event().wait(0.001)
        busy.set()
        assert waiting.result(WAIT)
        for ask in asks:
            ask.result(WAIT)
    assert [count for stage in stages for count in stage.sent] == [24]


def test_errors_reach_the_caller_and_lose_no_stage() -> None:
    stages = [Stage(8), Stage(8)]
    batches = Batches(stages)
    for stage in stages:
        stage.failing = 10**9
    for _ in range(4):
        with pytest.raises(RuntimeError, match="the device is gone"):
            evaluate(batches, np.arange(5))
    for stage in stages:
        stage.failing = 0

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            batches.evaluate(5, broken)
    with pytest.raises(ZeroDivisionError):
        batches.call(lambda: 1 // 0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(evaluate, batches, np.arange(50)).result(WAIT)


def breaking_at(place: int) -> Callable[[int, int, np.ndarray], None]:
    def write(first: int, last: int, planes: np.ndarray) -> None:
        if first <= place < last:
            raise ZeroDivisionError

    return write


def test_abandoned_batches_free_their_stages() -> None:
    """Threads abandon their states at every stage of the evaluation."""
    stages = [Stage(4) for _ in range(3)]
    batches = Batches(stages)

    def ask(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(30):
            with pytest.raises(ZeroDivisionError):
                batches.evaluate(10, breaking_at(rng.integers(0, 10)))
            evaluate(batches, rng.integers(0, 1000, 10).astype(float))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6), timeout=WAIT))
    assert batches.flying == 0
    assert len(batches.free) + (batches.open is not None) == 3


class SmallGpu(GpuNetwork):
    """A GPU network whose memory ends at a batch of `room` states."""

    def __init__(self, room: int) -> None:
        self.device = PretendedDevice()
        self.batches = Batches([Stage(SIZES[-1], room) for _ in range(2)])
        self.encode = lambda states, planes: np.copyto(planes[:, 0, 0, 0], states[:, 0])


def test_out_of_memory_halves_the_batches() -> None:
    gpu, states = SmallGpu(room=5000), np.arange(40_000)[:, None]
    for _ in range(2):
        values, _ = gpu.forward(states)
        assert (values == 2 * states[:, 0]).all()
    assert gpu.batches.most == 4096


def test_a_gpu_without_any_room_is_an_error() -> None:
    gpu = SmallGpu(room=10)
    with pytest.raises(DicentError, match="no memory left: use device=cpu"):
        gpu.forward(np.arange(100)[:, None])

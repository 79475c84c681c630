"""Learning steps on a pretended GPU: the resulting weights, and the number of calls.

`test_gpu.py` has the tests on a real GPU.
"""

import numpy as np
import pytest

from dicent import DicentError
from dicent.gpu import step as gpu_step
from dicent.gpu.step import GpuStep

from .learning import BATCH, examples, learn, learner_on, weights_of
from .pretended_cuda import ERRORS, PretendedDevice, learner_with


@pytest.fixture
def device() -> PretendedDevice:
    return PretendedDevice()


@pytest.mark.parametrize("num_actions", [0, 18])
@pytest.mark.parametrize(("several", "calls"), [(1, 7), (2, 4), (3, 4), (4, 3), (16, 3)])
def test_steps_equal_those_of_a_cpu_for_any_number_of_steps_in_a_call(
    device: PretendedDevice, num_actions: int, several: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phase has seven steps here."""
    monkeypatch.setattr(gpu_step, "STEPS", several)
    data = examples(num_actions, 7 * BATCH - 100)
    ours, cpu = learner_with(device, num_actions), learner_on("cpu", num_actions)
    before = weights_of(ours)
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=2e-3)  # its means are over batches
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)
    assert np.abs(weights_of(ours) - before).max() > 0.01
    assert ours.steps == cpu.steps == 35
    assert device.replays == 5 * calls


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("times", "several", "piece"), [(1, 1, BATCH), (2, 1, BATCH // 2)])
def test_short_memory_makes_calls_smaller_and_learns_the_same(
    device: PretendedDevice, error: RuntimeError, times: int, several: int, piece: int
) -> None:
    device.fail(error, times)
    data, ours, cpu = examples(18), learner_with(device, 18), learner_on("cpu", 18)
    assert ours._gpu_step is not None
    assert (ours._gpu_step.several, ours._gpu_step.piece) == (several, piece)
    assert np.array_equal(weights_of(ours), weights_of(cpu))
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=1e-5)
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)


def test_memory_of_a_failed_recording_is_free_before_the_next(device: PretendedDevice) -> None:
    """The error refers to the recorded objects, so it must be freed before memory is released."""
    found: list[dict[str, int]] = []
    device.on_empty_cache = lambda: found.append(dict(device.held()))
    device.fail(ERRORS[0], 2)
    learner_with(device, 0)
    assert len(found) == 2
    for held in found:
        assert set(held) == {"weights", "tensor"}  # no graph, no pinned memory


def test_a_gpu_without_any_memory_is_an_error_and_changes_no_weight(device: PretendedDevice) -> None:
    device.fail(ERRORS[0], 100)
    learner = learner_on("cpu", 0)
    before = weights_of(learner)
    with pytest.raises(DicentError, match="no memory left for learning"):
        GpuStep(learner.module, learner.optimizer, learner.game, BATCH, device)
    assert np.array_equal(weights_of(learner), before)


def test_other_errors_are_raised(device: PretendedDevice) -> None:
    device.fail(RuntimeError("CUDA error: misaligned address"), 1)
    with pytest.raises(RuntimeError, match="misaligned"):
        learner_with(device, 0)


def test_a_learner_resumes_from_what_another_saved(device: PretendedDevice) -> None:
    data, first, other = examples(18), learner_with(device, 18), learner_with(device, 18)
    learn(first, data)
    other.load(first.save())
    assert learn(other, data) == pytest.approx(learn(first, data), rel=1e-6)
    assert weights_of(other) == pytest.approx(weights_of(first), abs=1e-6)


def test_a_learner_learns_the_same_after_it_was_closed(device: PretendedDevice) -> None:
    data, first, other = examples(18), learner_with(device, 18), learner_with(device, 18)
    for _ in range(2):
        losses = learn(first, data, 2)
        assert learn(other, data, 2) == pytest.approx(losses, rel=1e-6)
        other.close()
    assert weights_of(other) == pytest.approx(weights_of(first), abs=1e-6)

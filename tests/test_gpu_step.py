"""Steps of learning as a GPU is asked for them, on a pretended one: what they learn, in how many calls.

What a GPU makes of them is in `test_gpu.py`.
"""

import numpy as np
import pytest

from dicent import DicentError
from dicent.gpu import step as gpu_step
from dicent.gpu.step import GpuStep

from .learning import BATCH, examples, learn, learner_on, weights_of
from .pretended_cuda import ERRORS, Graph, pretend, pretending, without_memory


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)


@pytest.mark.parametrize("num_actions", [0, 18])
@pytest.mark.parametrize(("several", "calls"), [(1, 7), (2, 4), (3, 4), (4, 3), (16, 3)])
def test_steps_are_those_of_a_cpu_however_many_go_in_a_call(
    num_actions: int, several: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the seven steps of a phase."""
    monkeypatch.setattr(gpu_step, "STEPS", several)
    data = examples(num_actions, 7 * BATCH - 100)
    ours, cpu = pretending(num_actions), learner_on("cpu", num_actions)
    before = weights_of(ours)
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=2e-3)  # its means are over batches
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)
    assert np.abs(weights_of(ours) - before).max() > 0.01
    assert ours.steps == cpu.steps == 35
    assert Graph.replays == 5 * calls


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("times", "several", "piece"), [(1, 1, BATCH), (2, 1, BATCH // 2)])
def test_without_memory_a_call_does_less_and_learns_the_same(
    error: RuntimeError, times: int, several: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_memory(monkeypatch, gpu_step, error, times)
    data, ours, cpu = examples(18), pretending(18), learner_on("cpu", 18)
    assert ours._gpu_step is not None
    assert (ours._gpu_step.several, ours._gpu_step.piece) == (several, piece)
    assert np.array_equal(weights_of(ours), weights_of(cpu))
    assert learn(ours, data) == pytest.approx(learn(cpu, data), rel=1e-5)
    assert weights_of(ours) == pytest.approx(weights_of(cpu), abs=1e-5)


def test_a_gpu_without_any_memory_is_told_and_nothing_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory(monkeypatch, gpu_step, ERRORS[0], 100)
    learner = learner_on("cpu", 0)
    before = weights_of(learner)
    with pytest.raises(DicentError, match="no memory left for learning"):
        GpuStep(learner.module, learner.optimizer, learner.game, BATCH)
    assert np.array_equal(weights_of(learner), before)


def test_other_errors_are_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    without_memory(monkeypatch, gpu_step, RuntimeError("CUDA error: misaligned address"), 1)
    with pytest.raises(RuntimeError, match="misaligned"):
        pretending(0)


def test_it_goes_on_from_what_was_saved() -> None:
    data, first, other = examples(18), pretending(18), pretending(18)
    learn(first, data)
    other.load(first.save())
    assert learn(other, data) == pytest.approx(learn(first, data), rel=1e-6)
    assert weights_of(other) == pytest.approx(weights_of(first), abs=1e-6)

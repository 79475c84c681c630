"""The threads that evaluate a batch on a CPU."""

import numpy as np
import pytest
import torch

import dicent
from dicent.evaluate.network import Network, shared_out
from dicent.nets.dense import DenseNetwork

pytestmark = pytest.mark.usefixtures("uncompiled")

EWN = dicent.make("ewn")
STATES = np.stack([EWN.initial_state(seed).cells for seed in range(200)])


def test_evaluation_threads_apply_only_inside_the_context() -> None:
    torch.manual_seed(1)
    network = Network(DenseNetwork(EWN.input_shape, hidden=8), threads=1)
    before = network.evaluate(EWN, STATES)
    with shared_out([network], 3):
        assert network.threads == 3
        assert network.evaluate(EWN, STATES) == pytest.approx(before, abs=1e-6)
    assert network.threads == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_torch_starts_no_threads_for_a_batch(threads: int) -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.threads: list[int] = []

        def forward(self, planes: torch.Tensor) -> torch.Tensor:
            self.threads.append(torch.get_num_threads())
            return planes.flatten(1).sum(1)

    counting, usual = Counting(), torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        Network(counting, threads=threads).evaluate(EWN, STATES[:32])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(usual)
    assert counting.threads == [1] * threads

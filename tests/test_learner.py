"""The learner: refused input, and copies of weights that later learning must not change."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dicent
from dicent import DicentError
from dicent.learn.learner import Learner

from .learning import examples, learn, learner_on, network


class Masked(nn.Module):
    """A custom network with buffers that are not learned: one infinite, one of integers."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
        self.register_buffer("count", torch.tensor(2**24 + 1))

    def forward(self, planes: Tensor) -> Tensor:
        answer: Tensor = self.inner(planes)
        return answer


def test_network_may_have_buffers_of_any_type() -> None:
    game = dicent.make("ewn")
    learner = Learner(Masked(network(game)), game, batch=128)
    learn(learner, examples(0), 1)
    copied = learner.weights()
    assert copied["mask"].tolist() == [0.0, -torch.inf]
    assert copied["count"].tolist() == 2**24 + 1
    assert list(copied) == list(learner.module.state_dict())
    for name, tensor in learner.module.state_dict().items():
        assert copied[name].dtype == tensor.dtype
        assert torch.equal(copied[name], tensor)


def test_copies_of_weights_do_not_change() -> None:
    learner = learner_on("cpu", 0)
    copied = learner.weights()
    before = {name: tensor.clone() for name, tensor in copied.items()}
    learn(learner, examples(0), 1)
    assert all(torch.equal(copied[name], tensor) for name, tensor in before.items())
    assert not torch.equal(learner.weights()["value.weight"], before["value.weight"])


@pytest.mark.parametrize("broken", ["value", "weight"])
def test_nan_values_and_weights_are_refused(broken: str) -> None:
    learner, data = learner_on("cpu", 0), examples(0)
    if broken == "value":
        data.values[7] = np.nan
    else:
        with torch.no_grad():
            next(learner.module.parameters()).view(-1)[0] = torch.inf
    with pytest.raises(DicentError, match="start a new run with a lower learning_rate"):
        learn(learner, data, 1)

"""Networks: torch modules, by the names that files and settings call them."""

from typing import Any

from torch import nn

from dicent.errors import DicentError
from dicent.nets.dense import DenseNetwork
from dicent.nets.residual import ResidualNetwork

KINDS: dict[str, type[nn.Module]] = {"residual": ResidualNetwork, "dense": DenseNetwork}


def build(kind: str, settings: dict[str, Any]) -> nn.Module:
    """The network of that kind with those settings, its weights fresh."""
    if kind not in KINDS:
        raise DicentError(f"there is no network {kind!r}; possible are {', '.join(KINDS)}")
    return KINDS[kind](**settings)


def input_shape_of(module: nn.Module) -> tuple[int, int, int] | None:
    """The shape of the planes that a network is for; None for one of one's own."""
    if not isinstance(module, ResidualNetwork | DenseNetwork):
        return None
    shape: tuple[int, int, int] = module.settings["input_shape"]
    return shape


def kind_of(module: nn.Module) -> str:
    """What files call a network; one of one's own is not known there."""
    for name, kind in KINDS.items():
        if type(module) is kind:
            return name
    raise DicentError(f"{type(module).__name__} is no network that files can describe: {', '.join(KINDS)}")

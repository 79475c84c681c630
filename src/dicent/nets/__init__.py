"""Networks: torch modules, by the names that files and settings call them."""

import json
from typing import Any

from dicent.errors import DicentError, MissingTorchError

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.nets.dense import DenseNetwork
from dicent.nets.residual import ResidualNetwork

OURS: dict[str, type[nn.Module]] = {"residual": ResidualNetwork, "dense": DenseNetwork}
KINDS = dict(OURS)  # and those of one's own


def register_network(name: str, kind: type[nn.Module]) -> None:
    """Let files hold networks of one's own, under this name.

    A network says in `settings` what its class was made with, so that `kind(**settings)` makes it anew; JSON
    must be able to hold them. Whoever loads such a file must have registered the class too.
    """
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise DicentError(f"{kind!r} is no class of torch modules")
    if name in OURS:
        raise DicentError(f"{name!r} is a network that comes with Dicent: choose another name")
    KINDS[name] = kind


def build(kind: str, settings: dict[str, Any]) -> nn.Module:
    """The network of that kind with those settings, its weights fresh."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise DicentError(f"there is no network {kind!r}; {known} are known, others by register_network")
    return KINDS[kind](**settings)


def input_shape_of(module: nn.Module) -> tuple[int, int, int] | None:
    """The shape of the planes that a network is for; None where one of one's own does not say."""
    if type(module) not in KINDS.values():
        return None
    match getattr(module, "settings", None):
        case {"input_shape": [int(channels), int(height), int(width)]}:
            return channels, height, width
    return None


def kind_of(module: nn.Module) -> str:
    """What files call a network; one of one's own must be registered."""
    own = type(module).__name__
    name = next((name for name, kind in KINDS.items() if type(module) is kind), None)
    if name is None:
        how = f"dicent.register_network('name', {own})"
        raise DicentError(f"{own} is no network that files know: make it known by {how}")
    return name


def check_kept(module: nn.Module) -> None:
    """Raise an error unless a file can hold this network, and it can be made anew from there."""
    kind, own = kind_of(module), type(module).__name__
    try:
        with torch.random.fork_rng(devices=[]):
            anew = build(kind, json.loads(json.dumps(module.settings)))
    except Exception as error:  # whatever a class of one's own may do
        raise DicentError(f"{own}.settings do not make the network anew: {error}") from error
    shapes = [{name: t.shape for name, t in m.state_dict().items()} for m in (anew, module)]
    if shapes[0] != shapes[1]:
        raise DicentError(f"{own}.settings make a network with other weights")

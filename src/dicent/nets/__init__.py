"""Networks: torch modules, and the registry of the names that files and settings give them."""

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

BUILT_IN: dict[str, type[nn.Module]] = {"residual": ResidualNetwork, "dense": DenseNetwork}
NETWORKS = dict(BUILT_IN)  # the registry, with custom networks


def register_network(name: str, kind: type[nn.Module]) -> None:
    """Register a class of networks, so that files can hold them under this name.

    A network's attribute `settings` has the arguments of its class, in types that JSON can hold: loading a
    file calls `kind(**settings)`. A process that loads such a file must register the class first.
    """
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise DicentError(f"a network must be a subclass of torch.nn.Module (got {kind!r})")
    if name in BUILT_IN:
        raise DicentError(f"{name!r} is the name of a built-in network: choose another name")
    NETWORKS[name] = kind


def build(kind: str, settings: dict[str, Any]) -> nn.Module:
    """Build a registered network with random weights."""
    if kind not in NETWORKS:
        known = ", ".join(NETWORKS)
        raise DicentError(
            f"there is no network {kind!r}; known are {known}, others need dicent.register_network"
        )
    return NETWORKS[kind](**settings)


def input_shape_of(module: nn.Module) -> tuple[int, int, int] | None:
    """Return the shape of a network's input planes; None if a custom network does not say."""
    if type(module) not in NETWORKS.values():
        return None
    match getattr(module, "settings", None):
        case {"input_shape": [int(channels), int(height), int(width)]}:
            return channels, height, width
    return None


def kind_of(module: nn.Module) -> str:
    """Return the registered name of a network's class."""
    class_name = type(module).__name__
    name = next((name for name, kind in NETWORKS.items() if type(module) is kind), None)
    if name is None:
        how = f"dicent.register_network('name', {class_name})"
        raise DicentError(f"{class_name} is not a registered network: call {how} first")
    return name


def check_saveable(module: nn.Module) -> None:
    """Raise an error unless a file can hold this network, and its class can be rebuilt from there."""
    kind, class_name = kind_of(module), type(module).__name__
    try:
        with torch.random.fork_rng(devices=[]):
            rebuilt = build(kind, json.loads(json.dumps(module.settings)))
    except Exception as error:  # custom classes may raise anything
        raise DicentError(f"{class_name}.settings do not rebuild the network: {error}") from error
    shapes = [{name: t.shape for name, t in m.state_dict().items()} for m in (rebuilt, module)]
    if shapes[0] != shapes[1]:
        raise DicentError(f"{class_name}.settings build a network with other weights")

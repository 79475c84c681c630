"""Networks: torch modules, and the registry of the names that files and settings give them."""

import json

from dicent.errors import DicentError, MissingTorchError
from dicent.files import JsonObject

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.nets.dense import DenseNetwork
from dicent.nets.ntuple import NTupleNetwork
from dicent.nets.residual import ResidualNetwork
from dicent.nets.sparse import SparseNetwork

BUILT_IN: dict[str, type[nn.Module]] = {
    "residual": ResidualNetwork,
    "dense": DenseNetwork,
    "sparse": SparseNetwork,
    "ntuple": NTupleNetwork,
}
NETWORKS = dict(BUILT_IN)  # the registry, with custom networks
LAYERS, UNITS = 1_000, 1 << 20  # limits of a built-in network: layers or blocks; all other numbers


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


def build(kind: str, settings: JsonObject) -> nn.Module:
    """Build a registered network with random weights."""
    if kind not in NETWORKS:
        known = ", ".join(NETWORKS)
        raise DicentError(
            f"there is no network {kind!r}; known are {known}, others need dicent.register_network"
        )
    if kind in BUILT_IN:
        _check_settings(settings)
    return NETWORKS[kind](**settings)


def build_like(kind: str, settings: JsonObject, weights: dict[str, torch.Tensor]) -> nn.Module:
    """Build a registered network and give it weights, whose shapes are checked before memory is reserved."""
    if kind in BUILT_IN:
        with torch.device("meta"):  # tensors without content
            wanted = {name: tuple(t.shape) for name, t in build(kind, settings).state_dict().items()}
        found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
        wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        if wrong:
            raise DicentError(
                f"the weights do not fit the network's settings: {wrong[0]} has the shape "
                f"{found.get(wrong[0])}, and the settings need {wanted.get(wrong[0])}"
            )
    module = build(kind, settings)
    module.load_state_dict(weights)
    return module


def _check_settings(settings: JsonObject) -> None:
    """Raise an error for settings of a built-in network that are not numbers, or absurdly large."""
    for name, value in settings.items():
        if isinstance(value, bool) or value is None:
            continue
        most = LAYERS if name in ("blocks", "layers") else UNITS
        numbers = value if isinstance(value, list | tuple) else [value]
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
                raise DicentError(f"{name} of a network must be from 0 to {most:,} (got {str(value)[:60]})")


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

"""Network files: safetensors with a description in their header. No pickle is ever loaded."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from dicent.errors import DicentError, MissingTorchError, NetworkFileError
from dicent.evaluate.network import Network
from dicent.evaluate.terminal_value import GAIN, GainMap, TerminalValue
from dicent.files import write_atomically
from dicent.game import Game
from dicent.game.extras import extra

if TYPE_CHECKING:
    import torch

    from dicent.gpu.device import Device

FORMAT = 1
KEY = "dicent"  # of the description in the file's header
FILE = "network.safetensors"  # a network's name inside a run folder
SHIPPED = Path(__file__).parent.parent / "networks"  # networks that come with the package
NETWORKS = "a .safetensors file, the folder of a run, or a network that comes with Dicent"


@dataclass(frozen=True)
class Description:
    """The content of a network file beside the weights."""

    game: str  # the game's name with its options
    terminal: TerminalValue = GAIN
    gain_map: GainMap | None = None
    training: dict[str, Any] = field(default_factory=dict)  # how the network was trained, for people


def save_network(path: str | Path, module: torch.nn.Module, description: Description) -> None:
    """Write a network to a file, atomically."""
    write_atomically(Path(path), network_bytes(module, description))


def network_bytes(module: torch.nn.Module, description: Description) -> bytes:
    """Return the content of a network file."""
    from safetensors.torch import save

    from dicent.nets import kind_of

    terminal, points = description.terminal, description.gain_map
    saved: dict[str, Any] = {"name": terminal.name, "horizon": terminal.horizon, "weight": terminal.weight}
    if terminal.function is not None:
        saved["table"] = terminal.table().tolist()  # holds every value of the user's function
    header = {
        "format": FORMAT,
        "network": kind_of(module),
        "settings": module.settings,
        "game": description.game,
        "terminal": saved,
        "gain_map": None if points is None else [points.values, points.gains],
        "training": description.training,
    }
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
    return bytes(save(weights, {KEY: json.dumps(header)}))


def load_network(
    path: str | Path, device: str | Device = "cpu", threads: int = 1, compiled: bool = False
) -> Network:
    """Load the network in a file, or the latest of a run folder; other arguments as in `Network`."""
    file = find_network(path)
    header = read_header(file)
    description = _description(file, header)

    from dicent.nets import build  # needs torch, which a damaged file must not

    with _explained(file):
        with safe_open(file, "pt") as opened:
            names = opened.keys()  # `opened` is not a mapping and cannot be iterated itself
            weights = {name: opened.get_tensor(name).float() for name in names}
        module = build(header["network"], header["settings"])
        module.load_state_dict(weights)
    network = Network(module, device, threads=threads, compiled=compiled)
    network.description = description
    network.terminal, network.gain_map = description.terminal, description.gain_map
    return network


def describe_network(path: str | Path) -> Description:
    """Return the description in the header of a network file; this needs no torch."""
    file = find_network(path)
    return _description(file, read_header(file))


def read_header(file: Path) -> dict[str, Any]:
    """Return the header of a network file."""
    with _explained(file), safe_open(file, "numpy") as opened:
        header: dict[str, Any] = json.loads((opened.metadata() or {})[KEY])
        if header["format"] != FORMAT:
            raise NetworkFileError(f"{file} has format {header['format']}; this version reads {FORMAT}")
        return header


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Raise a NetworkFileError in place of the errors that a damaged file causes."""
    try:
        yield
    except NetworkFileError:
        raise
    except OSError as error:
        raise NetworkFileError(f"{file} cannot be read: {error}") from error
    except (SafetensorError, DicentError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise NetworkFileError(f"{file} is not a network file of Dicent, or damaged: {error}") from error


def settings_in(content: bytes) -> dict[str, Any]:
    """Return the settings of the network in a file with this content."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])["__metadata__"][KEY]
    settings: dict[str, Any] = json.loads(header)["settings"]
    return settings


def find_network(path: str | Path) -> Path:
    """Return the file of a network: a file, the latest checkpoint of a run folder, or a shipped one."""
    if str(path) in shipped_names() and not Path(path).exists():
        return SHIPPED / f"{path}.safetensors"
    path = Path(path)
    if path.is_file():
        return path
    found = sorted(path.glob(f"checkpoints/*/{FILE}")) or sorted(path.glob(FILE))
    if not found:
        problem = "holds no network" if path.is_dir() else "does not exist"
        raise NetworkFileError(f"{path} {problem}: a network is {NETWORKS}")
    return found[-1]


def shipped_names() -> list[str]:
    """Return the names of the networks in the package; beside each lies a card with its training."""
    return sorted(file.stem for file in SHIPPED.glob("*.safetensors"))


def shipped(game: Game) -> str | None:
    """Return the network that a game offers for itself: the name of a shipped one, or a path."""
    name = extra(game, "network", str)
    return name if name is not None and (name in shipped_names() or Path(name).exists()) else None


def usable_shipped(game: Game) -> str | None:
    """Return the shipped network for a game; None, with a warning, if torch is not installed."""
    name = shipped(game)
    if name is None or has_torch():
        return name
    warnings.warn(
        f"random games take the place of the network {name}, so play is weaker: {MissingTorchError()}",
        stacklevel=2,
    )
    return None


def has_torch() -> bool:
    """Return whether torch is installed."""
    try:
        return importlib.util.find_spec("torch") is not None
    except ImportError:
        return False


def _description(file: Path, header: dict[str, Any]) -> Description:
    with _explained(file):
        saved = header["terminal"]
        function = _by_table(saved["table"]) if "table" in saved else None
        terminal = TerminalValue(saved["name"], saved["horizon"], saved["weight"], function)
        points = header["gain_map"]
        gain_map = None if points is None else GainMap(tuple(points[0]), tuple(points[1]))
        return Description(header["game"], terminal, gain_map, header["training"])


def _by_table(table: list[list[float]]) -> Callable[[int, int], float]:
    """Return the terminal value that was the user's function when the network was saved."""
    return lambda result, ply: float(table[result + 1][min(ply, len(table[0]) - 1)])

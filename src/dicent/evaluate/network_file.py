"""Networks in files: safetensors with a description in their header. No pickle is ever loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dicent.errors import DicentError, NetworkFileError
from dicent.evaluate.network import Network
from dicent.evaluate.terminal_value import GAIN, GainMap, TerminalValue
from dicent.files import write_atomically
from dicent.game import Game
from dicent.game.extras import extra

if TYPE_CHECKING:
    import torch

FORMAT = 1
KEY = "dicent"  # of the description in the file's header
FILE = "network.safetensors"  # what a network is called inside a run folder
SHIPPED = Path(__file__).parent.parent / "networks"  # those that come with the package
NETWORKS = "a .safetensors file, the folder of a run, or a network that comes with Dicent"


@dataclass(frozen=True)
class Description:
    """What a file says of its network, beside the weights."""

    game: str  # the text that names the game
    terminal: TerminalValue = GAIN
    gain_map: GainMap | None = None
    training: dict[str, Any] = field(default_factory=dict)  # how it was made, for people


def save_network(path: str | Path, module: torch.nn.Module, description: Description) -> None:
    """Write a network to a file, atomically."""
    write_atomically(Path(path), network_bytes(module, description))


def network_bytes(module: torch.nn.Module, description: Description) -> bytes:
    """The content of a network's file."""
    from safetensors.torch import save

    from dicent.nets import kind_of

    terminal, points = description.terminal, description.gain_map
    saved: dict[str, Any] = {"name": terminal.name, "horizon": terminal.horizon, "weight": terminal.weight}
    if terminal.function is not None:
        saved["table"] = terminal.table().tolist()  # says all that a function of one's own does
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


def load_network(path: str | Path, device: str = "cpu", threads: int = 1, compiled: bool = False) -> Network:
    """The network in a file, or the latest of a run folder, ready to evaluate; the rest as in `Network`."""
    from safetensors import SafetensorError, safe_open

    from dicent.nets import build

    file = find_network(path)
    try:
        with safe_open(file, "pt") as opened:
            header = json.loads((opened.metadata() or {})[KEY])
            names = opened.keys()  # it is no mapping, and cannot be gone through itself
            weights = {name: opened.get_tensor(name).float() for name in names}
        if header["format"] != FORMAT:
            raise NetworkFileError(f"{file} has format {header['format']}; this version reads {FORMAT}")
        module = build(header["network"], header["settings"])
        module.load_state_dict(weights)
        description = _description(header)
    except OSError as error:
        raise NetworkFileError(f"{file} cannot be read: {error}") from error
    except (SafetensorError, DicentError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, NetworkFileError):
            raise
        raise NetworkFileError(f"{file} is no network of ours, or damaged: {error}") from error
    network = Network(module, device, threads=threads, compiled=compiled)
    network.description = description
    network.terminal, network.gain_map = description.terminal, description.gain_map
    return network


def settings_in(content: bytes) -> dict[str, Any]:
    """What the network was made with whose file has this content."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])["__metadata__"][KEY]
    settings: dict[str, Any] = json.loads(header)["settings"]
    return settings


def find_network(path: str | Path) -> Path:
    """The file of a network: the file itself, the latest checkpoint's in a run folder, or a shipped one."""
    if str(path) in shipped_names() and not Path(path).exists():
        return SHIPPED / f"{path}.safetensors"
    path = Path(path)
    if path.is_file():
        return path
    found = sorted(path.glob(f"checkpoints/*/{FILE}")) or sorted(path.glob(FILE))
    if not found:
        what = "is an empty run" if path.is_dir() else "does not exist"
        raise NetworkFileError(f"{path} {what}: a network is {NETWORKS}")
    return found[-1]


def shipped_names() -> list[str]:
    """The networks that come with the package; beside each lies a card that says how it was made."""
    return sorted(file.stem for file in SHIPPED.glob("*.safetensors"))


def shipped(game: Game) -> str | None:
    """Return the network that a game offers for itself: the name of a shipped one, or a path."""
    name = extra(game, "network", str)
    return name if name is not None and (name in shipped_names() or Path(name).exists()) else None


def _description(header: dict[str, Any]) -> Description:
    saved = header["terminal"]
    function = _by_table(saved["table"]) if "table" in saved else None
    terminal = TerminalValue(saved["name"], saved["horizon"], saved["weight"], function)
    points = header["gain_map"]
    gain_map = None if points is None else GainMap(tuple(points[0]), tuple(points[1]))
    return Description(header["game"], terminal, gain_map, header["training"])


def _by_table(table: list[list[float]]) -> Callable[[int, int], float]:
    """The terminal value that was a function of one's own when the network was saved."""
    return lambda result, ply: float(table[result + 1][min(ply, len(table[0]) - 1)])

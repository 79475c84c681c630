"""Network files: safetensors with a description in their header. No pickle is ever loaded."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open

from dicent.errors import DicentError, MissingTorchError, NetworkFileError
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.evaluate.ntuple import NTupleEvaluator
from dicent.evaluate.sparse import SparseEvaluator
from dicent.evaluate.terminal_value import GAIN, GainMap, TerminalValue
from dicent.files import JsonObject, inside, open_file, parse_json, write_atomically
from dicent.game import Game
from dicent.game.extras import extra

if TYPE_CHECKING:
    import torch

    from dicent.gpu.device import Device

FORMAT = 1
KEY = "dicent"  # of the description in the file's header
FILE = "network.safetensors"  # a network's name inside a run folder
GAMES = (
    Path(__file__).parent.parent / "games"
)  # a game's networks lie in a folder `networks` beside its rules
MOST_BYTES = 1 << 22  # of a description
FIELDS = {"network": str, "settings": dict, "game": str, "terminal": dict, "training": dict}
NATIVE: dict[str, type[NativeNetwork]] = {kind.kind: kind for kind in (SparseEvaluator, NTupleEvaluator)}
NETWORKS = "a .safetensors file, the folder of a run, or a network that comes with Dicent"


@dataclass(frozen=True)
class Description:
    """The content of a network file beside the weights."""

    game: str  # the game's name with its options
    terminal: TerminalValue = GAIN
    gain_map: GainMap | None = None
    training: JsonObject = field(default_factory=dict)  # how the network was trained, for people


def save_network(path: str | Path, module: torch.nn.Module, description: Description) -> None:
    """Write a network to a file, atomically."""
    write_atomically(Path(path), network_bytes(module, description))


def network_bytes(module: torch.nn.Module, description: Description) -> bytes:
    """Return the content of a network file."""
    from safetensors.torch import save

    from dicent.nets import kind_of

    terminal, points = description.terminal, description.gain_map
    saved: JsonObject = {"name": terminal.name, "horizon": terminal.horizon, "weight": terminal.weight}
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
    path: str | Path, device: str | Device = "cpu", threads: int | None = None, compiled: bool = False
) -> Network | NativeNetwork:
    """Load the network in a file, or the latest of a run folder; other arguments as in `Network`.

    A sparse or n-tuple network needs no torch and always runs on the CPU.
    """
    file = find_network(path)
    header = read_header(file)
    description = _description(file, header)
    network = (
        _load_native(file, header)
        if header.get("network") in NATIVE
        else _load_module(file, header, device, threads, compiled)
    )
    network.description = description
    network.terminal, network.gain_map = description.terminal, description.gain_map
    return network


def packed(network: Network) -> bytes:
    """Return a network as the content of a file, to send it to another machine."""
    game = "" if network.description is None else network.description.game
    return network_bytes(network.module, Description(game, network.terminal, network.gain_map))


def unpacked(
    content: bytes, device: str, compiled: bool, description: Description | None
) -> Network | NativeNetwork:
    """Return the network that `packed` has packed; `description` is that of the file that it comes from."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, FILE)
        file.write_bytes(content)
        network = load_network(file, device, compiled=compiled)
    network.description = description
    return network


def _load_native(file: Path, header: JsonObject) -> NativeNetwork:
    with _explained(file), safe_open(file, "numpy") as opened:
        names = opened.keys()
        weights = {name: opened.get_tensor(name) for name in names}
        _check_finite(file, weights)
        return NATIVE[header["network"]](header["settings"], weights)


def _load_module(
    file: Path, header: JsonObject, device: str | Device, threads: int | None, compiled: bool
) -> Network:
    from dicent.nets import build_like  # needs torch, which a damaged file must not

    with _explained(file):
        with safe_open(file, "pt") as opened:
            names = opened.keys()  # `opened` is not a mapping and cannot be iterated itself
            weights = {name: opened.get_tensor(name).float() for name in names}
        _check_finite(file, weights)
        module = build_like(header["network"], header["settings"], weights)
    return Network(module, device, threads=threads, compiled=compiled)


def describe_network(path: str | Path) -> Description:
    """Return the description in the header of a network file; this needs no torch."""
    file = find_network(path)
    return _description(file, read_header(file))


def read_header(file: Path) -> JsonObject:
    """Return the header of a network file."""
    with _explained(file), open_file(file), safe_open(file, "numpy") as opened:
        metadata = opened.metadata() or {}
        if KEY not in metadata:
            raise NetworkFileError(f"{file} is not a network file of Dicent: its header describes no network")
        return _checked_header(file, parse_json(metadata[KEY], MOST_BYTES))


def _checked_header(file: Path, header: Any) -> JsonObject:
    """Return the description in a header if it has the fields that it must have."""
    if not isinstance(header, dict):
        raise NetworkFileError(f"{file} is damaged: its description is not an object, as in {{...}}")
    if header.get("format") != FORMAT:
        raise NetworkFileError(f"{file} has format {header.get('format')!r}; this version reads {FORMAT}")
    for name, kind in FIELDS.items():
        if not isinstance(header.get(name), kind):
            what = "a text" if kind is str else "an object"
            raise NetworkFileError(
                f"{file} is damaged: {name} in its header must be {what} (got {str(header.get(name))[:60]!r})"
            )
    return header


def _check_finite(file: Path, weights: Mapping[str, object]) -> None:
    """Raise an error for weights that make every value NaN."""
    for name, tensor in weights.items():
        if not np.isfinite(np.asarray(tensor)).all():
            raise NetworkFileError(
                f"{file} has weights that are infinite or not numbers, in {name}: its training has failed, "
                "or the file is damaged"
            )


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Raise a NetworkFileError in place of the errors that a damaged file causes."""
    try:
        yield
    except NetworkFileError:
        raise
    except OSError as error:
        raise NetworkFileError(f"{file} cannot be read: {error}") from error
    except (SafetensorError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise NetworkFileError(f"{file} is not a network file of Dicent, or damaged: {error}") from error


def settings_in(content: bytes) -> JsonObject:
    """Return the settings of the network in a file with this content."""
    length = int.from_bytes(content[:8], "little")
    header = parse_json(content[8 : 8 + length])["__metadata__"][KEY]
    settings: JsonObject = parse_json(header, MOST_BYTES)["settings"]
    return settings


def find_network(path: str | Path) -> Path:
    """Return the file of a network: a file, the latest checkpoint of a run folder, or a shipped one."""
    shipped_file = shipped_files().get(str(path))
    path = Path(path)
    if shipped_file is not None and not path.exists():
        return shipped_file
    if path.is_file():
        return path
    found = sorted(path.glob(f"checkpoints/*/{FILE}")) or sorted(path.glob(FILE))
    if not found:
        problem = "holds no network" if path.is_dir() else "does not exist"
        raise NetworkFileError(f"{path} {problem}: a network is {NETWORKS}")
    return inside(path, found[-1])


def shipped_files() -> dict[str, Path]:
    """Return the networks in the package by name; beside each lies a card with its training."""
    return {file.stem: file for file in sorted(GAMES.rglob("networks/*.safetensors"))}


def shipped(game: Game) -> str | None:
    """Return the network that a game offers for itself: the name of a shipped one, or a path."""
    name = extra(game, "network", str)
    return name if name is not None and (name in shipped_files() or Path(name).exists()) else None


def usable_shipped(game: Game) -> str | None:
    """Return the shipped network for a game; None, with a warning, if torch is not installed."""
    name = shipped(game)
    if name is None or is_native(name) or has_torch():
        return name
    warnings.warn(
        f"random games take the place of the network {name}, so play is weaker: {MissingTorchError()}",
        stacklevel=2,
    )
    return None


def is_native(path: str | Path) -> bool:
    """Return whether native code evaluates a network, without torch."""
    return read_header(find_network(path)).get("network") in NATIVE


def has_torch() -> bool:
    """Return whether torch is installed."""
    try:
        return importlib.util.find_spec("torch") is not None
    except ImportError:
        return False


def _description(file: Path, header: JsonObject) -> Description:
    with _explained(file):
        terminal = _terminal(header["terminal"])
        points = header.get("gain_map")
        if not (points is None or (isinstance(points, list) and len(points) == 2)):
            raise DicentError("gain_map must be two lists, values and gains")
        gain_map = None if points is None else GainMap(_numbers(points[0]), _numbers(points[1]))
        return Description(header["game"], terminal, gain_map, header["training"])


def _terminal(saved: JsonObject) -> TerminalValue:
    match saved:
        case {"name": str(name), "horizon": int(horizon), "weight": int(weight) | float(weight)}:
            pass
        case _:
            raise DicentError("terminal must have a name, a horizon in plies and a weight")
    if "table" not in saved:
        return TerminalValue(name, horizon, weight)
    rows = saved["table"]
    if not (isinstance(rows, list) and len(rows) == 3 and all(map(_numbers, rows))):
        raise DicentError("the table of a terminal value must be three lists: for losses, draws and wins")
    return TerminalValue(name, horizon, weight, _by_table([_numbers(row) for row in rows]))


def _numbers(found: object) -> tuple[float, ...]:
    """Return the numbers of a list in a header."""
    if not isinstance(found, list) or not all(type(n) in (int, float) and math.isfinite(n) for n in found):
        raise DicentError(f"a list of finite numbers was expected (got {str(found)[:60]!r})")
    return tuple(map(float, found))


def _by_table(table: list[tuple[float, ...]]) -> Callable[[int, int], float]:
    """Return the terminal value that was the user's function when the network was saved."""
    return lambda result, ply: table[result + 1][min(ply, len(table[result + 1]) - 1)]

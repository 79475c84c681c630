"""The network that `network=auto` stands for: it follows from the board, the search and the device."""

from __future__ import annotations

from dicent.game import Game
from dicent.learn.allowed_values import learns_policy, network_takes
from dicent.learn.config import DEFAULTS, Config
from dicent.learn.config_sections import Setting
from dicent.learn.gpu_fit import on_gpu

Chosen = tuple[dict[str, Setting], str]  # settings, and the reason

DENSE: dict[str, Setting] = {"network": "dense", "hidden": 512, "layers": 4}  # 0.9 M weights for backgammon
SPARSE: dict[str, Setting] = {"network": "sparse", "units": 256}  # 0.1 M weights for backgammon
SIZES = ("hidden", "layers", "filters", "blocks", "width", "hidden_width")


def network_for(game: Game, config: Config) -> Chosen:
    """Return the settings that `network=auto` stands for, and the reason."""
    return _on_gpu(game) if on_gpu(config) else _on_cpu(game, config)


def _on_gpu(game: Game) -> Chosen:
    _, rows, columns = game.input_shape
    if rows == 1:
        return DENSE, f"3 x 3 convolutions waste two thirds of their work on a board of 1 x {columns}"
    return {"network": "residual"}, f"the paper's network, for a board of {rows} x {columns}"


def _on_cpu(game: Game, config: Config) -> Chosen:
    """Choose a network that has all sizes which the user has set; without any the board decides."""
    flat = config.flat()
    sizes = [name for name in SIZES if flat[name] != DEFAULTS[name]]
    if any(not network_takes("dense", name) for name in sizes):
        return {"network": "residual"}, f"the network with {' and '.join(sizes)}"
    _, rows, columns = game.input_shape
    if rows == 1 < columns and not sizes and not learns_policy(config.search.search):
        return SPARSE, f"searches evaluate it themselves on a board of 1 x {columns}, faster than in batches"
    return {"network": "dense"}, "it suits small boards on a CPU"

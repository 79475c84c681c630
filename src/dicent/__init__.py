"""Dicent learns stochastic two-player perfect-information games from their rules alone.

This is the public door: everything meant for users is a name of this module, imported when it is
first used. The README shows the way in.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dicent.check import CheckReport as CheckReport
    from dicent.check import check_game as check_game
    from dicent.errors import ContractError as ContractError
    from dicent.errors import DicentError as DicentError
    from dicent.errors import GameError as GameError
    from dicent.errors import IllegalActionError as IllegalActionError
    from dicent.errors import IllegalOutcomeError as IllegalOutcomeError
    from dicent.errors import PositionError as PositionError
    from dicent.game import Game as Game
    from dicent.game import State as State
    from dicent.game import Symmetry as Symmetry
    from dicent.kernels.constants import CHANCE as CHANCE
    from dicent.kernels.constants import MAX as MAX
    from dicent.kernels.constants import MIN as MIN
    from dicent.kernels.constants import ONGOING as ONGOING
    from dicent.node_counts import NodeCounts as NodeCounts
    from dicent.node_counts import perft as perft
    from dicent.playout import Playouts as Playouts
    from dicent.playout import playouts as playouts
    from dicent.registry import game_names as game_names
    from dicent.registry import load as load
    from dicent.registry import make as make
    from dicent.rules import option as option
    from dicent.view import Piece as Piece
    from dicent.view import View as View

_HOMES = {
    "dicent.check": ("CheckReport", "check_game"),
    "dicent.errors": (
        "ContractError",
        "DicentError",
        "GameError",
        "IllegalActionError",
        "IllegalOutcomeError",
        "PositionError",
    ),
    "dicent.game": ("Game", "State", "Symmetry"),
    "dicent.kernels.constants": ("CHANCE", "MAX", "MIN", "ONGOING"),
    "dicent.node_counts": ("NodeCounts", "perft"),
    "dicent.playout": ("Playouts", "playouts"),
    "dicent.registry": ("game_names", "load", "make"),
    "dicent.rules": ("option",),
    "dicent.view": ("Piece", "View"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dicent' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

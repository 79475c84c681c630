"""Games: the contract for their authors, and the objects that the framework makes from them.

Game modules import from this package. Everything else imports from the submodules.
"""

from dicent.game.contract import CHANCE, MAX, MIN, ONGOING, Piece, View, draw, option
from dicent.game.game import Cells, Game, State, Symmetry

__all__ = [
    "CHANCE",
    "MAX",
    "MIN",
    "ONGOING",
    "Cells",
    "Game",
    "Piece",
    "State",
    "Symmetry",
    "View",
    "draw",
    "option",
]

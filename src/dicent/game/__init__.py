"""Games: the contract for their authors, and the objects that the framework makes from them.

Game modules import from this package. Everything else imports from the submodules.
"""

from dicent.game.contract import CHANCE, MAX, MIN, ONGOING, Board, Piece, Place, Stack, View, draw, option
from dicent.game.game import Cells, Game, State, Symmetry

__all__ = [
    "CHANCE",
    "MAX",
    "MIN",
    "ONGOING",
    "Board",
    "Cells",
    "Game",
    "Piece",
    "Place",
    "Stack",
    "State",
    "Symmetry",
    "View",
    "draw",
    "option",
]

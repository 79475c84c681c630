"""What a game is: the contract that its author fills in, and the objects made from it.

Game modules import from here what they need. Everything else imports from the submodules.
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

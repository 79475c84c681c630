"""Boards as other programs write them: 26 numbers, counted from one player's side.

Number 0 is the other player's bar, 1 to 24 are the points as the player counts them, 25 is the player's bar.
The player's checkers are positive, the other player's negative.
"""

from __future__ import annotations

from collections.abc import Sequence

from dicent.game import Cells, State
from dicent.games.backgammon.rules import BORNE_OFF, HIGH, LOW, MOVER, ON_BAR, POINTS
from dicent.games.backgammon.text import format_position
from dicent.kernels.constants import MAX, MIN

BAR = 25


def board_of(cells: Cells, player: int) -> list[int]:
    """Return the board of a state as a player counts it."""
    points = [int(n) for n in cells[:POINTS]]
    bars = [int(n) for n in cells[ON_BAR : ON_BAR + 2]]
    if player == MIN:
        points, bars = [-n for n in reversed(points)], bars[::-1]
    return [-bars[1], *points, bars[0]]


def turned(board: Sequence[int]) -> list[int]:
    """Return a board as the other player counts it."""
    return [-n for n in reversed(board)]


def position_text(board: Sequence[int], mover: int, dice: tuple[int, int]) -> str:
    """Return our text of a position; the board is counted from the mover's side. Dice 0, 0 are not rolled."""
    ours = board if mover != MIN else turned(board)
    ordered = max(dice), min(dice)
    return format_position(ours[1:BAR], (ours[BAR], -ours[0]), mover, ordered)


def mover_of(cells: Cells) -> int:
    """Return who moves or rolls: MAX or MIN, or CHANCE before the opening roll."""
    return int(cells[MOVER])


def dice_of(cells: Cells) -> tuple[int, int]:
    """Return the dice, the larger first; 0, 0 before a roll."""
    return int(cells[HIGH]), int(cells[LOW])


def borne_off(cells: Cells, player: int) -> int:
    """Return how many checkers a player has borne off."""
    return int(cells[BORNE_OFF + (0 if player == MAX else 1)])


def boards_after(state: State) -> dict[tuple[int, ...], int]:
    """Return the legal actions by the board after each, as the player who moves counts it."""
    player = state.to_play
    return {tuple(board_of(state.apply(action).cells, player)): action for action in state.legal_actions}

"""Replay of a turn: the single moves of an action."""

from collections.abc import Callable

import numpy as np

from dicent.game import Cells

ON_BAR, BAR, OFF, BASE = 24, 25, 0, 26  # as in the rules
Move = tuple[int, int, bool]  # from, to, whether it hits


def replay_turn(
    play: Callable[[Cells, int, int, int], None], s: Cells, action: int, dice: tuple[int, int], mover: int
) -> tuple[list[Move], tuple[int, int]]:
    """Return the moves of a turn by the mover's own points, and the dice in their order.

    `play(board, mover, source, die)` is the function of the rules that moves a checker.
    """
    first, second = dice
    if first != second and action >= BASE * BASE:  # the smaller die first
        action, first, second = action - BASE * BASE, second, first
    board, moves, die = np.array(s), list[Move](), first
    while action > 0:
        source, before = int(action % BASE), int(board[ON_BAR : ON_BAR + 2].sum())
        play(board, mover, source, die)
        on_bar = before - (1 if source == BAR else 0)
        moves.append((source, max(OFF, source - die), int(board[ON_BAR : ON_BAR + 2].sum()) > on_bar))
        action, die = action // BASE, second
    return moves, (first, second)

"""Dice: the outcomes of the game, and their text."""

import numpy as np

from dicent.game import CHANCE

# The 21 rolls, the larger die first. An opening roll has no doubles: 15 rolls for each player.
ROLLS = np.array([(high, low) for high in range(1, 7) for low in range(1, high + 1)])
OPENING = np.array([roll for roll in ROLLS.tolist() if roll[0] != roll[1]])
CHANCES = np.array([(1.0 if high == low else 2.0) / 36.0 for high, low in ROLLS.tolist()])


def format_roll(outcome: int, mover: int) -> str:
    """Return a roll as text; the opening roll, which decides the mover, also names the player."""
    if mover == CHANCE:
        high, low = OPENING[outcome % 15]
        return f"{'MAX' if outcome < 15 else 'MIN'}:{high}{low}"
    return f"{ROLLS[outcome, 0]}{ROLLS[outcome, 1]}"

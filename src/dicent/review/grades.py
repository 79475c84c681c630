"""Grades: words for the loss of a move. Their thresholds are stated here only."""

from __future__ import annotations

# The smallest loss of each grade, in win probability, from the least to the largest.
GRADES = {"good": 0.0, "inaccuracy": 0.02, "mistake": 0.05, "blunder": 0.1}
LARGE = ("mistake", "blunder")  # the grades that a player in a game is warned about
PER_WIN = 2.0  # points of the game that a win is worth more than a loss


def smallest_loss(grade: str, in_points: bool) -> float:
    """Return the loss from which on a move has a grade, in win probability or in points of the game."""
    return GRADES[grade] * (PER_WIN if in_points else 1.0)


def grade_of(loss: float, in_points: bool) -> str:
    """Return the grade of a move that loses so much win probability, or so many points of the game."""
    return [grade for grade in GRADES if loss >= smallest_loss(grade, in_points)][-1]

"""Noise: how far random games determine the loss of a move.

A tree search by random games gives a weak move few games, and the mean of the move that looks best is too
high. A grade therefore takes the values of both moves from searches of their own, and counts a loss only if
it exceeds the noise.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dicent.review.reviewer import Evaluation

ERRORS = 2.0  # standard errors that a loss must exceed


def with_own_search(evaluation: Evaluation, step: str, own: Evaluation) -> Evaluation:
    """Return the evaluation of a position with the value of one move from a search after it."""
    places = [place for place, move in enumerate(evaluation.moves) if move[0] == step]
    moves, visits = list(evaluation.moves), list(evaluation.visits)
    for place in places:
        moves[place], visits[place] = (step, own.value, own.proved), own.games
    return replace(evaluation, moves=tuple(moves), visits=tuple(visits))


def noise_of_loss(evaluation: Evaluation, step: str, largest: float) -> float:
    """Return the largest loss that is noise, in the unit of values; `largest` is that of one game's value."""
    chosen = {evaluation.moves[0][0], step}
    variance = sum(
        largest**2 / max(1, visits)
        for (text, _, proved), visits in zip(evaluation.moves, evaluation.visits, strict=True)
        if text in chosen and not proved
    )
    return ERRORS * math.sqrt(variance)

"""The games of a match as arrays, to analyse their dice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.evaluate.base import Values
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.kernels import history as history_kernels
from dicent.stats.chi_square import DiceTest, dice_test

Counts = npt.NDArray[np.int64]


class Played(NamedTuple):
    """A finished game: its start and all choices."""

    start: Cells  # [S]
    steps: npt.NDArray[np.int32]  # its actions and outcomes


class Rolls(NamedTuple):
    """E rolls of chance."""

    games: npt.NDArray[np.int64]  # [E]  in which game
    states: Cells  # [E, S]  before the roll
    outcomes: npt.NDArray[np.int64]  # [E]


class Histories(NamedTuple):
    """Figures from a replay of G games."""

    first: npt.NDArray[np.int64]  # [G]  the player of the first action, MAX or MIN; CHANCE if there is none
    turns: npt.NDArray[np.int64]  # [G]  turns: all actions of a player until the other one acts
    scores: Values  # [G]  the score for MAX; 0 in games without a score, and in games that did not end
    last: Cells  # [G, S]  the last position


def histories(game: Game, games: Sequence[Played]) -> Histories:
    """Replay games from their start to their end."""
    n = len(games)
    out = Histories(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.float64),
        np.empty((n, game.state_size), game.state_dtype),
    )
    bind(game).kernel(history_kernels.summarise)(*_arrays(game, games), *out)
    return out


def _arrays(game: Game, games: Sequence[Played]) -> tuple[Cells, npt.NDArray[np.int32], Counts]:
    """Return starts [G, S], steps [G, T] and the numbers of steps [G]."""
    starts = np.array([played.start for played in games], game.state_dtype).reshape(-1, game.state_size)
    lengths = np.array([len(played.steps) for played in games], np.int64)
    steps = np.zeros((len(games), max(1, lengths.max(initial=0))), np.int32)
    for row, played in zip(steps, games, strict=True):
        row[: len(played.steps)] = played.steps
    return starts, steps, lengths


def rolls_of(game: Game, games: Sequence[Played]) -> Rolls:
    """Return all rolls of some games."""
    starts, steps, lengths = _arrays(game, games)
    most = int(lengths.sum())
    states = np.empty((most, game.state_size), game.state_dtype)
    rolls = Rolls(np.empty(most, np.int64), states, np.empty(most, np.int64))
    n = bind(game).kernel(history_kernels.rolls)(starts, steps, lengths, *rolls, game.empty_cells())
    return Rolls(*(array[:n] for array in rolls))


def check_dice(game: Game, games: Sequence[Played]) -> DiceTest | None:
    """Test the rolls of these games against the probabilities of the game.

    The games of a pair share their dice, so give one of each pair.
    """
    rolls = rolls_of(game, games)
    kinds, which = np.unique(probabilities(game, rolls), axis=0, return_inverse=True)
    groups = []
    for k, kind in enumerate(kinds):
        counts = np.bincount(rolls.outcomes[which.ravel() == k], minlength=len(kind))
        possible = kind > 0
        groups.append((kind[possible].tolist(), counts[possible].tolist()))
    return dice_test(groups)


def probabilities(game: Game, rolls: Rolls) -> Values:
    """Return the probability [E, O] of each outcome of each roll."""
    p = np.zeros((len(rolls.games), max(1, game.num_outcomes)), np.float64)
    bind(game).kernel(history_kernels.probabilities)(rolls.states, p)
    return p

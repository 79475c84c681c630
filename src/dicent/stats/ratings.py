"""Bradley-Terry ratings with a term for the first move, over all games of a tournament.

The player with the first move wins with the probability 1 / (1 + exp(-(mine - other + first_move))).
A draw is half a win and half a loss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.stats.intervals import PRIOR, Interval, quantile

Floats = npt.NDArray[np.float64]
ELO = 400 / math.log(10)  # Elo points per unit of the model
VIRTUAL = 0.5  # drawn pairs added to each pairing, which keep ratings finite


@dataclass(frozen=True)
class Pairing:
    """The pairs of games that two players have played."""

    first: int  # the players, by their numbers
    second: int
    shares: Floats  # [pairs, 2]  of `first`, 0 to 1: where it had the first move, where it had the second


@dataclass(frozen=True)
class Ratings:
    """Ratings in Elo points, their mean zero, with 95 % intervals."""

    elo: tuple[float, ...]
    intervals: tuple[Interval, ...]
    first_move: float  # the worth of the first move
    first_move_interval: Interval
    covariance: Floats  # [players + 1, players + 1]  of all of these, in Elo points

    def better(self, i: int, j: int) -> float:
        """Return the likelihood that player `i` is stronger than `j`."""
        c = self.covariance
        variance = c[i, i] + c[j, j] - 2 * c[i, j]
        away = self.elo[i] - self.elo[j]
        return 0.5 * math.erfc(-away / math.sqrt(2 * variance)) if variance > 0 else 0.5


def fit_ratings(
    players: int,
    pairings: Sequence[Pairing],
    first_move: bool = True,
    virtual: float = VIRTUAL,
    confidence: float = 0.95,
) -> Ratings:
    """Return the maximum-likelihood ratings, by Newton's method."""
    games = [_Games(pairing, players, virtual) for pairing in pairings if len(pairing.shares)]
    weak = np.eye(players + 1) * 1e-9  # regularises players without games, and the mean
    if not first_move:
        weak[players, players] = 1e12
    at = np.zeros(players + 1)
    for _ in range(100):
        slope, curve = -weak @ at, weak.copy()
        for item in games:
            item.add(at, slope, curve)
        step = np.linalg.solve(curve, slope)
        at += step * min(1.0, 2.0 / max(1e-300, np.abs(step).max()))  # limits the step
        if np.abs(step).max() < 1e-10:
            break
    return _ratings(at, _covariance(games, at, curve), quantile(confidence))


class _Games:
    """A pairing for the fit: contrasts, points and number of games, by first move."""

    def __init__(self, pairing: Pairing, players: int, virtual: float) -> None:
        self.shares = pairing.shares
        self.strength = np.zeros(players + 1)
        self.strength[pairing.first], self.strength[pairing.second] = 1.0, -1.0
        self.move = np.zeros(players + 1)
        self.move[players] = 1.0
        self.contrasts = self.strength + self.move, self.strength - self.move
        self.n = len(pairing.shares) + virtual
        self.points = pairing.shares.sum(axis=0) + virtual / 2

    def add(self, at: Floats, slope: Floats, curve: Floats) -> None:
        """Add the gradient of the log likelihood and its negative Hessian."""
        for contrast, points in zip(self.contrasts, self.points, strict=True):
            p = 1 / (1 + math.exp(-float(contrast @ at)))
            slope += (points - self.n * p) * contrast
            curve += self.n * p * (1 - p) * np.outer(contrast, contrast)

    def noise(self, at: Floats) -> Floats:
        """Return the variance of the gradient.

        The games of a pair share their dice: if they tend to be won by the same player, their sum
        says less than two games and their difference more.
        """
        p = [1 / (1 + math.exp(-float(contrast @ at))) for contrast in self.contrasts]
        means = self.shares.mean(axis=0)
        own = float(np.mean([q * (1 - q) for q in p]))
        away = self.shares - means
        likeness = 2 * float(away[:, 0] @ away[:, 1]) / (float((away**2).sum()) + 4 * PRIOR)
        total = (1 + likeness) * np.outer(self.strength, self.strength)
        apart = (1 - likeness) * np.outer(self.move, self.move)
        variance: Floats = 2 * self.n * own * (total + apart)
        return variance


def _covariance(games: Sequence[_Games], at: Floats, curve: Floats) -> Floats:
    """Return the sandwich covariance of the ratings, centred at mean zero, and the first move."""
    players = len(at) - 1
    noise = sum((item.noise(at) for item in games), np.zeros_like(curve))
    centre = np.eye(len(at))
    centre[:players, :players] -= 1 / players
    inverse = centre @ np.linalg.inv(curve)
    covariance: Floats = inverse @ noise @ inverse.T
    return covariance


def _ratings(at: Floats, covariance: Floats, z: float) -> Ratings:
    middle = ELO * np.append(at[:-1] - at[:-1].mean(), at[-1])
    covariance = covariance * ELO**2
    half = z * np.sqrt(np.maximum(0.0, np.diag(covariance)))
    ends = [(float(m - h), float(m + h)) for m, h in zip(middle, half, strict=True)]
    elo = tuple(float(m) for m in middle[:-1])
    return Ratings(elo, tuple(ends[:-1]), float(middle[-1]), ends[-1], covariance)

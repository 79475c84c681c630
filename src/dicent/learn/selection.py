"""Action selection in self-play: the probability of each action, from their order, values or visits.

All laws work on many moves at once. Row i has `counts[i]` actions, best first. The caller has already
removed actions that proofs exclude.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


class Selection(ABC):
    """A law of action selection."""

    @abstractmethod
    def probabilities(self, values: Array, visits: Array, counts: Counts, exploitation: Array) -> Array:
        """Return probabilities [n, A] for actions with these values and visits [n, A], best first.

        Values are for the player to move. `exploitation` [n] is 0 for uniform play, 1 for the best action.
        """


class Ordinal(Selection):
    """Selects by the order of the actions alone (the paper's law)."""

    def probabilities(self, values: Array, visits: Array, counts: Counts, exploitation: Array) -> Array:
        """See `Selection.probabilities`."""
        return ordinal_law(counts, exploitation, values.shape[1])


class EpsilonGreedy(Selection):
    """Selects the best action, or with probability 1 - exploitation any action."""

    def probabilities(self, values: Array, visits: Array, counts: Counts, exploitation: Array) -> Array:
        """See `Selection.probabilities`."""
        return epsilon_greedy(counts, 1 - exploitation, values.shape[1])


@dataclass(frozen=True)
class Softmax(Selection):
    """Selects in proportion to exp(value / temperature); the temperature falls to 0 with exploitation 1."""

    temperature: float = 1.0

    def probabilities(self, values: Array, visits: Array, counts: Counts, exploitation: Array) -> Array:
        """See `Selection.probabilities`."""
        return softmax(values, counts, np.maximum(1e-6, self.temperature * (1 - exploitation)))


@dataclass(frozen=True)
class ByVisits(Selection):
    """Selects in proportion to visits to the power of 1 / temperature, as AlphaZero does."""

    temperature: float = 1.0

    def probabilities(self, values: Array, visits: Array, counts: Counts, exploitation: Array) -> Array:
        """See `Selection.probabilities`."""
        most = np.maximum(1.0, visits[:, :1])
        weights = np.where(_is_action(counts, visits.shape[1]), visits / most, 0) ** (1 / self.temperature)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


SELECTIONS: dict[str, Selection] = {  # the registry, by the names in settings
    "ordinal": Ordinal(),
    "epsilon-greedy": EpsilonGreedy(),
    "softmax": Softmax(),
}


def ordinal_law(counts: npt.ArrayLike, exploitation: npt.ArrayLike, width: int | None = None) -> Array:
    """Return probabilities by order: P(a_i) = (e + (1 - e) / (n - i)) (1 - P(a_0) - ... - P(a_{i-1})).

    e = 1 selects the best action, e = 0 is uniform.
    """
    n, e = _rows(counts, exploitation, "exploitation")
    i = np.arange(width or int(n.max()))
    # What is left of 1 before action i telescopes to (1 - e) ** i * (n - i) / n.
    powers = np.repeat((1 - e)[:, None], len(i), axis=1)
    powers[:, 0] = 1.0
    np.cumprod(powers, axis=1, out=powers)
    probabilities = powers * (e[:, None] * (n[:, None] - i) + (1 - e)[:, None]) / n[:, None]
    return np.where(_is_action(n, len(i)), probabilities, 0.0)


def epsilon_greedy(counts: npt.ArrayLike, epsilon: npt.ArrayLike, width: int | None = None) -> Array:
    """Return probabilities of the best action, or with probability epsilon any action."""
    n, e = _rows(counts, epsilon, "epsilon")
    probabilities = np.where(_is_action(n, width or int(n.max())), (e / n)[:, None], 0)
    probabilities[:, 0] += 1 - e
    return probabilities


def softmax(values: npt.ArrayLike, counts: npt.ArrayLike, temperature: npt.ArrayLike) -> Array:
    """Return probabilities in proportion to exp(value / temperature)."""
    given = np.asarray(values, np.float64)
    n = np.atleast_1d(np.asarray(counts, np.int64))
    t = np.broadcast_to(np.asarray(temperature, np.float64), n.shape)
    _require(given.ndim == 2 and len(given) == len(n) and bool((n >= 1).all()), "each move needs an action")
    _require(bool((t > 0).all()), "temperatures must be positive")
    is_action = _is_action(n, given.shape[1])
    best = np.where(is_action, given, -np.inf).max(axis=1, keepdims=True)
    weights = np.where(is_action, np.exp(np.where(is_action, given - best, 0) / t[:, None]), 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _is_action(counts: Counts, width: int) -> npt.NDArray[np.bool_]:
    return np.arange(width) < counts[:, None]


def _rows(counts: npt.ArrayLike, share: npt.ArrayLike, name: str) -> tuple[Counts, Array]:
    n = np.atleast_1d(np.asarray(counts, np.int64))
    e = np.broadcast_to(np.asarray(share, np.float64), n.shape)
    _require(len(n) > 0 and bool((n >= 1).all()), "each move needs at least one action")
    _require(bool(((e >= 0) & (e <= 1)).all()), f"{name} must be from 0 to 1")
    return n, e


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DicentError(message)

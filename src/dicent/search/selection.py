"""Action selection while learning: how likely each action is, given their order or their values."""

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError

Probabilities = npt.NDArray[np.float64]


def ordinal_law(n: int, exploitation: float) -> Probabilities:
    """Probabilities of n actions, best first, by their order alone.

    P(a_i) = (e + (1 - e) / (n - i)) (1 - P(a_0) - ... - P(a_{i-1})); e = 1 plays the best action,
    e = 0 any.
    """
    _require(n >= 1, f"ordinal_law needs at least one action, not {n}")
    _require(0 <= exploitation <= 1, f"exploitation is {exploitation}, not from 0 to 1")
    probabilities = np.zeros(n)
    left = 1.0
    for i in range(n):
        probabilities[i] = (exploitation + (1 - exploitation) / (n - i)) * left
        left -= probabilities[i]
    return probabilities


def epsilon_greedy(n: int, epsilon: float) -> Probabilities:
    """Probabilities of n actions, best first: the best, but with probability epsilon any."""
    _require(n >= 1, f"epsilon_greedy needs at least one action, not {n}")
    _require(0 <= epsilon <= 1, f"epsilon is {epsilon}, not from 0 to 1")
    probabilities = np.full(n, epsilon / n)
    probabilities[0] += 1 - epsilon
    return probabilities


def softmax(values: npt.ArrayLike, temperature: float) -> Probabilities:
    """Probabilities in proportion to exp(value / temperature); values are for the player to move."""
    given = np.asarray(values, np.float64)
    _require(given.ndim == 1 and len(given) >= 1, "softmax needs the values of at least one action")
    _require(temperature > 0, f"temperature is {temperature}, not positive")
    weights = np.exp((given - given.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float64)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DicentError(message)

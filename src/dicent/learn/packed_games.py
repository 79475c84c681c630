"""Messages: finished games on their way from a worker to the learner, as a few plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError, GameError
from dicent.game import Cells, Game, State
from dicent.learn.dataset import Dataset, FinishedGame
from dicent.search.search_kernels import Arrays

Message = Arrays
NO_RESULT = 127  # of a game that was cut
DATASET = ("states", "values", "policies")
SAMPLED = 20_000  # one state in so many is checked by the rules, which takes a millisecond in Python
SAMPLE = 4  # states of a message that the rules check at most, beside those with unusual cells
ROUNDING = 1e-4  # of policies


def pack(games: Sequence[FinishedGame]) -> Message:
    """Return the games as arrays: numbers by game, and the rows of all games behind each other."""
    message: Message = {"games": np.array([len(games)])}
    for name in DATASET if games else ():
        message[name] = np.concatenate([getattr(game.dataset, name) for game in games])
    message["dataset.sizes"] = np.array([len(game.dataset) for game in games], np.int64)
    for name in _fields() if games else ():
        found = [getattr(game, name) for game in games]
        if isinstance(found[0], np.ndarray):
            message[name] = np.concatenate([np.atleast_1d(array) for array in found])
            message[f"{name}.sizes"] = np.array([len(array) for array in found], np.int64)
        else:
            message[name] = np.array([NO_RESULT if one is None else one for one in found])
    return message


class MessageReader:
    """Reads the messages of workers; raises if anything in one cannot come from a sound worker.

    `largest` bounds the values of states, and `actions` is the width of policies. Native code of the learner
    trusts the cells of states. So the rules, as plain Python, check every state that has a larger or a
    smaller number in a cell than all states before, and a sample of the others.
    """

    def __init__(self, game: Game, largest: float, actions: int) -> None:
        self.game, self.largest, self.actions = game, largest, actions
        start = game.initial_state(0).cells
        self._low, self._high = start.copy(), start.copy()  # of each cell, in states that are sound
        self._rng = np.random.default_rng(0)
        self._unchecked = 0  # states since the last sample

    def read(self, message: Message) -> list[FinishedGame]:
        """Return the games of a message."""
        try:
            if int(message["games"][0]) == 0:
                return []
            self._check_data(message)
            self._check_games(message)
            self._check_states(message["states"])
            return _unpack(message)
        except (GameError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise DicentError(f"a worker sent games that make no sense: {error}") from error

    def _check_data(self, message: Message) -> None:
        """Check the shapes and numbers of states, values and policies."""
        states, values, policies = (message[name] for name in DATASET)
        if states.shape[1:] != (self.game.state_size,) or states.dtype != self.game.state_dtype:
            raise ValueError(f"states have shape {states.shape} and type {states.dtype}")
        if values.ndim != 1:
            raise ValueError(f"values have shape {values.shape}")
        if values.dtype != np.float32 or not np.isfinite(values).all():
            raise ValueError("a value is not a finite number")
        largest = float(np.abs(values).max(initial=0.0))
        if largest > self.largest * (1 + 1e-6):
            raise ValueError(f"a value is {largest:g}; at most {self.largest:g} is possible")
        if policies.shape[1:] != (self.actions,) or policies.dtype != np.float32:
            raise ValueError(
                f"policies have shape {policies.shape} and type {policies.dtype}, not {self.actions} actions"
            )
        if not ((policies >= 0) & (policies <= 1 + ROUNDING)).all():  # also if one is NaN
            raise ValueError("a policy is no probability")

    def _check_games(self, message: Message) -> None:
        """Check the numbers of games, and their choices."""
        number, plies, result, seconds = (message[name] for name in ("number", "plies", "result", "seconds"))
        count = (int(message["games"][0]),)
        if {number.dtype.kind, plies.dtype.kind} != {"i"}:
            raise ValueError(f"numbers are {number.dtype} and plies {plies.dtype}, not whole numbers")
        if {number.shape, plies.shape, result.shape, seconds.shape} != {count}:
            raise ValueError(f"not all of its arrays are for {count[0]} games")
        if result.dtype.kind != "i" or not np.isin(result, (-1, 0, 1, NO_RESULT)).all() or plies.min() < 0:
            raise ValueError(f"a game has the result {result.max()} after {plies.min()} plies")
        roots, chosen, start = (message[name] for name in ("root_values", "chosen", "start"))
        if {roots.ndim, chosen.ndim, start.ndim} != {1}:
            raise ValueError("root values, choices or starts have more than one dimension")
        if roots.dtype != np.float64 or not np.isfinite(roots).all():
            raise ValueError("a root value is not a finite number")
        if not ((seconds >= 0) & (seconds < float("inf"))).all():
            raise ValueError("a time is not a finite number")
        most = max(self.game.num_actions, self.game.num_outcomes)
        if chosen.dtype != np.int32 or not ((chosen >= 0) & (chosen < most)).all():
            raise ValueError(f"a choice is none of {most}")
        if not (message["root_values.sizes"] == plies).all():
            raise ValueError("a game has not one root value for each of its plies")
        if start.dtype != self.game.state_dtype or (message["start.sizes"] != self.game.state_size).any():
            raise ValueError(f"starts have type {start.dtype}, or another size than states")

    def _check_states(self, states: Cells) -> None:
        """Let the rules check a sample of states, and all that have a cell out of the range so far."""
        if not len(states):
            return
        self._unchecked += len(states)
        rows = self._rng.integers(0, len(states), min(SAMPLE, self._unchecked // SAMPLED))
        if len(rows):
            self._unchecked = 0
        low, high = states.min(axis=0), states.max(axis=0)
        smaller, larger = low < self._low, high > self._high
        if smaller.any() or larger.any():
            lowest, highest = states[:, smaller].argmin(axis=0), states[:, larger].argmax(axis=0)
            rows = np.concatenate([rows, lowest, highest])
        for row in np.unique(rows):
            check_state(State(self.game, states[row].copy()))
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)


def check_state(state: State) -> None:
    """Raise an error if the rules, as plain Python, cannot continue, encode or reflect a state."""
    with np.errstate(all="ignore"):
        choices = state.legal_actions or state.outcomes
        planes = [state.encode(), *(image.state.encode() for image in state.symmetries)]
    if state.result is None and not choices:
        raise ValueError(f"the game cannot continue at {state.cells.tolist()}")
    if not all(np.isfinite(one).all() for one in planes):
        raise ValueError(f"the encoding of {state.cells.tolist()} is not finite")


def _unpack(message: Message) -> list[FinishedGame]:
    count = int(message["games"][0])
    columns: dict[str, list[Any]] = {}
    for name in _fields():
        if f"{name}.sizes" in message:
            columns[name] = _split(message[name], message[f"{name}.sizes"], count)
        else:
            values = message[name].tolist()
            columns[name] = [None if name == "result" and one == NO_RESULT else one for one in values]
    parts = [_split(message[name], message["dataset.sizes"], count) for name in DATASET]
    columns["dataset"] = [Dataset(*arrays) for arrays in zip(*parts, strict=True)]
    return [FinishedGame(**{name: column[i] for name, column in columns.items()}) for i in range(count)]


def _split(array: npt.NDArray[Any], sizes: npt.NDArray[np.int64], count: int) -> list[npt.NDArray[Any]]:
    if sizes.shape != (count,) or int(sizes.min()) < 0 or int(sizes.sum()) != len(array):
        raise ValueError("the sizes of its arrays do not add up")
    ends = np.cumsum(sizes).tolist()
    return [array[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]


def _fields() -> list[str]:
    return [field.name for field in fields(FinishedGame) if field.name != "dataset"]

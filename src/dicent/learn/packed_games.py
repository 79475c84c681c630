"""Messages: finished games on their way from a worker to the learner, as a few plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game import Game
from dicent.learn.dataset import Dataset, FinishedGame
from dicent.search.search_kernels import Arrays

Message = Arrays
NO_RESULT = 127  # of a game that was cut
DATASET = ("states", "values", "policies")


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


def unpack(message: Message, game: Game, largest: float) -> list[FinishedGame]:
    """Return the games of a message; raises if anything in it cannot come from a sound worker.

    `largest` bounds the values of states.
    """
    try:
        games = _unpack(message)
        _check(games, game, largest)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DicentError(f"a worker sent games that make no sense: {error}") from error
    return games


def _unpack(message: Message) -> list[FinishedGame]:
    count = int(message["games"][0])
    if count == 0:
        return []
    columns: dict[str, list[Any]] = {}
    for name in _fields():
        if f"{name}.sizes" in message:
            columns[name] = _split(message[name], message[f"{name}.sizes"], count)
        else:
            values = message[name].tolist()
            columns[name] = [None if name == "result" and one == NO_RESULT else one for one in values]
    parts = [_split(message[name], message["dataset.sizes"], count) for name in DATASET]
    columns["dataset"] = [Dataset(*arrays) for arrays in zip(*parts, strict=True)]
    if any(len(column) != count for column in columns.values()):
        raise ValueError(f"not all of its arrays are for {count} games")
    return [FinishedGame(**{name: column[i] for name, column in columns.items()}) for i in range(count)]


def _split(array: npt.NDArray[Any], sizes: npt.NDArray[np.int64], count: int) -> list[npt.NDArray[Any]]:
    if len(sizes) != count or int(sizes.min()) < 0 or int(sizes.sum()) != len(array):
        raise ValueError("the sizes of its arrays do not add up")
    return np.split(array, np.cumsum(sizes)[:-1])


def _check(games: Sequence[FinishedGame], game: Game, largest: float) -> None:
    most = max(game.num_actions, game.num_outcomes)
    for one in games:
        data = one.dataset
        if data.states.shape[1:] != (game.state_size,) or data.states.dtype != game.state_dtype:
            raise ValueError(f"states have shape {data.states.shape} and type {data.states.dtype}")
        if data.policies.shape[1] not in (0, game.num_actions):
            raise ValueError(f"policies have {data.policies.shape[1]} actions")
        if data.values.dtype != np.float32 or not np.isfinite(data.values).all():
            raise ValueError("a value is no finite number")
        if len(data) and float(np.abs(data.values).max()) > largest * (1 + 1e-6):
            raise ValueError(
                f"a value is {float(np.abs(data.values).max()):g}; at most {largest:g} is possible"
            )
        if not np.isfinite(data.policies).all():
            raise ValueError("a policy is no finite number")
        if {type(one.number), type(one.plies)} != {int}:
            raise ValueError(f"game {one.number} has {one.plies} plies, which must be whole numbers")
        if one.result not in (None, -1, 0, 1) or one.plies < 0:
            raise ValueError(f"game {one.number} has the result {one.result} after {one.plies} plies")
        if not np.isfinite(one.root_values).all() or not 0 <= one.seconds < float("inf"):
            raise ValueError(f"game {one.number} has a value or a time that is no finite number")
        if one.chosen.dtype != np.int32 or not ((one.chosen >= 0) & (one.chosen < most)).all():
            raise ValueError(f"game {one.number} has a choice that is none of {most}")
        if one.start.shape != (game.state_size,) or one.start.dtype != game.state_dtype:
            raise ValueError(f"game {one.number} starts with shape {one.start.shape}")


def _fields() -> list[str]:
    return [field.name for field in fields(FinishedGame) if field.name != "dataset"]

"""Messages of a cluster's workers: finished games as arrays, and their numbers."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicent.errors import DicentError
from dicent.learn.cluster_worker import GAMES_OF_WORKER
from dicent.learn.cluster_workers import GameNumbersSeen
from dicent.learn.dataset import FinishedGame
from dicent.learn.packed_games import Message, pack, unpack

from .clusters import NIM, finished_game


@pytest.mark.parametrize("count", [0, 1, 5])
def test_games_arrive_as_they_were_sent(count: int) -> None:
    sent = [finished_game(i, [1, -1, 0, None, 1][i]) for i in range(count)]
    for ours, theirs in zip(sent, unpack(pack(sent), NIM, 1.0), strict=True):
        for field in dataclasses.fields(FinishedGame):
            a, b = getattr(ours, field.name), getattr(theirs, field.name)
            if field.name == "dataset":
                assert all((x == y).all() for x, y in zip(a.arrays, b.arrays, strict=True))
            else:
                assert np.array_equal(a, b), field.name


def damaged(change: Callable[[Message], object]) -> Message:
    message = pack([finished_game(1), finished_game(2)])
    change(message)
    return message


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m["values"].fill(np.nan), "no finite number"),
        (lambda m: m["values"].fill(1.5), "at most 1 is possible"),
        (lambda m: m.update(values=m["values"][:-1]), "do not add up"),
        (lambda m: m.update(values=m["values"].astype(np.float64)), "no finite number"),
        (lambda m: m.update(states=m["states"][:, :-1]), "states have shape"),
        (lambda m: m.pop("plies"), "plies"),
        (lambda m: m["root_values"].fill(np.inf), "no finite number"),
        (lambda m: m["chosen"].fill(99), "none of"),
        (lambda m: m["result"].fill(7), "has the result 7"),
        (lambda m: m["dataset.sizes"].fill(-1), "do not add up"),
        (lambda m: m.update(games=np.array([3])), "do not add up"),
        (lambda m: m.update(games=np.array([])), "out of bounds"),
        (lambda m: m.update(states="x"), "make no sense"),
        (lambda m: m.update(number=m["number"] + 0.5), "whole numbers"),
        (lambda m: m.update(plies=m["plies"] * np.nan), "whole numbers"),
    ],
)
def test_damaged_messages_are_refused(change: Callable[[Message], object], problem: str) -> None:
    with pytest.raises(DicentError, match=problem):
        unpack(damaged(change), NIM, 1.0)


@given(st.permutations(range(12)), st.integers(1, 5))
def test_every_game_number_counts_once(order: list[int], size: int) -> None:
    first = 3 * GAMES_OF_WORKER
    seen = GameNumbersSeen(3)
    numbers = [first + n for n in order]
    for i in range(0, len(numbers), size):
        seen.add(numbers[i : i + size])
    assert not seen._above  # the memory of a run does not grow with its games
    for wrong in (first, first + 11, first - 1, first + GAMES_OF_WORKER):
        with pytest.raises(DicentError, match="a game twice"):
            seen.add([wrong])
    with pytest.raises(DicentError, match="a game twice"):
        seen.add([first + 12, first + 12])

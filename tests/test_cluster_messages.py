"""Messages of a cluster's workers: finished games as arrays, and their numbers."""

import dataclasses
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent.errors import DicentError
from dicent.game import Cells
from dicent.learn import packed_games
from dicent.learn.cluster_place import GameNumbersSeen
from dicent.learn.cluster_worker import GAMES_OF_WORKER
from dicent.learn.dataset import Dataset, FinishedGame, values_only
from dicent.learn.packed_games import Message, MessageReader, pack

from .clusters import NIM, finished_game

EWN = dicent.make("ewn")


def reader() -> MessageReader:
    return MessageReader(NIM, 1.0, actions=0)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_games_arrive_as_they_were_sent(count: int) -> None:
    sent = [finished_game(i, [1, -1, 0, None, 1][i]) for i in range(count)]
    for ours, theirs in zip(sent, reader().read(pack(sent)), strict=True):
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
        (lambda m: m["values"].fill(np.nan), "not a finite number"),
        (lambda m: m["values"].fill(1.5), "at most 1 is possible"),
        (lambda m: m.update(values=m["values"][:-1]), "do not add up"),
        (lambda m: m.update(values=m["values"].astype(np.float64)), "not a finite number"),
        (lambda m: m.update(states=m["states"][:, :-1]), "states have shape"),
        (lambda m: m.pop("plies"), "plies"),
        (lambda m: m["root_values"].fill(np.inf), "not a finite number"),
        (lambda m: m["chosen"].fill(99), "none of"),
        (lambda m: m.update(policies=np.ones((len(m["values"]), NIM.num_actions), np.float32)), "not 0 act"),
        (lambda m: m.update(policies=m["policies"].astype(np.float64)), "float64"),
        (lambda m: m.update(values=m["values"][:, None]), "values have shape"),
        (lambda m: m.update(root_values=m["root_values"][:, None]), "more than one dimension"),
        (lambda m: m.update(chosen=m["chosen"][:, None]), "more than one dimension"),
        (lambda m: m["root_values.sizes"].__iadd__([1, -1]), "one root value for each"),
        (lambda m: m["plies"].__iadd__(1), "one root value for each"),
        (lambda m: m.update(result=m["result"] * 1.0), "has the result"),
        (lambda m: m["start.sizes"].__iadd__([1, -1]), "another size than states"),
        (lambda m: m["result"].fill(7), "has the result 7"),
        (lambda m: m["number"].fill(0) or m.update(plies=m["plies"][:1]), "are for 2 games"),
        (lambda m: m["dataset.sizes"].fill(-1), "do not add up"),
        (lambda m: m.update(games=np.array([3])), "are for 3 games"),
        (lambda m: m.update(games=np.array([])), "out of bounds"),
        (lambda m: m.update(states="x"), "make no sense"),
        (lambda m: m.update(number=m["number"] + 0.5), "whole numbers"),
        (lambda m: m.update(plies=m["plies"] * np.nan), "whole numbers"),
    ],
)
def test_damaged_messages_are_refused(change: Callable[[Message], object], problem: str) -> None:
    with pytest.raises(DicentError, match=problem):
        reader().read(damaged(change))


def test_policies_of_another_width_are_refused() -> None:
    """An AlphaZero run stores them beside the states, in rows of a fixed width."""
    game = finished_game(1)
    policies = np.zeros((len(game.dataset), NIM.num_actions), np.float32)
    with_policy = dataclasses.replace(
        game, dataset=Dataset(game.dataset.states, game.dataset.values, policies)
    )
    learns_policies = MessageReader(NIM, 1.0, actions=NIM.num_actions)
    assert len(learns_policies.read(pack([with_policy]))) == 1
    with pytest.raises(DicentError, match=r"policies have shape .*, not 3 actions"):
        learns_policies.read(pack([game]))
    policies[-1] = -1
    with pytest.raises(DicentError, match="no probability"):
        learns_policies.read(pack([with_policy]))


def ewn_game(states: Cells) -> FinishedGame:
    start = EWN.initial_state(1).cells
    data = values_only(states, np.zeros(len(states)))
    return FinishedGame(1, 1, 1, start, np.zeros(1, np.int32), np.zeros(1), data)


@pytest.mark.parametrize("row", [0, 17, 4999])
@pytest.mark.parametrize("value", [100, -100])
def test_state_that_native_code_must_not_read_is_found_anywhere(row: int, value: int) -> None:
    """One cell of one state among thousands is an index beyond the planes."""
    states = np.stack([EWN.initial_state(i % 7).cells for i in range(5000)])
    read = MessageReader(EWN, 1.0, actions=0).read
    assert len(read(pack([ewn_game(states)]))) == 1
    cell = int(np.flatnonzero(states[row] > 0)[0])
    states[row, cell] = value
    with pytest.raises(DicentError, match="make no sense"):
        read(pack([ewn_game(states)]))


@pytest.mark.parametrize(("size", "expected"), [(100, 2), (100_000, 400)])
def test_sample_does_not_grow_with_the_number_of_messages(
    size: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver with hundreds of workers receives as many messages a second; a check takes a millisecond."""
    checked: list[object] = []
    monkeypatch.setattr(packed_games, "check_state", checked.append)
    message = pack([ewn_game(np.stack([EWN.initial_state(1).cells] * size))])
    read = MessageReader(EWN, 1.0, actions=0).read
    for _ in range(100 if size > 10_000 else 500):
        read(message)
    assert expected <= len(checked) <= expected + 5  # and unusual states, of which the first are some


def test_states_of_sound_games_are_accepted() -> None:
    """Every state of random games, with all numbers that their cells can have."""
    read = MessageReader(EWN, 1.0, actions=0).read
    chosen = random.Random(0)
    for seed in range(20):
        state, cells = EWN.initial_state(seed), []
        while state.result is None:
            cells.append(state.cells)
            if state.is_chance:
                state = state.apply_outcome(chosen.randrange(len(state.outcomes)))
            else:
                state = state.apply(chosen.choice(state.legal_actions))
        assert len(read(pack([ewn_game(np.stack([*cells, state.cells]))]))) == 1


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

"""EWN with n dice and with copies of outcomes: one die is ewn, and copies change no value."""

from math import comb
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent.game.check import check_game

FILE = Path(__file__).parent.parent / "benchmarks" / "ewn_dice.py"


def made(**options: int) -> dicent.Game:
    return dicent.load(FILE, **options)


@pytest.mark.parametrize(("dice", "outcomes"), [(1, 6), (2, 21), (3, 41), (4, 56)])
def test_outcomes_are_sets_of_faces(dice: int, outcomes: int) -> None:
    game = made(dice=dice)
    state = game.initial_state(1)
    p = dict(state.outcomes)
    assert len(p) == outcomes == sum(comb(6, m) for m in range(1, dice + 1))
    assert sum(p.values()) == pytest.approx(1)
    rng = np.random.default_rng(0)
    rolled = ["".join(map(str, sorted(set(roll)))) for roll in rng.integers(1, 7, (20_000, dice)).tolist()]
    for outcome, chance in p.items():
        share = rolled.count(game.format_outcome(state, outcome)) / len(rolled)
        assert abs(share - chance) < 5 * (chance / len(rolled)) ** 0.5


def test_one_die_is_ewn() -> None:
    """Every game of ewn is one of this game, with the same legal actions and result."""
    ewn, game = dicent.make("ewn"), made()
    rng = np.random.default_rng(1)
    for seed in range(10):
        theirs, ours = ewn.initial_state(seed), game.initial_state(seed)
        assert theirs.cells[:12].tolist() == ours.cells[:12].tolist()
        while theirs.result is None:
            if theirs.is_chance:
                outcome = int(rng.integers(6))
                theirs, ours = theirs.apply_outcome(outcome), ours.apply_outcome(outcome)
                continue
            assert sorted(theirs.legal_actions) == sorted(ours.legal_actions)
            action = int(rng.choice(theirs.legal_actions))
            theirs, ours = theirs.apply(action), ours.apply(action)
            assert theirs.result == ours.result


def value(state: dicent.State, known: dict[bytes, float]) -> float:
    """Return the exact value by plain recursion over the rules."""
    key = state.cells.tobytes()
    if key not in known:
        if state.result is not None:
            known[key] = state.result
        elif state.is_chance:
            known[key] = sum(p * value(state.apply_outcome(o), known) for o, p in state.outcomes)
        else:
            best = max if state.to_play == dicent.MAX else min
            known[key] = best(value(state.apply(a), known) for a in state.legal_actions)
    return known[key]


def test_copies_change_no_value_and_dice_do() -> None:
    def start(**options: int) -> float:
        game = made(size=3, pieces=3, **options)
        cells = game.empty_cells()
        cells[:] = [0, 1, -1, -1, 7, 8, dicent.MAX, 0, 0]  # two pieces each
        return value(game.state(cells), {})

    one, two = start(), start(dice=2)
    assert start(copies=3) == pytest.approx(one, abs=1e-12)
    assert start(dice=2, copies=2) == pytest.approx(two, abs=1e-12)
    assert abs(one - two) > 1e-3


def test_copies_are_states_of_their_own_with_one_input() -> None:
    game = made(copies=2)
    state = game.initial_state(3)
    first, second = state.apply_outcome(4), state.apply_outcome(5)
    assert first != second
    assert (first.encode() == second.encode()).all()
    assert first.legal_actions == second.legal_actions
    with pytest.raises(dicent.DicentError, match="possible are 1 to"):
        made(copies=0)


def test_features_and_symmetries_keep_the_contract() -> None:
    game = made(size=3, pieces=3, dice=2)
    assert game.num_symmetries == made(size=3, pieces=3, dice=2, copies=2).num_symmetries == 16
    assert game.rules.module.LISTS_FEATURES
    assert check_game(game, 200).positions >= 150  # with copies two rolls look alike

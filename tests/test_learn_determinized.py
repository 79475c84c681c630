"""Self-play with determinization: which states of a game are learned, and with which values."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, Expectiminimax, Game, Limit, Unbounded
from dicent.search.tree_search import TreeSearch

from .exact import Exact, written_out
from .self_playing import (
    EWN,
    NIM,
    Values,
    determinization,
    end_of,
    from_outside,
    numbers,
    play_games,
    roots_of,
    states_of,
)

# The game s, r, (ca) a, (cy) y. The search at r may evaluate two states: a and b, the children of r
# beyond chance. MAX goes to a, and the search ends there with r = 0.6. The search at a finds x, evaluated
# as 0.2, and y, an end: a = -1. MIN goes to y.
# D = {r 0.6, a -1, y -1}; b and x are never expanded. The skipped chance states are s (to r), ca (to a),
# cy (to y) and cx (to x, which is not learned).
FORESEEN = """
s    chance  -0.5   r:1
r    max      0.0   ca b
ca   chance   0.9   a:1
b    min      0.4   z=0 w=1
a    min      0.6   cx cy
cx   chance   0.7   x:1
cy   chance   0.1   y=-1:1
x    max      0.2   xx=-1 xy=1
"""
LEARNED = {"r": 0.6, "a": -1, "y": -1, "s": 0.6, "ca": -1, "cy": -1}


@pytest.mark.usefixtures("uncompiled")
def test_determinized_game_equals_the_one_worked_by_hand(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, FORESEEN)
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    played = play_games(search, game, 1, limit=Limit(evaluations=2), annealed=True, progress=1.0)[0]
    assert [str(state) for state, _ in states_of(game, played)] == ["s", "r", "ca", "a", "cy"]
    assert str(end_of(game, played)) == "y"
    assert (played.result, played.plies) == (-1, 2)
    found = {str(state): value for state, value in numbers(game, played.dataset).items()}
    assert found == pytest.approx(LEARNED)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        Descent,
        Unbounded,
        Expectiminimax,
    ],
)
def test_determinized_games_learn_the_papers_set(
    kind: type[TreeSearch], completion: bool, game: Game
) -> None:
    """D, the initial chance state, and (c, v(s')) for each c skipped between s and s' of D; no more."""
    search = dicent.Determinized(kind(from_outside(), completion=completion)).inner
    for played in play_games(search, game, 3, size=2, seed=7):
        d = determinization(game, 7, played.number)
        for state, choice in states_of(game, played):
            assert not state.is_chance or choice == d.outcome(state)  # the rolls are those of d
        learned = numbers(game, played.dataset)
        players: Values = {state: value for state, value in learned.items() if not state.is_chance}
        expected: Values = {}
        start = game.state(played.start)
        jumped = [start] if start.is_chance else []
        jumped += [
            after
            for state in players
            if state.result is None
            for after in (state.apply(action) for action in state.legal_actions)
            if after.is_chance
        ]
        for chance in jumped:
            child = chance.apply_outcome(d.outcome(chance))
            if child in players:
                expected[chance] = players[child]
        assert {state: value for state, value in learned.items() if state.is_chance} == expected
        assert expected
        assert learned[end_of(game, played)] == played.result


@pytest.mark.usefixtures("uncompiled")
def test_each_game_has_its_own_determinization() -> None:
    search = dicent.Determinized(Descent(from_outside())).inner
    first = [
        int(played.chosen[0]) for played in play_games(search, NIM, 60, size=8, limit=Limit(evaluations=4))
    ]
    assert set(first) == set(range(6))
    assert max(Counter(first).values()) < 25


# Two rolls in a row of two outcomes each, after either of MAX's moves; no draws.
TWO_ROLLS = """
s    chance   0.1   r:0.75 q:0.25
r    max      0.0   a b
q    min      0.0   b c
a    chance   0.5   ax:0.5 ay=-1:0.5
b    chance  -0.4   bx:0.2 by=1:0.8
c    chance   0.3   cx=1:0.6 cy:0.4
ax   min      0.2   a1=1 a2=1
bx   min     -0.2   b1=1 b2=-1
cy   max     -0.6   c1=-1 c2=-1
"""


@pytest.mark.usefixtures("uncompiled")
def test_chance_states_are_learned_as_means_over_all_determinizations(tmp_path: Path) -> None:
    """Each game learns the value of best play under its d; the mean over games converges."""
    game, judge = written_out(tmp_path, TWO_ROLLS)
    start = game.initial_state()
    rolls = [game.parse(name) for name in "sabc"]
    mean = sum(
        np.prod([p for _, p in outcomes])
        * Exact(dict(zip(rolls, [o for o, _ in outcomes], strict=True)).__getitem__).value(start)
        for outcomes in itertools.product(*(state.outcomes for state in rolls))
    )
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    learned = []
    for played in play_games(search, game, 300, 16, Limit(evaluations=60), seed=1):
        exact = Exact(determinization(game, 1, played.number).outcome)
        found = numbers(game, played.dataset)
        assert found[start] == exact.value(start)
        for root in roots_of(game, played):
            assert found[root] == exact.value(root)
        learned.append(found[start])
    assert np.mean(learned) == pytest.approx(mean, abs=4 / 300**0.5)
    assert mean != pytest.approx(Exact().value(start), abs=0.05)  # its players know the future rolls


# Five consecutive rolls, more than a determinization skips at once; each may end the game.
ROLLS = """
r    max      0.0   c1 d1
c1   chance   0.0   c2:1
c2   chance   0.0   c3:1
c3   chance   0.0   c4:1
c4   chance   0.0   c5:1
c5   chance   0.0   e5=1:1
d1   chance   0.0   d2:1
d2   chance   0.0   d3:1
d3   chance   0.0   d4:1
d4   chance   0.0   d5:1
d5   chance   0.0   e6=0:1
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("evaluations", [1, 2, 3, 50])
def test_consecutive_rolls_are_skipped_and_learned(tmp_path: Path, evaluations: int) -> None:
    game, judge = written_out(tmp_path, ROLLS)
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    limit = Limit(evaluations=evaluations)
    for played in play_games(search, game, 4, limit=limit, annealed=True, progress=0.0):
        learned = {str(state): value for state, value in numbers(game, played.dataset).items()}
        assert learned[str(end_of(game, played))] == played.result
        for state, _ in states_of(game, played):
            assert state.is_chance <= (learned[str(state)] == played.result)
        for name, value in learned.items():
            if name.startswith("c"):
                assert value == 1
            if name.startswith("d"):
                assert value == 0

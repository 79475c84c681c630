"""Outcomes that lead to the same state, as when a roll that nobody can use passes the turn by itself."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import dicent
from dicent import MAX, MIN
from dicent.exact.component import TOLERANCE
from dicent.exact.solver import Solver
from dicent.play.luck import luck_of

from .exact import Table

Edit = Callable[..., Path]
ROLLS = "    s[DIE] = o + 1\n"
# A five or a six takes one stone at once: two outcomes, one state, and it is chance's turn again.
TAKES = f"    if o >= 4:\n        s[LEFT] -= 1\n        s[MOVER] = -s[MOVER]\n        return\n{ROLLS}"
# A five or a six passes: with the other player's five or six the same state occurs again.
PASSES = f"    if o >= 4:\n        s[MOVER] = -s[MOVER]\n        return\n{ROLLS}"
SWAP = """def symmetry(s, k, out):
    out[LEFT], out[DIE], out[MOVER] = s[LEFT], s[DIE], (s[MOVER] if k == 0 else -s[MOVER])
    return 1 if k == 0 else -1


def symmetry_action(s, k, a):
    return a


def format_state(s):"""

pytestmark = pytest.mark.usefixtures("uncompiled")


@pytest.fixture
def takes(edited: Edit) -> dicent.Game:
    """A game without cycles."""
    swapped = ("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 6\nNUM_SYMMETRIES = 2"), ("def format_state(s):", SWAP)
    return dicent.make(f"{edited('dice_nim', (ROLLS, TAKES), *swapped)}:stones=6")


@pytest.fixture
def passes(edited: Edit) -> dicent.Game:
    """A game with cycles."""
    cyclic = ("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 6\nCYCLIC = True")
    return dicent.make(f"{edited('dice_nim', (ROLLS, PASSES), cyclic)}:stones=6")


@cache
def value(state: dicent.State) -> float:
    """The value of a game without cycles."""
    if state.result is not None:
        return state.result
    if state.is_chance:
        return sum(p * value(state.apply_outcome(outcome)) for outcome, p in state.outcomes)
    return (max if state.to_play == MAX else min)(value(state.apply(a)) for a in state.legal_actions)


def value_by_algebra(stones: int) -> float:
    """The mover's value of the game with passes: v = 4/6 mean of the best moves - 2/6 v."""
    values = [-1.0]  # nobody can move: the other player took the last stone
    for left in range(1, stones + 1):
        best = [max(-values[left - n] for n in range(1, min(3, die, left) + 1)) for die in range(1, 5)]
        values.append((sum(best) / 6) / (1 + 2 / 6))
    return values[-1]


@pytest.mark.parametrize("name", ["takes", "passes"])
def test_check_allows_them(name: str, request: pytest.FixtureRequest) -> None:
    assert dicent.check_game(request.getfixturevalue(name), positions=60).positions > 20


def test_solver_adds_their_probabilities(takes: dicent.Game) -> None:
    state = takes.initial_state()
    assert Solver(takes).value_of(state) == pytest.approx(value(state), abs=1e-12)


def test_solver_adds_their_probabilities_in_a_game_with_cycles(passes: dicent.Game) -> None:
    assert Solver(passes).value_of(passes.initial_state()) == pytest.approx(
        value_by_algebra(6), abs=TOLERANCE
    )


@pytest.mark.parametrize("search", ["descent", "unbounded", "expectiminimax"])
@pytest.mark.parametrize("die", ["-", "3"])
def test_searches_prove_the_exact_value(takes: dicent.Game, search: str, die: str) -> None:
    state = takes.parse(f"6 1 {die}")
    player = dicent.parse_player(f"{search}:random=1,depth=20,nodes=20000")
    analysis = player.search.analyse(state, player.budget)
    assert analysis.proved
    assert analysis.value == pytest.approx(value(state), abs=1e-12)


def test_pruning_keeps_the_exact_value(takes: dicent.Game) -> None:
    state = takes.parse("6 1 3")
    search = dicent.Expectiminimax(dicent.RandomEvaluator(1), prune=True)
    assert search.analyse(state, dicent.Limit(depth=20)).value == pytest.approx(value(state), abs=1e-12)


def test_simulations_approach_the_exact_value(takes: dicent.Game) -> None:
    state = takes.parse("6 1 3")
    analysis = dicent.Uct(seed=1).analyse(state, dicent.Limit(evaluations=4000))
    assert analysis.value == pytest.approx(value(state), abs=0.1)


def test_a_determinization_may_choose_either(takes: dicent.Game) -> None:
    state = takes.initial_state()
    searches = [dicent.Determinized(dicent.Descent(dicent.RandomEvaluator(1)), seed) for seed in range(200)]
    assert {search.outcome(state) for search in searches} == set(range(6))
    for search in searches[:10]:
        assert search.analyse(state, dicent.Limit(nodes=500)).value in (-1.0, 1.0)


def test_luck_and_dice_of_a_match_count_outcomes(takes: dicent.Game) -> None:
    result = dicent.play_match("random", "random", takes, games=200, seed=4)
    assert result.dice is not None
    assert result.dice.freedom == 5  # six outcomes, though two of them are one state
    assert result.dice.p > 0.001
    luck = luck_of(takes, result.played, Table({str(state): value(state) for state in positions(takes)}))
    for played, its_luck in zip(result.played, luck, strict=True):
        assert its_luck == pytest.approx(luck_by_hand(takes.state(played.start), played.steps.tolist()))


def positions(game: dicent.Game) -> list[dicent.State]:
    """All positions of a game."""
    seen, waiting = {game.initial_state()}, [game.initial_state()]
    while waiting:
        state = waiting.pop()
        following = {state.apply(a) for a in state.legal_actions}
        following |= {state.apply_outcome(o) for o, _ in state.outcomes}
        waiting += following - seen
        seen |= following
    return list(seen)


def luck_by_hand(state: dicent.State, steps: list[int]) -> float:
    luck = 0.0
    for step in steps:
        after = state.apply_outcome(step) if state.is_chance else state.apply(step)
        luck += value(after) - value(state) if state.is_chance else 0.0
        state = after
    return luck


def test_a_record_distinguishes_equal_outcomes(takes: dicent.Game) -> None:
    result = dicent.play_match("random", "random", takes, games=20, seed=5)
    for played in result.played:
        state = takes.state(played.start)
        for step in played.steps.tolist():
            if state.is_chance:
                assert takes.parse_outcome(state, takes.format_outcome(state, step)) == step
                state = state.apply_outcome(step)
            else:
                state = state.apply(step)
        assert state.result in (MAX, MIN)

"""Uct: simulations with random games."""

import math
import random
from functools import cache

import pytest

import dicent
from dicent import MAX, MIN, DicentError, Game, Limit, Random, Search, State, Uct

from .simulating import COLUMNS, EWN, OPENING, TIC_TAC_TOE, mean_of_moves


def best(search: Search, state: State, simulations: int) -> str:
    return search.analyse(state, Limit(evaluations=simulations)).moves[0].text


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("game", "text", "move"),
    [
        (EWN, "5/ab3/5/3B1/3A1 1 2", "d2e1"),  # MAX enters the corner
        (EWN, "5/1a3/1b3/3B1/3A1 2 1", "b4a5"),  # MIN does
        (EWN, "5/1A3/1b3/5/5 1 4", "b4b3"),  # the last piece is captured
        (TIC_TAC_TOE, "XX./OO./... 1", "c3"),  # a win is better than a block
        (TIC_TAC_TOE, "XX./OO./X.. 2", "c2"),
        (TIC_TAC_TOE, "XX./.O./... 2", "c3"),  # a block; every other move loses
        (TIC_TAC_TOE, "X../.O./..X 2", None),  # an edge; a corner loses to a fork
    ],
)
def test_uct_finds_tactical_moves(game: Game, text: str, move: str | None) -> None:
    found = best(Uct(seed=1), game.parse(text), 600)
    assert found == move if move else found in ("b3", "b1", "a2", "c2")


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("simulations", [1, 2, 7, 150])
@pytest.mark.parametrize("rollouts", [1, 3])
def test_uct_counts_simulations_and_values_are_their_means(simulations: int, rollouts: int) -> None:
    analysis = Uct(rollouts).analyse(OPENING, Limit(evaluations=simulations))
    assert analysis.evaluations == sum(move.visits for move in analysis.moves) == simulations
    assert analysis.value == pytest.approx(mean_of_moves(analysis))
    total = analysis.value * simulations * rollouts
    assert total == pytest.approx(round(total))  # the sum of results is an integer
    for move in analysis.moves:
        assert move.by_outcome == () or sum(info.p for info in move.by_outcome) == pytest.approx(1)


@pytest.mark.usefixtures("uncompiled")
def test_uct_tries_every_action_before_any_twice() -> None:
    for simulations in range(1, 8):
        moves = Uct(seed=3).analyse(COLUMNS, Limit(evaluations=simulations)).moves
        assert sorted(move.visits for move in moves) == [0] * (7 - simulations) + [1] * simulations


@pytest.mark.usefixtures("uncompiled")
def test_exploration_spreads_simulations() -> None:
    state = TIC_TAC_TOE.parse("XX./OO./... 1")
    keen, curious = (
        Uct(exploration=c, seed=1).analyse(state, Limit(evaluations=300)).moves[0].visits for c in (0.2, 5)
    )
    assert keen > curious + 100


@pytest.mark.parametrize("arguments", [{"rollouts": 0}, {"exploration": -1}, {"exploration": math.nan}])
def test_uct_refuses_invalid_arguments(arguments: dict[str, float]) -> None:
    with pytest.raises(DicentError):
        Uct(**arguments)


@cache
def exact(state: State) -> float:
    if state.result is not None:
        return state.result
    if state.is_chance:
        return sum(p * exact(state.apply_outcome(outcome)) for outcome, p in state.outcomes)
    return state.to_play * max(state.to_play * exact(state.apply(action)) for action in state.legal_actions)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("text", ["1 1 -", "2 1 -", "3 2 -", "4 1 -", "4 1 3", "5 2 6"])
def test_uct_converges_to_the_exact_value(text: str) -> None:
    state = dicent.make("dice-nim").parse(text)
    simulations = 4000
    analysis = Uct(seed=7).analyse(state, Limit(evaluations=simulations))
    spread = math.sqrt(max(0, 1 - exact(state) ** 2) / simulations)
    assert analysis.value == pytest.approx(exact(state), abs=5 * spread + 0.02)  # trials cost a little
    if analysis.moves:
        after = state.apply(analysis.best)
        assert exact(after) == pytest.approx(exact(state))


def result_of_match(players: dict[int, Search], seed: int, limit: Limit) -> int:
    """Play a game whose start and dice depend only on the seed; return its result."""
    dice = random.Random(seed)
    state = EWN.initial_state(seed)
    while state.result is None:
        if state.is_chance:
            state = state.apply_outcome(dice.choice(state.outcomes)[0])
        else:
            state = state.apply(players[state.to_play].play(state, limit))
    return state.result


def test_uct_beats_random_play() -> None:
    wins = 0
    for seed in range(30):
        uct, other = Uct(seed=seed), Random(seed=seed)
        wins += result_of_match({MAX: uct, MIN: other}, seed, Limit(evaluations=200)) == MAX
        wins += result_of_match({MAX: other, MIN: uct}, seed, Limit(evaluations=200)) == MIN
    assert wins >= 45

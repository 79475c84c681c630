"""Limits in turns: a player's turn lasts until the other player moves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import CHANCE, MAX, Descent, Expectiminimax, Limit, RandomEvaluator, State
from dicent.evaluate.terminal_value import TerminalValue

PIG = dicent.make("pig", target=12, sides=3)


def value_in_turns(state: State, turns: int, last: int, evaluator: dicent.Evaluator) -> float:
    """Return the value of best play with `turns` turns left; `last` is who moved last, 0 at the start."""
    if state.result is not None:
        return float(state.result)
    if state.to_play == CHANCE:
        after = [(p, state.apply_outcome(o)) for o, p in state.outcomes]
        return sum(p * value_in_turns(child, turns, last, evaluator) for p, child in after)
    if state.to_play != last:
        if turns == 0:
            return float(evaluator.evaluate(state.game, np.array([state.cells]))[0])
        turns -= 1
    values = [value_in_turns(state.apply(a), turns, state.to_play, evaluator) for a in state.legal_actions]
    return max(values) if state.to_play == MAX else min(values)


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("position", ["0 0 0 1 -", "7 5 4 1 -", "6 9 0 2 -", "5 5 3 2 *"])
def test_search_in_turns_equals_brute_force(position: str, turns: int) -> None:
    evaluator = RandomEvaluator(seed=4)
    state = PIG.parse(position)
    analysis = Expectiminimax(evaluator).analyse(state, Limit(turns=turns))
    assert analysis.value == pytest.approx(value_in_turns(state, turns, 0, evaluator))


def test_a_turn_is_longer_than_a_ply_where_a_player_moves_again() -> None:
    start = PIG.parse("0 0 0 1 -")
    one_turn = Expectiminimax(RandomEvaluator(seed=4)).analyse(start, Limit(turns=1))
    assert one_turn.depth > 4


def test_command_takes_turns(answer: Callable[..., Any]) -> None:
    found = answer("analyse", PIG.name, "0 0 0 1 -", "--player", "expectiminimax:random=4", "--turns", "1")
    assert found["depth"] > 4


def test_player_text_takes_turns() -> None:
    player = dicent.parse_player("expectiminimax:random=1,turns=2")
    assert player.limit == Limit(turns=2)
    assert player.search.play(PIG.parse("0 0 0 1 -"), player.limit) == 0


@pytest.mark.parametrize(
    "search",
    [
        Descent(RandomEvaluator(1)),
        dicent.Determinized(Expectiminimax(RandomEvaluator(1))),
        Expectiminimax(RandomEvaluator(1), prune=True),
    ],
)
def test_other_searches_refuse_turns(search: dicent.Search) -> None:
    with pytest.raises(dicent.DicentError, match="turns"):
        search.analyse(PIG.initial_state(0), Limit(turns=1))


def test_terminal_values_by_ply_refuse_turns() -> None:
    evaluator = RandomEvaluator(1)
    evaluator.terminal = TerminalValue("depth", 40)
    with pytest.raises(dicent.DicentError, match="turns"):
        Expectiminimax(evaluator).analyse(PIG.initial_state(0), Limit(turns=1))

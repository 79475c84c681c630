"""Searches compared with exact values from another program, from brute force and from theory."""

import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent import Descent, Expectiminimax, Limit, RandomEvaluator, Unbounded
from dicent.evaluate.base import PolicyEvaluator

from .exact import Exact, value_at_horizon

RECORDS = Path(__file__).with_name("data") / "ewn_exact_positions.jsonl"
OPTIONS = {("next_higher_or_lower", -1): "ewn", ("closest", -1): "ewn:rules=paper"}
OPTIONS[("next_higher_or_lower", 12)] = "ewn:hole=true"
SEARCHES: dict[str, Callable[[int], dicent.Search]] = {
    "descent": lambda seed: Descent(RandomEvaluator(seed), seed=seed),
    "unbounded": lambda seed: Unbounded(RandomEvaluator(seed), seed=seed),
    "expectiminimax": lambda seed: Expectiminimax(RandomEvaluator(seed)),
}
ENOUGH = Limit(nodes=10_000_000)
Record = dict[str, Any]


@cache
def make(name: str) -> dicent.Game:
    return dicent.make(name)


@cache
def records(variant: str) -> tuple[Record, ...]:
    """Return the recorded positions of a variant, those with few pieces and near the end first."""
    lines = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    return tuple(
        sorted(
            (line for line in lines if OPTIONS[line["rule"], line["hole"]] == variant),
            key=lambda line: (pieces(line), steps_left(line)),
        )
    )


def pieces(record: Record) -> int:
    return len(record["red"]) + len(record["blue"])


def steps_left(record: Record) -> int:
    """Return the steps that all pieces have left, a measure of the size of the tree."""
    red = sum(8 - row - column for row, column in record["red"].values())
    return red + sum(row + column for row, column in record["blue"].values())


def position(record: Record, die: str = "-") -> dicent.State:
    cells = ["."] * 25
    for side, letters in (("red", "ABCDEF"), ("blue", "abcdef")):
        for number, (row, column) in record[side].items():
            cells[5 * row + column] = letters[int(number) - 1]
    rows = ["".join(cells[first : first + 5]) for first in range(0, 25, 5)]
    written = [
        "".join(str(len(list(run))) if sign == "." else sign for sign, run in groupby(r)) for r in rows
    ]
    game = make(OPTIONS[record["rule"], record["hole"]])
    return game.parse(f"{'/'.join(written)} 1 {die}")


def recorded_moves(record: Record, die: str) -> dict[str, float]:
    """Return the value for MAX of each move after a roll, by the game's move texts."""
    moves = {}
    for text, win in record["after_roll"][die]["moves"].items():
        number, to = text.split(">r")
        row, column = record["red"][number]
        to_row, to_column = map(int, to.split("c"))
        moves[f"{'abcde'[column]}{5 - row}{'abcde'[to_column]}{5 - to_row}"] = 2 * win - 1
    return moves


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)  # the records have twelve digits


def check_proved(analysis: dicent.Analysis, exact: Exact) -> None:
    """Check that proved values are exact."""
    if analysis.proved:
        assert analysis.value == close(exact.value(analysis.state))
    for move in analysis.moves:
        if move.proved:
            assert move.value == close(exact.value(analysis.state.apply(move.action)))


# Brute force itself


@pytest.mark.parametrize("variant", list(OPTIONS.values()))
def test_brute_force_agrees_with_the_records(variant: str) -> None:
    for record in records(variant)[::3]:
        if pieces(record) == 3:
            assert Exact().value(position(record)) == close(2 * record["p_win_to_move"] - 1)


def test_all_records_are_present() -> None:
    assert {variant: len(records(variant)) for variant in OPTIONS.values()} == {
        "ewn": 65,
        "ewn:rules=paper": 29,
        "ewn:hole=true": 16,
    }


# EinStein würfelt nicht! with official rules, as native code


@pytest.mark.parametrize("search", list(SEARCHES))
def test_endgames_are_solved(search: str) -> None:
    for seed, record in enumerate(records("ewn")):
        if steps_left(record) > 21:
            continue  # up to a million states
        analysis = SEARCHES[search](seed).analyse(position(record), ENOUGH)
        assert analysis.proved, str(analysis.state)
        assert analysis.value == close(2 * record["p_win_to_move"] - 1), str(analysis.state)
        assert analysis.win == close(record["p_win_to_move"])
        by_die = {outcome.text: (1 + outcome.value) / 2 for outcome in analysis.by_outcome}
        assert by_die == close({die: after["v"] for die, after in record["after_roll"].items()})


@pytest.mark.parametrize("search", list(SEARCHES))
def test_best_moves_after_each_roll_are_exact(search: str) -> None:
    for seed, record in enumerate(records("ewn")):
        if steps_left(record) > 15:
            continue
        for die, after in record["after_roll"].items():
            analysis = SEARCHES[search](seed).analyse(position(record, die), ENOUGH)
            expected = recorded_moves(record, die)
            assert analysis.proved
            assert analysis.value == close(2 * after["v"] - 1)
            assert {move.text for move in analysis.moves} == set(expected)
            assert expected[analysis.moves[0].text] == close(analysis.value)
            for move in analysis.moves:  # once a sure win is found, the other moves are not searched
                assert move.proved or analysis.value == close(1)
                assert not move.proved or move.value == close(expected[move.text])


@pytest.mark.parametrize("search", list(SEARCHES))
def test_every_evaluator_leads_to_the_same_value(search: str) -> None:
    for record in [record for record in records("ewn") if steps_left(record) in (12, 13)]:
        values = [SEARCHES[search](seed).analyse(position(record), ENOUGH).value for seed in range(8)]
        assert values == close([2 * record["p_win_to_move"] - 1] * 8)


@pytest.mark.parametrize("search", list(SEARCHES))
def test_swapping_colours_negates_values(search: str) -> None:
    for record in [record for record in records("ewn") if 12 <= steps_left(record) <= 14]:
        image = next(symmetry.state for symmetry in position(record).symmetries if symmetry.sign == -1)
        analysis = SEARCHES[search](3).analyse(image, ENOUGH)
        assert analysis.proved
        assert (analysis.value, analysis.win) == close(
            (1 - 2 * record["p_win_to_move"], record["p_win_to_move"])
        )


def random_endgame(seed: int) -> dicent.State:
    """Return a position of two pieces against two, near enough to the end for brute force."""
    chooser = random.Random(seed)
    while True:
        cells = chooser.sample(range(25), 4)
        numbers = [*chooser.sample("ABCDEF", 2), *chooser.sample("abcdef", 2)]
        steps = sum(
            8 - cell // 5 - cell % 5 if i < 2 else cell // 5 + cell % 5 for i, cell in enumerate(cells)
        )
        board = ["."] * 25
        for cell, number in zip(cells, numbers, strict=True):
            board[cell] = number
        if 12 <= steps <= 18 and board[0] not in numbers[2:] and board[24] not in numbers[:2]:
            rows = "/".join("".join(board[first : first + 5]) for first in range(0, 25, 5))
            for run in range(5, 0, -1):
                rows = rows.replace("." * run, str(run))
            return make("ewn").parse(f"{rows} {chooser.choice('12')} -")


@pytest.mark.parametrize("seed", range(20))
def test_random_endgames_are_solved(seed: int) -> None:
    state, exact = random_endgame(seed), Exact()
    after_roll = state.apply_outcome(seed % 6)
    for build in SEARCHES.values():
        analysis = build(seed).analyse(state, ENOUGH)
        assert analysis.proved
        assert analysis.value == close(exact.value(state))
        analysis = build(seed).analyse(after_roll, ENOUGH)
        assert analysis.proved
        assert exact.moves(after_roll)[analysis.best] == close(exact.value(after_roll))
        check_proved(analysis, exact)


EXACT = Exact()


@settings(max_examples=150, deadline=None)
@given(
    number=st.integers(0, 30),
    die=st.sampled_from("-123456"),
    search=st.sampled_from(
        [*SEARCHES.values(), lambda seed: Descent(RandomEvaluator(seed), completion=False)]
    ),
    seed=st.integers(0, 2**40),
    nodes=st.integers(0, 400),
)
def test_proved_values_are_exact_after_any_budget(
    number: int, die: str, search: Callable[[int], dicent.Search], seed: int, nodes: int
) -> None:
    small = [record for record in records("ewn") if steps_left(record) <= 15]
    state = position(small[number % len(small)], die)
    check_proved(search(seed).analyse(state, Limit(nodes=nodes)), EXACT)


# Rules of the paper, and a hole in the board


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", list(SEARCHES))
@pytest.mark.parametrize("variant", ["ewn:rules=paper", "ewn:hole=true"])
def test_endgames_of_variants_are_solved(variant: str, search: str) -> None:
    solved = 0
    for seed, record in enumerate(records(variant)):
        if steps_left(record) > 13:
            continue
        analysis = SEARCHES[search](seed).analyse(position(record), ENOUGH)
        assert analysis.proved
        assert analysis.value == close(2 * record["p_win_to_move"] - 1), str(analysis.state)
        by_die = {outcome.text: (1 + outcome.value) / 2 for outcome in analysis.by_outcome}
        assert by_die == close({die: after["v"] for die, after in record["after_roll"].items()})
        solved += 1
    assert solved >= 7


# Games without dice


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", list(SEARCHES))
def test_tic_tac_toe_is_a_draw(search: str) -> None:
    analysis = SEARCHES[search](1).analyse(make("tic-tac-toe").initial_state(), ENOUGH)
    assert (analysis.value, analysis.win, analysis.proved) == (0, 0.5, True)
    assert all(move.value == 0 and move.proved for move in analysis.moves)


@pytest.mark.parametrize("search", ["descent", "unbounded"])
def test_connect_four_on_a_board_of_four_by_four_is_a_draw(search: str) -> None:
    state = make("connect-four:rows=4,columns=4").initial_state()
    analysis = SEARCHES[search](1).analyse(state, ENOUGH)
    assert (analysis.value, analysis.win, analysis.proved) == (0, 0.5, True)


def positions_of_random_games(game: dicent.Game, games: int) -> Iterator[dicent.State]:
    """Yield one unfinished position of each game."""
    for seed in range(games):
        chooser = random.Random(seed)
        state = game.initial_state(seed)
        met = []
        while state.result is None:
            met.append(state)
            if state.is_chance:
                state = state.apply_outcome(chooser.choice(state.outcomes)[0])
            else:
                state = state.apply(chooser.choice(state.legal_actions))
        yield chooser.choice(met)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", list(SEARCHES))
@pytest.mark.parametrize(
    "name",
    [
        "tic-tac-toe",
        "connect-four:rows=3,columns=3,line=3",
        "connect-four:rows=3,columns=4,line=3",
        "dice-nim",
    ],
)
def test_small_games_agree_with_brute_force(name: str, search: str) -> None:
    exact = Exact()
    for seed, state in enumerate(positions_of_random_games(make(name), 10)):
        analysis = SEARCHES[search](seed).analyse(state, ENOUGH)
        assert analysis.proved
        assert analysis.value == close(exact.value(state)), f"{state} with seed {seed}"
        check_proved(analysis, exact)
        check_proved(SEARCHES[search](seed).analyse(state, Limit(nodes=30)), exact)


# Dice Nim, also for searches that do not prove


class Oracle(PolicyEvaluator):
    """An evaluator with exact values and a uniform policy."""

    def __init__(self) -> None:
        self.exact = Exact()

    def evaluate(self, game: dicent.Game, states: Any) -> Any:
        return np.array([self.exact.value(game.state(state)) for state in states])

    def evaluate_with_policy(self, game: dicent.Game, states: Any) -> Any:
        return self.evaluate(game, states), np.zeros((len(states), game.num_actions), np.float32)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("text", ["7 1 -", "9 2 -", "6 1 3", "9 2 5"])
def test_one_ply_with_exact_values_is_exact(text: str) -> None:
    oracle, state = Oracle(), make("dice-nim").parse(text)
    for search in (dicent.Greedy(oracle), Descent(oracle), Unbounded(oracle), Expectiminimax(oracle)):
        analysis = search.analyse(state, Limit(nodes=0))
        assert analysis.value == close(oracle.exact.value(state))
        expected = oracle.exact.moves(state)
        assert {move.action: move.value for move in analysis.moves} == close(expected)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", [dicent.Uct(), dicent.Puct(Oracle())], ids=["uct", "puct"])
def test_simulations_approach_the_exact_value(search: dicent.Search) -> None:
    exact = Exact()
    for text in ("5 1 2", "6 2 3"):
        state = make("dice-nim").parse(text)
        analysis = search.analyse(state, Limit(evaluations=1000))
        assert analysis.value == pytest.approx(exact.value(state), abs=0.2)
        assert exact.moves(state)[analysis.best] == close(exact.value(state))


# Expectiminimax depth by depth

HORIZONS = [("ABC2/DE3/F3f/3de/2abc 1 2", 5), ("5/1B3/C1b2/2e2/5 2 -", 6), ("5/3D1/1AF2/e4/5 1 4", 7)]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("text", "deepest"), HORIZONS)
@pytest.mark.parametrize("prune", [False, True])
def test_each_depth_equals_plain_recursion(text: str, deepest: int, prune: bool) -> None:
    state, evaluator = make("ewn").parse(text), RandomEvaluator(5)
    for depth in range(1, deepest + 1):
        analysis = Expectiminimax(evaluator, prune=prune).analyse(state, Limit(depth=depth))
        assert analysis.depth == depth
        assert analysis.value == pytest.approx(value_at_horizon(state, depth, evaluator), abs=1e-12)
        for move in analysis.moves:
            expected = value_at_horizon(state.apply(move.action), depth - 1, evaluator)
            assert move.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("text", "deepest"), HORIZONS)
def test_an_unfinished_depth_is_discarded(text: str, deepest: int) -> None:
    state, search = make("ewn").parse(text), Expectiminimax(RandomEvaluator(5))
    for depth in range(1, deepest):
        finished = search.analyse(state, Limit(depth=depth))
        needed = search.analyse(state, Limit(depth=depth + 1)).evaluations
        stopped = search.analyse(state, Limit(evaluations=needed - 6))  # an expansion evaluates at most six
        assert finished.evaluations <= stopped.evaluations < needed + 6
        assert (stopped.depth, stopped.value) == (depth, finished.value)
        values = [[(move.action, move.value) for move in a.moves] for a in (stopped, finished)]
        assert values[0] == values[1]

"""Determinized: a search of the game in which all rolls are known in advance."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, Determinized, Expectiminimax, Limit, Puct, RandomEvaluator, Uct, Unbounded
from dicent.errors import IllegalOutcomeError

from .exact import Asked, Exact, check_usable, written_out

pytestmark = pytest.mark.usefixtures("uncompiled")

# The same game with and without chance states that have one outcome.
FORESEEN = """
r    max      0.0   ca cb
ca   chance   0.9   a:1
cb   chance  -0.9   cbb:1
cbb  chance  -0.8   b:1
a    min      0.6   cx cy
b    min      0.4   z=0 w=1
cx   chance   0.7   x:1
cy   chance   0.1   y=-1:1
x    max      0.2   xx=-1 xy=1
"""
WITHOUT_CHANCE = """
r    max      0.0   a b
a    min      0.6   x y=-1
b    min      0.4   z=0 w=1
x    max      0.2   xx=-1 xy=1
"""
UNEQUAL = """
r    max      0.0   c d
c    chance   0.0   c1:0.6 c2:0.3 c3:0.1
d    chance   0.0   d1=1:0.05 d2=-1:0.95
c1   chance   0.0   c1x=1:0.5 c1y=-1:0.5
c2   chance   0.0   c2x=1:0.2 c2y=-1:0.8
c3   min      0.0   c3x=1 c3y=0
"""
# Five rolls in a row, the last of which ends the game.
LONG = """
r    max      0.0   c1 stay=0
c1   chance   0.0   c2:0.5 e1=-1:0.5
c2   chance   0.0   c3:0.7 e2=-1:0.3
c3   chance   0.0   c4:0.7 e3=-1:0.3
c4   chance   0.0   c5:0.7 e4=-1:0.3
c5   chance   0.0   e5=1:0.7 e6=-1:0.3
"""
BEST_FIRST: dict[str, Callable[[dicent.Evaluator], dicent.Search]] = {
    "descent": lambda evaluator: Descent(evaluator),
    "plain descent": lambda evaluator: Descent(evaluator, completion=False),
    "unbounded": lambda evaluator: Unbounded(evaluator),
    "plain unbounded": lambda evaluator: Unbounded(evaluator, completion=False),
    "expectiminimax": lambda evaluator: Expectiminimax(evaluator),
}
TREES: dict[str, Callable[[], dicent.Search]] = {
    "descent": lambda: Descent(RandomEvaluator(1)),
    "unbounded": lambda: Unbounded(RandomEvaluator(1)),
    "expectiminimax": lambda: Expectiminimax(RandomEvaluator(1)),
    "uct": lambda: Uct(),
    "puct": lambda: Puct(Asked()),
}
PROVING = ["descent", "unbounded", "expectiminimax"]
ENDGAMES = ["5/b4/1F3/4e/5 1 -", "5/3D1/1AF2/e4/5 1 4", "5/1d3/A4/3fC/5 2 -", "5/5/1e1ED/3d1/5 2 4"]


def determinized(name: str, seed: int) -> Determinized:
    return Determinized(TREES[name](), seed)  # type: ignore[arg-type]


def chi_square(counts: list[int], probabilities: list[float]) -> float:
    expected = sum(counts) * np.array(probabilities)
    return float(((np.array(counts) - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("name", list(BEST_FIRST))
@pytest.mark.parametrize("evaluations", [0, 2, 3, 100])
def test_resolved_rolls_are_skipped(tmp_path: Path, name: str, evaluations: int) -> None:
    (tmp_path / "other").mkdir()
    game, evaluator = written_out(tmp_path, FORESEEN)
    without, evaluator_without = written_out(tmp_path / "other", WITHOUT_CHANCE)
    limit = Limit(evaluations=evaluations)
    skipping = Determinized(BEST_FIRST[name](evaluator), 7)  # type: ignore[arg-type]
    analysis = skipping.analyse(game.initial_state(), limit)
    plain = BEST_FIRST[name](evaluator_without).analyse(without.initial_state(), limit)
    assert (analysis.value, analysis.win, analysis.proved) == (plain.value, plain.win, plain.proved)
    assert (analysis.depth, analysis.evaluations) == (plain.depth, plain.evaluations)
    assert evaluator.asked == evaluator_without.asked
    for move, plain_move in zip(analysis.moves, plain.moves, strict=True):
        assert move.text.removeprefix("c")[-1] == plain_move.text
        assert (move.value, move.visits, move.proved) == (
            plain_move.value,
            plain_move.visits,
            plain_move.proved,
        )


@pytest.mark.parametrize("name", PROVING)
def test_rolls_with_one_outcome_change_no_value(tmp_path: Path, name: str) -> None:
    game, evaluator = written_out(tmp_path, FORESEEN)
    state, limit = game.initial_state(), Limit(nodes=1000)
    analysis = Determinized(BEST_FIRST[name](evaluator)).analyse(state, limit)  # type: ignore[arg-type]
    plain = BEST_FIRST[name](evaluator).analyse(state, limit)
    assert (analysis.value, analysis.proved, analysis.best) == (plain.value, plain.proved, plain.best)
    assert analysis.value == Exact().value(state)


def outcomes(state: dicent.State, seeds: int) -> list[int]:
    """Count how often each outcome of a chance state is drawn, over many seeds."""
    counts = Counter(determinized("descent", seed).outcome(state) for seed in range(seeds))
    return [counts[outcome] for outcome, _ in state.outcomes]


def test_outcomes_follow_their_probabilities(tmp_path: Path) -> None:
    # Chi-square with 5, 2 and 1 degrees of freedom exceeds these bounds once in 10,000 times.
    game, _ = written_out(tmp_path, UNEQUAL)
    rolls = outcomes(dicent.make("ewn").parse("5/b4/1F3/4e/5 1 -"), 3000)
    assert chi_square(rolls, [1 / 6] * 6) < 25.7
    assert chi_square(outcomes(game.parse("c"), 3000), [0.6, 0.3, 0.1]) < 18.4
    assert chi_square(outcomes(game.parse("d"), 3000), [0.05, 0.95]) < 15.1


def test_consecutive_rolls_are_independent(tmp_path: Path) -> None:
    game, _ = written_out(tmp_path, UNEQUAL)
    pairs: Counter[tuple[int, int]] = Counter()
    for seed in range(4000):
        search = determinized("descent", seed)
        pairs[search.outcome(game.parse("c")), search.outcome(game.parse("c2"))] += 1
    expected = [first * second for first, second in product((0.6, 0.3, 0.1), (0.2, 0.8))]
    assert chi_square([pairs[pair] for pair in product(range(3), range(2))], expected) < 25.7


def test_rolls_of_different_states_are_independent() -> None:
    game = dicent.make("ewn")
    rolls = Counter(determinized("descent", 5).outcome(game.initial_state(seed)) for seed in range(3000))
    assert chi_square([rolls[face] for face in range(6)], [1 / 6] * 6) < 25.7


def test_an_outcome_depends_on_seed_and_state_alone() -> None:
    game = dicent.make("ewn")
    first, second = game.parse("5/b4/1F3/4e/5 1 -"), game.parse("5/b4/1F3/4e/5 2 -")
    searches = [determinized(name, 3) for name in TREES]
    expected = [(search.outcome(first), search.outcome(second)) for search in searches]
    assert len(set(expected)) == 1
    for search in searches:
        search.analyse(first, Limit(nodes=50))
        assert search.outcome(second) == expected[0][1]  # in reverse order, after other calls
        assert search.outcome(game.state(first.cells)) == expected[0][0]
    assert len({determinized("descent", seed).outcome(first) for seed in range(50)}) == 6


@pytest.mark.parametrize("text", ["5/b4/1F3/4e/5 1 3", "15 2 4"])
def test_only_chance_states_have_an_outcome(text: str) -> None:
    state = dicent.make("ewn" if "/" in text else "dice-nim").parse(text)
    with pytest.raises(IllegalOutcomeError, match="turn: use apply"):
        determinized("descent", 1).outcome(state)


@pytest.mark.parametrize("name", list(TREES))
@pytest.mark.parametrize("seed", range(3))
def test_all_searches_see_the_same_rolls(name: str, seed: int) -> None:
    search = determinized(name, seed)
    for text in ("15 1 -", "15 2 -", "15 1 6"):  # rolls of both players
        state = dicent.make("dice-nim").parse(text)
        analysis = search.analyse(state, Limit(nodes=200))
        check_usable(analysis)
        if state.is_chance:
            assert [(info.outcome, info.p) for info in analysis.by_outcome] == [(search.outcome(state), 1)]
        assert analysis.tree is not None
        tree = analysis.tree.tree
        met = 0
        for node in range(tree.nodes[0]):
            known = state.game.state(tree.state[0, node])
            if known.is_chance and tree.num_edges[0, node]:
                edge = tree.first_edge[0, node]
                assert (tree.num_edges[0, node], tree.choice[0, edge]) == (1, search.outcome(known))
                met += 1
            elif known.to_play != dicent.CHANCE and node and known.result is None:
                before = state.game.state([known.cells[0], 0, known.cells[2]])  # before the roll
                assert search.outcome(before) == known.cells[1] - 1
        assert met > 3 or name == "expectiminimax"  # its tree has no chance states below the root


@pytest.mark.parametrize("name", PROVING)
@pytest.mark.parametrize("text", ENDGAMES)
def test_endgames_are_solved_as_if_the_rolls_were_known(name: str, text: str) -> None:
    state = dicent.make("ewn").parse(text)
    for seed in range(6):
        search = determinized(name, seed)
        exact = Exact(search.outcome)
        analysis = search.analyse(state, Limit(nodes=1_000_000))
        assert analysis.proved
        assert analysis.value == exact.value(state)
        assert abs(analysis.value) == 1  # all rolls are known
        for move in analysis.moves:
            assert not move.proved or move.value == exact.moves(state)[move.action]


@pytest.mark.parametrize("name", PROVING)
@pytest.mark.parametrize("table", [UNEQUAL, LONG], ids=["two rolls", "five rolls"])
def test_consecutive_rolls_are_solved(tmp_path: Path, name: str, table: str) -> None:
    game, evaluator = written_out(tmp_path, table)
    values = set()
    for seed in range(20):
        search = Determinized(BEST_FIRST[name](evaluator), seed)  # type: ignore[arg-type]
        exact = Exact(search.outcome)
        for state in (game.initial_state(), game.initial_state().apply(0)):
            analysis = search.analyse(state, Limit(nodes=1000))
            assert analysis.proved
            assert analysis.value == exact.value(state)
            values.add(analysis.value)
    assert {-1, 1} <= values


def test_the_inner_search_is_not_changed() -> None:
    inner = Descent(RandomEvaluator(1))
    state = dicent.make("dice-nim").initial_state()
    before = inner.analyse(state, Limit(nodes=50)).value
    Determinized(inner, 1).analyse(state, Limit(nodes=50))
    assert inner.analyse(state, Limit(nodes=50)).value == before

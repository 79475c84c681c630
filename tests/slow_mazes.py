"""Proofs and values of searches in tens of thousands of random games with cycles, run by `make mazes`."""

import sys
from collections.abc import Callable
from functools import partial

import pytest

import dicent
from dicent.evaluate.base import Evaluator
from dicent.search.descent import Descent
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.tree_search import TreeSearch
from dicent.search.unbounded import Unbounded

from .maze_proofs import MAZES, Exact, search_mazes, starts_of

COUNT = 5000  # mazes of each size
Solved = tuple[Exact, list[dicent.State]]
PRUNED = partial(Expectiminimax, prune=True)
SEARCHES = {"descent": Descent, "unbounded": Unbounded, "expectiminimax": Expectiminimax, "pruned": PRUNED}


@pytest.fixture(
    scope="module",
    params=[(rooms, scored) for rooms in (3, 8, 30) for scored in (False, True)],
    ids=lambda which: f"{which[0]} rooms, {'points' if which[1] else 'wins'}",
)
def solved(request: pytest.FixtureRequest) -> Solved:
    rooms, scored = request.param
    game = dicent.load(MAZES, rooms=rooms)
    exact, starts = Exact(game, scored), starts_of(game, range(COUNT))
    exact.add(starts)
    return exact, starts


@pytest.mark.parametrize("name", SEARCHES)
def test_no_wrong_proof_in_thousands_of_mazes(solved: Solved, name: str) -> None:
    exact, starts = solved
    make: Callable[[Evaluator], TreeSearch] = SEARCHES[name]
    if name == "pruned" and exact.scored:
        pytest.skip("pruning counts a finished game as its result")
    found = search_mazes(make, exact, starts)
    values = "points" if exact.scored else "wins"
    sys.stdout.write(f"\nmazes of {exact.game.options['rooms']} rooms, {values}, {name}: {found}\n")
    assert found.moves > COUNT / 4  # otherwise little was checked
    assert name == "pruned" or found.converged()  # it sees few plies with so few evaluations

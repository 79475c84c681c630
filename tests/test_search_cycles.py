"""Searches on games with cycles and scores: no wrong proof, budgets that hold, values that converge."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import dicent
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native import RandomEvaluator
from dicent.evaluate.terminal_value import terminal_value
from dicent.exact.graph_solver import GraphSolver
from dicent.game import Cells
from dicent.kernels.searches import DONE, SEARCHING
from dicent.search.descent import Descent
from dicent.search.determinized import Determinized
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch
from dicent.search.unbounded import Unbounded

from .maze_proofs import MAZES, Exact, search_mazes, starts_of

# MAX takes 1 point now, or goes on and takes 3 points.
POINTS = '''
"""Points: take one now or three later."""
from dicent.game import MAX, ONGOING

NAME, STATE_SIZE, NUM_ACTIONS, NUM_OUTCOMES, INPUT_SHAPE = "points", 1, 2, 0, (1, 1, 1)
{more}

def initial(s, rng):
    s[0] = 0

def to_play(s):
    return MAX

def legal_actions(s, out):
    out[0], out[1] = 0, 1
    return 2 if s[0] == 0 else 1

def apply_action(s, a):
    s[0] = 3 if s[0] == 1 else (1 if a == 1 else 2)

def result(s):
    return MAX if s[0] >= 2 else ONGOING

def score(s):
    return 1.0 if s[0] == 2 else 3.0

def encode(s, planes):
    planes[0, 0, 0] = s[0]
'''
# MAX walks to the end, or back by a step.
CORRIDOR = '''
"""Corridor: sixty steps."""
from dicent.game import MAX, ONGOING

NAME, STATE_SIZE, NUM_ACTIONS, NUM_OUTCOMES, INPUT_SHAPE = "corridor", 1, 2, 0, (1, 1, 1)
CYCLIC = True

def initial(s, rng):
    s[0] = 0

def to_play(s):
    return MAX

def legal_actions(s, out):
    out[0], out[1] = 0, 1
    return 2

def apply_action(s, a):
    s[0] = s[0] + 1 if a == 0 else max(0, s[0] - 1)

def result(s):
    return MAX if s[0] == 60 else ONGOING

def encode(s, planes):
    planes[0, 0, 0] = s[0]
'''
SEARCHES = [Descent, Unbounded, Expectiminimax]


def points_game(folder: Path, more: str = "") -> dicent.Game:
    file = folder / "points.py"
    file.write_text(POINTS.format(more=more))
    return dicent.load(file)


def for_score(search: type[TreeSearch], game: dicent.Game, seed: int = 1) -> TreeSearch:
    evaluator = RandomEvaluator(seed=seed)
    evaluator.terminal = terminal_value("score", game)
    return search(evaluator)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("more", ["", "MAX_SCORE = 3"])
def test_sure_win_is_no_exact_score(search: type[TreeSearch], more: str, tmp_path: Path) -> None:
    game = points_game(tmp_path, more)
    analysis = for_score(search, game).analyse(game.initial_state(0), dicent.Limit(nodes=100, depth=4))
    assert (analysis.value, analysis.proved, analysis.best) == (3.0, True, 1)


@pytest.mark.usefixtures("uncompiled")
def test_action_with_the_largest_score_resolves_at_once(tmp_path: Path) -> None:
    game = points_game(tmp_path, "MAX_SCORE = 1")  # a false bound shows that it is used
    analysis = for_score(Expectiminimax, game).analyse(game.initial_state(0), dicent.Limit(depth=1))
    assert (analysis.value, analysis.proved) == (1.0, True)


def steps_of(search: TreeSearch, game: dicent.Game, limit: dicent.Limit) -> int:
    """Search step by step, check the path after each one, and return how many there were."""
    group, steps = Group(search, game, nodes=1 << 15), 0
    group.begin(0, game.initial_state(0), limit)
    searches = group.searches
    while searches.status[0] == SEARCHING:
        group.advance(1)
        steps += 1
        path = searches.path[0, : searches.length[0]].tolist()
        assert len(set(path)) == len(path)
    assert searches.status[0] == DONE
    assert searches.evaluations[0] <= limit.evaluations
    return steps


@pytest.mark.parametrize("search", [Descent, Unbounded])
@pytest.mark.parametrize("name", ["pig:target=20", f"{MAZES}", f"{MAZES}:rooms=100"])
def test_a_limit_of_evaluations_limits_steps_on_cycles(search: type[TreeSearch], name: str) -> None:
    """No state occurs twice on a path, and an evaluation of the limit pays for few steps."""
    steps = steps_of(search(RandomEvaluator(seed=3)), dicent.make(name), dicent.Limit(evaluations=4000))
    assert steps < 8 * 4000


@pytest.mark.usefixtures("uncompiled")
def test_walks_that_expand_nothing_are_charged_by_their_steps(tmp_path: Path) -> None:
    """Without completion each descent walks the best line, which the first descent has expanded."""
    (tmp_path / "corridor.py").write_text(CORRIDOR, encoding="utf-8")
    game = dicent.load(tmp_path / "corridor.py")
    search = Descent(dicent.Function(lambda planes: planes[:, 0, 0, 0] / 100), completion=False)
    group, steps = Group(search, game), 0
    group.begin(0, game.initial_state(0), dicent.Limit(evaluations=1000))
    while group.searches.status[0] != DONE:
        group.advance(1)
        group.value_waiting()
        steps += 1
    assert group.searches.evaluations[0] < 100
    assert group.searches.depth[0] == 60
    assert steps < 3 * 1000


class Counting(Evaluator):
    """Values of 0, and a count of the states that were asked for."""

    asked = 0

    def evaluate(self, game: dicent.Game, states: Cells) -> npt.NDArray[np.float64]:
        """Return zeros, and count the states."""
        self.asked += len(states)
        return np.zeros(len(states))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", [Descent, Unbounded])
@pytest.mark.parametrize("limit", [dicent.Limit(evaluations=2000), dicent.Limit(nodes=2000)])
def test_reports_count_evaluated_states_only(search: type[TreeSearch], limit: dicent.Limit) -> None:
    """The whole graph is soon known; later iterations use the limit up and evaluate nothing."""
    game = dicent.make("pig", target=6)
    evaluator = Counting()
    analysis = search(evaluator).analyse(game.initial_state(0), limit)
    assert analysis.tree is not None
    assert analysis.evaluations == evaluator.asked < 1000
    assert analysis.nodes == analysis.tree.tree.nodes[0] - 1 < 1000


@pytest.mark.parametrize("search", SEARCHES)
def test_values_of_pig_converge_to_the_exact_ones(search: type[TreeSearch]) -> None:
    game = dicent.make("pig", target=20)
    start = game.initial_state(0)
    exact = GraphSolver(game, 100_000).value_of(start)
    # Each layer of Expectiminimax repeats the states of the layers before it, so it converges slowly.
    allowed = 0.1 if search is Expectiminimax else 0.01
    analysis = search(RandomEvaluator(seed=1)).analyse(start, dicent.Limit(evaluations=200_000))
    assert analysis.value == pytest.approx(exact, abs=allowed)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("scored", [False, True])
def test_no_wrong_proof_and_convergence_in_random_mazes(search: type[TreeSearch], scored: bool) -> None:
    """In 400 small games with cycles proved values are exact, and all come close (slow_mazes.py has more)."""
    game = dicent.load(MAZES)  # ends are worth 1 to 3 points
    exact, starts = Exact(game, scored), starts_of(game, range(400))
    exact.add(starts)
    found = search_mazes(search, exact, starts)
    assert found.moves > 100  # otherwise little was checked
    assert found.converged()


def test_determinized_rolls_differ_when_a_state_recurs() -> None:
    game = dicent.make("pig", target=100)
    search = Determinized(Descent(RandomEvaluator(seed=1)), seed=5)
    rolling = game.parse("0 0 0 1 *")
    outcomes = [search.outcome(rolling, ply) for ply in range(60)]
    assert set(outcomes) == set(range(6))
    assert outcomes == [search.outcome(rolling, ply) for ply in range(60)]


def test_determinized_rolls_depend_on_the_state_alone_without_cycles() -> None:
    game = dicent.make("ewn")
    search = Determinized(Descent(RandomEvaluator(seed=1)), seed=5)
    rolling = next(s for s in _chance_states(game))
    assert {search.outcome(rolling, ply) for ply in range(20)} == {search.outcome(rolling)}


def _chance_states(game: dicent.Game) -> list[dicent.State]:
    state = game.initial_state(1)
    while not state.is_chance:
        state = state.apply(state.legal_actions[0])
    return [state]

"""Exact marks and policies of evaluators, through wrappers and into searches."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

import dicent
from dicent import (
    Cached,
    Descent,
    DicentError,
    Evaluator,
    Expectiminimax,
    Game,
    Limit,
    Network,
    Puct,
    RandomEvaluator,
    Search,
    Symmetric,
    Unbounded,
)
from dicent.evaluate.base import Marks, Values
from dicent.game import Cells
from dicent.kernels.tree import TERMINAL
from dicent.nets.residual import ResidualNetwork

from .exact import Exact
from .golden_trees import BytePolicy

pytestmark = pytest.mark.usefixtures("uncompiled")

EWN = dicent.make("ewn")
ENDGAME = "F4/1A3/5/3b1/5 1 -"
WRAPPERS: list[Callable[[Evaluator], Evaluator]] = [Cached, Symmetric]


class Known(Evaluator):
    """An evaluator with exact values of the states that `covers` accepts, and `other` elsewhere."""

    exact = Exact()

    def __init__(self, covers: Callable[[Cells], bool] = lambda cells: True, other: float = 0.3) -> None:
        self.covers, self.other = covers, other
        self.asked = 0

    def evaluate(self, game: Game, states: Cells) -> Values:
        return self.evaluate_marked(game, states)[0]

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        self.asked += len(states)
        marks = np.array([self.covers(cells) for cells in states])
        values = [
            self.exact.value(game.state(cells)) if mark else self.other
            for cells, mark in zip(states, marks, strict=True)
        ]
        return np.array(values), marks


def is_first_players(cells: Cells) -> bool:
    """Accept positions in which MAX moves next; swapping the players' roles gives all others."""
    return bool(cells[EWN.rules.module.MOVER] == dicent.MAX)


# Exact marks


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_keep_exact_marks_so_that_descent_proves_an_endgame(
    wrapper: Callable[[Evaluator], Evaluator],
) -> None:
    state, limit = EWN.parse(ENDGAME), Limit(nodes=50)
    plain, wrapped = (Descent(e).analyse(state, limit) for e in (Known(), wrapper(Known())))
    assert plain.proved
    assert wrapped.proved
    assert wrapped.value == pytest.approx(plain.value, abs=1e-12)


def test_cached_remembers_marks() -> None:
    inner = Known(lambda cells: bool(cells.sum() % 2))
    cached = Cached(inner)
    states = np.array([EWN.parse(ENDGAME).apply_outcome(die).cells for die in range(6)])
    expected = inner.evaluate_marked(EWN, states)
    inner.asked = 0
    for _ in range(2):
        values, exact = cached.evaluate_marked(EWN, states)
        assert exact is not None
        assert values.tolist() == expected[0].tolist()
        assert exact.tolist() == expected[1].tolist()  # type: ignore[union-attr]  # Known always marks
    assert inner.asked == 6
    assert cached.evaluate(EWN, states).tolist() == expected[0].tolist()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_of_evaluators_without_marks_have_none(wrapper: Callable[[Evaluator], Evaluator]) -> None:
    wrapped = wrapper(RandomEvaluator(1))
    assert not wrapped.marks
    assert wrapped.evaluate_marked(EWN, EWN.parse(ENDGAME).cells[None])[1] is None
    assert wrapper(Known()).marks


def test_a_symmetric_value_is_exact_if_that_of_any_image_is() -> None:
    """The inexact images are worth 0.3 and must not be averaged in."""
    symmetric = Symmetric(Known(is_first_players))
    for text in (ENDGAME, ENDGAME.replace(" 1 ", " 2 ")):  # the second is known only through its images
        state = EWN.parse(text)
        values, exact = symmetric.evaluate_marked(EWN, state.cells[None])
        assert exact is not None
        assert exact.tolist() == [True]
        assert values[0] == pytest.approx(Known.exact.value(state), abs=1e-12)
    values, exact = Symmetric(Known(lambda cells: False)).evaluate_marked(EWN, state.cells[None])
    assert exact is not None
    assert exact.tolist() == [False]


# Exact marks without completion

PLAIN: dict[str, Callable[[Evaluator], Search]] = {
    "descent": lambda evaluator: Descent(evaluator, completion=False),
    "unbounded": lambda evaluator: Unbounded(evaluator, completion=False),
    "expectiminimax": lambda evaluator: Expectiminimax(evaluator, completion=False),
}


@pytest.mark.parametrize("name", list(PLAIN))
def test_without_completion_exact_values_resolve_no_unfinished_node(name: str) -> None:
    analysis = PLAIN[name](Known()).analyse(EWN.parse(ENDGAME), Limit(nodes=300))
    assert analysis.tree is not None
    tree = analysis.tree.tree
    nodes = slice(0, int(tree.nodes[0]))
    ended = tree.kind[0, nodes] == TERMINAL
    assert (tree.resolved[0, nodes] == ended).all()
    assert (tree.completion[0, nodes][~ended] == 0).all()
    assert not analysis.proved


@pytest.mark.parametrize("name", list(PLAIN))
def test_without_completion_exact_values_are_values_like_any_other(name: str) -> None:
    """The same values without exact marks grow the same tree."""

    class Unmarked(Known):
        def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
            return super().evaluate_marked(game, states)[0], None

    found = []
    for evaluator in (Known(), Unmarked()):
        analysis = PLAIN[name](evaluator).analyse(EWN.parse(ENDGAME), Limit(nodes=200))
        moves = [(info.outcome, info.value) for info in analysis.by_outcome]
        found.append((analysis.value, analysis.depth, analysis.nodes, analysis.evaluations, moves))
    assert found[0] == found[1]
    assert found[0][1] > 1  # Expectiminimax searched beyond the exact values


# Policies


@pytest.fixture
def network() -> Network:
    torch.manual_seed(1)
    module = ResidualNetwork(EWN.input_shape, 4, 1, 8, num_actions=EWN.num_actions)
    return Network(module)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_puct_takes_wrapped_networks(wrapper: Callable[[Evaluator], Evaluator], network: Network) -> None:
    analysis = Puct(wrapper(network)).analyse(EWN.initial_state(1).apply_outcome(2), Limit(evaluations=40))
    assert analysis.evaluations == 40
    assert sum(move.visits for move in analysis.moves) >= 38


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_puct_refuses_wrapped_evaluators_without_a_policy(
    wrapper: Callable[[Evaluator], Evaluator],
) -> None:
    with pytest.raises(DicentError, match=f"needs an evaluator with a policy, and {wrapper.__name__} has"):
        Puct(wrapper(RandomEvaluator()))
    with pytest.raises(DicentError, match="RandomEvaluator has no policy"):
        wrapper(RandomEvaluator()).evaluate_with_policy(EWN, EWN.initial_state(1).cells[None])


def test_cached_policies_are_those_of_the_evaluator() -> None:
    inner, cached = BytePolicy(), Cached(BytePolicy(), size=3)
    states = np.array([EWN.initial_state(1).apply_outcome(die).cells for die in (0, 1, 2, 1, 3, 4)])
    for _ in range(2):
        for expected, found in zip(
            inner.evaluate_with_policy(EWN, states), cached.evaluate_with_policy(EWN, states), strict=True
        ):
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()
    assert cached.hits == 1 + 4  # the repeated state is cached, then all but the two oldest of five


def test_symmetric_policies_average_the_images(network: Network) -> None:
    symmetric, module = Symmetric(network), EWN.rules.module
    for die in range(6):
        state = EWN.initial_state(3).apply_outcome(die)
        totals, values, images = dict.fromkeys(state.legal_actions, 0.0), 0.0, 0
        for k in range(EWN.num_symmetries):
            image = EWN.empty_cells()
            sign = module.symmetry(state.cells, k, image)
            if sign == 0:
                continue
            value, logits = network.evaluate_with_policy(EWN, image[None])
            values, images = values + sign * float(value[0]), images + 1
            for action in totals:
                totals[action] += float(logits[0, module.symmetry_action(state.cells, k, action)])
        value, logits = symmetric.evaluate_with_policy(EWN, state.cells[None])
        assert value[0] == pytest.approx(values / images, abs=1e-6)
        for action, total in totals.items():
            assert logits[0, action] == pytest.approx(total / images, abs=1e-5)


def test_symmetric_policies_are_the_same_at_every_image(network: Network) -> None:
    symmetric, module = Symmetric(network), EWN.rules.module
    state = EWN.initial_state(5).apply_outcome(3)
    value, logits = symmetric.evaluate_with_policy(EWN, state.cells[None])
    for k in range(EWN.num_symmetries):
        image = EWN.empty_cells()
        sign = module.symmetry(state.cells, k, image)
        theirs, image_logits = symmetric.evaluate_with_policy(EWN, image[None])
        assert theirs[0] == pytest.approx(sign * value[0], abs=1e-6)
        for action in state.legal_actions:
            mapped = module.symmetry_action(state.cells, k, action)
            assert math.isclose(image_logits[0, mapped], logits[0, action], abs_tol=1e-5)

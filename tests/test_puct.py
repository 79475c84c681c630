"""Puct: simulations with a policy; and the trees that Puct and Uct share."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from dicent import CHANCE, DicentError, Game, Limit, Puct, RandomEvaluator, State, Uct
from dicent.kernels.constants import NONE
from dicent.kernels.tree import TERMINAL
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch

from .golden_trees import BytePolicy
from .simulating import COLUMNS, CONNECT_FOUR, EWN, LOGITS, OPENING, TIC_TAC_TOE, fixed, mean_of_moves, visits

pytestmark = pytest.mark.usefixtures("_repeatable_torch")


@pytest.fixture
def _repeatable_torch() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


class Recorder(BytePolicy):
    """An evaluator that records its states and its answers."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.values: list[float] = []

    def evaluate_with_policy(self, game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, logits = super().evaluate_with_policy(game, states)
        self.states += [game.state(state) for state in states]
        self.values += values.tolist()
        return values, logits


def visits_by_hand(simulations: int, value: float, exploration: float) -> dict[int, int]:
    """Return the visits by Q + c P sqrt(N) / (1 + n) if all states have one value; the root takes one."""
    priors = np.exp(LOGITS) / np.exp(LOGITS).sum()
    counts = np.zeros(7, int)
    for n in range(1, simulations):
        counts[np.argmax(np.where(counts > 0, value, 0) + exploration * priors * n**0.5 / (1 + counts))] += 1
    return dict(enumerate(counts.tolist()))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("value", [0.0, 0.25, -0.25])
@pytest.mark.parametrize("exploration", [0.6, 1.25])
def test_simulations_follow_priors_and_values(value: float, exploration: float) -> None:
    after = COLUMNS.apply(0)
    for simulations in (2, 3, 4, 5, 8, 12, 25, 60):
        expected = visits_by_hand(simulations, value, exploration)
        assert visits(fixed(value, exploration=exploration), COLUMNS, simulations) == expected
        assert visits(fixed(-value, exploration=exploration), after, simulations) == expected  # for MIN


@pytest.mark.usefixtures("uncompiled")
def test_visits_have_the_order_of_the_priors() -> None:
    counted = visits(fixed(), COLUMNS, 120)
    assert sorted(counted, key=counted.__getitem__) == np.argsort(LOGITS).tolist()


@pytest.mark.usefixtures("uncompiled")
def test_priors_are_normalised_over_legal_actions() -> None:
    state = TIC_TAC_TOE.parse("XOX/.../.O. 1")
    group = Group(fixed(logits=(9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 0.0, 9.0, -1.0)), TIC_TAC_TOE)
    group.begin(0, state, Limit(evaluations=2))
    group.run()
    weights = np.exp([1, 2, 3, 0, -1])
    assert group.tree.p[0, :5] == pytest.approx(weights / weights.sum(), abs=1e-6)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("state", [OPENING, EWN.parse("5/1a3/1b3/2B2/3A1 1 -")])
def test_a_network_never_sees_chance_or_the_end(state: State) -> None:
    evaluator = Recorder()
    Puct(evaluator).analyse(state, Limit(evaluations=300))
    assert len(evaluator.states) > 100
    assert all(asked.result is None and asked.to_play != CHANCE for asked in evaluator.states)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("state", [OPENING, OPENING.apply(OPENING.legal_actions[0]).apply_outcome(2)])
def test_values_are_means_for_max(state: State) -> None:
    evaluator = Recorder()
    analysis = Puct(evaluator).analyse(state, Limit(evaluations=80))
    assert evaluator.states[0] == state
    assert len(evaluator.values) == analysis.evaluations == 80
    assert sum(move.visits for move in analysis.moves) == 79
    assert analysis.value == pytest.approx(np.mean(evaluator.values[1:]))
    assert analysis.value == pytest.approx(mean_of_moves(analysis))


@pytest.mark.usefixtures("uncompiled")
def test_finished_states_count_with_their_results() -> None:
    state = TIC_TAC_TOE.parse("XO./XO./... 1")  # O threatens, and X wins in one move
    search = fixed(-0.5, logits=(0.0,) * 9)
    analysis = search.analyse(state, Limit(evaluations=200))
    win = next(move for move in analysis.moves if move.text == "a1")
    assert win == analysis.moves[0]
    assert (win.value, win.win, win.proved) == (1.0, 1.0, True)
    assert win.visits > 150


@pytest.mark.usefixtures("uncompiled")
def test_without_noise_and_chance_seeds_change_nothing() -> None:
    assert visits(fixed(seed=1), COLUMNS, 60) == visits(fixed(seed=2), COLUMNS, 60)


@pytest.mark.usefixtures("uncompiled")
def test_noise_depends_on_the_seed() -> None:
    counted = [visits(fixed(noise=0.5, seed=seed), COLUMNS, 60) for seed in (1, 1, 2, 3)]
    assert counted[0] == counted[1]
    assert len({tuple(count.values()) for count in counted}) == 3


@pytest.mark.usefixtures("uncompiled")
def test_full_noise_replaces_the_priors() -> None:
    """Noise from a Dirichlet distribution makes every action the most visited one for some seeds."""
    favourites = {
        max(counted, key=counted.__getitem__)
        for counted in (visits(fixed(noise=1, seed=seed), COLUMNS, 20) for seed in range(60))
    }
    assert favourites == set(range(7))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("temperature", [0, 0.001])
def test_at_low_temperature_the_most_visited_action_is_played(temperature: float) -> None:
    counted = visits(fixed(), COLUMNS, 100)
    search = fixed(temperature=temperature, seed=4)
    assert search.play(COLUMNS, Limit(evaluations=100)) == max(counted, key=counted.__getitem__)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("temperature", [1, 0.5])
def test_actions_are_sampled_by_their_visits(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, games = Limit(evaluations=31), 1000
    analysis = fixed().analyse(COLUMNS, limit)
    monkeypatch.setattr(Puct, "analyse", lambda *_, **__: analysis)  # the tree is the same for all seeds
    played = Counter(fixed(temperature=temperature, seed=seed).play(COLUMNS, limit) for seed in range(games))
    weights = np.array([move.visits for move in analysis.moves]) ** (1 / temperature)
    expected = games * weights / weights.sum()
    observed = np.array([played[move.action] for move in analysis.moves])
    assert expected.min() > 3
    assert ((observed - expected) ** 2 / expected).sum() < 27.9  # exceeded once in 10,000 times


@pytest.mark.usefixtures("uncompiled")
def test_default_limit_is_1600_simulations_per_move() -> None:
    evaluator = Recorder()
    assert Puct(evaluator).play(OPENING) in OPENING.legal_actions
    assert len(evaluator.values) == 1600


def test_puct_needs_a_policy() -> None:
    with pytest.raises(DicentError, match="RandomEvaluator has none"):
        Puct(RandomEvaluator())


@pytest.mark.parametrize(
    "arguments",
    [
        {"noise": -0.1},
        {"noise": 1.1},
        {"alpha": 0},
        {"alpha": math.inf},
        {"temperature": -1},
        {"noise": math.nan},
    ],
)
def test_puct_refuses_invalid_arguments(arguments: dict[str, float]) -> None:
    with pytest.raises(DicentError):
        fixed(**arguments)


def from_a_small_tree(search: TreeSearch, simulations: int) -> Group:
    """Return a search whose tree must grow many times."""
    group = Group(search, CONNECT_FOUR, nodes=16)
    group.begin(0, COLUMNS, Limit(evaluations=simulations))
    group.run()
    group.settle()
    assert group.tree.kind.shape[1] > 16
    return group


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", [Uct(), Puct(BytePolicy())])
def test_nodes_are_added_at_their_first_visit(search: TreeSearch) -> None:
    """The second visit of a state continues to its children, at any initial size of the tree."""
    tree = from_a_small_tree(search, 300).tree
    edges = np.flatnonzero(tree.visits[0, : tree.edges[0]] >= 2)
    children = tree.child[0, edges]
    inner = children[tree.kind[0, children] != TERMINAL]
    assert len(inner) > 20
    assert (tree.first_edge[0, inner] != NONE).all()


@pytest.mark.usefixtures("uncompiled")
def test_tree_growth_does_not_change_values() -> None:
    assert from_a_small_tree(fixed(0.25), 40).analysis().value == pytest.approx(0.25)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", [Uct(seed=2), Puct(BytePolicy(), seed=2)])
def test_variations_contain_tried_moves_only(search: TreeSearch) -> None:
    for simulations in (2, 5, 30):
        analysis = search.analyse(OPENING, Limit(evaluations=simulations))
        assert all(len(move.pv) <= analysis.depth for move in analysis.moves)

"""Values of evaluators and of the wrappers around them."""

import random

import numpy as np
import pytest
import torch

import dicent
from dicent import (
    Cached,
    Descent,
    DicentError,
    Evaluator,
    Function,
    Game,
    Limit,
    Network,
    RandomEvaluator,
    Rollout,
    State,
    Symmetric,
)
from dicent.evaluate.native import ConstantEvaluator
from dicent.kernels.constants import NONE
from dicent.kernels.tree import TERMINAL
from dicent.nets.residual import ResidualNetwork
from dicent.search.group import Group

pytestmark = pytest.mark.usefixtures("uncompiled")

VARIANTS = [
    "ewn",
    "ewn:rules=paper,setup=mirrored,pieces=3",
    "ewn:setup=alternate,pieces=3,size=4",
    "ewn:setup=sequential,pieces=3",
    "ewn:hole=true,pieces=3",
]


@pytest.fixture(autouse=True)
def _repeatable_torch() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def ongoing_states(name: str, games: int = 1) -> list[State]:
    """Return the states of random games, without the last of each."""
    states = []
    for seed in range(games):
        chooser = random.Random(seed)
        state = dicent.make(name).initial_state(seed)
        while state.result is None:
            states.append(state)
            if state.is_chance:
                state = state.apply_outcome(chooser.choice(state.outcomes)[0])
            else:
                state = state.apply(chooser.choice(state.legal_actions))
    return states


def cells_of(states: list[State]) -> np.ndarray:
    return np.array([state.cells for state in states])


def values_of(evaluator: Evaluator, states: list[State]) -> np.ndarray:
    return evaluator.evaluate(states[0].game, cells_of(states))


class Recorder(Evaluator):
    """Forwards batches of states, and records them."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.asked: list[bytes] = []

    def evaluate(self, game: Game, states: np.ndarray) -> np.ndarray:
        self.asked += [state.tobytes() for state in states]
        return self.evaluator.evaluate(game, states)


# Evaluators that run inside kernels.


def test_a_constant_is_zero() -> None:
    assert set(values_of(ConstantEvaluator(), ongoing_states("ewn"))) == {0.0}


def test_random_values_depend_on_state_and_seed_alone() -> None:
    states = ongoing_states("ewn")
    values = values_of(RandomEvaluator(7), states)
    again = values_of(RandomEvaluator(7), states[::-1])[::-1]
    assert values.dtype == np.float64
    assert np.array_equal(values, again)
    assert [values_of(RandomEvaluator(7), [state])[0] for state in states] == values.tolist()
    assert len(set(values)) == len(set(states))


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (3, 3 + 2**40), (0, -1)])
def test_random_values_of_different_seeds_differ(one: int, other: int) -> None:
    states = ongoing_states("ewn")
    assert (values_of(RandomEvaluator(one), states) != values_of(RandomEvaluator(other), states)).all()


def test_random_values_of_different_seeds_are_uncorrelated() -> None:
    """A seed must not act like a change of the position."""
    game = dicent.make("ewn")
    cells = np.full((24, game.state_size), -1, game.state_dtype)
    cells[:, 0], cells[:, 6], cells[:, -3:] = np.arange(24), 24, (dicent.MAX, 0, 0)
    first, second = (RandomEvaluator(seed).evaluate(game, cells).tolist() for seed in (0, 1))
    assert set(first).isdisjoint(second)


def test_random_values_are_uniform() -> None:
    values = values_of(RandomEvaluator(1), list(set(ongoing_states("ewn", games=50))))
    assert (np.abs(values) <= 1).all()
    counts, _ = np.histogram(values, bins=10, range=(-1, 1))
    expected = len(values) / 10
    assert len(values) > 1000
    assert ((counts - expected) ** 2 / expected).sum() < 33.7  # exceeded once in 10,000 times


def test_rollout_is_a_mean_of_results() -> None:
    """A longer rollout begins with the games of a shorter one."""
    states = ongoing_states("ewn")[-12:]
    totals = [games * values_of(Rollout(games, seed=3), states) for games in range(1, 6)]
    for before, after in zip([np.zeros(12), *totals], totals, strict=False):
        assert set(np.round(after - before, 9)) <= {-1, 1}


def test_rollouts_depend_on_state_and_seed_alone() -> None:
    states = ongoing_states("ewn")[-12:]
    values = values_of(Rollout(8, seed=3), states)
    assert np.array_equal(values, values_of(Rollout(8, seed=3), states[::-1])[::-1])
    assert not np.array_equal(values, values_of(Rollout(8, seed=4), states))


def test_rollout_values_agree_with_rollouts() -> None:
    state = dicent.make("ewn").parse("5/1A3/2B2/1a3/3b1 1 -")
    games = 2000
    value = values_of(Rollout(games, seed=1), [state])[0]
    results = dicent.rollouts(state, games, seed=2, threads=1).results
    spread = (results.std() + 0.1) * (2 / games) ** 0.5
    assert value == pytest.approx(results.mean(), abs=4 * spread)
    assert abs(value) < 0.9  # otherwise the bound is too weak


def test_rollout_counts_draws_as_zero() -> None:
    state = dicent.make("tic-tac-toe").parse("XOX/XOO/OX. 1")
    assert values_of(Rollout(3), [state]).tolist() == [0.0]


@pytest.mark.parametrize("games", [0, -1])
def test_rollout_needs_games(games: int) -> None:
    with pytest.raises(DicentError, match="at least one game"):
        Rollout(games)


@pytest.mark.parametrize("evaluator", [RandomEvaluator(5), Rollout(2, seed=5), ConstantEvaluator()])
def test_values_in_a_search_equal_direct_evaluation(evaluator: Evaluator) -> None:
    game = dicent.make("ewn")
    group = Group(Descent(evaluator), game)
    group.begin(0, game.parse("5/1A3/2B2/1a3/3b1 1 3"), Limit(nodes=150))
    group.run()
    tree = group.tree
    used = slice(0, tree.nodes[0])
    leaves = (tree.first_edge[0, used] == NONE) & (tree.kind[0, used] != TERMINAL)
    assert leaves.sum() > 20
    values = evaluator.evaluate(game, tree.state[0, used][leaves])
    assert np.array_equal(tree.value[0, used][leaves], values)


# Functions and wrappers.


def test_a_function_gets_the_encodings_of_all_states_at_once() -> None:
    states = ongoing_states("ewn:planes=moves")
    given = []

    def count_pieces(planes: np.ndarray) -> list[float]:
        given.append(planes)
        return planes[:, :6].sum(axis=(1, 2, 3)).tolist()

    values = values_of(Function(count_pieces), states)
    assert len(given) == 1
    assert given[0].dtype == np.float32
    assert np.array_equal(given[0], np.stack([state.encode() for state in states]))
    assert values.dtype == np.float64
    assert values.tolist() == [sum(letter.isupper() for letter in str(state)) for state in states]


def test_cached_evaluates_each_state_once() -> None:
    states = ongoing_states("ewn")
    inner = Recorder(RandomEvaluator(1))
    cached = Cached(inner)
    twice = states + states[::-1]
    expected = values_of(RandomEvaluator(1), twice)
    for _ in range(2):
        assert np.array_equal(values_of(cached, twice), expected)
    assert sorted(inner.asked) == sorted(state.cells.tobytes() for state in set(states))
    assert (cached.hits, cached.misses) == (3 * len(states), len(states))


def test_cached_drops_the_least_recently_used_state() -> None:
    one, two, three = ongoing_states("ewn")[:3]
    inner = Recorder(RandomEvaluator(1))
    cached = Cached(inner, size=2)
    for state in (one, two, one, three, one, two):  # state two is dropped when three is added
        assert values_of(cached, [state]) == values_of(RandomEvaluator(1), [state])
    assert inner.asked == [state.cells.tobytes() for state in (one, two, three, two)]
    assert (cached.hits, cached.misses) == (2, 4)


def test_a_batch_larger_than_the_cache_is_answered() -> None:
    states = ongoing_states("ewn")
    cached = Cached(RandomEvaluator(1), size=3)
    for _ in range(2):
        assert np.array_equal(values_of(cached, states), values_of(RandomEvaluator(1), states))


def test_cached_distinguishes_games() -> None:
    """The same bytes may mean different things in different games."""
    cached = Cached(Function(lambda planes: planes.sum(axis=(1, 2, 3))))
    for name in ("ewn", "ewn:rules=paper", "ewn:hole=true"):
        values_of(cached, [dicent.make(name).initial_state(0)])
    assert (cached.hits, cached.misses) == (0, 3)


@pytest.mark.parametrize("size", [0, -5])
def test_a_cache_needs_a_positive_size(size: int) -> None:
    with pytest.raises(DicentError, match="at least 1"):
        Cached(RandomEvaluator(), size=size)


@pytest.mark.parametrize("name", VARIANTS)
def test_symmetric_values_change_sign_and_nothing_else(name: str) -> None:
    symmetric = Symmetric(RandomEvaluator(2))
    for state, value in zip(ongoing_states(name), values_of(symmetric, ongoing_states(name)), strict=True):
        images = state.symmetries
        signs = np.array([image.sign for image in images])
        same = values_of(symmetric, [image.state for image in images])
        assert signs * same == pytest.approx(np.full(len(images), value), abs=1e-12)


@pytest.mark.parametrize("name", VARIANTS)
def test_symmetric_is_the_mean_over_the_images(name: str) -> None:
    states = ongoing_states(name)
    for state, value in zip(states, values_of(Symmetric(RandomEvaluator(2)), states), strict=True):
        images = state.symmetries
        inner = values_of(RandomEvaluator(2), [image.state for image in images])
        assert value == pytest.approx(np.mean([image.sign for image in images] * inner), abs=1e-12)


def test_placing_has_fewer_symmetries_than_the_race() -> None:
    counts = {len(state.symmetries) for state in ongoing_states("ewn:setup=sequential,pieces=3")}
    assert counts == {2, 4, 16}  # so that the means above are over sets of different sizes


def test_symmetric_of_a_game_without_symmetries_is_the_evaluator_itself() -> None:
    states = ongoing_states("dice-nim")
    values = values_of(Symmetric(RandomEvaluator(2)), states)
    assert np.array_equal(values, values_of(RandomEvaluator(2), states))


# Networks.

EWN = (33, 5, 5)  # the input's shape
PAPER = {"filters": 83, "blocks": 4, "hidden": 425}


def small(**settings: int) -> ResidualNetwork:
    return ResidualNetwork(EWN, filters=8, blocks=1, hidden=16, **settings)


class Watched(torch.nn.Module):
    """A one-layer network that records its batches; in training mode it returns other values."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(825, 1))
        self.batches: list[int] = []

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        assert planes.dtype == torch.float32
        assert not torch.is_grad_enabled()
        self.batches.append(len(planes))
        return self.layers(planes).squeeze(1)


def some_planes(count: int = 32) -> torch.Tensor:
    return torch.from_numpy(np.stack([state.encode() for state in ongoing_states("ewn", games=2)[:count]]))


def test_a_network_sees_the_encodings() -> None:
    states, module = ongoing_states("ewn"), small(num_actions=18)
    with torch.no_grad():
        expected, expected_logits = module(torch.stack([torch.from_numpy(s.encode()) for s in states]))
    values, logits = Network(module).evaluate_with_policy(states[0].game, cells_of(states))
    assert values == pytest.approx(expected.numpy(), abs=1e-6)
    assert logits == pytest.approx(expected_logits.numpy(), abs=1e-6)
    assert np.array_equal(values_of(Network(module), states), values)
    assert (values.dtype, logits.dtype) == (np.float64, np.float32)


def test_large_batches_are_split() -> None:
    states, module = ongoing_states("ewn")[:20], small(num_actions=18)
    whole = Network(module).evaluate_with_policy(states[0].game, cells_of(states))
    parts = Network(module, largest=7).evaluate_with_policy(states[0].game, cells_of(states))
    assert parts[0] == pytest.approx(whole[0], abs=1e-6)
    assert parts[1] == pytest.approx(whole[1], abs=1e-6)
    watched = Watched()
    values_of(Network(watched, largest=7, threads=1), states)
    assert watched.batches == [7, 7, 6]


def test_network_is_evaluated_in_evaluation_mode() -> None:
    states, module = ongoing_states("ewn"), Watched().train()
    network = Network(module)
    assert not module.training
    assert np.array_equal(values_of(network, states), values_of(network, states))


def test_a_network_without_a_policy_refuses_to_give_one() -> None:
    states = ongoing_states("ewn")
    with pytest.raises(DicentError, match="no policy"):
        Network(small()).evaluate_with_policy(states[0].game, cells_of(states))


def test_network_of_the_paper_has_the_published_size() -> None:
    network = ResidualNetwork(dicent.make("ewn-paper").input_shape)
    tower = 20 * 83 * 9 + 83 + 8 * (83 * 83 * 9 + 83)
    head = 83 * 25 * 425 + 425 + 425 * 425 + 425 + 425 + 1
    assert sum(p.numel() for p in network.parameters()) == tower + head == 1_575_471


def test_bounded_values_are_the_hyperbolic_tangent_of_unbounded_ones() -> None:
    bounded, linear = small(), small(bounded=False)
    with torch.no_grad():
        bounded.value.weight *= 100
        linear.load_state_dict(bounded.state_dict())
        values, raw = bounded(some_planes()), linear(some_planes())
    assert values.abs().max() <= 1
    assert raw.abs().max() > 1
    assert torch.allclose(values, torch.tanh(raw))


def test_shapes_of_values_and_logits() -> None:
    with torch.no_grad():
        assert small()(some_planes(5)).shape == (5,)
        assert small()(some_planes(1)).shape == (1,)
        values, logits = small(num_actions=18)(some_planes(5))
    assert (values.shape, logits.shape) == ((5,), (5, 18))


def paper_and_padded() -> tuple[ResidualNetwork, ResidualNetwork]:
    """Return the paper's network, and one padded to 96 filters and 432 units with the same weights."""
    narrow, wide = ResidualNetwork(EWN, **PAPER), ResidualNetwork(EWN, **PAPER, width=96, hidden_width=432)
    with torch.no_grad():
        for few, many in zip(narrow.parameters(), wide.parameters(), strict=True):
            many[tuple(slice(0, n) for n in few.shape)] = few
    return narrow, wide


def learn(network: ResidualNetwork, steps: int = 4) -> None:
    planes, targets = some_planes(), torch.linspace(-1, 1, 32)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(network(planes), targets).backward()
        optimiser.step()


def test_padding_changes_nothing_and_learns_nothing() -> None:
    narrow, wide = paper_and_padded()
    with torch.no_grad():
        assert torch.allclose(narrow(some_planes()), wide(some_planes()), rtol=0, atol=1e-6)
    learn(wide)
    padded = 0
    with torch.no_grad():
        for few, many in zip(narrow.parameters(), wide.parameters(), strict=True):
            padding = torch.ones_like(many, dtype=torch.bool)
            padding[tuple(slice(0, n) for n in few.shape)] = False
            padded += int(padding.sum())
            assert (many[padding] == 0).all()
            assert not torch.equal(few, many[~padding].reshape(few.shape))
            few[:] = many[~padding].reshape(few.shape)
        assert padded > 300_000
        assert torch.allclose(narrow(some_planes()), wide(some_planes()), rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [0, 50, 82])
def test_padding_is_no_smaller_than_the_filters(width: int) -> None:
    with pytest.raises(DicentError, match="width must be at least filters, 83"):
        ResidualNetwork(EWN, width=width)


@pytest.mark.parametrize("width", [0, 424])
def test_padding_is_no_smaller_than_the_hidden_layers(width: int) -> None:
    with pytest.raises(DicentError, match="hidden_width must be at least hidden, 425"):
        ResidualNetwork(EWN, hidden_width=width)

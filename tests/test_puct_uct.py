"""Searches by simulation: Uct with rollouts, Puct with a policy."""

import math
import random
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch

import dicent
from dicent import (
    CHANCE,
    MAX,
    MIN,
    Analysis,
    DicentError,
    Game,
    Limit,
    Network,
    Puct,
    Random,
    RandomEvaluator,
    Search,
    State,
    Uct,
)
from dicent.kernels.constants import NONE, SEARCH
from dicent.kernels.generator import gamma, normal, open_stream
from dicent.kernels.tree import TERMINAL
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch

from .golden_trees import BytePolicy

EWN, TIC_TAC_TOE, CONNECT_FOUR = (dicent.make(name) for name in ("ewn", "tic-tac-toe", "connect-four"))
OPENING = EWN.parse("ABC2/DE3/F3f/3de/2abc 1 2")
COLUMNS = CONNECT_FOUR.initial_state()
LOGITS = (0.3, -0.4, 1.1, 0.0, 0.7, -1.2, 0.5)


pytestmark = pytest.mark.usefixtures("_repeatable_torch")


@pytest.fixture
def _repeatable_torch() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def mean_of_moves(analysis: Analysis) -> float:
    visits = sum(move.visits for move in analysis.moves)
    return sum(move.visits * move.value for move in analysis.moves) / visits


def best(search: Search, state: State, simulations: int) -> str:
    return search.analyse(state, Limit(evaluations=simulations)).moves[0].text


# Uct


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


# Puct


class Fixed(torch.nn.Module):
    """An evaluator with the same value and logits for every state."""

    def __init__(self, value: float, logits: tuple[float, ...]) -> None:
        super().__init__()
        self.answer = torch.tensor(value), torch.tensor(logits)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value, logits = self.answer
        return value.expand(len(planes)), logits.expand(len(planes), -1)


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


def fixed(value: float = 0.0, logits: tuple[float, ...] = LOGITS, **settings: float) -> Puct:
    return Puct(Network(Fixed(value, logits)), **settings)


def visits(search: Puct, state: State, simulations: int) -> dict[int, int]:
    moves = search.analyse(state, Limit(evaluations=simulations)).moves
    return {move.action: move.visits for move in sorted(moves, key=lambda move: move.action)}


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


def stream(seed: int) -> np.ndarray:
    rng = np.empty(2, np.uint64)
    open_stream(rng, seed, 0, SEARCH)
    return rng


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance between a sample and a distribution."""
    at = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(some), at, side="right") / len(some) for some in (ours, theirs)]
    return float(np.abs(below[0] - below[1]).max())


@pytest.mark.parametrize("alpha", [0.03, 0.3, 1.0, 10.0])
def test_gamma_variates_have_their_distribution(alpha: float) -> None:
    rng, n = stream(1), 20_000
    ours = np.array([gamma(rng, alpha) for _ in range(n)])
    assert ours.mean() == pytest.approx(alpha, abs=4 * math.sqrt(alpha / n))
    fourth = alpha**2 * (2 + 6 / alpha)  # variance of (x - alpha)**2: fourth moment minus squared second
    assert ours.var() == pytest.approx(alpha, abs=4 * math.sqrt(fourth / n))
    theirs = np.random.default_rng(1).gamma(alpha, size=10 * n)
    assert distance(ours, theirs) < 1.95 * math.sqrt(1.1 / n)  # exceeded once in 1,000 times


def test_normal_variates_have_their_distribution() -> None:
    rng, n = stream(2), 20_000
    ours = np.array([normal(rng) for _ in range(n)])
    assert distance(ours, np.random.default_rng(2).normal(size=10 * n)) < 1.95 * math.sqrt(1.1 / n)


def noise_of(alpha: float, moves: int = 1, compiled: bool = False, noise: float = 0.25) -> np.ndarray:
    """Return the noise [moves, 3, 7] of three searches with seeds 1, 2 and 1."""
    group = Group(fixed(noise=noise, alpha=alpha), CONNECT_FOUR, 3, compiled=compiled)
    for m, seed in enumerate((1, 2, 1)):
        group.begin(m, COLUMNS, Limit(evaluations=2), seed)
    seen = [group.kernels.arrays()["noise"].copy()]
    for _ in range(moves - 1):
        cells = np.array([COLUMNS.cells] * 3)
        group.begin_many(np.arange(3), cells, np.zeros(3, np.int64), Limit(evaluations=2), keep=False)
        seen.append(group.kernels.arrays()["noise"].copy())
    return np.array(seen)


def test_noise_depends_on_the_random_stream_only_and_differs_by_move() -> None:
    noise = noise_of(0.3, moves=4)
    assert (noise[:, 0] == noise[:, 2]).all()
    assert len(np.unique(noise[:, :2])) == 4 * 2 * 7


@pytest.mark.parametrize("alpha", [1e-3, 0.03, 0.3, 1.0, 10.0])
def test_noise_is_the_same_compiled_and_uncompiled(alpha: float) -> None:
    assert noise_of(alpha, 50, compiled=True).tobytes() == noise_of(alpha, 50).tobytes()


@pytest.mark.parametrize("alpha", [1e-300, 1e-3, 1e9])
def test_noise_sums_to_one_for_every_alpha(alpha: float) -> None:
    noise = noise_of(alpha, 20)
    shares = noise / noise.sum(axis=2, keepdims=True)
    assert (noise > 0).all()
    assert shares.sum(axis=2) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 3.0])
def test_noise_has_a_dirichlet_distribution(alpha: float) -> None:
    """Small values of alpha are included, which usually give nearly all the noise to one action."""
    ours = noise_of(alpha, 1000)[:, 0]
    largest = (ours / ours.sum(axis=1, keepdims=True)).max(axis=1)
    theirs = np.random.default_rng(1).dirichlet([alpha] * 7, 10_000).max(axis=1)
    assert distance(largest, theirs) < 1.95 * math.sqrt(1.1 / 1000)


def test_without_noise_no_random_numbers_are_drawn() -> None:
    group = Group(fixed(), CONNECT_FOUR, compiled=False)
    group.begin(0, COLUMNS, Limit(evaluations=2), 1)
    assert group.searches.rng[0].tolist() == stream(1).tolist()


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


# Both


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

"""Self-play: which states of a game are learned, and with which values."""

from collections.abc import Callable

import numpy as np
import pytest

import dicent
from dicent import Descent, Expectiminimax, Game, Limit, Puct, RandomEvaluator, State, Unbounded
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game.binding import Bound, bind
from dicent.kernels import encoding as encoding_kernels
from dicent.kernels.searches import Searches
from dicent.kernels.tree import TERMINAL
from dicent.search.puct import PuctKernels
from dicent.search.search_kernels import Indices
from dicent.search.tree_search import TreeSearch

from .exact import value_at_horizon
from .golden_trees import BytePolicy
from .self_playing import (
    EWN,
    NIM,
    WATCHED,
    Watched,
    end_of,
    from_outside,
    numbers,
    play_games,
    roots_of,
    settings_of,
    states_of,
)

JUDGES: dict[str, Callable[[], dicent.Evaluator]] = {
    "native": lambda: RandomEvaluator(1),
    "outside": from_outside,
}


def float32(value: float) -> float:
    return float(np.float32(value))


# Tree learning: expanded states and the ends of games


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("kind", [Descent, Unbounded])
def test_only_expanded_and_finished_states_are_learned(
    kind: type[Descent], completion: bool, judge: str, game: Game
) -> None:
    everything = play_games(kind(JUDGES[judge](), completion), game, 3, size=2, kind=Watched)
    leaves = 0
    for played in everything:
        learned, tree = numbers(game, played.dataset), WATCHED[-1].trees[played.number]
        assert learned == {
            state: float32(value)
            for state, (kind_of, expanded, value) in tree.items()
            if expanded or kind_of == TERMINAL
        }
        leaves += len(tree) - len(learned)
        for state, value in learned.items():
            if state.result is not None:
                assert value == state.result
        assert learned[end_of(game, played)] == played.result
        for root in roots_of(game, played):
            assert root in learned
    assert leaves > 0  # some states are left out


@pytest.mark.usefixtures("uncompiled")
def test_learned_values_come_from_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that were evaluated but never expanded do not occur; learned values come from children."""
    evaluator = RandomEvaluator(1)
    played = play_games(Descent(evaluator, completion=False), NIM, 1)[0]
    learned = numbers(NIM, played.dataset)
    for state in learned:
        if state.result is None:
            assert learned[state] != pytest.approx(judged(state, evaluator), abs=1e-6)


def judged(state: State, evaluator: dicent.Evaluator) -> float:
    return float(evaluator.evaluate(state.game, np.array([state.cells]))[0])


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("depth", [1, 2, 3, 6, 9])
def test_expectiminimax_learns_inner_states_from_their_deepest_search(depth: int) -> None:
    """Each state has the value of its deepest search, computed here by brute force."""
    evaluator = RandomEvaluator(1)
    game = dicent.make("dice-nim:stones=6")
    searched = 0
    for played in play_games(Expectiminimax(evaluator), game, 2, limit=Limit(depth=depth)):
        best: dict[State, tuple[int, float]] = {}
        for root in roots_of(game, played):
            analysis = Expectiminimax(evaluator).analyse(root, Limit(depth=depth))
            for state, left in within(root, analysis.depth):
                if left >= best.get(state, (0, 0.0))[0]:
                    best[state] = left, value_at_horizon(state, left, evaluator)
            searched += 1
        found = numbers(game, played.dataset)
        assert found == pytest.approx({state: value for state, (_, value) in best.items()}, abs=1e-6)
    assert searched > 2


def within(root: State, depth: int) -> list[tuple[State, int]]:
    """Return the inner states of a search with their remaining depth, and the ends of games."""
    found, layer = [], {root}
    for left in range(depth, -1, -1):
        found += [(state, left) for state in layer if left > 0 or state.result is not None]
        layer = {
            after
            for state in layer
            if state.result is None
            for after in (
                [state.apply_outcome(o) for o, _ in state.outcomes]
                if state.is_chance
                else [state.apply(a) for a in state.legal_actions]
            )
        }
    return found


@pytest.mark.usefixtures("uncompiled")
def test_expectiminimax_learns_no_state_of_an_unfinished_depth() -> None:
    for played in play_games(Expectiminimax(from_outside()), EWN, 2, limit=Limit(evaluations=25)):
        learned = numbers(EWN, played.dataset)
        for state, value in learned.items():
            if state.result is None:
                after = (
                    [s.apply_outcome(o) for s in [state] for o, _ in s.outcomes]
                    if state.is_chance
                    else [state.apply(a) for a in state.legal_actions]
                )
                assert after
                assert np.isfinite(value)
                assert value != pytest.approx(judged(state, from_outside()), abs=1e-7)
        assert learned[end_of(EWN, played)] == played.result
        assert set(roots_of(EWN, played)) <= set(learned)


# Root, terminal and policy data


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("terminal", [TerminalValue(), TerminalValue("depth", 15)], ids=["gain", "depth"])
@pytest.mark.parametrize("search", [Descent, Expectiminimax])
def test_root_and_terminal_learning(search: type[TreeSearch], terminal: TerminalValue) -> None:
    evaluator = from_outside()
    evaluator.terminal = terminal
    played = {
        data: play_games(search(evaluator), NIM, 3, targets=data, seed=4)
        for data in ("tree", "root", "terminal")
    }
    for tree, root, end in zip(*played.values(), strict=True):
        assert tree.chosen.tolist() == root.chosen.tolist() == end.chosen.tolist()
        states = roots_of(NIM, root)
        assert [NIM.state(cells) for cells in root.dataset.states] == states
        assert [NIM.state(cells) for cells in end.dataset.states] == states
        assert root.dataset.values.tolist() == np.float32(root.root_values).tolist()
        assert len(states) == root.plies
        assert end.dataset.values.tolist() == [terminal.value(end_of(NIM, end), end.plies)] * len(states)
        found = zip(tree.dataset.states.tolist(), tree.dataset.values.tolist(), strict=True)
        assert ([*states[-1].cells.tolist()], root.dataset.values[-1]) in found  # no later search changed it
        assert (end_of(NIM, tree).cells.tolist(), terminal.value(end_of(NIM, tree), tree.plies)) in zip(
            tree.dataset.states.tolist(), tree.dataset.values.tolist(), strict=True
        )


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
def test_policies_are_visit_shares_and_values_are_results(game: Game) -> None:
    everything = play_games(Puct(BytePolicy(), noise=0.25), game, 3, 2, kind=Watched, **settings_of("puct"))
    for played in everything:
        states = roots_of(game, played)
        assert [game.state(cells) for cells in played.dataset.states] == states
        assert played.dataset.values.tolist() == [played.result] * played.plies
        for state, policy, visits in zip(
            states, played.dataset.policies, WATCHED[-1].visits[played.number], strict=True
        ):
            assert tuple(sorted(visits)) == tuple(sorted(state.legal_actions))
            assert sum(visits.values()) == 19  # the first simulation values the root
            expected = np.zeros(game.num_actions)
            for action, count in visits.items():
                expected[action] = count / 19
            assert policy == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("uncompiled")
def test_noise_differs_between_moves() -> None:
    """In a game without chance, no roll advances the random stream between moves."""
    game = dicent.make("tic-tac-toe")
    seen = []

    class NoisyKernels(PuctKernels):
        def begin(self, searches: Searches, members: Indices) -> None:
            super().begin(searches, members)
            seen.append(self.statistics.noise[members[0]].copy())

    class Noisy(Puct):
        def kernels(self, bound: Bound, size: int) -> NoisyKernels:
            return NoisyKernels(
                bound, self.evaluator, self.settings(), 1.25, self.noise, self.alpha, self.leaves
            )

    play_games(Noisy(BytePolicy(), noise=0.25), game, 1, **settings_of("puct"))
    assert len({noise.tobytes() for noise in seen}) == len(seen) >= 5


# Symmetries


@pytest.mark.usefixtures("uncompiled")
def test_symmetric_states_have_the_sign_and_the_policy_of_their_image() -> None:
    rng = np.random.default_rng(0)
    states = [
        s for played in play_games(Descent(RandomEvaluator(1)), EWN, 2) for s, _ in states_of(EWN, played)
    ]
    signs = set()
    for state in states:
        for k, image in enumerate(state.symmetries):
            policy = np.zeros(EWN.num_actions, np.float32)
            policy[list(state.legal_actions)] = rng.random(len(state.legal_actions))
            planes, value, mapped = images(state, k, 0.75, policy)
            assert np.array_equal(planes, image.state.encode())
            assert value == 0.75 * image.sign
            for action, becomes in image.actions.items():
                assert mapped[becomes] == policy[action]
            assert np.count_nonzero(mapped) == len(state.legal_actions)
            signs.add(image.sign)
    assert signs == {1, -1}


def images(state: State, kind: int, value: float, policy: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return a state as the learner sees it through one of its symmetries: planes, value, policy."""
    game = state.game
    shapes = (1, *game.input_shape), (1,), (1, game.num_actions)
    planes, values, mapped = (np.full(shape, 9, np.float32) for shape in shapes)
    learned = state.cells[None].copy(), np.array([value], np.float32), policy[None], np.array([kind])
    encode = bind(game).kernel(encoding_kernels.encode_examples)
    encode(*learned, np.zeros(1, np.int64), game.empty_cells(), planes, values, mapped)
    return planes[0], float(values[0]), mapped[0]

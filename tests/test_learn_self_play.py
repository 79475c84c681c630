"""Self-play: which states of a match are learned, with which values, and how its moves are chosen."""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import (
    Descent,
    DicentError,
    Expectiminimax,
    Function,
    Game,
    Group,
    Limit,
    Puct,
    RandomEvaluator,
    State,
    TerminalValue,
    Unbounded,
)
from dicent.binding import bind
from dicent.kernels.constants import CHANCE, NONE
from dicent.kernels.tree import TERMINAL
from dicent.learn import self_play
from dicent.learn.data import Finished
from dicent.learn.selection import ByVisits, Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.search.tree_search import TreeSearch

from .exact import Exact, value_at_horizon, written_out
from .golden_trees import BytePolicy
from .self_playing import (
    Numbers,
    determinization,
    end_of,
    first_matches,
    matches,
    numbers,
    roots_of,
    same,
    states_of,
)

NIM = dicent.make("dice-nim")
EWN = dicent.make("ewn:size=3,pieces=3")


def from_outside() -> dicent.Evaluator:
    """Values that native code must wait for, and that do not depend on the batch."""
    return Function(lambda planes: np.sin(planes.reshape(len(planes), -1) @ WEIGHTS[: planes[0].size]))


WEIGHTS = np.random.default_rng(0).normal(size=10_000)
JUDGES: dict[str, Callable[[], dicent.Evaluator]] = {
    "native": lambda: RandomEvaluator(1),
    "outside": from_outside,
}
SEARCHES: dict[str, Callable[[], TreeSearch]] = {
    "descent": lambda: Descent(from_outside()),
    "plain descent": lambda: Descent(RandomEvaluator(1), completion=False),
    "unbounded": lambda: Unbounded(RandomEvaluator(1)),
    "expectiminimax": lambda: Expectiminimax(from_outside()),
    "determinized": lambda: dicent.Determinized(Descent(from_outside())).inner,
    "puct": lambda: Puct(BytePolicy(), noise=0.25),
}


def settings_of(name: str) -> dict[str, Any]:
    return {"data": "policy", "selection": ByVisits()} if name == "puct" else {}


class Watched(SelfPlay):
    """Keeps what stands in the trees when matches end, and the visits when moves are chosen."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.trees: dict[int, dict[State, tuple[int, bool, float]]] = {}  # kind, expanded?, value
        self.visits: dict[int, list[dict[int, int]]] = {}
        WATCHED.append(self)

    def _finish(self, m: int, result: int, work: Any) -> Finished:
        tree, number = self.group.tree, int(self.games.number[m])
        self.trees[number] = {
            self.game.state(tree.state[m, n]): (
                int(tree.kind[m, n]),
                bool(tree.first_edge[m, n] != NONE),
                float(tree.value[m, n]),
            )
            for n in range(tree.nodes[m])
        }
        return super()._finish(m, result, work)

    def _play(self, members: Any, progress: float) -> Any:
        for m in members:
            t, root = self.group.tree, self.group.matches.root[m]
            first = t.first_edge[m, root]
            edges = range(first, first + t.num_edges[m, root])
            at_root = {int(t.choice[m, e]): int(t.visits[m, e]) for e in edges}
            self.visits.setdefault(int(self.games.number[m]), []).append(at_root)
        return super()._play(members, progress)


WATCHED: list[Watched] = []


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matches are played sooner than native code is compiled."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def float32(value: float) -> float:
    return float(np.float32(value))


# Tree learning: the states that were expanded, and the ends of games


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("kind", [Descent, Unbounded])
def test_expanded_and_finished_states_are_learned_and_no_other(
    kind: type[Descent], completion: bool, judge: str, game: Game
) -> None:
    played = matches(kind(JUDGES[judge](), completion), game, 3, size=2, kind=Watched)
    leaves = 0
    for match in played:
        learned, tree = numbers(game, match.data), WATCHED[-1].trees[match.number]
        assert learned == {
            state: float32(value)
            for state, (kind_of, expanded, value) in tree.items()
            if expanded or kind_of == TERMINAL
        }
        leaves += len(tree) - len(learned)
        for state, value in learned.items():
            if state.result is not None:
                assert value == state.result
        assert learned[end_of(game, match)] == match.result
        for root in roots_of(game, match):
            assert root in learned
    assert leaves > 0  # there was something to leave out


@pytest.mark.usefixtures("plain")
def test_no_value_is_the_evaluators_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that were judged and never expanded do not occur; those that occur come from children."""
    evaluator = RandomEvaluator(1)
    match = matches(Descent(evaluator, completion=False), NIM, 1)[0]
    learned = numbers(NIM, match.data)
    for state in learned:
        if state.result is None:
            assert learned[state] != pytest.approx(judged(state, evaluator), abs=1e-6)


def judged(state: State, evaluator: dicent.Evaluator) -> float:
    return float(evaluator.evaluate(state.game, np.array([state.cells]))[0])


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("depth", [1, 2, 3, 6, 9])
def test_expectiminimax_learns_inner_states_from_their_deepest_search(depth: int) -> None:
    """Each state has the value of the deepest search that touched it, found here by brute force."""
    evaluator = RandomEvaluator(1)
    game = dicent.make("dice-nim:stones=6")
    searched = 0
    for match in matches(Expectiminimax(evaluator), game, 2, limit=Limit(depth=depth)):
        best: dict[State, tuple[int, float]] = {}
        for root in roots_of(game, match):
            analysis = Expectiminimax(evaluator).analyse(root, Limit(depth=depth))
            for state, left in within(root, analysis.depth):
                if left >= best.get(state, (0, 0.0))[0]:
                    best[state] = left, value_at_horizon(state, left, evaluator)
            searched += 1
        found = numbers(game, match.data)
        assert found == pytest.approx({state: value for state, (_, value) in best.items()}, abs=1e-6)
    assert searched > 2


def within(root: State, depth: int) -> list[tuple[State, int]]:
    """The inner states of a search with the plies that it looks ahead from each, and the ends of games."""
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


@pytest.mark.usefixtures("plain")
def test_expectiminimax_learns_no_state_of_a_depth_that_was_not_finished() -> None:
    for match in matches(Expectiminimax(from_outside()), EWN, 2, limit=Limit(evaluations=25)):
        learned = numbers(EWN, match.data)
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
        assert learned[end_of(EWN, match)] == match.result
        assert set(roots_of(EWN, match)) <= set(learned)


# Root, terminal and policy data


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("terminal", [TerminalValue(), TerminalValue("depth", 15)], ids=["gain", "depth"])
@pytest.mark.parametrize("search", [Descent, Expectiminimax])
def test_root_and_terminal_learning(search: type[TreeSearch], terminal: TerminalValue) -> None:
    evaluator = from_outside()
    evaluator.terminal = terminal
    played = {
        data: matches(search(evaluator), NIM, 3, data=data, seed=4) for data in ("tree", "root", "terminal")
    }
    for tree, root, end in zip(*played.values(), strict=True):
        assert tree.chosen.tolist() == root.chosen.tolist() == end.chosen.tolist()
        states = roots_of(NIM, root)
        assert [NIM.state(cells) for cells in root.data.states] == states
        assert [NIM.state(cells) for cells in end.data.states] == states
        assert root.data.values.tolist() == np.float32(root.root_values).tolist()
        assert len(states) == root.plies
        assert end.data.values.tolist() == [terminal.value(end_of(NIM, end), end.plies)] * len(states)
        found = zip(tree.data.states.tolist(), tree.data.values.tolist(), strict=True)
        assert ([*states[-1].cells.tolist()], root.data.values[-1]) in found  # no later search changed it
        assert (end_of(NIM, tree).cells.tolist(), terminal.value(end_of(NIM, tree), tree.plies)) in zip(
            tree.data.states.tolist(), tree.data.values.tolist(), strict=True
        )


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
def test_policies_are_shares_of_the_visits_and_values_are_results(game: Game) -> None:
    played = matches(Puct(BytePolicy(), noise=0.25), game, 3, 2, kind=Watched, **settings_of("puct"))
    for match in played:
        states = roots_of(game, match)
        assert [game.state(cells) for cells in match.data.states] == states
        assert match.data.values.tolist() == [match.result] * match.plies
        for state, policy, visits in zip(
            states, match.data.policies, WATCHED[-1].visits[match.number], strict=True
        ):
            assert tuple(sorted(visits)) == tuple(sorted(state.legal_actions))
            assert sum(visits.values()) == 19  # the first simulation values the root
            expected = np.zeros(game.num_actions)
            for action, count in visits.items():
                expected[action] = count / 19
            assert policy == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("plain")
def test_noise_is_new_for_every_move() -> None:
    """Also where there is no chance whose rolls would move the random stream on."""
    game = dicent.make("tic-tac-toe")
    seen = []

    class Noisy(Puct):
        def begin(self, group: Group, members: Any) -> None:
            super().begin(group, members)
            seen.append(self.statistics(group).noise[members[0]].copy())

    matches(Noisy(BytePolicy(), noise=0.25), game, 1, **settings_of("puct"))
    assert len({noise.tobytes() for noise in seen}) == len(seen) >= 5


# Symmetries


@pytest.mark.usefixtures("plain")
def test_symmetric_states_have_the_sign_and_the_policy_of_their_image() -> None:
    rng = np.random.default_rng(0)
    states = [s for match in matches(Descent(RandomEvaluator(1)), EWN, 2) for s, _ in states_of(EWN, match)]
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
    """What the learner sees of a state through one of its symmetries."""
    game = state.game
    shapes = (1, *game.input_shape), (1,), (1, game.num_actions)
    planes, values, mapped = (np.full(shape, 9, np.float32) for shape in shapes)
    learned = state.cells[None].copy(), np.array([value], np.float32), policy[None], np.array([kind])
    encode = bind(game).kernel("encoding.encode_examples")
    encode(*learned, np.zeros(1, np.int64), game.empty_cells(), planes, values, mapped)
    return planes[0], float(values[0]), mapped[0]


# Determinization

# A match that goes s, r, (ca) a, (cy) y. The search at r may judge two states: a and b, the children
# of r beyond chance. MAX goes to a, and the search ends there with r = 0.6. The search at a finds x,
# judged 0.2, and y, an end: a = -1. MIN goes to y.
# D = {r 0.6, a -1, y -1}; b and x were never expanded. Jumped were s (to r), ca (to a), cy (to y) and cx
# (to x, which is not learned).
FORESEEN = """
s    chance  -0.5   r:1
r    max      0.0   ca b
ca   chance   0.9   a:1
b    min      0.4   z=0 w=1
a    min      0.6   cx cy
cx   chance   0.7   x:1
cy   chance   0.1   y=-1:1
x    max      0.2   xx=-1 xy=1
"""
LEARNED = {"r": 0.6, "a": -1, "y": -1, "s": 0.6, "ca": -1, "cy": -1}


@pytest.mark.usefixtures("plain")
def test_a_determinized_match_worked_by_hand(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, FORESEEN)
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    match = matches(search, game, 1, limit=Limit(evaluations=2), annealed=True, progress=1.0)[0]
    assert [str(state) for state, _ in states_of(game, match)] == ["s", "r", "ca", "a", "cy"]
    assert str(end_of(game, match)) == "y"
    assert (match.result, match.plies) == (-1, 2)
    found = {str(state): value for state, value in numbers(game, match.data).items()}
    assert found == pytest.approx(LEARNED)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("game", [NIM, EWN], ids=lambda game: game.name)
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        Descent,
        Unbounded,
        Expectiminimax,
    ],
)
def test_determinized_matches_learn_the_papers_set(
    kind: type[TreeSearch], completion: bool, game: Game
) -> None:
    """D, the initial chance state, and (c, v(s')) for c jumped between s and s' of D; no more."""
    search = dicent.Determinized(kind(from_outside(), completion=completion)).inner
    for match in matches(search, game, 3, size=2, seed=7):
        d = determinization(game, 7, match.number)
        for state, choice in states_of(game, match):
            assert not state.is_chance or choice == d.outcome(state)  # the dice are those of d
        learned = numbers(game, match.data)
        players: Numbers = {state: value for state, value in learned.items() if not state.is_chance}
        expected: Numbers = {}
        start = game.state(match.start)
        jumped = [start] if start.is_chance else []
        jumped += [
            after
            for state in players
            if state.result is None
            for after in (state.apply(action) for action in state.legal_actions)
            if after.is_chance
        ]
        for chance in jumped:
            child = chance.apply_outcome(d.outcome(chance))
            if child in players:
                expected[chance] = players[child]
        assert {state: value for state, value in learned.items() if state.is_chance} == expected
        assert expected
        assert learned[end_of(game, match)] == match.result


@pytest.mark.usefixtures("plain")
def test_each_match_has_its_own_dice_and_chance_states_are_learned_as_averages() -> None:
    search = dicent.Determinized(Descent(from_outside())).inner
    first = [int(match.chosen[0]) for match in matches(search, NIM, 60, size=8, limit=Limit(evaluations=4))]
    assert set(first) == set(range(6))
    assert max(Counter(first).values()) < 25


# Two rolls in a row of two outcomes each, after either of MAX's moves; no draws.
TWO_ROLLS = """
s    chance   0.1   r:0.75 q:0.25
r    max      0.0   a b
q    min      0.0   b c
a    chance   0.5   ax:0.5 ay=-1:0.5
b    chance  -0.4   bx:0.2 by=1:0.8
c    chance   0.3   cx=1:0.6 cy:0.4
ax   min      0.2   a1=1 a2=1
bx   min     -0.2   b1=1 b2=-1
cy   max     -0.6   c1=-1 c2=-1
"""


@pytest.mark.usefixtures("plain")
def test_chance_states_are_learned_as_means_over_all_determinizations(tmp_path: Path) -> None:
    """Each match learns what best play comes to under its own d, and the mean over matches the rest."""
    game, judge = written_out(tmp_path, TWO_ROLLS)
    start = game.initial_state()
    rolls = [game.parse(name) for name in "sabc"]
    mean = sum(
        np.prod([p for _, p in outcomes])
        * Exact(dict(zip(rolls, [o for o, _ in outcomes], strict=True)).__getitem__).value(start)
        for outcomes in itertools.product(*(state.outcomes for state in rolls))
    )
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    learned = []
    for match in matches(search, game, 300, 16, Limit(evaluations=60), seed=1):
        exact = Exact(determinization(game, 1, match.number).outcome)
        found = numbers(game, match.data)
        assert found[start] == exact.value(start)
        for root in roots_of(game, match):
            assert found[root] == exact.value(root)
        learned.append(found[start])
    assert np.mean(learned) == pytest.approx(mean, abs=4 / 300**0.5)
    assert mean != pytest.approx(Exact().value(start), abs=0.05)  # its players know the dice to come


# Five rolls in a row, more than a determinization jumps at once; each may end the game.
ROLLS = """
r    max      0.0   c1 d1
c1   chance   0.0   c2:1
c2   chance   0.0   c3:1
c3   chance   0.0   c4:1
c4   chance   0.0   c5:1
c5   chance   0.0   e5=1:1
d1   chance   0.0   d2:1
d2   chance   0.0   d3:1
d3   chance   0.0   d4:1
d4   chance   0.0   d5:1
d5   chance   0.0   e6=0:1
"""


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("evaluations", [1, 2, 3, 50])
def test_many_rolls_in_a_row_are_jumped_and_learned(tmp_path: Path, evaluations: int) -> None:
    game, judge = written_out(tmp_path, ROLLS)
    search = dicent.Determinized(Descent(judge, completion=False)).inner
    limit = Limit(evaluations=evaluations)
    for match in matches(search, game, 4, limit=limit, annealed=True, progress=0.0):
        learned = {str(state): value for state, value in numbers(game, match.data).items()}
        assert learned[str(end_of(game, match))] == match.result
        for state, _ in states_of(game, match):
            assert state.is_chance <= (learned[str(state)] == match.result)
        for name, value in learned.items():
            if name.startswith("c"):
                assert value == 1
            if name.startswith("d"):
                assert value == 0


# Which move is played


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_a_proved_win_is_always_played(kind: type[TreeSearch]) -> None:
    """Even where actions are drawn at random: progress 0 has no preference."""
    wins = 0
    for match in matches(kind(RandomEvaluator(1)), EWN, 10, 4, annealed=True, progress=0.0):
        for state, choice in states_of(EWN, match):
            winning = [a for a in state.legal_actions if state.apply(a).result == state.to_play]
            if winning:
                assert choice in winning
                wins += 1
    assert wins >= 5


DANGER = """
r    max      0.0   bad=-1 worse=-1 mid fair
mid  min     -0.9   m1=0 m2=-1
fair min     -0.8   f1=0 f2=0
"""
LOST = """
r    max      0.0   bad=-1 worse=-1
"""


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_a_proved_loss_is_avoided(tmp_path: Path, kind: type[TreeSearch]) -> None:
    """`mid` is lost as well once it is looked into, and a match that goes there anyway is lost."""
    game, judge = written_out(tmp_path, DANGER)
    played = matches(kind(judge), game, 40, 8, Limit(evaluations=1), annealed=True, progress=0.0)
    seen = {str(state.apply(choice)) for m in played for state, choice in states_of(game, m)}
    assert not seen & {"bad", "worse"}
    assert {"fair", "mid"} <= seen
    deeper = matches(kind(judge), game, 40, 8, Limit(evaluations=30), annealed=True, progress=0.0)
    assert {str(next(states_of(game, m))[0].apply(m.chosen[0])) for m in deeper} == {"fair"}


@pytest.mark.usefixtures("plain")
def test_if_everything_loses_something_is_played(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, LOST)
    played = matches(Descent(judge), game, 20, 4, annealed=True, progress=0.0)
    assert {match.result for match in played} == {-1}


@pytest.mark.usefixtures("plain")
def test_without_completion_anything_may_be_played(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, DANGER)
    search = Descent(judge, completion=False)
    played = matches(search, game, 60, 8, Limit(evaluations=1), annealed=True, progress=0.0)
    assert {str(game.initial_state().apply(m.chosen[0])) for m in played} == {"bad", "worse", "mid", "fair"}


@pytest.mark.usefixtures("plain")
def test_progress_anneals_from_any_move_to_the_best() -> None:
    search = Descent(RandomEvaluator(1), completion=False)
    for progress, least, most in ((0.0, 0.2, 0.75), (1.0, 1.0, 1.0), (1.7, 1.0, 1.0)):
        best = total = 0
        for match in matches(search, EWN, 8, 4, annealed=True, progress=progress, kind=Watched, data="root"):
            for (state, choice), value in zip(
                [(s, c) for s, c in states_of(EWN, match) if not s.is_chance], match.root_values, strict=True
            ):
                after = WATCHED[-1].trees[match.number][state.apply(choice)]
                total += len(state.legal_actions) > 1
                best += len(state.legal_actions) > 1 and after[2] == value
        assert least <= best / total <= most


@pytest.mark.usefixtures("plain")
def test_the_dice_of_a_match_are_fair() -> None:
    played = matches(Descent(RandomEvaluator(1)), NIM, 40, 8, Limit(evaluations=1))
    rolls = Counter(choice for m in played for state, choice in states_of(NIM, m) if state.is_chance)
    total = sum(rolls.values())
    assert set(rolls) == set(range(6))
    assert sum((n - total / 6) ** 2 / (total / 6) for n in rolls.values()) < 20.5  # chi squared, 1 in 1,000


# The same matches, however they are played


@pytest.mark.parametrize("name", SEARCHES)
def test_matches_do_not_depend_on_their_group_or_on_threads(name: str) -> None:
    alone = matches(SEARCHES[name](), NIM, 7, 1, compiled=None, seed=3, **settings_of(name))
    for size, threads in ((3, 1), (8, 2)):
        together = matches(
            SEARCHES[name](), NIM, 7, size, compiled=None, seed=3, threads=threads, **settings_of(name)
        )
        assert all(map(same, alone, together))
    other = matches(SEARCHES[name](), NIM, 7, 3, compiled=None, seed=4, **settings_of(name))
    assert not any(map(same, alone, other))


@pytest.mark.parametrize("name", SEARCHES)
def test_native_code_plays_what_plain_python_plays(name: str) -> None:
    native, plain = (
        matches(SEARCHES[name](), NIM, 3, 2, compiled=compiled, seed=5, **settings_of(name))
        for compiled in (True, False)
    )
    assert all(map(same, native, plain))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", SEARCHES)
def test_a_store_that_is_too_small_grows_and_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy = matches(SEARCHES[name](), NIM, 3, 2, **settings_of(name))
    made = cramp(monkeypatch)
    cramped = matches(SEARCHES[name](), NIM, 3, 2, **settings_of(name))
    assert all(map(same, roomy, cramped))
    assert made[0].tree.kind.shape[1] > 16


def cramp(monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Let groups begin with very little room; returns those that were made."""
    made = []

    def small(search: TreeSearch, game: Game, size: int, nodes: int, *others: Any) -> Group:
        made.append(Group(search, game, size, 16, *others))
        return made[-1]

    monkeypatch.setattr(self_play, "Group", small)
    monkeypatch.setattr(self_play, "SPARE", 8)
    return made


@pytest.mark.usefixtures("plain")
def test_links_without_room_make_a_store_grow() -> None:
    """Between two searches chance is jumped, which takes links as well as nodes."""
    play = SelfPlay(
        SEARCHES["determinized"](), NIM, 1, Limit(evaluations=5), Ordinal(), itertools.count(), compiled=False
    )
    play.deal()
    while play.group.matches.status[0] != 3:  # DONE
        play.advance()
        play.value_waiting()
    before = play.group.tree.child.shape[1]
    play.group.tree.edges[0] = before
    play.play_on(0.5)
    assert play.group.tree.child.shape[1] > before


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", SEARCHES)
def test_matches_in_flight_are_saved_and_go_on_the_same(name: str) -> None:
    def new() -> SelfPlay:
        settings = {"selection": Ordinal(), **settings_of(name)}
        return SelfPlay(
            SEARCHES[name](),
            NIM,
            3,
            Limit(evaluations=20),
            numbers=itertools.count(),
            compiled=False,
            **settings,
        )

    play = new()
    whole = first_matches(new(), 6)
    play.deal()
    finished: dict[int, Finished] = {}
    for step in range(400):
        play.advance()
        play.value_waiting()
        finished |= {match.number: match for match in play.play_on(0.5)}
        if step % 7 == 0:
            saved = {key: array.copy() for key, array in play.save().items()}
            assert play.memory == sum(array.nbytes for array in saved.values())
            following = play.numbers
            play = new()
            play.numbers, play.evaluations = following, 0
            play.load(saved)
        if all(number in finished for number in range(6)):
            break
    assert all(same(match, finished[match.number]) for match in whole)
    assert play.evaluations > 0 or name in ("plain descent", "unbounded")


@pytest.mark.usefixtures("plain")
def test_a_store_that_may_not_grow_ends_the_run_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    cramp(monkeypatch)
    monkeypatch.setattr(self_play, "MAX_NODES", 32)
    with pytest.raises(DicentError, match="lower evaluations_per_move"):
        matches(SEARCHES["descent"](), NIM, 1)


# Odd games

ENDLESS = """
a    max   0.1   b
b    min  -0.1   a
"""


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("data", ["tree", "root", "terminal"])
def test_a_match_that_is_too_long_is_stopped_and_counts_as_drawn(tmp_path: Path, data: str) -> None:
    game, judge = written_out(tmp_path, ENDLESS)
    first, second = matches(Expectiminimax(judge), game, 2, 2, Limit(depth=1), data=data)
    for match in (first, second):
        assert (match.result, match.plies) == (0, 400)
        assert len(match.chosen) == 400
        if data == "terminal":
            assert set(match.data.values.tolist()) == {0.0}


CHANCE_DECIDES = """
s    chance   0.0   e=1:0.5 r:0.5
r    max      0.3   x=1 c
c    chance   0.2   y=-1:0.5 z=0:0.5
"""


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_chance_may_end_a_match(tmp_path: Path, kind: type[TreeSearch]) -> None:
    """At its start too, and then there is nothing to decide."""
    game, judge = written_out(tmp_path, CHANCE_DECIDES)
    played = matches(kind(judge), game, 20, 3, Limit(evaluations=1))
    assert {match.plies for match in played} == {0, 1}
    for match in played:
        end = end_of(game, match)
        assert end.result == match.result
        assert numbers(game, match.data)[end] == match.result


def test_what_cannot_be_learned_is_refused() -> None:
    def made(search: TreeSearch, data: str) -> SelfPlay:
        return SelfPlay(search, NIM, 1, Limit(nodes=9), Ordinal(), itertools.count(), data=data)

    with pytest.raises(DicentError, match="data 'trees' is not"):
        made(Descent(from_outside()), "trees")
    with pytest.raises(DicentError, match="policy goes with Puct alone"):
        made(Descent(from_outside()), "policy")
    with pytest.raises(DicentError, match="policy goes with Puct alone"):
        made(Puct(BytePolicy()), "tree")


def test_kinds_of_states_are_told_apart() -> None:
    assert CHANCE == 0  # IDLE, and the kind of chance nodes: what `waves` and tree data rely on
    assert TERMINAL not in (dicent.MAX, dicent.MIN, CHANCE)

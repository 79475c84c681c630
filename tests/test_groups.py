"""Groups: searches that advance together give the same results as single searches."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import dicent
from dicent import (
    Analysis,
    Cached,
    Descent,
    Determinized,
    Evaluator,
    Expectiminimax,
    Game,
    Limit,
    Network,
    Puct,
    RandomEvaluator,
    Rollout,
    State,
    Uct,
    Unbounded,
)
from dicent.kernels.constants import NONE
from dicent.kernels.tree import TERMINAL
from dicent.nets.residual import ResidualNetwork
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch

from .golden_trees import BytePolicy

NODES = ("state", "kind", "value", "completion", "resolved", "first_edge", "num_edges")
EDGES = ("child", "choice", "p", "visits")
ROOM = 2048  # nodes of each tree, more than any search here needs
EWN = dicent.make("ewn")
POSITIONS = [
    EWN.parse(text)
    for text in (
        "ABC2/DE3/F3f/3de/2abc 1 2",
        "ABC2/DE3/F3f/3de/2abc 1 -",
        "A1C2/DEB2/F3f/3de/2abc 2 5",
        "5/1A3/2B2/1a3/3b1 1 3",
        "5/1A3/2B2/1a3/3b1 2 -",
        "5/5/5/3A1/a4 1 1",  # a win in one move
        "5/5/5/5/a3A 2 -",  # the game is over
        "1B3/D4/1f3/2d2/3ab 2 6",
    )
]
LIMITS = [
    Limit(nodes=900),
    Limit(nodes=1),
    Limit(evaluations=40),
    Limit(nodes=300),
    Limit(evaluations=700),
    Limit(nodes=500),
    Limit(nodes=500),
    Limit(nodes=60, evaluations=1000),
]
SEARCHES: dict[str, Callable[[], TreeSearch]] = {
    "descent": lambda: Descent(RandomEvaluator(1)),
    "descent-without-completion": lambda: Descent(Rollout(1, seed=2), completion=False),
    "unbounded": lambda: Unbounded(RandomEvaluator(3), decision="safe"),
    "expectiminimax": lambda: Expectiminimax(Rollout(2)),
    "uct": lambda: Uct(rollouts=2),
    "puct": lambda: Puct(BytePolicy(), noise=0.25),
    "determinized": lambda: Determinized(Descent(RandomEvaluator(1)), seed=4).inner,
    "waiting": lambda: Unbounded(Cached(RandomEvaluator(1))),  # native code waits for its values
}


@pytest.fixture(autouse=True)
def _repeatable_torch() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def found(group: Group, m: int = 0) -> tuple[Analysis, dict[str, bytes]]:
    """Return the analysis of a search, without its time, and the contents of its tree."""
    group.settle()
    tree, analysis = group.tree, group.analysis(m)
    contents = {name: getattr(tree, name)[m, : tree.nodes[m]].tobytes() for name in NODES}
    contents |= {name: getattr(tree, name)[m, : tree.edges[m]].tobytes() for name in EDGES}
    return analysis, contents


def alone(
    search: TreeSearch, state: State, limit: Limit, seed: int, compiled: bool | None = None
) -> tuple[Analysis, dict[str, bytes]]:
    group = Group(search, state.game, nodes=ROOM, compiled=compiled)
    group.begin(0, state, limit, seed)
    group.run()
    return found(group)


def together(search: TreeSearch, threads: int = 1, count: int = 8) -> Group:
    group = Group(search, EWN, count, ROOM, threads)
    for m in range(count):
        group.begin(m, POSITIONS[m], LIMITS[m], seed=m)
    return group


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SEARCHES)
def test_grouped_searches_equal_single_searches(name: str, threads: int) -> None:
    search = SEARCHES[name]()
    group = together(search, threads)
    group.run()
    for m in range(8):
        assert found(group, m) == alone(search, POSITIONS[m], LIMITS[m], m)


def test_different_seeds_give_different_trees() -> None:
    """Otherwise the tests above would also pass for searches that share one random stream."""
    _, one = alone(SEARCHES["uct"](), POSITIONS[0], LIMITS[0], seed=0)
    _, other = alone(SEARCHES["uct"](), POSITIONS[0], LIMITS[0], seed=1)
    assert one != other


@pytest.mark.parametrize("name", SEARCHES)
def test_native_and_plain_code_grow_the_same_tree(name: str) -> None:
    for state, seed in ((POSITIONS[0], 1), (POSITIONS[4], 2)):
        plain, native = (
            alone(SEARCHES[name](), state, Limit(nodes=150), seed, compiled) for compiled in (False, True)
        )
        assert native[1] == plain[1]
        assert native[0] == plain[0]


@pytest.mark.parametrize("evaluator", [RandomEvaluator(9), Rollout(3, seed=9)])
def test_native_and_plain_values_are_equal(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    states = np.array([state.cells for state in POSITIONS if state.result is None])
    native = evaluator.evaluate(EWN, states)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert np.array_equal(native, evaluator.evaluate(EWN, states))


@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("kind", [Descent, Unbounded])
def test_native_and_batched_evaluation_grow_the_same_tree(kind: type[Descent], completion: bool) -> None:
    """A search that waits for its values grows the same tree as one with native values."""
    inside, outside = (kind(evaluator, completion) for evaluator in (RandomEvaluator(1), waiting()))
    assert alone(inside, POSITIONS[0], LIMITS[0], 5) == alone(outside, POSITIONS[0], LIMITS[0], 5)


def waiting() -> Evaluator:
    """Return an evaluator with the values of RandomEvaluator(1), evaluated in batches."""
    return Cached(RandomEvaluator(1))


@pytest.mark.parametrize("largest", [64, 4096])
def test_layers_may_be_evaluated_in_several_batches(largest: int) -> None:
    inside, outside = Expectiminimax(RandomEvaluator(1)), Expectiminimax(waiting(), largest)
    assert alone(inside, POSITIONS[0], LIMITS[0], 5) == alone(outside, POSITIONS[0], LIMITS[0], 5)


def test_groups_do_not_disturb_each_other() -> None:
    searches = [Descent(waiting()), Uct(), Unbounded(waiting(), completion=False), Puct(BytePolicy())]
    groups = [together(search, count=4) for search in searches]
    going = groups
    while going:
        going = [group for group in going if group.step()]
    for group, search in zip(groups, searches, strict=True):
        for m in range(4):
            assert found(group, m) == alone(search, POSITIONS[m], LIMITS[m], m)


@pytest.mark.parametrize("name", ["waiting", "puct"])
def test_a_search_restarts_while_others_continue(name: str) -> None:
    search = SEARCHES[name]()
    group = together(search, count=4)
    for _ in range(12):
        assert group.step()
    group.begin(3, POSITIONS[7], Limit(nodes=200), seed=11)  # during its search
    group.begin(1, POSITIONS[4], Limit(nodes=350), seed=12)  # after its end
    group.run()
    assert found(group, 0) == alone(search, POSITIONS[0], LIMITS[0], 0)
    assert found(group, 1) == alone(search, POSITIONS[4], Limit(nodes=350), 12)
    assert found(group, 2) == alone(search, POSITIONS[2], LIMITS[2], 2)
    assert found(group, 3) == alone(search, POSITIONS[7], Limit(nodes=200), 11)


def test_idle_searches_stay_idle() -> None:
    search = Descent(RandomEvaluator(1))
    group = Group(search, EWN, size=3, nodes=ROOM)
    assert not group.step()
    group.begin(1, POSITIONS[3], LIMITS[3], seed=3)
    group.run()
    assert found(group, 1) == alone(search, POSITIONS[3], LIMITS[3], 3)
    assert group.tree.nodes.tolist()[::2] == [0, 0]


def searched(search: TreeSearch) -> tuple[Group, State]:
    """Return a group of one after its search, and an expanded state two plies later."""
    group = Group(search, EWN, nodes=ROOM)
    group.begin(0, POSITIONS[0], Limit(nodes=400), seed=1)
    group.run()
    after = POSITIONS[0].apply(group.analysis().best)
    return group, max(
        (after.apply_outcome(outcome) for outcome, _ in after.outcomes),
        key=lambda state: visits_below(group, state),
    )


def node_of(group: Group, state: State) -> int:
    rows = group.tree.state[0, : group.tree.nodes[0]]
    return int(np.flatnonzero((rows == state.cells).all(axis=1))[0])


def visits_below(group: Group, state: State) -> int:
    node = node_of(group, state)
    first = group.tree.first_edge[0, node]
    return (
        0 if first == NONE else int(group.tree.visits[0, first : first + group.tree.num_edges[0, node]].sum())
    )


def test_a_search_continues_in_its_tree() -> None:
    group, state = searched(Unbounded(RandomEvaluator(1)))
    nodes, before = int(group.tree.nodes[0]), visits_below(group, state)
    assert before > 0
    group.begin(0, state, Limit(nodes=100), seed=2, keep=True)
    assert (group.tree.nodes[0], group.searches.root[0]) == (nodes, node_of(group, state))
    group.run()
    analysis = group.analysis()
    assert analysis.state == state
    assert 100 <= analysis.nodes < 120  # nodes of the earlier search are reused
    assert 0 < group.tree.nodes[0] - nodes <= analysis.nodes
    assert {move.action for move in analysis.moves} == set(state.legal_actions)
    assert sum(move.visits for move in analysis.moves) > before


@pytest.mark.parametrize("keep", [True, False])
def test_search_restarts_if_the_tree_lacks_the_state(keep: bool) -> None:
    search = Unbounded(RandomEvaluator(1))
    group, state = searched(search)
    other = POSITIONS[7] if keep else state
    group.begin(0, other, LIMITS[3], seed=2, keep=keep)
    assert group.tree.nodes[0] == 1
    group.run()
    assert found(group) == alone(search, other, LIMITS[3], 2)


@pytest.mark.parametrize("name", ["expectiminimax", "uct", "puct"])
def test_searches_without_keeps_tree_restart(name: str) -> None:
    search = SEARCHES[name]()
    group = Group(search, EWN, nodes=ROOM)
    group.begin(0, POSITIONS[0], LIMITS[0], seed=1)
    group.run()
    state = POSITIONS[0].apply(POSITIONS[0].legal_actions[0])
    group.begin(0, state, LIMITS[3], seed=2, keep=True)
    group.run()
    assert found(group) == alone(search, state, LIMITS[3], 2)


def leaves(group: Group, m: int) -> np.ndarray:
    """Return the nodes whose values come directly from the evaluator."""
    used = slice(0, group.tree.nodes[m])
    return np.flatnonzero((group.tree.first_edge[m, used] == NONE) & (group.tree.kind[m, used] != TERMINAL))


def test_network_values_do_not_depend_on_the_batch() -> None:
    network = Network(ResidualNetwork(EWN.input_shape, filters=8, blocks=1, hidden=16))
    group = together(Descent(network), count=4)
    group.run()
    for m in range(4):
        for node in leaves(group, m):
            value = network.evaluate(EWN, group.tree.state[m, node : node + 1])[0]
            assert group.tree.value[m, node] == pytest.approx(value, abs=1e-5)


def test_puct_runs_in_a_group_with_a_network() -> None:
    module = ResidualNetwork(EWN.input_shape, filters=8, blocks=1, hidden=16, num_actions=EWN.num_actions)
    group = Group(Puct(Network(module)), EWN, size=4, nodes=ROOM)
    for m in range(4):
        group.begin(m, POSITIONS[m], Limit(evaluations=50 + m), seed=m)
    group.run()
    group.settle()
    for m in range(4):
        analysis = group.analysis(m)
        assert analysis.evaluations == 50 + m
        assert abs(analysis.value) <= 1


class Interrupting(Evaluator):
    """Random values, with a Ctrl-C during the tenth call."""

    calls = 0

    def evaluate(self, game: Game, states: np.ndarray) -> np.ndarray:
        self.calls += 1
        if self.calls == 10:
            raise KeyboardInterrupt
        return RandomEvaluator(1).evaluate(game, states)


def test_leaves_waiting_at_an_interrupt_are_evaluated_later() -> None:
    search = Unbounded(Interrupting())
    first = search.analyse(POSITIONS[0], Limit(nodes=200))
    assert first.interrupted
    second = search.analyse(POSITIONS[0], Limit(nodes=200), after=first)
    assert second.tree is not None
    nodes = leaves(second.tree, 0)
    values = RandomEvaluator(1).evaluate(EWN, second.tree.tree.state[0, nodes])
    assert np.array_equal(second.tree.tree.value[0, nodes], values)


@pytest.mark.parametrize("name", ["descent", "unbounded", "uct"])
def test_the_initial_tree_size_does_not_matter(name: str) -> None:
    """A search whose tree has to grow gives the same result as one with enough room."""
    searches = {
        "descent": dicent.Descent(dicent.RandomEvaluator(1)),
        "unbounded": dicent.Unbounded(dicent.RandomEvaluator(1)),
        "uct": dicent.Uct(seed=1),
    }
    state = dicent.make("ewn").parse("A4/1BC2/D1f2/2ae1/3c1 1 3")
    found = []
    for nodes in (32, 4096):
        group = Group(searches[name], state.game, 1, nodes)
        group.begin(0, state, dicent.Limit(nodes=400))
        group.run()
        group.settle()
        analysis = group.analysis()
        found.append(
            (analysis.value, analysis.nodes, [(m.action, m.value, m.visits) for m in analysis.moves])
        )
    assert found[0] == found[1]

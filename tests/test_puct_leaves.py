"""Puct with several leaves in flight: virtual losses stand for their values, and leave nothing behind."""

import numpy as np
import pytest

from dicent import CHANCE, DicentError, Game, Limit, Puct, State
from dicent.kernels.constants import NONE
from dicent.kernels.searches import WAITING
from dicent.kernels.simulation import Statistics
from dicent.kernels.tree import TERMINAL
from dicent.search.group import Group
from dicent.search.puct import PuctKernels

from . import golden_trees
from .golden_trees import BytePolicy
from .simulating import COLUMNS, CONNECT_FOUR, OPENING, TIC_TAC_TOE, fixed

LEAVES = (1, 2, 8, 50)
STATES = {"chance": OPENING, "no chance": COLUMNS, "near the end": TIC_TAC_TOE.parse("XO./XO./... 1")}


def statistics_of(group: Group) -> Statistics:
    assert isinstance(group.kernels, PuctKernels)
    return group.kernels.statistics


def searched(search: Puct, state: State, simulations: int) -> Group:
    group = Group(search, state.game)
    group.begin(0, state, Limit(evaluations=simulations), seed=1)
    group.run()
    return group


class Batches(BytePolicy):
    """A policy that records how many states it evaluated together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate_with_policy(self, game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.sizes.append(len(states))
        assert len({state.tobytes() for state in states}) > len(states) // 2
        return super().evaluate_with_policy(game, states)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("kind", STATES)
def test_visits_add_up_and_no_loss_is_left(kind: str, leaves: int) -> None:
    group = searched(Puct(BytePolicy(), leaves=leaves, noise=0.25), STATES[kind], 150)
    tree, statistics = group.tree, statistics_of(group)
    nodes, edges = int(tree.nodes[0]), int(tree.edges[0])
    assert not statistics.pending[0, :edges].any()
    assert group.searches.waiting[0] == 0
    for node in range(nodes):
        if tree.first_edge[0, node] == NONE:
            continue
        first = int(tree.first_edge[0, node])
        mine = range(first, first + int(tree.num_edges[0, node]))
        below = sum(int(tree.visits[0, edge]) for edge in mine)
        evaluated = tree.kind[0, node] not in (CHANCE, TERMINAL)  # its first simulation ended here
        assert statistics.through[0, node] == below + evaluated
        for edge in mine:
            child = int(tree.child[0, edge])
            if child == NONE:
                assert tree.visits[0, edge] == 0
            else:
                assert tree.visits[0, edge] == statistics.through[0, child]
    assert statistics.through[0, group.searches.root[0]] == group.searches.evaluations[0] == 150


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("leaves", LEAVES)
def test_values_replace_all_losses(leaves: int) -> None:
    """With one value for all states, the total of each edge is that value times its visits."""
    group = searched(fixed(0.25, leaves=leaves), COLUMNS, 60)
    edges = int(group.tree.edges[0])
    assert (group.tree.kind[0, : group.tree.nodes[0]] != TERMINAL).all()
    totals, visits = statistics_of(group).total[0, :edges], group.tree.visits[0, :edges]
    assert totals == pytest.approx(0.25 * visits)
    assert visits.sum() > 59


@pytest.mark.usefixtures("uncompiled")
def test_several_leaves_fill_batches() -> None:
    sizes = {}
    for leaves in (1, 8):
        evaluator = Batches()
        searched(Puct(evaluator, leaves=leaves), OPENING, 150)
        sizes[leaves] = evaluator.sizes
    assert set(sizes[1]) == {1}
    assert max(sizes[8]) == 8
    assert len(sizes[8]) < len(sizes[1]) / 3


@pytest.mark.usefixtures("uncompiled")
def test_waiting_leaves_lead_elsewhere() -> None:
    """A waiting simulation counts as a loss, so that the next ones take other actions."""
    group = Group(fixed(0.0, leaves=4), CONNECT_FOUR)
    group.begin(0, COLUMNS, Limit(evaluations=40))
    group.advance(100)
    group.value_waiting()  # the root
    group.advance(100)
    assert group.searches.status[0] == WAITING
    chosen = group.tree.visits[0, : group.tree.num_edges[0, 0]]
    assert chosen.sum() == 4
    assert chosen.max() == 1


@pytest.mark.usefixtures("uncompiled")
def test_one_leaf_is_the_search_of_the_golden_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = golden_trees.path("puct").read_text(encoding="utf-8")
    for leaves, equal in ((1, True), (8, False)):
        searches = {"puct": Puct(BytePolicy(), leaves=leaves)}
        monkeypatch.setattr(golden_trees, "searches", lambda found=searches: found)
        assert (golden_trees.grow("puct") == golden) is equal


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("state", [OPENING, COLUMNS])  # far from the end: every simulation waits
def test_a_search_that_breaks_off_forgets_waiting_simulations(state: State) -> None:
    group = Group(Puct(BytePolicy(), leaves=6), state.game)
    group.begin(0, state, Limit(evaluations=1000), seed=1)
    for _ in range(8):
        group.advance(100)
        group.value_waiting()
    tree, statistics = group.tree, statistics_of(group)
    nodes, edges = int(tree.nodes[0]), int(tree.edges[0])
    arrays = {"visits": tree.visits, "through": statistics.through, "total": statistics.total}
    before = {name: array[0].copy() for name, array in arrays.items()}
    group.advance(100)
    assert group.searches.waiting[0] > 1
    assert statistics.pending[0, : tree.edges[0]].sum() > 1
    assert (tree.visits[0, :edges] != before["visits"][:edges]).any()
    group.break_off()
    assert group.searches.waiting[0] == 0
    assert not statistics.pending[0, : tree.edges[0]].any()
    for name, array in arrays.items():
        known = nodes if name == "through" else edges
        assert (array[0, :known] == before[name][:known]).all(), name
    assert not statistics.through[0, nodes : tree.nodes[0]].any()
    assert not tree.visits[0, edges : tree.edges[0]].any()


def test_leaves_must_be_positive() -> None:
    with pytest.raises(DicentError, match="leaves must be 1 or more"):
        Puct(BytePolicy(), leaves=0)

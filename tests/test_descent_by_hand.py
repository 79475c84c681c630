"""Descent and Unbounded on small trees, compared node by node with results worked out by hand."""

from pathlib import Path

import pytest

import dicent
from dicent import Descent, Limit, Unbounded
from dicent.search.group import Group

from .exact import Exact, Table, written_out

Contents = tuple[dict[str, float], dict[str, int]]

#               r
#         a           b           MAX is to play at r, MIN at a and b, MAX below them.
#      a1   a2     b1   b2        The third column is the value from the evaluator.
#      -1   +1      0    0
#       0   -1     +1   -1
TREE = """
r    max   0.0   a b
a    min   0.6   a1 a2
b    min   0.4   b1 b2
a1   max   0.2   a1x=-1 a1y=0
a2   max   0.5   a2x=1 a2y=-1
b1   max   0.3   b1x=0 b1y=1
b2   max   0.8   b2x=0 b2y=-1
"""

CHANCY = """
r    max      0.0   c d
c    chance   0.5   x:0.25 y:0.75
d    min      0.2   dx=1 dy=0
x    min     -0.4   xx=1 xy=0
y    max      0.8   yx=0 yy=-1
"""

# The evaluator prefers the draw to the win that is hidden behind `deep`.
HIDDEN = """
r      max   0.0   draw=0 deep
deep   min  -0.5   dx=1 dy
dy     max  -0.7   dyx=-1 dyy=1
"""
HIDDEN_LOSS = """
r      min   0.0   draw=0 deep
deep   max   0.5   dx=-1 dy
dy     min   0.7   dyx=1 dyy=-1
"""


@pytest.fixture
def tree(tmp_path: Path) -> tuple[dicent.Game, Table]:
    return written_out(tmp_path, TREE)


@pytest.fixture
def chancy(tmp_path: Path) -> tuple[dicent.Game, Table]:
    return written_out(tmp_path, CHANCY)


def searched(
    search: Descent,
    game: dicent.Game,
    nodes: int | None = None,
    seed: int = 0,
    evaluations: int | None = None,
) -> Group:
    """Return a group of one search after a number of nodes or evaluations."""
    group = Group(search, game, compiled=False)
    group.begin(0, game.initial_state(), Limit(nodes=nodes, evaluations=evaluations), seed)
    group.run()
    group.settle()
    return group


def names(group: Group) -> list[str]:
    """Return the names of the tree's states, in the order of its nodes."""
    return [str(group.game.state(group.tree.state[0, node])) for node in range(group.tree.nodes[0])]


def contents(group: Group) -> Contents:
    """Return the value of every state in the tree, and the visits of each visited edge."""
    tree, name = group.tree, names(group)
    values = {name[node]: float(tree.value[0, node]) for node in range(len(name))}
    visits = {}
    for node in range(len(name)):
        for edge in range(tree.first_edge[0, node], tree.first_edge[0, node] + tree.num_edges[0, node]):
            if tree.visits[0, edge]:
                visits[f"{name[node]} {name[tree.child[0, edge]]}"] = int(tree.visits[0, edge])
    return values, visits


def resolved(group: Group) -> dict[str, int]:
    """Return the resolved states, each with its proved winner."""
    tree, name = group.tree, names(group)
    return {name[n]: int(tree.completion[0, n]) for n in range(len(name)) if tree.resolved[0, n]}


def exactly(values: dict[str, float], visits: dict[str, int]) -> Contents:
    return pytest.approx(values, abs=1e-12), visits


# Iteration 1. r is expanded: a 0.6, b 0.4; MAX goes to a. a is expanded: a1 0.2, a2 0.5; MIN goes to
# a1. a1 is expanded: -1, 0; MAX goes to a1y, the end. Back: a1 = 0, a = min(0, 0.5) = 0,
# r = max(0, 0.4) = 0.4.
FIRST_VALUES = {"r": 0.4, "a": 0, "b": 0.4, "a1": 0, "a2": 0.5, "a1x": -1, "a1y": 0}
FIRST_VISITS = {"r a": 1, "a a1": 1, "a1 a1y": 1}

# Iteration 2. MAX goes to b, which is expanded: b1 0.3, b2 0.8; MIN goes to b1, which is expanded: 0,
# +1; MAX goes to b1y, the end. Back: b1 = 1, b = min(1, 0.8) = 0.8, r = max(0, 0.8) = 0.8.
SECOND_VALUES = FIRST_VALUES | {"r": 0.8, "b": 0.8, "b1": 1, "b2": 0.8, "b1x": 0, "b1y": 1}
SECOND_VISITS = FIRST_VISITS | {"r b": 1, "b b1": 1, "b1 b1y": 1}

# Iteration 3. MAX goes to b again, MIN now to b2, which is expanded: 0, -1; MAX goes to b2x, the end.
# Back: b2 = 0, b = min(1, 0) = 0, r = max(0, 0) = 0.
THIRD_VALUES = SECOND_VALUES | {"r": 0, "b": 0, "b2": 0, "b2x": 0, "b2y": -1}
THIRD_VISITS = SECOND_VISITS | {"r b": 2, "b b2": 1, "b2 b2x": 1}


@pytest.mark.parametrize(
    ("nodes", "values", "visits"),
    [
        (6, FIRST_VALUES, FIRST_VISITS),
        (10, SECOND_VALUES, SECOND_VISITS),
        (12, THIRD_VALUES, THIRD_VISITS),
    ],
)
def test_descents_without_chance(
    tree: tuple[dicent.Game, Table], nodes: int, values: dict[str, float], visits: dict[str, int]
) -> None:
    game, evaluator = tree
    group = searched(Descent(evaluator, completion=False), game, nodes)
    assert contents(group) == exactly(values, visits)
    assert group.analysis().nodes == nodes == len(values) - 1  # all nodes but the root


@pytest.mark.parametrize("kind", ["nodes", "evaluations"])
def test_whole_descents_continue_to_the_end_beyond_the_limit(
    tree: tuple[dicent.Game, Table], kind: str
) -> None:
    game, evaluator = tree
    for budget in (1, 2, 3, 4):  # all within the first descent
        group = searched(Descent(evaluator, completion=False, whole=True), game, **{kind: budget})
        assert contents(group) == exactly(FIRST_VALUES, FIRST_VISITS)
    cut = searched(Descent(evaluator, completion=False), game, **{kind: 2})
    assert contents(cut) == exactly({"r": 0.6, "a": 0.6, "b": 0.4}, {"r a": 1})
    group = searched(Descent(evaluator, completion=False, whole=True), game, nodes=7)
    assert contents(group) == exactly(SECOND_VALUES, SECOND_VISITS)


def test_children_are_evaluated_in_one_batch_and_once(tree: tuple[dicent.Game, Table]) -> None:
    game, evaluator = tree
    searched(Descent(evaluator, completion=False), game, 30)
    assert evaluator.asked == [["a", "b"], ["a1", "a2"], ["b1", "b2"]]


# Unbounded expands one state an iteration.
# 1. r: a 0.6, b 0.4, so r = 0.6.
# 2. r to a: a1 0.2, a2 0.5, so a = 0.2, r = 0.4.
# 3. r to b: b1 0.3, b2 0.8, so b = 0.3, r = 0.3.
# 4. r to b to b1: 0, +1, so b1 = 1, b = 0.8, r = 0.8.
# 5. r to b to b2: 0, -1, so b2 = 0, b = 0, r = max(0.2, 0) = 0.2.
# 6. r to a to a1: -1, 0, so a1 = 0, a = 0, r = 0.
UNBOUNDED = [
    (2, {"r": 0.6, "a": 0.6, "b": 0.4}, {}),
    (4, {"r": 0.4, "a": 0.2, "a1": 0.2, "a2": 0.5}, {"r a": 1}),
    (6, {"r": 0.3, "b": 0.3, "b1": 0.3, "b2": 0.8}, {"r b": 1}),
    (8, {"r": 0.8, "b": 0.8, "b1": 1, "b1x": 0, "b1y": 1}, {"r b": 2, "b b1": 1}),
    (10, {"r": 0.2, "b": 0, "b2": 0, "b2x": 0, "b2y": -1}, {"r b": 3, "b b2": 1}),
    (12, {"r": 0, "a": 0, "a1": 0, "a1x": -1, "a1y": 0}, {"r a": 2, "a a1": 1}),
]


def test_unbounded_without_chance(tree: tuple[dicent.Game, Table]) -> None:
    game, evaluator = tree
    values: dict[str, float] = {}
    visits: dict[str, int] = {}
    for nodes, changed, gone in UNBOUNDED:
        values |= changed
        visits |= gone
        group = searched(Unbounded(evaluator, completion=False), game, nodes)
        assert contents(group) == exactly(values, visits), f"after {nodes} nodes"


# With completion the descents are the same, but they end where a state is resolved: the children of
# a1, b1 and b2 are all ends of the game, so nothing is to be found below them.
# Iteration 4. b is resolved, as both its children are. So MAX goes to a, and MIN to a2, the only child
# that is not resolved; it is expanded: +1, -1; MAX wins there for sure. Back: a2 = 1, a = min(0, 1) = 0
# with both children resolved, r = max(0, 0) = 0 with both children resolved: the search is over.
COMPLETED = [
    (6, {"a1": 0}, FIRST_VALUES, {"r a": 1, "a a1": 1}),
    (10, {"b1": 1}, SECOND_VALUES, {"r b": 1, "b b1": 1}),
    (12, {"b2": 0, "b": 0}, THIRD_VALUES, {"r b": 2, "b b2": 1}),
    (1000, {"a2": 1, "a": 0, "r": 0}, {"a2": 1, "a2x": 1, "a2y": -1}, {"r a": 2, "a a2": 1}),
]


def test_descents_with_completion(tree: tuple[dicent.Game, Table]) -> None:
    game, evaluator = tree
    values: dict[str, float] = {}
    visits: dict[str, int] = {}
    proved: dict[str, int] = {}
    for nodes, newly_proved, changed, gone in COMPLETED:
        values |= changed
        visits |= gone
        proved |= newly_proved
        group = searched(Descent(evaluator), game, nodes)
        assert contents(group) == exactly(values, visits), f"after {nodes} nodes"
        inner = {name: c for name, c in resolved(group).items() if name[-1] not in "xy"}
        assert inner == proved, f"after {nodes} nodes"
    assert group.analysis().proved
    assert group.analysis().nodes == 14


# Iteration 1. r is expanded: c 0.5, d 0.2; MAX goes to c, which is expanded: x -0.4, y 0.8. One of them
# is sampled, and expanded.
#   x: +1, 0; MIN goes to 0, the end. Back: x = 0, c = 0.25 * 0 + 0.75 * 0.8 = 0.6, r = 0.6.
#   y: 0, -1; MAX goes to 0, the end. Back: y = 0, c = 0.25 * -0.4 + 0.75 * 0 = -0.1, r = 0.2.
# Iteration 2.
#   After x, MAX goes to c again. If x is sampled again, nothing changes. If y is sampled, it becomes 0:
#   c = 0, r = max(0, 0.2) = 0.2.
#   After y, MAX goes to d, which is expanded: +1, 0; MIN goes to 0. Back: d = 0, r = max(-0.1, 0) = 0.
BEFORE = {"r": 0.5, "c": 0.5, "d": 0.2, "x": -0.4, "y": 0.8}
AFTER_X = BEFORE | {"r": 0.6, "c": 0.6, "x": 0, "xx": 1, "xy": 0}
AFTER_Y = BEFORE | {"r": 0.2, "c": -0.1, "y": 0, "yx": 0, "yy": -1}
CHANCY_FIRST = {
    "x": (AFTER_X, {"r c": 1, "c x": 1, "x xy": 1}),
    "y": (AFTER_Y, {"r c": 1, "c y": 1, "y yx": 1}),
}
CHANCY_SECOND = {
    "xx": (AFTER_X, {"r c": 2, "c x": 2, "x xy": 2}),
    "xy": (
        AFTER_X | AFTER_Y | {"r": 0.2, "c": 0, "x": 0},
        {"r c": 2, "c x": 1, "x xy": 1, "c y": 1, "y yx": 1},
    ),
    "y": (
        AFTER_Y | {"r": 0, "d": 0, "dx": 1, "dy": 0},
        {"r c": 1, "c y": 1, "y yx": 1, "r d": 1, "d dy": 1},
    ),
}


def sampled(group: Group) -> str:
    """Return the outcomes that were visited, in the order of their names."""
    visits = contents(group)[1]
    return "x" * visits.get("c x", 0) + "y" * visits.get("c y", 0)


@pytest.mark.parametrize(("nodes", "expected"), [(6, CHANCY_FIRST), (7, CHANCY_SECOND)])
def test_descents_with_chance(
    chancy: tuple[dicent.Game, Table],
    nodes: int,
    expected: dict[str, tuple[dict[str, float], dict[str, int]]],
) -> None:
    game, evaluator = chancy
    seen = set()
    for seed in range(40):
        group = searched(Descent(evaluator, completion=False), game, nodes, seed)
        seen.add(sampled(group))
        assert contents(group) == exactly(*expected[sampled(group)])
    assert seen == set(expected)


def test_outcomes_are_sampled_by_their_probability(chancy: tuple[dicent.Game, Table]) -> None:
    game, evaluator = chancy
    first = [
        sampled(searched(Descent(evaluator, completion=False), game, nodes=6, seed=seed))
        for seed in range(400)
    ]
    assert abs(first.count("x") - 100) < 5 * (400 * 0.25 * 0.75) ** 0.5


def test_unbounded_with_chance(chancy: tuple[dicent.Game, Table]) -> None:
    # 1. r: c 0.5, d 0.2. 2. r to c: x -0.4, y 0.8, so c = 0.5. 3. r to c to x or y, as in the descents,
    # but without descending to the end.
    game, evaluator = chancy
    assert contents(searched(Unbounded(evaluator, completion=False), game, 4)) == exactly(BEFORE, {"r c": 1})
    seen = set()
    for seed in range(40):
        group = searched(Unbounded(evaluator, completion=False), game, 6, seed)
        seen.add(sampled(group))
        values, visits = CHANCY_FIRST[sampled(group)]
        visits = {link: 1 for link in visits if link[0] in "rc"} | {"r c": 2}
        assert contents(group) == exactly(values, visits)
    assert seen == {"x", "y"}


def test_resolved_outcomes_are_never_sampled_again(chancy: tuple[dicent.Game, Table]) -> None:
    # x and y are resolved by their first visit, d by its own: c = 0.25 * 0 + 0.75 * 0 = 0, d = 0.
    game, evaluator = chancy
    for seed in range(20):
        group = searched(Descent(evaluator), game, 1000, seed)
        values, visits = contents(group)
        assert group.analysis().proved
        assert values == pytest.approx({state: Exact().value(game.parse(state)) for state in values})
        assert all(n == 1 for link, n in visits.items() if link != "r c")


def test_completion_finds_a_win_that_plain_descent_misses(tmp_path: Path) -> None:
    game, evaluator = written_out(tmp_path, HIDDEN)
    plain = searched(Descent(evaluator, completion=False), game, 200).analysis()
    assert (plain.value, plain.proved, plain.nodes) == (0, False, 2)
    # The first descent adds two nodes. Each later one adds none, and the limit counts it as one.
    assert [move.visits for move in plain.moves] == [199, 0]
    assert evaluator.asked == [["deep"]]

    completed = searched(Descent(evaluator), game, 200).analysis()
    assert (completed.value, completed.proved, completed.nodes) == (1, True, 6)
    assert game.format_action(game.initial_state(), completed.best) == "deep"


@pytest.mark.parametrize("limit", [Limit(nodes=50), Limit(evaluations=50), Limit(depth=9), Limit(time=0.02)])
@pytest.mark.parametrize("search", [Descent, Unbounded])
def test_every_limit_ends_a_stalled_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: type[Descent], limit: Limit
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    game, evaluator = written_out(tmp_path, HIDDEN)
    analysis = search(evaluator, completion=False).analyse(game.initial_state(), limit)
    assert (analysis.value, analysis.moves[0].text) == (0, "draw")
    assert analysis.nodes == 2
    assert analysis.evaluations == len(evaluator.asked) == 1


def test_completion_finds_a_hidden_win_of_the_second_player(tmp_path: Path) -> None:
    game, evaluator = written_out(tmp_path, HIDDEN_LOSS)
    analysis = searched(Descent(evaluator), game, 200).analysis()
    assert (analysis.value, analysis.proved, analysis.win) == (-1, True, 1)


SAFE = """
r    max     0.0   ca cb
ca   chance  0.9   a1:0.5 a2:0.5
a1   max     0.9   a1x=1 a1y=0
a2   max     0.9   a2x=-1 a2y=-1
cb   chance  0.1   w=1:0.6 l=-1:0.4
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("decision", ["best", "safe"])
def test_the_best_move_of_a_proved_root_is_played_however_often_others_were_visited(
    tmp_path: Path, decision: str
) -> None:
    game, evaluator = written_out(tmp_path, SAFE)
    analysis = Unbounded(evaluator, decision=decision).analyse(game.initial_state(), Limit(nodes=100))
    assert analysis.proved
    assert analysis.value == pytest.approx(0.2)
    assert [move.text for move in analysis.moves] == ["cb", "ca"]
    assert analysis.moves[1].visits > analysis.moves[0].visits

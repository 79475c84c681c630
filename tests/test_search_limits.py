"""The contract of every search: limits, kinds of roots, streams, interrupts, tree reuse."""

import _thread
import math
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import dicent
from dicent import Analysis, Descent, Determinized, DicentError, Limit, Puct
from dicent.nets.residual import ResidualNetwork
from dicent.search.group import Group

from .exact import ALL, ASKING, TREES, Asked, check_order, check_usable, without_time, written_out

pytestmark = pytest.mark.usefixtures("uncompiled")

START = "ABC2/DE3/F3f/3de/2abc 1 2"
EXPANSION = 12  # most nodes that one expansion adds; a determinization adds two for each action
STATES = {  # far from the end, and near it
    "ewn": [START, "ABC2/DE3/F3f/3de/2abc 2 -", "5/1B3/C1b2/2e2/5 1 -", "5/3D1/1AF2/e4/5 1 4"],
    "dice-nim": ["15 1 -", "15 2 5", "1 2 6", "2 1 -"],
    "tic-tac-toe": [".../.../... 1", "XO./.X./... 2", "XOX/XXO/O.. 2"],
}


every_search = pytest.mark.parametrize("name", list(ALL))
every_tree = pytest.mark.parametrize("name", list(TREES))


def states(*games: str) -> Iterator[dicent.State]:
    for game in games or STATES:
        for text in STATES[game]:
            yield dicent.make(game).parse(text)


# Budgets


def spent(analysis: Analysis, kind: str) -> int:
    """Return how much of a limit is spent; work that adds no state is charged, too, and not reported."""
    assert analysis.tree is not None
    return int(getattr(analysis, kind) + analysis.tree.searches.charged[0])


@every_tree
@pytest.mark.parametrize("kind", ["nodes", "evaluations"])
@pytest.mark.parametrize("budget", [0, 1, 5, 40, 111])
def test_limits_of_nodes_and_evaluations_hold(name: str, kind: str, budget: int) -> None:
    for state in states("ewn"):
        analysis = ALL[name]().analyse(state, Limit(**{kind: budget}))
        check_usable(analysis)
        check_order(name, analysis)
        assert analysis.proved or budget <= spent(analysis, kind)
        assert getattr(analysis, kind) <= budget + EXPANSION


@every_tree
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_limit_of_depth_holds(name: str, depth: int) -> None:
    for state in states("ewn"):
        analysis = ALL[name]().analyse(state, Limit(depth=depth))
        check_usable(analysis)
        check_order(name, analysis)
        beyond = name in ("uct", "puct")  # a simulation continues through chance to a decision
        assert analysis.proved or max(1, depth) <= analysis.depth <= max(1, depth) + beyond


@pytest.mark.parametrize(
    ("kind", "budget", "beyond"),
    [("nodes", 40, EXPANSION), ("evaluations", 40, EXPANSION), ("depth", 0, 1), ("depth", 3, 0)],
)
def test_limits_hold_with_pruning(kind: str, budget: int, beyond: int) -> None:
    for state in states("ewn"):
        analysis = ALL["pruned expectiminimax"]().analyse(state, Limit(time=600, **{kind: budget}))
        check_usable(analysis)
        assert budget <= getattr(analysis, kind) <= budget + beyond


@every_search
@pytest.mark.parametrize("seconds", [0, 0.05])
def test_limit_of_time_holds(name: str, seconds: float) -> None:
    for text in ("60 1 -", "60 2 3"):
        begin = time.perf_counter()
        analysis = ALL[name]().analyse(dicent.make("dice-nim:stones=60").parse(text), Limit(time=seconds))
        assert 0 < analysis.time <= time.perf_counter() - begin < 20
        check_usable(analysis)


@every_tree
@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("nodes", Limit(nodes=30, evaluations=10_000, depth=300, time=600)),
        ("evaluations", Limit(nodes=10_000, evaluations=30, depth=300, time=600)),
        ("depth", Limit(nodes=10_000, evaluations=10_000, depth=4, time=600)),
    ],
)
def test_the_first_limit_reached_ends_the_search(name: str, kind: str, limit: Limit) -> None:
    analysis = ALL[name]().analyse(dicent.make("dice-nim:stones=60").initial_state(), limit)
    check_usable(analysis)
    most, beyond = getattr(limit, kind), 1 if kind == "depth" else EXPANSION
    assert most <= (analysis.depth if kind == "depth" else spent(analysis, kind))
    assert getattr(analysis, kind) <= most + beyond
    assert analysis.nodes < 1000


@every_tree
def test_a_depth_beyond_the_game_ends_the_search(name: str) -> None:
    state = dicent.make("dice-nim").parse("3 1 2")
    for number, analysis in enumerate(ALL[name]().stream(state, Limit(depth=100), every=0)):
        check_usable(analysis)
        assert number < 10_000, "the search does not end"


@pytest.mark.parametrize("endless", [math.inf, 2**80])
def test_infinite_limits_are_accepted(endless: Any) -> None:
    search, state = Descent(dicent.RandomEvaluator(1)), dicent.make("dice-nim").initial_state()
    few = search.analyse(state, Limit(nodes=20))
    limit = Limit(nodes=20, evaluations=endless, depth=endless, time=endless)
    assert without_time(search.analyse(state, limit)) == without_time(few)
    assert search.analyse(state, Limit(nodes=endless)).proved


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "at least one of time, nodes, evaluations, depth and turns"),
        ({"nodes": -1}, r"Limit\(nodes=-1\): it must be a number of 0 or more"),
        ({"time": math.nan}, r"Limit\(time=nan\)"),
        ({"nodes": "many"}, r"Limit\(nodes='many'\)"),
        ({"nodes": True}, r"Limit\(nodes=True\)"),
        ({"nodes": 2.5}, r"Limit\(nodes=2.5\): it must be a whole number"),
        ({"time": 1, "depth": -3}, r"Limit\(depth=-3\)"),
    ],
)
def test_invalid_limits_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(DicentError, match=message):
        Limit(**wrong)


# Kinds of roots


@every_search
def test_terminal_root_is_analysed_without_moves(name: str) -> None:
    ends = [("ewn", "5/5/5/5/a3A 2 -", 1), ("dice-nim", "0 1 -", -1), ("tic-tac-toe", "XOX/XOO/OXX 2", 0)]
    for game, text, result in ends:
        state = dicent.make(game).parse(text)
        analysis = ALL[name]().analyse(state, Limit(nodes=100))
        assert (analysis.value, analysis.proved, analysis.moves, analysis.by_outcome) == (
            result,
            True,
            (),
            (),
        )
        assert (analysis.nodes, analysis.evaluations) == (0, 0)
        with pytest.raises(DicentError, match=r"there is no action to play at .*over"):
            ALL[name]().play(state, Limit(nodes=100))


@every_search
def test_chance_root_is_analysed_by_outcome(name: str) -> None:
    for state in states("ewn", "dice-nim"):
        if state.is_chance:
            analysis = ALL[name]().analyse(state, Limit(nodes=100))
            assert analysis.moves == ()
            outcomes = {info.outcome: info.text for info in analysis.by_outcome}
            if not name.startswith(("determinized", "random")):
                assert [(info.outcome, info.p) for info in analysis.by_outcome] == list(state.outcomes)
            assert all(text == state.game.format_outcome(state, o) for o, text in outcomes.items())
            with pytest.raises(DicentError, match=r"there is no action to play at .*chance"):
                ALL[name]().play(state, Limit(nodes=100))


@every_search
def test_the_same_seed_gives_the_same_decision(name: str) -> None:
    for state in states():
        first, second = (ALL[name]().analyse(state, Limit(nodes=50)) for _ in range(2))
        assert without_time(first) == without_time(second)
        if state.legal_actions:
            assert ALL[name]().play(state, Limit(nodes=50)) == first.best


@every_search
@pytest.mark.parametrize("limit", [Limit(nodes=0), Limit(evaluations=0), Limit(depth=0), Limit(time=0)])
def test_a_forced_move_is_played_without_any_budget(name: str, limit: Limit) -> None:
    for game, text in [("ewn", "4A/5/5/5/a4 1 1"), ("dice-nim", "9 2 1"), ("tic-tac-toe", "XOX/XXO/O.O 1")]:
        state = dicent.make(game).parse(text)
        assert (ALL[name]().play(state, limit),) == state.legal_actions


@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize("limit", [Limit(evaluations=9), Limit(nodes=9), Limit(depth=2), Limit(time=0)])
def test_puct_with_a_network(temperature: float, limit: Limit) -> None:
    state = dicent.make("ewn").parse(START)
    torch.manual_seed(1)
    module = ResidualNetwork(state.game.input_shape, 2, 1, 4, num_actions=state.game.num_actions)
    search = Puct(dicent.Network(module), temperature=temperature)
    check_usable(search.analyse(state, limit))
    assert search.play(state, limit) in state.legal_actions


# Contents of an analysis


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("uct", "puct", "random")])
@pytest.mark.parametrize("nodes", [0, 10, 25, 60, 300])
def test_outcomes_average_to_the_value(name: str, nodes: int) -> None:
    for state in states():
        analysis = ALL[name]().analyse(state, Limit(nodes=nodes))
        for info in (analysis, *analysis.moves):
            if info.by_outcome:
                assert sum(part.p for part in info.by_outcome) == pytest.approx(1)
                mean = sum(part.p * part.value for part in info.by_outcome)
                assert mean == pytest.approx(info.value, abs=1e-9)


def test_win_probability_at_chance_is_for_the_next_player(tmp_path: Path) -> None:
    for text, player in (("9 1 -", 1), ("9 2 -", -1)):
        analysis = dicent.Uct().analyse(dicent.make("dice-nim").parse(text), Limit(nodes=40))
        assert analysis.win == pytest.approx((1 + player * analysis.value) / 2)
    either = "c chance 0 x:0.5 y:0.5\nx max 0.5 xx=1 xy=0\ny min 0.5 yx=1 yy=0\n"
    game, evaluator = written_out(tmp_path, either)
    analysis = Descent(evaluator).analyse(game.initial_state(), Limit(nodes=50))
    assert (analysis.value, analysis.win) == (0.5, 0.75)  # either player may move next, so it is for MAX


# Full stores


def in_group(search: dicent.Search, text: str, size: int, nodes: int, limit: Limit) -> list[Analysis]:
    state = dicent.make("ewn").parse(text)
    tree_search = search.inner if isinstance(search, Determinized) else search
    group = Group(tree_search, state.game, size, nodes)  # type: ignore[arg-type]
    for row in range(size):
        group.begin(row, state, limit, seed=row)
    group.run()
    group.settle()
    return [group.analysis(row) for row in range(size)]


@every_tree
def test_full_trees_end_the_searches_of_a_group(name: str) -> None:
    for analysis in in_group(TREES[name](), START, size=2, nodes=100, limit=Limit(nodes=100_000)):
        assert analysis.full
        assert 30 < analysis.nodes < 2000
        check_usable(analysis)
        check_order(name, analysis)


@every_tree
def test_the_tree_of_a_single_search_grows(name: str) -> None:
    (analysis,) = in_group(TREES[name](), START, size=1, nodes=32, limit=Limit(nodes=400))
    assert not analysis.full
    assert spent(analysis, "nodes") >= 400
    assert analysis.nodes <= 400 + EXPANSION
    check_usable(analysis)
    check_order(name, analysis)


@pytest.mark.parametrize("name", ["descent", "unbounded", "expectiminimax"])
def test_a_growing_tree_proves_the_same(name: str) -> None:
    text, limit = "5/3D1/1AF2/e4/5 1 4", Limit(nodes=100_000)
    whole = TREES[name]().analyse(dicent.make("ewn").parse(text), limit)
    (grown,) = in_group(TREES[name](), text, size=1, nodes=32, limit=limit)
    assert (grown.proved, grown.value) == (whole.proved, pytest.approx(whole.value)) == (True, grown.value)


def test_growing_leaves_values_unchanged() -> None:
    for build in ASKING.values():
        search = build(Asked(value=0.5))
        (analysis,) = in_group(search, START, size=1, nodes=16, limit=Limit(nodes=60, depth=6))
        assert analysis.value == pytest.approx(0.5)


# Interrupts and streams

asking = pytest.mark.parametrize("name", list(ASKING))


@asking
@pytest.mark.parametrize("calls", [0, 1, 2, 5])
def test_ctrl_c_returns_the_analysis_so_far(name: str, calls: int) -> None:
    for state in (dicent.make("ewn").parse(START), dicent.make("tic-tac-toe").initial_state()):
        analysis = ASKING[name](Asked(calls)).analyse(state, Limit(nodes=100_000))
        assert analysis.interrupted
        check_usable(analysis)
        assert not ASKING[name](Asked()).analyse(state, Limit(nodes=10)).interrupted


def test_ctrl_c_ends_a_pruning_search() -> None:
    search, state = ALL["pruned expectiminimax"](), dicent.make("ewn").parse(START)
    search.analyse(state, Limit(depth=1))  # now its kernels are loaded, and only the search itself takes time
    threading.Timer(0.3, _thread.interrupt_main).start()
    try:
        analysis = search.analyse(state, Limit(time=600))
    except KeyboardInterrupt:
        pytest.fail("nothing came back")
    assert analysis.interrupted
    assert analysis.time < 600
    check_usable(analysis)


@asking
@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_missing_values_are_not_invented_after_ctrl_c(name: str, calls: int) -> None:
    search, state = ASKING[name](Asked(calls, value=0.5)), dicent.make("tic-tac-toe").initial_state()
    stopped = search.analyse(state, Limit(nodes=1000))
    for analysis in (stopped, search.analyse(state, Limit(nodes=30, depth=3), after=stopped)):
        assert {move.value for move in analysis.moves if move.visits or name != "puct"} <= {0.5}


@asking
def test_a_stream_yields_growing_analyses(name: str) -> None:
    watched = list(TREES[name]().stream(dicent.make("ewn").parse(START), Limit(nodes=200), every=0))
    assert len(watched) > 2
    assert watched[-1].nodes >= 200
    for before, after in pairwise(watched):
        check_usable(before)
        assert (before.nodes, before.depth) <= (after.nodes, after.depth)


@asking
def test_reading_a_search_does_not_change_it(name: str) -> None:
    for state in states("ewn"):
        *_, last = TREES[name]().stream(state, Limit(nodes=200), every=0)
        assert without_time(last) == without_time(TREES[name]().analyse(state, Limit(nodes=200)))


@asking
def test_a_stream_can_be_abandoned(name: str) -> None:
    search, state = TREES[name](), dicent.make("ewn").parse(START)
    for analysis in search.stream(state, Limit(time=600), every=0):
        if analysis.nodes > 30:
            break
    check_usable(analysis)
    assert search.play(state, Limit(nodes=10)) in state.legal_actions


# Tree reuse


@pytest.mark.parametrize("name", ["descent", "plain descent", "unbounded", "asking descent"])
def test_continuing_reuses_the_tree(name: str) -> None:
    search, state = TREES[name](), dicent.make("ewn").parse(START)
    first = search.analyse(state, Limit(nodes=300))
    more = search.analyse(state, Limit(nodes=300), after=first)
    before, now = ({move.action: move.visits for move in a.moves} for a in (first, more))
    assert all(now[action] >= before[action] for action in before)
    assert sum(now.values()) > sum(before.values())
    to_roll = state.apply(more.best)
    rolled = to_roll.apply_outcome(0)
    assert search.analyse(to_roll, Limit(nodes=0), after=more).value == pytest.approx(more.value)
    assert sum(move.visits for move in search.analyse(rolled, Limit(nodes=0), after=more).moves) > 1


def test_continuing_reuses_the_tree_of_a_determinization() -> None:
    search, state = Determinized(Descent(dicent.RandomEvaluator(1)), 1), dicent.make("ewn").parse(START)
    first = search.analyse(state, Limit(nodes=300))
    to_roll = state.apply(first.best)
    for known in (to_roll, to_roll.apply_outcome(search.outcome(to_roll))):
        assert search.analyse(known, Limit(nodes=0), after=first).value == pytest.approx(first.value)


@pytest.mark.parametrize("name", ["descent", "unbounded"])
def test_continuing_saves_evaluations(name: str) -> None:
    search, state = TREES[name](), dicent.make("ewn").parse("5/3D1/1AF2/e4/5 1 4")
    whole = search.analyse(state, Limit(nodes=100_000))
    part = search.analyse(state, Limit(nodes=whole.nodes // 2))
    rest = search.analyse(state, Limit(nodes=100_000), after=part)
    assert (part.proved, rest.proved, rest.value) == (False, True, pytest.approx(whole.value))
    assert rest.evaluations < 0.7 * whole.evaluations


@every_tree
def test_continuing_at_an_unrelated_state_restarts(name: str) -> None:
    search = TREES[name]()
    first = search.analyse(dicent.make("ewn").parse(START), Limit(nodes=100))
    for state in list(states("ewn"))[1:]:
        fresh = TREES[name]().analyse(state, Limit(nodes=50))
        assert without_time(search.analyse(state, Limit(nodes=50), after=first)) == without_time(fresh)
    other = TREES[name]().analyse(first.state, Limit(nodes=100), after=first)  # ignores another's tree
    assert without_time(other) == without_time(first)


@pytest.mark.parametrize(("game", "text"), [("ewn:rules=paper", START), ("dice-nim", "15 1 -")])
def test_continuing_in_another_game_restarts(game: str, text: str) -> None:
    search, state = Descent(dicent.RandomEvaluator(1)), dicent.make(game).parse(text)
    fresh = search.analyse(state, Limit(nodes=200))
    first = search.analyse(dicent.make("ewn").parse(START), Limit(nodes=200))
    assert without_time(search.analyse(state, Limit(nodes=200), after=first)) == without_time(fresh)

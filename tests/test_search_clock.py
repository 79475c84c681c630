"""Limits of time, with a clock that counts work: no test here depends on the speed of the machine."""

import importlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import Descent, Expectiminimax, Limit, RandomEvaluator, Rollout
from dicent.evaluate.base import Evaluator, Values
from dicent.game import Cells, Game
from dicent.kernels.star import Star
from dicent.search.analysis import Analysis
from dicent.search.group import Group
from dicent.search.star import StarRun
from dicent.search.tree_search import Search

from .exact import TREES, check_usable

pytestmark = pytest.mark.usefixtures("uncompiled")

EWN = dicent.make("ewn")
START = EWN.parse("ABC2/DE3/F3f/3de/2abc 1 2")
MIDDLE = EWN.parse("A4/2D1c/1F3/3de/2a2 2 3")


class FakeClock:
    """A clock that advances with the work done, on a machine that is busy at times."""

    def __init__(self, seed: int = 1, busy: float = 1.0) -> None:
        self.now = 0.0
        self.rng = random.Random(seed)
        self.busy = busy  # how many times longer work may take

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds * self.rng.uniform(1.0, self.busy)


class Ticking(Evaluator):
    """An evaluator that takes a fixed time for a batch, and some for each of its states."""

    def __init__(self, clock: FakeClock, a_state: float, a_batch: float = 0.0) -> None:
        self.clock, self.a_state, self.a_batch = clock, a_state, a_batch
        self.inner = RandomEvaluator(3)

    def evaluate(self, game: Game, states: Cells) -> Values:
        self.clock.work(self.a_batch + self.a_state * len(states))
        return self.inner.evaluate(game, states)

    offers_policy = property(lambda self: True)

    def evaluate_with_policy(self, game: Game, states: Cells):  # type: ignore[no-untyped-def]
        return self.evaluate(game, states), np.zeros((len(states), game.num_actions), np.float32)


@pytest.fixture
def kernels_take_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeClock, float], None]:
    """Return a function that advances a clock with each node that a kernel adds."""

    def apply(clock: FakeClock, a_node: float) -> None:
        real = Group.advance

        def advance(group: Group, steps: int) -> None:
            before = int(group.searches.nodes[0]), int(group.tree.nodes[0])
            real(group, steps)
            added = max(int(group.searches.nodes[0]) - before[0], int(group.tree.nodes[0]) - before[1])
            clock.work(a_node * max(1, added))

        monkeypatch.setattr(Group, "advance", advance)

    return apply


@pytest.mark.parametrize("name", list(TREES))
@pytest.mark.parametrize("seconds", [0.1, 1.0])
def test_time_is_kept_on_a_busy_machine(
    name: str, seconds: float, kernels_take_time: Callable[[FakeClock, float], None]
) -> None:
    for seed in range(2):
        clock = FakeClock(seed, busy=1.8)
        kernels_take_time(clock, 1e-3 if name == "uct" else 2e-6)
        search = TREES[name]()
        if search.replaces_evaluator:
            search = search.with_evaluator(Ticking(clock, a_state=1e-3, a_batch=1e-3))
        inner = search.inner or search
        inner.clock = clock
        analysis = search.analyse(MIDDLE, Limit(time=seconds))
        check_usable(analysis)
        assert clock.now <= seconds + max(0.02, 0.05 * seconds)
        assert analysis.proved or clock.now >= 0.7 * seconds


@pytest.mark.parametrize("leaves", [1, 4])
def test_puct_waits_for_its_first_simulation(leaves: int) -> None:
    """An action whose simulation still waits for a value is not tried yet, however slow the network is."""
    clock = FakeClock()
    search = dicent.Puct(Ticking(clock, a_state=1.0), leaves=leaves, temperature=1)
    search.clock = clock
    analysis = search.analyse(MIDDLE, Limit(time=0))
    assert sum(move.visits for move in analysis.moves) > 0
    assert search.play(MIDDLE, Limit(time=0)) in MIDDLE.legal_actions


class Working(StarRun):
    """A pruned search whose kernel takes time for each node."""

    def __init__(self, clock: FakeClock, seconds: float, a_node: float) -> None:
        super().__init__(RandomEvaluator(3), MIDDLE, Limit(time=seconds), clock)
        begin, search = self.kernels

        def timed(memory: Star, *others: Any) -> bool:
            before = int(memory.counts[0])
            ended = search(memory, *others)
            clock.work(a_node * max(1, int(memory.counts[0]) - before))
            return ended

        self.kernels = begin, timed


@pytest.mark.parametrize("plays", [False, True])
@pytest.mark.parametrize("seconds", [0.002, 0.1, 1.0])
def test_time_is_kept_by_pruned_search_on_a_busy_machine(seconds: float, plays: bool) -> None:
    for seed in range(4):
        clock = FakeClock(seed, busy=1.8)
        run = Working(clock, seconds, a_node=5e-4 * seconds)
        if plays:
            assert run.best_action() in MIDDLE.legal_actions
        else:
            *_, analysis = run.analyses(float("inf"))
            check_usable(analysis)
        assert clock.now <= seconds + max(0.02, 0.05 * seconds)
        assert clock.now >= 0.7 * seconds


def by_depth(search: Search, state: dicent.State, depth: int) -> dict[str, float]:
    return {move.text: move.value for move in search.analyse(state, Limit(depth=depth)).moves}


def check_broken_off(analysis: Analysis, at: list[dict[str, float]]) -> int:
    """Check the rule for a depth that was broken off; return how many actions have deeper values.

    `at[d]` has the values of depth d.
    """
    sign, depth = analysis.state.to_play, analysis.depth
    old, new = at[depth], at[depth + 1]
    deeper = [move for move in analysis.moves if move.value != old[move.text]]
    assert all(move.value == new[move.text] for move in deeper)
    assert analysis.value == analysis.moves[0].value
    first = analysis.moves[: len(deeper)]
    assert {move.text for move in first} == {move.text for move in deeper}
    if deeper:
        best = max(old, key=lambda text: sign * old[text])
        assert best in {move.text for move in deeper}
        assert first[0].value * sign == max(sign * move.value for move in deeper)
    rest = [sign * move.value for move in analysis.moves[len(deeper) :]]
    assert rest == sorted(rest, reverse=True)
    return len(deeper)


@pytest.mark.parametrize("state", [START, MIDDLE])
def test_a_depth_broken_off_changes_complete_actions_only(state: dicent.State) -> None:
    clock = FakeClock()
    search = Expectiminimax(Ticking(clock, 1e-3))
    at = [{}, *(by_depth(search, state, depth) for depth in range(1, 5))]
    search.clock = clock
    found = set()
    for states in range(4, 300, 5):
        clock.now = 0.0
        analysis = search.analyse(state, Limit(time=1e-3 * states))
        assert clock.now <= 1e-3 * states + 0.02
        if analysis.depth < 4:
            found.add(check_broken_off(analysis, at))
    assert found >= {0, 1, 2}  # no action, the best one, and some of the others


def test_time_within_a_roll_changes_nothing_until_all_outcomes_are_complete() -> None:
    state = EWN.parse("A4/2D1c/1F3/3de/2a2 2 -")
    clock = FakeClock()
    search = Expectiminimax(Ticking(clock, 1e-3))
    at = [search.analyse(state, Limit(depth=depth)).by_outcome for depth in range(1, 4)]
    search.clock = clock
    for states in range(8, 150, 7):
        clock.now = 0.0
        analysis = search.analyse(state, Limit(time=1e-3 * states))
        assert analysis.depth > 3 or analysis.by_outcome == at[analysis.depth - 1]


class Stepping(StarRun):
    """A pruned search whose clock counts its nodes."""

    def __init__(self, state: dicent.State, nodes: int) -> None:
        super().__init__(RandomEvaluator(3), state, Limit(time=nodes), self._now)

    def _now(self) -> float:
        return float(self.memory.counts[0]) if hasattr(self, "memory") else 0.0


@pytest.mark.parametrize("state", [START, MIDDLE])
def test_pruned_search_keeps_its_time_and_uses_complete_actions(state: dicent.State) -> None:
    at = [{}, *(by_depth(Expectiminimax(RandomEvaluator(3)), state, depth) for depth in range(1, 5))]
    found = set()
    for nodes in range(10, 900, 9):
        run = Stepping(state, nodes)
        *_, analysis = run.analyses(float("inf"))
        assert analysis.nodes <= nodes + 7  # an expansion
        if analysis.depth < 4:
            found.add(check_broken_off(analysis, at))
    assert found >= {0, 1, 2}


def test_the_reserve_of_a_search_by_layers_pays_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reserve is measured by a rehearsal. Most of the work of both is to back up nodes."""
    group = Group(Expectiminimax(RandomEvaluator(3)), EWN)
    module = importlib.import_module(f"{group.bound.package.__name__}.expectiminimax")
    calls, real = [0], module.backup

    def backup(*arguments: Any) -> None:
        calls[0] += 1
        real(*arguments)

    monkeypatch.setattr(module, "backup", backup)
    ends = set()
    for nodes in range(100, 2000, 100):
        group = Group(group.search, EWN)
        group.kernels.prepare_deadline()
        group.begin(0, MIDDLE, Limit(time=1.0))
        while group.tree.nodes[0] < nodes:
            group.advance(5)
        before = [getattr(group.tree, name).copy() for name in ("value", "completion", "resolved")]
        calls[0] = 0
        group.kernels.dry_run(group.tree, group.searches, 0)
        reserved = group.kernels.passes * calls[0]
        after = [getattr(group.tree, name) for name in ("value", "completion", "resolved")]
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True))
        calls[0] = 0
        group.break_off()
        ends.add(calls[0] > 0)
        assert calls[0] <= 1.5 * reserved  # the rehearsal has other work, too
    assert True in ends


def test_growing_trees_stop_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each doubling of the memory takes twice as long as the one before."""
    clock = FakeClock()
    real = Group.grow

    def grow(group: Group) -> None:
        begin, nodes = clock(), group.tree.kind.shape[1]
        monkeypatch.setattr(group.search, "clock", lambda: begin)
        real(group)
        monkeypatch.setattr(group.search, "clock", clock)
        clock.work(nodes * 1e-5)
        group._growing = clock() - begin

    monkeypatch.setattr(Group, "grow", grow)
    search = Descent(Ticking(clock, 1e-4))
    search.clock = clock
    for seconds in (0.5, 1.0, 2.0):
        clock.now = 0.0
        search.analyse(START, Limit(time=seconds))
        assert clock.now <= 1.05 * seconds


def test_a_descent_broken_off_can_be_resumed() -> None:
    """An expansion that the time does not allow is undone, and made again later."""
    clock = FakeClock()
    search = Descent(Ticking(clock, 1.0))
    search.clock = clock
    analysis = None
    for seconds in range(5, 40):
        clock.now = 0.0
        analysis = search.analyse(START, Limit(time=seconds), after=analysis)
        check_usable(analysis)
        assert clock.now <= seconds
    whole = Descent(RandomEvaluator(3)).analyse(START, Limit(nodes=analysis.tree.tree.nodes[0]))
    check_usable(whole)


def test_rollouts_in_kernels_keep_the_time_too(kernels_take_time: Callable[[FakeClock, float], None]) -> None:
    clock = FakeClock(busy=1.5)
    kernels_take_time(clock, 1e-3)
    search = Expectiminimax(Rollout(1))
    search.clock = clock
    analysis = search.analyse(START, Limit(time=1.0))
    assert 0.7 <= clock.now <= 1.05
    assert analysis.depth >= 2

"""The pruned form of Expectiminimax: limits, proofs, and moves at the root."""

from itertools import count, pairwise

import pytest

import dicent
from dicent import Expectiminimax, Limit, RandomEvaluator, State
from dicent.kernels.values import CONSTANT, Native
from dicent.play.clock import Clock, play_by_clock
from dicent.play.player import Player
from dicent.search.star import StarRun

from .exact import Exact, check_usable
from .test_search_clock import EWN, MIDDLE, START

pytestmark = pytest.mark.usefixtures("uncompiled")

NIM = dicent.make("dice-nim")
ROLL = EWN.parse("A4/2D1c/1F3/3de/2a2 2 -")
LAST_MOVE = EWN.parse("5/5/5/3A1/1ab2 1 1")  # MAX wins with d2e1
ONE_EXPANSION = 7  # a state and the six below it


def pruned(seed: int = 3) -> Expectiminimax:
    return Expectiminimax(RandomEvaluator(seed), prune=True)


@pytest.mark.parametrize("kind", ["nodes", "evaluations"])
@pytest.mark.parametrize("state", [START, MIDDLE, ROLL])
def test_limits_are_exceeded_by_one_expansion_at_the_most(kind: str, state: State) -> None:
    for most in range(20, 600, 7):
        analysis = pruned().analyse(state, Limit(**{kind: most}))
        check_usable(analysis)
        assert most <= getattr(analysis, kind) <= most + ONE_EXPANSION


def test_a_kernel_call_keeps_its_nodes_where_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = StarRun._set_limit

    def set_limit(run: StarRun, nodes: int, patient: bool) -> int:
        calls.append((nodes, real(run, nodes, patient)))
        return calls[-1][1]

    monkeypatch.setattr(StarRun, "_set_limit", set_limit)
    search, ticks = pruned(), count()
    search.clock = lambda: 0.02 * next(ticks)  # type: ignore[method-assign]
    search.analyse(START, Limit(time=600, nodes=3000))
    assert len(calls) > 10
    for (_, allowed), (after, _) in pairwise(calls):
        assert after <= allowed + ONE_EXPANSION


def test_limits_of_work_do_not_depend_on_speed_or_earlier_searches() -> None:
    search, found = pruned(), []
    for second in (1e-6, 1e-3, 1.0):
        ticks = count()
        search.clock = lambda second=second, ticks=ticks: second * next(ticks)  # type: ignore[misc]
        analysis = search.analyse(MIDDLE, Limit(evaluations=2000))
        found.append((analysis.value, analysis.nodes, analysis.evaluations))
        search.analyse(START, Limit(evaluations=500))
    assert len(set(found)) == 1


@pytest.mark.parametrize("text", ["ABC2/DE3/F3f/3de/2abc 1 2", "5/1B3/C1b2/2e2/5 2 3", "5/3D1/1AF2/e4/5 1 4"])
def test_the_action_played_is_the_best_of_the_analysis(text: str) -> None:
    """The search plays from narrow windows, and analyses with wide ones."""
    for seed in range(8):
        state = EWN.parse(text)
        for depth in range(1, 6):
            assert pruned(seed).play(state, Limit(depth=depth)) == (
                pruned(seed).analyse(state, Limit(depth=depth)).best
            )


def test_of_equal_actions_the_first_listed_one_is_played() -> None:
    search = Expectiminimax(dicent.RandomEvaluator(), prune=True)
    search.evaluator.native = Native(CONSTANT)
    for depth in range(1, 5):
        assert search.play(START, Limit(depth=depth)) == START.legal_actions[0]


# Proofs


@pytest.mark.parametrize("text", ["6 1 3", "6 2 3", "6 1 -", "5 2 2"])
def test_proofs_are_exact_and_end_the_search(text: str) -> None:
    state, exact = NIM.parse(text), Exact()
    analysis = pruned().analyse(state, Limit(time=600))
    check_usable(analysis)
    assert analysis.proved
    assert analysis.value == pytest.approx(exact.value(state), abs=1e-12)
    assert analysis.depth < 20
    for depth in range(1, analysis.depth):
        assert not pruned().analyse(state, Limit(depth=depth)).proved
    for move in analysis.moves:
        assert not move.proved or move.value == pytest.approx(
            exact.value(state.apply(move.action)), abs=1e-12
        )


def test_every_proof_on_the_way_is_exact() -> None:
    """Also where other moves of the position are not proved."""
    proved = 0
    game = dicent.make("ewn:size=3,pieces=1")
    for seed in range(40):
        state = game.initial_state(seed).apply_outcome(0)
        for depth in range(1, 7):
            analysis = pruned(seed).analyse(state, Limit(depth=depth))
            whole = Expectiminimax(RandomEvaluator(seed + 100)).analyse(state, Limit(depth=analysis.depth))
            others = {move.action: move.value for move in whole.moves}
            for move in analysis.moves:
                if move.proved:  # another evaluator finds the same
                    assert move.value == pytest.approx(others[move.action], abs=1e-12)
                    proved += 1
    assert proved > 20


def test_a_value_of_one_from_the_evaluator_proves_nothing() -> None:
    search = Expectiminimax(dicent.Rollout(1), prune=True)  # its values are 1 and -1
    analysis = search.analyse(START, Limit(depth=2))
    assert not analysis.proved
    assert not any(move.proved for move in analysis.moves)


def test_nothing_is_proved_without_completion() -> None:
    search = Expectiminimax(RandomEvaluator(3), prune=True, completion=False)
    assert not search.analyse(LAST_MOVE, Limit(depth=3)).proved


def test_a_proof_ends_the_search_on_a_clock() -> None:
    search = pruned()
    ticks = count()
    search.clock = lambda: 1e-3 * next(ticks)
    player = Player(search, Limit(depth=60), limit_is_default=True)
    assert EWN.format_action(LAST_MOVE, play_by_clock(player, LAST_MOVE, Clock(1000))) == "d2e1"
    assert next(ticks) < 100
    analysis = search.analyse(LAST_MOVE, Limit(time=600))
    assert analysis.proved
    assert analysis.value == 1
    assert analysis.depth == 1

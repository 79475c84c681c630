"""Pig and the Royal Game of Ur: games with cycles whose values are known from independent programs."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import CHANCE, MAX
from dicent.exact import stages
from dicent.exact.component import TOLERANCE, Component
from dicent.exact.graph_solver import GraphSolver
from dicent.exact.progress import SolveProgress
from dicent.exact.stages import Stage
from dicent.game.binding import bind
from dicent.game.check import check_game
from dicent.kernels import policy_iteration
from dicent.kernels.constants import NONE
from dicent.kernels.graph import Graph, node_at
from dicent.kernels.policy_iteration import System

# The first player's win probability. Pig: independent value iteration; holding with no points is not allowed.
# Ur: independent programs, and the numbers of states that they counted. Masters have three dice; 0 is a 4.
PIG = {20: 0.615558549805, 40: 0.54469}  # slow_exact.py has more
UR = {1: (0.530049839525, 217), 2: (0.518572907496, 12_869)}
LONG_UR = {"blitz": (0.509237648361, 277), "masters": (0.527598258106, 216)}  # one piece each


@pytest.mark.parametrize(("target", "win"), PIG.items())
def test_pig_has_its_known_value(target: int, win: float) -> None:
    solution = dicent.solve(dicent.make("pig", target=target))
    assert solution.win == pytest.approx(win, abs=5e-6 if target >= 30 else 1e-10)
    assert 0 < solution.bound <= TOLERANCE


@pytest.mark.parametrize(("pieces", "known"), UR.items())
def test_ur_has_its_known_value_and_number_of_states(pieces: int, known: tuple[float, int]) -> None:
    solution = dicent.solve(dicent.make("ur", pieces=pieces))
    assert solution.win == pytest.approx(known[0], abs=1e-10)
    assert solution.states == known[1]


@pytest.mark.parametrize(("rules", "known"), LONG_UR.items())
def test_ur_on_the_long_track_has_its_known_value(rules: str, known: tuple[float, int]) -> None:
    solution = dicent.solve(dicent.make("ur", rules=rules, pieces=1), compiled=False)
    assert solution.win == pytest.approx(known[0], abs=1e-10)
    assert solution.states == known[1]


@pytest.mark.parametrize("name", ["pig:target=17,sides=4", "ur:pieces=2"])
def test_contract_holds_with_options(name: str) -> None:
    check_game(dicent.make(name), positions=300)


@pytest.mark.usefixtures("uncompiled")
def test_bounds_hold_in_every_state_and_satisfy_the_equations() -> None:
    """The value of each state lies within its bounds and follows from its children's values."""
    game = dicent.make("pig:target=8,sides=3")
    solver = GraphSolver(game, 10_000, compiled=False)
    start = game.initial_state()
    low, high = solver.bounds_of(start)
    assert low <= high <= low + TOLERANCE
    seen, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        values = [solver.value_of(child) for child in children(state)]
        if state.to_play == CHANCE:
            implied = sum(p * v for (_, p), v in zip(state.outcomes, values, strict=True))
        else:
            implied = max(values) if state.to_play == MAX else min(values)
        assert solver.value_of(state) == pytest.approx(implied, abs=2 * TOLERANCE)
        new = {child for child in children(state) if child.result is None} - seen
        seen |= new
        waiting += new
    assert len(seen) > 100


def children(state: dicent.State) -> list[dicent.State]:
    if state.to_play == CHANCE:
        return [state.apply_outcome(outcome) for outcome, _ in state.outcomes]
    return [state.apply(action) for action in state.legal_actions]


def test_native_and_plain_solvers_agree() -> None:
    game = dicent.make("ur:pieces=1")
    native, plain = (GraphSolver(game, 10_000, compiled=compiled) for compiled in (True, False))
    assert native.bounds_of(game.initial_state()) == plain.bounds_of(game.initial_state())
    assert native.report == plain.report


def test_blocks_of_a_large_component_give_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    game = dicent.make("pig:target=20")
    alone = GraphSolver(game, 10_000).bounds_of(game.initial_state())
    monkeypatch.setattr("dicent.exact.stages.SMALL", 2)
    monkeypatch.setattr("dicent.exact.component.ALONE", 2)
    monkeypatch.setattr("dicent.exact.component.WAVE", 10)
    solver = GraphSolver(game, 10_000)
    assert solver.bounds_of(game.initial_state()) == pytest.approx(alone, abs=TOLERANCE)
    assert solver.report.sweeps > 0


def test_gaps_of_proofs_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pig has a chain of about 40 components, one for each sum of the scores."""
    game = dicent.make("pig:target=20")
    monkeypatch.setattr("dicent.exact.stages.SMALL", 2)
    monkeypatch.setattr("dicent.exact.component.WIDTH", 1e-11)
    solver = GraphSolver(game, 10_000)
    solver.bounds_of(game.initial_state())
    assert solver.report.bound < 1e-11


def test_a_wide_exit_widens_what_lies_behind_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small and large components behind it are solved as far as they can be, and not refused."""
    solve = Component.solve

    def widely(self: Component, largest: float, stays: bool) -> Iterator[None]:
        yield from solve(self, largest, stays)
        self.graph.bounds[self.first : self.last] += (-1e-8, 1e-8)

    def nothing(self: Component) -> Generator[None, None, None]:
        yield

    game = dicent.make("pig:target=12")
    exact = GraphSolver(game, 10_000).value_of(game.initial_state())
    monkeypatch.setattr("dicent.exact.stages.SMALL", 12)
    monkeypatch.setattr(Component, "solve", widely)
    monkeypatch.setattr(Component, "_guess", nothing)  # as where play can stay for ever
    solver = GraphSolver(game, 10_000)
    low, high = solver.bounds_of(game.initial_state())
    assert low <= exact <= high
    assert 1e-8 < solver.report.bound < 1e-6


def test_tolerances_grow_with_the_largest_score(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "data" / "mazes.py").read_text(encoding="utf-8")
    text = text.replace("float(s[PLACE] - 3)", "1e6 * float(s[PLACE] - 3)").replace("= 3.0", "= 3e6")
    (tmp_path / "rich.py").write_text(text, encoding="utf-8")
    plain, rich = dicent.load(Path(__file__).parent / "data" / "mazes.py"), dicent.load(tmp_path / "rich.py")
    points, million = (GraphSolver(game, 100_000, scores=True) for game in (plain, rich))
    for maze in range(40):
        value = points.value_of(plain.state([maze, 0, 0]))
        assert million.value_of(rich.state([maze, 0, 0])) == pytest.approx(1e6 * value, abs=1e-3)
    assert 0 < million.report.bound < 3e-4


def test_sweeps_of_small_components_are_counted() -> None:
    game = dicent.make("pig:target=8")
    solver = GraphSolver(game, 10_000)
    solver.bounds_of(game.initial_state())
    assert solver.report.largest < 1000
    assert solver.report.sweeps > solver.report.components


def test_large_components_of_a_stage_do_not_lead_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    game, found = dicent.make("pig:target=8,sides=3"), []

    def find_stages(graph: Graph, *more: Any) -> list[Stage]:
        found.append((graph, stages.find_stages(graph, *more)))
        return found[0][1]

    usual = GraphSolver(game, 10_000, compiled=False).bounds_of(game.initial_state())
    monkeypatch.setattr("dicent.exact.graph_solver.find_stages", find_stages)
    monkeypatch.setattr("dicent.exact.stages.SMALL", 4)
    bounds = GraphSolver(game, 10_000, compiled=False).bounds_of(game.initial_state())
    assert bounds == pytest.approx(usual, abs=TOLERANCE)
    [(graph, stages_found)] = found
    large = [stage for stage in stages_found if not stage.small]
    assert len(large) > 1
    assert max(len(stage.spans) for stage in large) > 1
    for stage in stages_found:
        for first, last in stage.spans:
            assert (last - first > 4) != stage.small
            led_to = {
                link >> 1 for place in range(first, last) for link in links_of(graph, place) if link >= 0
            }
            outside = led_to - set(range(first, last))
            assert max(outside, default=-1) < (first if stage.small else stage.first)


def links_of(graph: Graph, place: int) -> list[int]:
    node = node_at(graph, place)
    return graph.links[graph.head[node] : graph.head[node + 1]].tolist()


def test_sweep_along_best_links_reads_the_values_that_it_has_computed() -> None:
    """Row 0 leads to 1, 1 to 2 with the other sign, 2 to the outside; row 3, in a later wave, leads to 0."""
    follow = bind(dicent.make("pig"), compiled=False).kernel(policy_iteration.follow_block)
    system = System(
        head=np.arange(5),
        next=np.array([2 * 1, 2 * 2 + 1, NONE, 2 * 0]),
        vector=np.full(4, NONE),
        known=np.array([0.0, 0.0, 0.5, 0.0]),
    )
    old, new = np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, np.nan)
    change = follow(None, system, old, new, 100, 103, 104, 104)  # the last wave comes first
    assert new[3] == 0.1
    assert change == pytest.approx(0.3)
    follow(None, system, old, new, 100, 100, 103, 103)
    assert new.tolist() == [-0.5, -0.5, 0.5, 0.1]
    new[:] = np.nan
    follow(None, system, old, new, 100, 100, 102, 103)  # as another block of that wave would
    assert new[:2].tolist() == [-0.3, -0.3]


def test_threads_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    game, reports = dicent.make("ur:pieces=2"), []
    for cores in (1, 3):
        monkeypatch.setattr("dicent.machine.cores", lambda cores=cores: cores)
        monkeypatch.setattr("dicent.exact.component.ALONE", 100)
        solver = GraphSolver(game, 100_000)
        reports.append((solver.bounds_of(game.initial_state()), solver.report, solver.stored()[0].tobytes()))
    assert reports[0] == reports[1]


def test_blocks_with_little_memory_find_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    game = dicent.make("ur:pieces=1")
    usual = GraphSolver(game, 10_000, compiled=False)
    usual.bounds_of(game.initial_state())
    monkeypatch.setattr("dicent.exact.enumeration.PENDING", 1)
    short = GraphSolver(game, 10_000, compiled=False)
    assert short.bounds_of(game.initial_state()) == pytest.approx(usual.bounds_of(game.initial_state()))
    assert sorted(map(bytes, short.stored()[0])) == sorted(map(bytes, usual.stored()[0]))


def test_games_too_large_for_memory_are_refused_with_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dicent.machine.free_memory", lambda: 1_000_000)
    with pytest.raises(
        dicent.DicentError, match=r"ur:pieces=2 does not fit into memory: [\d,]+ states are found"
    ):
        dicent.solve(dicent.make("ur:pieces=2"))
    with pytest.raises(dicent.DicentError, match=r"needs [\d.]+ GB, and 0.0 GB are free"):
        dicent.solve(dicent.make("connect-four"))


def test_too_many_states_are_refused_with_a_count() -> None:
    with pytest.raises(dicent.DicentError, match="more than 1,000 states follow"):
        dicent.solve(dicent.make("pig"), max_states=1000)


@pytest.mark.parametrize("stage", ["states", "values"])
def test_interrupted_solver_starts_again(stage: str) -> None:
    game = dicent.make("ur:pieces=1")
    solver = GraphSolver(game, 10_000, compiled=False)

    def stop(progress: SolveProgress) -> None:
        if progress.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.value_of(game.initial_state(), stop)
    assert solver.states == 0
    assert (1 + solver.value_of(game.initial_state())) / 2 == pytest.approx(UR[1][0], abs=1e-10)


def test_states_asked_for_later_are_added() -> None:
    game = dicent.make("pig:target=12")
    solver = GraphSolver(game, 10_000, compiled=False)
    late, start = game.parse("10 9 0 1 -"), game.initial_state()
    first, before = solver.value_of(late), solver.states
    solver.value_of(start)
    assert solver.states > before
    assert solver.value_of(late) == first
    assert np.isfinite(solver.stored()[1]).all()

"""Terminal values: by result, by length, by the game's score, or by a custom function."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent import (
    CHANCE,
    MAX,
    Descent,
    DicentError,
    Expectiminimax,
    Function,
    Greedy,
    Limit,
    Puct,
    State,
    Unbounded,
    load_network,
)
from dicent.evaluate.network_file import Description, save_network
from dicent.evaluate.terminal_value import (
    TERMINAL_VALUES,
    GainMap,
    TerminalKind,
    TerminalValue,
    register_terminal_value,
    terminal_value,
)
from dicent.evaluate.wrappers import Cached, Symmetric
from dicent.nets.dense import DenseNetwork
from dicent.search.tree_search import Search

from .exact import written_out
from .golden_trees import BytePolicy

pytestmark = pytest.mark.usefixtures("uncompiled")

NIM = dicent.make("dice-nim:stones=6")
GAIN = TerminalValue()
DEPTH = TerminalValue("depth", 6)
MIX = TerminalValue("mix", 6, 0.5)
OWN = TerminalValue("squares", 8, function=lambda result, ply: result * (10 - ply) ** 2 / 100)
EVERY = [DEPTH, MIX, OWN]


def evaluator_with(terminal: TerminalValue) -> dicent.Evaluator:
    """Return an evaluator with many different values, and with these terminal values."""
    evaluator = Function(lambda planes: np.sin(planes.reshape(len(planes), -1) @ np.arange(planes[0].size)))
    evaluator.terminal = terminal
    return evaluator


def best_play(terminal: TerminalValue) -> Callable[[State, int], float]:
    """Return the value by brute force, with the ply in the key."""

    @cache
    def value(state: State, ply: int) -> float:
        if state.result is not None:
            return terminal.value(state, ply)
        if state.to_play == CHANCE:
            return sum(p * value(state.apply_outcome(o), ply) for o, p in state.outcomes)
        after = [value(state.apply(action), ply + 1) for action in state.legal_actions]
        return max(after) if state.to_play == MAX else min(after)

    return value


# Tables by hand


@pytest.mark.parametrize(
    ("terminal", "win", "bounded"),
    [
        (GAIN, [1], True),
        (TerminalValue("depth", 4), [5, 4, 3, 2, 1, 1], False),
        (TerminalValue("depth", 1), [2, 1, 1], False),
        (TerminalValue("mix", 4, 0.5), [1, 1.375 / 1.5, 1.25 / 1.5, 1.125 / 1.5, 1 / 1.5, 1 / 1.5], True),
        (TerminalValue("mix", 4, 0.0), [1] * 6, True),
        (TerminalValue("own", 2, function=lambda r, p: r * (7.0 - p)), [7, 6, 5, 4], False),
        (TerminalValue("own", 2, function=lambda r, p: r / (1 + p)), [1, 1 / 2, 1 / 3, 1 / 4], True),
    ],
)
def test_tables_by_hand(terminal: TerminalValue, win: list[float], bounded: bool) -> None:
    table = terminal.table()
    assert table == pytest.approx(np.array([[-v for v in win], [0] * len(win), win]))
    assert terminal.is_bounded == bounded


@given(name=st.sampled_from(["gain", "depth", "mix"]), horizon=st.integers(1, 60), weight=st.floats(0, 10))
def test_a_win_is_worth_more_than_a_draw_and_an_early_one_not_less(
    name: str, horizon: int, weight: float
) -> None:
    lost, drawn, won = TerminalValue(name, horizon, weight).table()
    assert (won > 0).all()
    assert (drawn == 0).all()
    assert np.array_equal(lost, -won)
    assert (np.diff(won) <= 0).all()


@pytest.mark.parametrize("terminal", [GAIN, *EVERY])
@pytest.mark.parametrize("ply", [0, 1, 5, 6, 7, 8, 9, 400])
def test_single_values_agree_with_the_table(terminal: TerminalValue, ply: int) -> None:
    won, lost = NIM.parse("0 2 -"), NIM.parse("0 1 -")
    table = terminal.table()
    column = min(ply, table.shape[1] - 1)
    assert terminal.value(won, ply) == table[2, column]
    assert terminal.value(lost, ply) == table[0, column]


SCORED = (
    ("STATE_SIZE = 1", "STATE_SIZE = 1\nSCORES = np.array([0.0, 0.0, 2.5, -7.0, 0.5])"),
    ("def encode(", "def score(s):\n    return SCORES[s[0]]\n\n\ndef encode("),
)


def scored(folder: Path) -> dicent.Game:
    """From r the game leads to a or x (worth 2.5), a leads to y (-7) or z (0.5)."""
    written_out(folder, "r max 0.0 a x=1\na min 0.0 y=-1 z=1")
    source = (folder / "written_out.py").read_text()
    for old, new in SCORED:
        assert old in source
        source = source.replace(old, new)
    path = folder / "scored.py"
    path.write_text(source)
    return dicent.load(path)


def test_scores_are_the_games_own(tmp_path: Path) -> None:
    game = scored(tmp_path)
    terminal = terminal_value("score", game)
    assert not terminal.is_bounded
    assert not terminal.uses_ply
    evaluator = evaluator_with(terminal)
    for search in (Descent(evaluator), Unbounded(evaluator), Expectiminimax(evaluator), Greedy(evaluator)):
        analysis = search.analyse(game.parse("a"), Limit(nodes=50))
        assert analysis.value == -7.0
        assert {move.text: move.value for move in analysis.moves} == {"y": -7.0, "z": 0.5}
    assert Expectiminimax(evaluator).analyse(game.parse("r"), Limit(nodes=50)).value == 2.5


def test_a_registered_terminal_value_is_found_by_its_name() -> None:
    register_terminal_value("twice", TerminalKind(lambda result, ply, horizon, weight: 2.0 * result))
    try:
        twice = terminal_value("twice", NIM)
        assert twice.table().tolist() == [[-2.0], [0.0], [2.0]]
        assert not twice.uses_ply
        with pytest.raises(DicentError, match="'twice' is registered already"):
            register_terminal_value("twice", TerminalKind(None))
    finally:
        del TERMINAL_VALUES["twice"]


def test_invalid_terminal_values_are_refused() -> None:
    with pytest.raises(DicentError, match=r"must be one of gain, depth, mix, score"):
        TerminalValue("best")
    with pytest.raises(DicentError, match="needs a horizon of at least 1 ply"):
        TerminalValue("depth")
    with pytest.raises(DicentError, match="must be 0 or more"):
        TerminalValue("mix", 5, -1)
    with pytest.raises(DicentError, match="has no score"):
        terminal_value("score", NIM)


def test_the_games_own_horizon_is_the_default() -> None:
    assert terminal_value("depth", NIM) == TerminalValue("depth", 6)
    assert terminal_value("depth", NIM, 9).horizon == 9
    assert terminal_value("mix", dicent.make("ewn"), weight=0.2) == TerminalValue("mix", 40, 0.2)
    assert terminal_value("gain", NIM) == GAIN


# Use in searches


POSITIONS = ["6 1 -", "6 1 2", "5 2 -", "4 2 6", "3 1 -"]


@pytest.mark.parametrize("terminal", EVERY, ids=lambda t: t.name)
@pytest.mark.parametrize("text", POSITIONS)
@pytest.mark.parametrize("ply", [0, 3])
def test_full_width_finds_best_play_by_brute_force(terminal: TerminalValue, text: str, ply: int) -> None:
    value = best_play(terminal)
    state = NIM.parse(text)
    analysis = Expectiminimax(evaluator_with(terminal)).analyse(state, Limit(depth=20), ply=ply)
    assert analysis.value == pytest.approx(value(state, ply))
    for move in analysis.moves:
        assert move.value == pytest.approx(value(state.apply(move.action), ply + 1))


@pytest.mark.parametrize("terminal", [GAIN, *EVERY], ids=lambda t: t.name)
@pytest.mark.parametrize("decision", ["descent", "best", "safe"])
@pytest.mark.parametrize("text", POSITIONS)
@pytest.mark.parametrize("ply", [0, 3])
def test_proved_values_are_those_of_best_play(
    terminal: TerminalValue, decision: str, text: str, ply: int
) -> None:
    state, value = NIM.parse(text), best_play(terminal)
    evaluator = evaluator_with(terminal)
    search = Descent(evaluator) if decision == "descent" else Unbounded(evaluator, decision=decision)
    analysis = search.analyse(state, Limit(nodes=10_000), ply=ply)
    assert analysis.proved
    assert analysis.value == pytest.approx(value(state, ply))
    for move in analysis.moves:
        if move.proved:
            assert move.value == pytest.approx(value(state.apply(move.action), ply + 1))
    if analysis.moves:
        assert value(state.apply(analysis.best), ply + 1) == pytest.approx(analysis.value)


def test_a_proved_value_without_certain_wins_is_exact(tmp_path: Path) -> None:
    """Without certain wins, a node is resolved only after everything below it was searched."""
    table = """
r    max      0.0   c d
c    chance   0.3   x:0.5 y=-1:0.5
d    min      0.1   e f=0
x    max      0.2   xx=1 xy=0
e    max     -0.2   ex=0 ey=0
"""
    game, _ = written_out(tmp_path, table)
    state = game.initial_state()
    for terminal in (DEPTH, MIX):
        evaluator = evaluator_with(terminal)
        for search in (Descent(evaluator), Unbounded(evaluator), Expectiminimax(evaluator)):
            analysis = search.analyse(state, Limit(nodes=500))
            assert analysis.proved
            assert analysis.value == pytest.approx(best_play(terminal)(state, 0))


@pytest.mark.parametrize("kind", [Descent, Unbounded])
def test_without_completion_descents_reach_best_play(kind: type[Descent]) -> None:
    """The game is small enough to be searched completely."""
    for text in ("3 1 -", "4 2 6", "3 2 2"):
        state = NIM.parse(text)
        analysis = kind(evaluator_with(DEPTH), completion=False).analyse(state, Limit(nodes=3000), ply=2)
        assert analysis.value == pytest.approx(best_play(DEPTH)(state, 2), abs=0.35)


def test_full_width_without_completion_uses_values_only(tmp_path: Path) -> None:
    """With completion, a sure win of low value is preferred to a higher estimate; without, it is not."""
    game, evaluator = written_out(
        tmp_path, "r max 0.0 win=1 deep\ndeep min 0.8 dx dy\ndx max 0.7 e=0\ndy max 0.9 f=0"
    )
    evaluator.terminal = TerminalValue("tenths", 5, function=lambda result, ply: result / 10)
    for depth in (1, 2):
        with_it = Expectiminimax(evaluator).analyse(game.initial_state(), Limit(depth=depth))
        without = Expectiminimax(evaluator, completion=False).analyse(
            game.initial_state(), Limit(depth=depth)
        )
        assert with_it.value == pytest.approx(0.1)
        assert with_it.proved
        assert without.value == pytest.approx({1: 0.8, 2: 0.7}[depth])
        assert not without.proved


@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
@pytest.mark.parametrize(("terminal", "apart"), [(DEPTH, True), (GAIN, False)])
def test_states_of_different_plies_are_different_nodes(
    kind: type[Search], terminal: TerminalValue, apart: bool
) -> None:
    analysis = kind(evaluator_with(terminal)).analyse(NIM.parse("6 1 3"), Limit(nodes=3000))  # type: ignore[call-arg]
    group = analysis.tree
    assert group is not None
    seen = [NIM.state(group.tree.state[0, n]) for n in range(group.tree.nodes[0])]
    plies = [int(group.tree.ply[0, n]) for n in range(group.tree.nodes[0])]
    if kind is not Expectiminimax:  # in that game states of different depths always differ
        assert (len(set(seen)) < len(seen)) == apart
    assert len(set(zip(seen, plies, strict=True))) == len(seen) or kind is Expectiminimax
    by_ply = {(state, ply) for state, ply in zip(seen, plies, strict=True) if state.result is not None}
    assert (len(by_ply) > len({state for state, _ in by_ply})) == apart
    for n, (state, ply) in enumerate(zip(seen, plies, strict=True)):
        if state.result is not None:
            assert group.tree.value[0, n] == terminal.value(state, ply)


def test_greedy_uses_terminal_values() -> None:
    state = NIM.parse("3 1 3")  # taking all three wins immediately
    analysis = Greedy(evaluator_with(DEPTH)).analyse(state, Limit(nodes=1), ply=2)
    assert analysis.moves[0].text == "3"
    assert analysis.value == 6 - 3 + 1
    assert Greedy(evaluator_with(DEPTH)).analyse(state, Limit(nodes=1)).value == 6


@pytest.mark.parametrize("terminal", [GAIN, TerminalValue("depth", 5), TerminalValue("mix", 5, 0.5)])
@pytest.mark.parametrize("deep", [-9.0, 0.4, 9.0])
@pytest.mark.parametrize("player", ["max", "min"])
def test_greedy_plays_the_moves_of_its_batched_search(
    tmp_path: Path, terminal: TerminalValue, deep: float, player: str
) -> None:
    """A win that is not surely the largest value does not rank before a higher estimate."""
    table = f"r {player} 0.0 win=1 loss=-1 draw=0 deep\ndeep min {deep} dx=0 dy=1"
    game, evaluator = written_out(tmp_path, table)
    evaluator.terminal = terminal
    greedy, limit, state = Greedy(evaluator), Limit(depth=1), game.initial_state()
    assert greedy.batched is not None
    ours, theirs = greedy.analyse(state, limit), greedy.batched.analyse(state, limit)
    assert (ours.best, ours.value, ours.proved) == (theirs.best, theirs.value, theirs.proved)
    sure = terminal == GAIN
    assert ours.proved == sure


def test_simulations_use_terminal_values() -> None:
    evaluator = BytePolicy()
    evaluator.terminal = DEPTH
    analysis = Puct(evaluator).analyse(NIM.parse("1 1 3"), Limit(evaluations=10), ply=2)
    assert analysis.moves[0].value == 6 - 3 + 1


def test_early_wins_are_preferred() -> None:
    """At 3 stones with a roll of 3, taking all wins now; the result alone does not rank the wins."""
    for terminal in EVERY:
        for search in (
            Descent(evaluator_with(terminal)),
            Unbounded(evaluator_with(terminal)),
            Expectiminimax(evaluator_with(terminal)),
        ):
            assert search.analyse(NIM.parse("3 1 3"), Limit(nodes=2000)).moves[0].text == "3"


def test_pruning_refuses_terminal_values_beyond_the_result() -> None:
    """Pruning relies on values from -1 to 1."""
    evaluator = dicent.RandomEvaluator(1)
    evaluator.terminal = DEPTH
    with pytest.raises(dicent.DicentError, match=r"prune needs the terminal value gain \(got depth\)"):
        Expectiminimax(evaluator, prune=True)


@pytest.mark.parametrize("wrapper", [Cached, Symmetric])
def test_wrappers_keep_the_terminal_value(wrapper: type[Cached]) -> None:
    evaluator = evaluator_with(DEPTH)
    evaluator.gain_map = GainMap((-6.0, 6.0), (-1.0, 1.0))
    wrapped = wrapper(evaluator)
    assert wrapped.terminal == DEPTH
    assert wrapped.gain(3.0) == 0.5


# The expected result behind a value


def test_win_probabilities_use_the_gain_map() -> None:
    evaluator = evaluator_with(DEPTH)
    evaluator.gain_map = GainMap((-6.0, 0.0, 6.0), (-1.0, 0.2, 1.0))
    for search in (Descent(evaluator), Expectiminimax(evaluator), Greedy(evaluator)):
        analysis = search.analyse(NIM.parse("1 1 3"), Limit(nodes=9), ply=3)
        assert analysis.value == 3.0
        assert analysis.win == pytest.approx((1 + 0.6) / 2)
        assert analysis.moves[0].win == pytest.approx((1 + 0.6) / 2)


# Files


def network(terminal: TerminalValue) -> DenseNetwork:
    torch.manual_seed(0)
    return DenseNetwork(NIM.input_shape, hidden=8, layers=2, bounded=terminal.is_bounded)


@pytest.mark.parametrize("terminal", [GAIN, *EVERY, TerminalValue("score")], ids=lambda t: t.name)
def test_a_network_file_stores_its_terminal_value(terminal: TerminalValue, tmp_path: Path) -> None:
    gain_map = None if terminal == GAIN else GainMap((-2.0, 0.5, 3.0), (-0.9, 0.0, 0.8))
    module = network(terminal)
    save_network(
        tmp_path / "net.safetensors", module, Description(NIM.name, terminal, gain_map, {"matches": 7})
    )
    loaded = load_network(tmp_path / "net.safetensors")
    assert loaded.terminal.name == terminal.name
    assert loaded.terminal.uses_ply == terminal.uses_ply
    assert loaded.terminal.uses_score == terminal.uses_score
    assert np.array_equal(loaded.terminal.table(), terminal.table())
    assert loaded.gain_map == gain_map
    assert loaded.description is not None
    assert loaded.description.game == NIM.name
    assert loaded.description.training == {"matches": 7}
    states = np.array([NIM.parse(text).cells for text in POSITIONS])
    assert np.array_equal(loaded.evaluate(NIM, states), dicent.Network(module).evaluate(NIM, states))


def test_searches_with_a_network_from_a_file_use_its_terminal_value(tmp_path: Path) -> None:
    save_network(tmp_path / "net.safetensors", network(DEPTH), Description(NIM.name, DEPTH))
    loaded = load_network(tmp_path / "net.safetensors")
    assert Greedy(loaded).analyse(NIM.parse("3 1 3"), Limit(nodes=1), ply=1).value == 5
    assert Expectiminimax(loaded).analyse(NIM.parse("3 1 3"), Limit(depth=1), ply=1).value == 5

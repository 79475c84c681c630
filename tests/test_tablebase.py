"""The tablebase compared with another program, the solver and searches; its index; its limits."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, DicentError, Expectiminimax, Limit, RandomEvaluator
from dicent.exact.solver import Solver
from dicent.exact.tablebase import Tablebase, build_tablebase, probe
from dicent.game.binding import bind
from dicent.games.ewn.tablebase import kernel
from dicent.games.ewn.tablebase.index import Labels, TablebaseIndex, new_position

from .endgames import all_endgames, class_records, random_endgames
from .test_search_exact import close, make, pieces, position, recorded_moves, records

VARIANTS = ("ewn", "ewn:rules=paper")
Open = Callable[[str, int], Tablebase]


@pytest.fixture(scope="session")
def tablebases(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Return the tablebase of a game, built once for all tests."""
    folder = tmp_path_factory.mktemp("tables")
    return lambda name, count: build_tablebase(make(name), count, folder)


@pytest.mark.parametrize("variant", VARIANTS)
def test_means_of_whole_classes_agree_with_records(tablebases: Open, variant: str) -> None:
    """For all positions of a class, compare their number, their mean, and the number of sure results."""
    known = tablebases(variant, 3)
    for record in class_records(variant):
        if record["mover_pieces"] + record["other_pieces"] > 3:
            continue
        found = [
            known.values(states)
            for states in all_endgames(known.game, record["mover_pieces"], record["other_pieces"])
        ]
        values = np.concatenate(found)
        assert len(values) == record["nonterminal_positions"]
        assert (values.mean() + 1) / 2 == pytest.approx(record["mean_p_win_to_move"], abs=known.error)
        assert (values == 1).sum() == record["sure_wins"]
        assert (values == -1).sum() == record["sure_losses"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_endgames_agree_for_each_roll_and_move(tablebases: Open, variant: str) -> None:
    known, seen = tablebases(variant, 3), 0
    for record in records(variant):
        if pieces(record) > 3:
            continue
        solution = known.probe(position(record))
        assert solution.source == "tablebase"
        assert solution.win == pytest.approx(record["p_win_to_move"], abs=known.error)
        for die, after in record["after_roll"].items():
            rolled = known.probe(position(record, die))
            assert rolled.win == pytest.approx(after["v"], abs=known.error)
            moves = {move.text: move.value for move in rolled.moves}
            assert moves == pytest.approx(recorded_moves(record, die), abs=2 * known.error)
            seen += len(moves)
    assert seen > 300


@pytest.mark.parametrize("variant", VARIANTS)
def test_tablebase_equals_the_solver(tablebases: Open, variant: str) -> None:
    known, solver = tablebases(variant, 3), Solver(make(variant))
    for mine, theirs in ((1, 1), (1, 2), (2, 1)):
        for state in random_endgames(known.game, mine, theirs, 250, seed=1):
            assert known.value_of(state) == pytest.approx(solver.value_of(state), abs=2 * known.error)
        for state in random_endgames(known.game, mine, theirs, 100, seed=2, die=True):
            assert known.value_of(state) == pytest.approx(solver.value_of(state), abs=2 * known.error)


def test_tablebase_equals_proved_values_of_searches(tablebases: Open) -> None:
    known, limit = tablebases("ewn", 3), Limit(nodes=10_000_000)
    searches = [Expectiminimax(RandomEvaluator(1)), Descent(RandomEvaluator(1))]
    solver = Solver(known.game)
    for mine, theirs in ((1, 1), (1, 2), (2, 1)):
        for state in random_endgames(known.game, mine, theirs, 15, seed=4, die=True):
            exact = solver.value_of(state)
            assert known.value_of(state) == pytest.approx(exact, abs=2 * known.error)
            for search in searches:
                analysis = search.analyse(state, limit)
                assert analysis.proved
                assert analysis.value == close(exact)


def test_symmetric_positions_share_an_entry(tablebases: Open) -> None:
    known = tablebases("ewn", 3)
    for state in random_endgames(known.game, 2, 1, 50, seed=5):
        for image in state.symmetries:
            assert image.sign * known.value_of(image.state) == pytest.approx(known.value_of(state), abs=1e-15)


def test_tablebase_of_a_whole_small_game_equals_the_solver(tablebases: Open) -> None:
    """Up to three pieces against three, so every kind of class occurs on both sides."""
    game = make("ewn:size=3,pieces=3")
    known = tablebases(game.name, 6)
    solution = dicent.solve(game)
    assert solution.solver is not None
    states, values = solution.solver.stored()
    assert np.abs(known.values(states) - values).max() <= 2 * known.error


def test_compiled_and_uncompiled_tablebases_are_equal(tablebases: Open, tmp_path: Path) -> None:
    game = make("ewn:size=3,pieces=3")
    plain = build_tablebase(game, 3, tmp_path, compiled=False)
    native = tablebases(game.name, 3)
    assert (plain.data == native.data).all()
    states = np.array([s.cells for s in random_endgames(game, 1, 2, 50, seed=6, die=True)])
    assert (plain.values(states) == native.values(states)).all()


def test_number_of_threads_does_not_change_the_tablebase(tablebases: Open, tmp_path: Path) -> None:
    alone = build_tablebase(make("ewn"), 3, tmp_path, threads=1)
    assert (alone.data == tablebases("ewn", 3).data).all()


# The index


@pytest.mark.parametrize(("variant", "classes"), [("ewn", [1, 9, 10, 9, 3, 1]), ("ewn:rules=paper", None)])
def test_label_classes(variant: str, classes: list[int] | None) -> None:
    """Sets of one class have the same rolls, in reverse order if the class is marked so."""
    module = make(variant).rules.module
    labels = Labels(6, module.MOVED)
    if classes is not None:
        assert [len(labels.of_count(n)) for n in range(1, 7)] == classes
    for s in range(1, 64):
        found = labels.classes[labels.label_class[s]]
        n = s.bit_count()
        assert found.count == n
        rolls = labels.rolls[s]
        if labels.flipped[s]:
            rolls = Counter({tuple(sorted(n - 1 - r for r in ranks)): k for ranks, k in rolls.items()})
        assert rolls == labels.rolls[found.labels]


def test_classes_of_the_papers_rule_agree_after_losses_too() -> None:
    labels = Labels(6, make("ewn:rules=paper").rules.module.MOVED)
    for s in range(1, 64):
        like = labels.classes[labels.label_class[s]].labels
        here, there = _smaller(s), _smaller(like)
        if labels.flipped[s]:
            here = here[::-1]
        assert [labels.label_class[x] for x in here] == [labels.label_class[x] for x in there]


def _smaller(labels: int) -> list[int]:
    return [labels & ~(1 << face) for face in range(6) if labels >> face & 1]


def test_every_entry_belongs_to_some_position() -> None:
    bound = bind(make("ewn:size=3,pieces=3"), compiled=False)
    index, locate = TablebaseIndex(bound, 4), bound.kernel(kernel.locate)
    set_position = bound.kernel(kernel.set_position)
    q, used = new_position(bound), set()
    for mine, theirs in ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1)):
        for states in all_endgames(bound.game, mine, theirs):
            for state in states:
                assert set_position(index.arrays, q, state)
                used.add(int(locate(index.arrays, q, 0)))
    assert used == set(range(index.values))


@pytest.mark.parametrize(("variant", "count", "most"), [("ewn", 4, 40e6), ("ewn", 5, 1.4e9)])
def test_sizes(variant: str, count: int, most: float) -> None:
    assert 3 * TablebaseIndex(bind(make(variant)), count).values < most


# Covered states


def test_states_that_a_tablebase_covers(tablebases: Open) -> None:
    game, known = make("ewn"), tablebases("ewn", 3)
    assert known.covers(game.parse("A4/1B3/5/2a2/5 1 3"))
    assert known.covers(game.parse("5/5/2a2/5/4A 2 -"))  # finished
    four = game.parse("A4/1B3/5/2ab1/5 1 3")
    assert not known.covers(four)
    assert not known.covers(make("dice-nim").initial_state())
    with pytest.raises(DicentError, match="up to 3 pieces does not have A4/1B3/5/2ab1/5 1 3"):
        known.value_of(four)
    capture = game.parse("5/1A3/2b2/3a1/5 1 1")  # three pieces, or two after a capture
    assert known.value_of(capture) == pytest.approx(dicent.solve(capture).value, abs=2 * known.error)


def test_setups_share_a_tablebase(tablebases: Open) -> None:
    known = tablebases("ewn:rules=paper", 3)
    preset = make("ewn-paper")
    state = preset.parse("A4/1B3/5/2a2/5 1 3")
    assert known.covers(state)
    exact = dicent.solve(state, compiled=False).value
    assert known.value_of(state) == pytest.approx(exact, abs=2 * known.error)
    assert not known.covers(preset.initial_state())  # pieces are being placed
    assert not known.covers(make("ewn").parse("A4/1B3/5/2a2/5 1 3"))  # other rules


def test_games_without_a_tablebase(tmp_path: Path, edited: Callable[..., Path]) -> None:
    with pytest.raises(DicentError, match="dice-nim has no tablebase; `dicent solve`"):
        build_tablebase(make("dice-nim"), 2, tmp_path)
    with pytest.raises(DicentError, match="no tablebase with a hole"):
        build_tablebase(make("ewn:hole=true"), 2, tmp_path)
    with pytest.raises(DicentError, match="from 2 to 12 pieces \\(got 13\\)"):
        build_tablebase(make("ewn"), 13, tmp_path)
    steps = "movement.steps(SIZE, OFF)"
    own = dicent.load(edited("ewn", (steps, f"{steps}[:, :, [0, 1, 1]]")))
    with pytest.raises(DicentError, match="has no tablebase"):
        build_tablebase(own, 2, tmp_path)


def test_probe_names_its_source(tmp_path: Path, tablebases: Open) -> None:
    state = make("ewn").parse("A4/1B3/5/2a2/5 1 3")
    solved = probe(state, tmp_path)
    assert solved.source == "solver"
    build_tablebase(make("ewn"), 3, tmp_path)
    looked_up = probe(state, tmp_path)
    assert looked_up.source == "tablebase"
    assert looked_up.value == pytest.approx(solved.value, abs=1e-5)
    assert looked_up.best == solved.best
    assert probe(make("ewn").parse("A4/1B3/5/2ab1/5 1 3"), tmp_path).source == "solver"
    with pytest.raises(TypeError, match="ask the tablebase"):
        looked_up.value_of(state)

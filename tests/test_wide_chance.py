"""EWN with wide chance: the study in a quick form, its tables and its trends."""

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dicent
from dicent.learn import preflight
from dicent.reproduction.figures import figures
from dicent.reproduction.pairs import END, ERRORS, PAIRS, RUNS, Cost, Error, Pair, read_rows, write_rows
from dicent.reproduction.wide_figures import chart_of, wide_figures
from dicent.stats.welch import student_quantile

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
QUICK = {"evaluations_per_move": 20, "snapshot_evaluations": 100, "batch": 32, "games_at_once": 2}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(preflight, "SECONDS", 0.01)
    return importlib.import_module("wide_chance")


def test_conditions_widen_chance_alone(wide: ModuleType) -> None:
    for exact, expected in ((False, [6, 21, 41, 56, 12, 24, 48, 96]), (True, [3, 6, 7, 7, 6, 12, 24, 48])):
        chosen = wide.conditions(exact)
        assert [int(condition.study.rpartition("-")[2]) for condition in chosen] == expected
        assert len({dicent.make(condition.game).input_shape for condition in chosen}) == 1
    together = [*wide.conditions(False), *wide.conditions(True)]
    assert len({condition.study for condition in together}) == len(together) == 16


def test_a_slot_has_one_network_of_each_search_with_equal_settings(wide: ModuleType) -> None:
    chosen, seeds = wide.conditions(), set()
    slots = list(wide.slots(chosen, wide.Size()))
    assert len(slots) == 4 * len(chosen)
    for slot in slots:
        (one, descent), (other, determinized) = slot.items()
        assert one[0] == other[0]  # the same condition
        assert (descent.search.search, determinized.search.search) == ("descent", "determinized")
        settings = [{**c.flat(), "search": "", "seed": 0} for c in (descent, determinized)]
        assert settings[0] == settings[1]
        seeds |= {descent.seed, determinized.seed}
    assert len(seeds) == 2 * len(slots)


@pytest.mark.usefixtures("uncompiled")
def test_quick_study_has_all_tables_and_repeats_nothing(
    wide: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One condition of a tiny board, with one network each and runs of a moment."""
    monkeypatch.setattr(wide, "SMALL_BOARD", {"size": 3, "pieces": 1})
    chosen = wide.conditions(exact=True)[4:5]
    size = wide.Size(seconds=0.5, networks=1, games=2, settings=QUICK)
    wide.run(tmp_path, True, size, chosen=chosen, positions=20)
    pairs, costs = read_rows(tmp_path / PAIRS, Pair), read_rows(tmp_path / RUNS, Cost)
    studies = [condition.study for condition in chosen]
    assert [cost.run for cost in costs] == ["descent-1", "determinized-1"]
    assert {pair.study for pair in pairs} == set(studies)
    assert all(pair.point == END or pair.point.startswith("evaluations-") for pair in pairs)
    errors = read_rows(tmp_path / ERRORS, Error)
    assert [(error.study, error.run) for error in errors] == [
        (study, f"{arm}-1") for study in studies for arm in ("descent", "determinized")
    ]
    assert all(0 < error.error < 2 and 0 <= error.lost < 2 for error in errors)
    monkeypatch.setattr(wide, "Learners", None)  # calling it would be an error
    before = (tmp_path / PAIRS).read_text()
    wide.run(tmp_path, True, size, chosen=chosen, positions=20)
    assert (tmp_path / PAIRS).read_text() == before


def test_exact_player_has_no_error(wide: ModuleType) -> None:
    game = dicent.load(BENCHMARKS / "ewn_dice.py", size=3, pieces=3, dice=2)
    solver = dicent.solve(game).solver
    assert solver is not None

    class Solved(dicent.Evaluator):
        def evaluate(self, game: dicent.Game, states: np.ndarray) -> np.ndarray:
            return np.array([solver.value_of(game.state(cells)) for cells in states])

    class Reversed(Solved):
        def evaluate(self, game: dicent.Game, states: np.ndarray) -> np.ndarray:
            return -super().evaluate(game, states)

    exact = wide.Exact(game, 50)
    assert exact.measure(Solved()) == (0.0, 0.0)
    error, lost = exact.measure(Reversed())
    assert error > 0.1
    assert lost > 0.01


# Tables of invented results


def invented(scores: dict[str, float], spread: float = 0.01) -> list[Pair]:
    """Return matches of four networks against four; the networks of a search differ by `spread`."""
    rng = np.random.default_rng(0)
    rows = []
    for study, score in scores.items():
        ours, theirs = rng.normal(0, spread, (2, 4))
        for point in (END, "evaluations-1000"):
            for i in range(4):
                for j in range(4):
                    value = score + float(ours[i] - theirs[j])
                    names = f"descent-{i + 1}", f"determinized-{j + 1}"
                    rows.append(Pair(study, point, *names, 200, value, value, 1e-6))
    return rows


def test_trend_is_a_slope_over_the_logarithm_of_outcomes(tmp_path: Path) -> None:
    outcomes = {"wide-dice-1-6": 6, "wide-dice-2-21": 21, "wide-dice-4-56": 56, "wide-copies-16-96": 96}
    pairs = invented({study: 0.5 - 0.03 * math.log2(n / 6) for study, n in outcomes.items()}, spread=1e-4)
    tables = wide_figures(pairs, [])
    rows = [line.split(" | ") for line in tables["wide-trend"].splitlines()[2:]]
    assert [row[0].strip("| ") for row in rows] == ["more dice", "more copies", "both"]
    for row in (rows[0], rows[2]):
        assert all(cell.startswith("-3.0 points (") for cell in row[1:])
    assert "not played" in rows[1][1]  # one number of copies has no slope
    assert [line.split(" | ")[2] for line in tables["wide"].splitlines()[2:]] == ["6", "21", "56", "96"]
    assert chart_of(pairs).count("<circle") == 8
    write_rows(tmp_path / PAIRS, Pair, pairs)
    write_rows(tmp_path / RUNS, Cost, [])
    assert figures(tmp_path) == tables


def test_interval_of_the_trend_is_over_networks() -> None:
    """Eight samples of two studies: the interval follows from their spread by Welch's method."""
    pairs = invented({"wide-dice-1-6": 0.5, "wide-copies-2-12": 0.5}, spread=0.05)
    table = wide_figures(pairs, [])["wide-trend"].splitlines()[-1]
    low, high = (float(text) for text in table.split("(")[1].split(")")[0].split(" to "))
    half = 100 * student_quantile(0.95, 6) * 0.05 / math.sqrt(4) * 2  # four means with a spread of 0.05
    assert 0.4 * half < (high - low) / 2 < 2 * half


def test_errors_have_intervals_over_networks() -> None:
    errors = [
        Error("exact-dice-1-3", f"{arm}-{n}", 0.1 * base + 0.001 * n, 0.01)
        for arm, base in (("descent", 1), ("determinized", 2))
        for n in (1, 2, 3, 4)
    ]
    row = wide_figures([], errors)["wide-errors"].splitlines()[-1].split(" | ")
    half = student_quantile(0.95, 3) * np.std([1, 2, 3, 4], ddof=1) * 0.001 / 2
    assert row[3] == f"0.1025 ({0.1025 - half:.4f} to {0.1025 + half:.4f})"
    assert row[5].startswith("-0.1000 (")

"""The studies beside the scales: their cases, their slots, and what enters their tables."""

import importlib
import itertools
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import dicent
from dicent.evaluate.network_file import load_network
from dicent.learn import preflight
from dicent.learn.run_reader import RunReader
from dicent.reproduction.pairs import END, PAIRS, RUNS, Cost, Pair, read_rows
from dicent.reproduction.study_figures import STUDIES

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
QUICK = {"evaluations_per_move": 4, "snapshot_evaluations": 100, "batch": 32, "games_per_update": 2}


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(preflight, "SECONDS", 0.01)
    return importlib.import_module("reproduction_studies")


def small(studies: ModuleType, name: str, cases: list[str], **changes: Any) -> Any:
    """Return a study with few cases, one network each, and runs of a moment."""
    study = studies.studies("smoke")[name]
    study.cases = {case: study.cases[case].replace(**QUICK, **changes) for case in cases}
    study.networks, study.games = 1, 2
    return study


def test_every_study_has_a_table(studies: ModuleType) -> None:
    assert set(studies.studies("smoke")) == set(STUDIES)


def test_matches_of_a_study_are_within_its_leagues(studies: ModuleType) -> None:
    known = studies.studies()
    assert studies.matches_of(known["ablation"]) == 2 * math.comb(24, 2)
    assert studies.matches_of(known["longer"]) == math.comb(6, 2)


def test_seeds_of_studies_do_not_overlap(studies: ModuleType) -> None:
    seeds = [
        config.seed for study in studies.studies().values() for config in studies.runs_of(study).values()
    ]
    assert len(set(seeds)) == len(seeds)


def test_scaled_gain_is_learned_in_a_spawned_worker_with_a_linear_output(
    studies: ModuleType, tmp_path: Path
) -> None:
    """Its network differs from the gain's in the output alone, and from depth's in nothing."""
    case = "expectiminimax-scaled-decay"
    study = small(studies, "ablation", [case], evaluations=400)
    assert studies.learn(tmp_path, study, 1, np.inf, lambda text: None)
    network = load_network(tmp_path / f"{case}-1", "cpu")
    assert network.terminal.table().max() == 20.0
    (file,) = (tmp_path / f"{case}-1").glob("checkpoints/*/network.safetensors")
    with safe_open(file, "np") as opened:
        assert '"bounded": false' in str(opened.metadata())


def test_only_networks_of_a_league_meet(studies: ModuleType, tmp_path: Path) -> None:
    cases = [f"{s}-{t}-decay" for s in ("descent", "expectiminimax") for t in ("gain", "scaled")]
    study = small(studies, "ablation", cases, evaluations=400)
    assert studies.learn(tmp_path, study, 1, np.inf, lambda text: None)
    rows = studies.play(tmp_path, study, np.inf, lambda text: None)
    assert [(row.first, row.second, row.point) for row in rows] == [
        (f"{search}-gain-decay-1", f"{search}-scaled-decay-1", END)
        for search in ("descent", "expectiminimax")
    ]


def test_play_refuses_unfinished_runs(
    studies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = small(studies, "sweep", ["descent-60", "expectiminimax-60"], evaluations=400)
    monkeypatch.setattr(studies, "studies", lambda gpu="gpu": {"sweep": study})
    first, second = studies.runs_of(study).items()
    folder = tmp_path / "sweep"
    dicent.train(first[1], folder / first[0])
    with pytest.raises(KeyboardInterrupt):
        dicent.train(second[1], folder / second[0], stop=lambda: True)
    state = RunReader(folder / second[0]).state()
    assert state is not None
    assert not state.finished
    studies.main([str(tmp_path), "sweep", "--play"])
    assert "these runs have not finished: expectiminimax-60-1" in capsys.readouterr().out
    assert not (folder / PAIRS).exists()
    assert [row.run for row in read_rows(folder / RUNS, Cost)] == ["descent-60-1"]
    studies.main([str(tmp_path), "sweep"])
    assert "all matches are over" in capsys.readouterr().out
    assert next(row.point for row in read_rows(folder / PAIRS, Pair)) == END


def test_resumed_slot_has_the_cores_that_it_had(
    studies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot with finished runs does not divide the cores by the runs that are left."""
    counts, learned = [], []

    class Recorded:
        def __init__(self, count: int, say: object) -> None:
            counts.append(count)

        def __enter__(self) -> "Recorded":
            return self

        def __exit__(self, *details: object) -> None:
            pass

        def compile(self, configs: list[Any]) -> None:
            pass

        def learn(self, tasks: list[Any], left: float, show: object) -> None:
            learned.append([task.folder.name for task in tasks])

    monkeypatch.setattr(studies, "Learners", Recorded)
    study = studies.studies("smoke")["longer"]
    names = list(studies.runs_of(study))
    done = set(names[:4])
    monkeypatch.setattr(studies, "is_finished", lambda path: path.name in done)
    studies.learn(tmp_path, study, 1, np.inf, lambda text: None)
    assert counts == [6]
    assert learned == [names[4:]]
    done.clear()
    study = studies.studies("smoke")["determinization"]
    studies.learn(tmp_path, study, 1, np.inf, lambda text: None)
    assert counts == [6, 2]
    assert learned[1:] == [[f"{case}-{n}" for case in ("descent", "determinized")] for n in (1, 2, 3, 4)]


# Figures of invented results


def invented(study: str, cases: list[str], points: list[str], score: float) -> list[Pair]:
    """Return matches of two networks per case; a case has `score` against every later one."""
    names = [f"{case}-{n}" for case in cases for n in (1, 2)]
    return [
        Pair(study, point, first, second, 10, score, score + 0.01 * (first[-1] == "1"), 1e-4)
        for point in points
        for first, second in itertools.combinations(names, 2)
    ]


def spent(study: str, cases: list[str]) -> list[Cost]:
    return [
        Cost(study, f"{case}-{n}", n, 60.0, 10, 1000, 100, 200, 300, 6.0, 400)
        for case in cases
        for n in (1, 2)
    ]


def rows_of(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_table_of_staleness_has_every_point() -> None:
    cases = ["descent-4", "descent-128", "expectiminimax-4", "expectiminimax-128"]
    points = ["evaluations-2000000", "evaluations-4000000", END]
    pairs = invented("staleness", cases, points, 0.6)
    table = STUDIES["staleness"](pairs, spent("staleness", cases))["staleness"]
    assert table.splitlines()[0].split(" | ")[1:] == [
        "2,000,000 evaluations",
        "4,000,000 evaluations",
        "at the end |",
    ]
    assert len(rows_of(table)) == 4
    assert all(cell.startswith("60.5 % (") for row in rows_of(table) for cell in row[1:])


@pytest.mark.parametrize("points", [["evaluations-500000", "evaluations-1000000", END], [END]])
def test_table_of_determinization_has_equal_time_and_evaluations(points: list[str]) -> None:
    cases = ["descent", "determinized"]
    pairs = invented("determinization", cases, points, 0.45)
    table = STUDIES["determinization"](pairs, spent("determinization", cases))["determinization"]
    time, evaluations = rows_of(table)
    assert time[0] == "equal time"
    assert time[1].startswith("45.5 % (")
    expected = "not played" if points == [END] else "45.5 % ("
    assert evaluations[1].startswith(expected)
    assert evaluations[0] == ("equal evaluations" if points == [END] else "1,000,000 evaluations")


def test_table_of_longer_learning_has_a_trend() -> None:
    cases = ["descent-depth", "expectiminimax-depth"]
    pairs = [
        pair
        for point, score in (
            ("seconds-15", 0.5),
            ("seconds-30", 0.52),
            (END, 0.54),
            ("evaluations-1000", 0.5),
        )
        for pair in invented("longer", cases, [point], score)
    ]
    tables = STUDIES["longer"](pairs, spent("longer", cases))
    rows = rows_of(tables["longer-seconds"])
    assert [row[0] for row in rows] == ["15", "30", "60", "change when doubled"]
    assert rows[-1][1].startswith("+2.0 points (")
    assert [row[0] for row in rows_of(tables["longer-evaluations"])] == ["1,000"]


def test_table_of_the_ablation_compares_three_terminal_values() -> None:
    cases = [
        f"{search}-{terminal}-{decay}"
        for search in ("descent", "expectiminimax")
        for terminal in ("depth", "scaled", "gain")
        for decay in ("decay", "none")
    ]
    pairs = [
        p
        for s in ("descent", "exp")
        for p in invented("ablation", cases, [END], 0.55)
        if p.first.startswith(s)
    ]
    pairs = [pair for pair in pairs if pair.second.startswith(pair.first[:7])]  # two leagues
    tables = STUDIES["ablation"](pairs, spent("ablation", cases))
    assert len(rows_of(tables["ablation"])) == 4
    assert all(cell.startswith("55.5 % (") for row in rows_of(tables["ablation"]) for cell in row[2:])
    assert len(rows_of(tables["ablation-descent"])) == len(rows_of(tables["ablation-expectiminimax"])) == 6

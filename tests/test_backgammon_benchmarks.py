"""The studies of backgammon in a quick form."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

import dicent
from dicent.exact.decision_file import read_decisions
from dicent.learn import preflight
from dicent.nets.dense import DenseNetwork
from dicent.reproduction.pairs import ERRORS, PAIRS, RUNS, Cost, Error, Pair, read_rows

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
QUICK = {"evaluations_per_move": 20, "snapshot_evaluations": 100, "batch": 32, "games_at_once": 2}


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(preflight, "SECONDS", 0.01)


def test_arms_differ_in_search_and_terminal_value_alone() -> None:
    arms = importlib.import_module("backgammon_arms")
    for game, size in arms.SIZES.items():
        wanted = arms.runs(game, size)
        assert len(wanted) == 6 * size.networks
        assert len({config.seed for config in wanted.values()}) == len(wanted)
        assert {config.search.evaluations_per_move for config in wanted.values()} == {400}
        assert not any(config.search.whole_descents for config in wanted.values())
        left_out = {"search": "", "terminal": "", "seed": 0}
        assert len({tuple({**c.flat(), **left_out}.items()) for c in wanted.values()}) == 1


@pytest.mark.usefixtures("uncompiled")
def test_arms_are_learned_played_and_measured_and_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = importlib.import_module("backgammon_arms")
    game = "hypergammon:checkers=1"
    size = arms.Size(seconds=600.0, networks=1, games=2, positions=20, settings={**QUICK, "games": 4})
    arms.run(tmp_path, game, size)
    home = tmp_path / dicent.make(game).name.replace(":", "-")
    pairs = read_rows(home / PAIRS, Pair)
    assert {pair.point for pair in pairs} >= {"end"}
    assert len([pair for pair in pairs if pair.point == "end"]) == 15
    found = read_rows(home / ERRORS, Error)
    assert len(found) == len(read_rows(home / RUNS, Cost)) == 6
    for row in found:
        assert (row.error == row.error) == ("score" in row.run)  # results have no points
        assert 0 <= row.lost <= 6
    capsys.readouterr()
    arms.run(tmp_path, game, size)
    assert "learned" not in capsys.readouterr().out
    assert read_rows(home / PAIRS, Pair) == pairs


@pytest.mark.parametrize("game", ["backgammon", "hypergammon"])
def test_match_against_openspiel_counts_points(game: str) -> None:
    pytest.importorskip("pyspiel")
    script = importlib.import_module("openspiel_backgammon")
    found = script.run(["random", "--game", game, "--games", "2", "--simulations", "2"])
    assert (found["games"], found["simulations"]) == (2, 2)
    assert 1 <= abs(2 * found["points per game"]) <= 6 or found["points per game"] == 0
    assert all(milliseconds > 0 for milliseconds in found["milliseconds per turn"])


@pytest.mark.usefixtures("uncompiled")
def test_networks_are_compared_by_positions_with_known_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, game = importlib.import_module("backgammon_networks"), dicent.make("backgammon")
    sizes = {"sparse": {"units": 8, "second_units": 4}, "dense": {"hidden": 8, "layers": 2}}
    monkeypatch.setattr(script, "NETWORKS", {kind: (kind, sizes[kind]) for kind in sizes})
    monkeypatch.setattr(script, "WITH_CHANCES", tuple(sizes))
    monkeypatch.setattr(script, "BATCH", 8)
    monkeypatch.setattr(script, "read_decisions", lambda path, game: read_decisions(path, game)[:4])
    state = game.initial_state(0).apply_outcome(0)
    states = np.array([state.apply(action).cells for action in state.legal_actions])
    np.savez(tmp_path / "rated.npz", states=states, points=np.linspace(-1, 1, len(states), dtype=np.float32))
    script.compare(tmp_path / "rated.npz", 2, "cpu")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        *("sparse", "dense", "sparse, chances", "dense, chances"),
    ]
    assert all("millipoints lost: contact" in line and "nan" not in line for line in lines)


def test_chances_combine_into_points_between_minus_three_and_three() -> None:
    script = importlib.import_module("backgammon_networks")
    shape = {"input_shape": (17, 1, 24), "seen_by_mover": True, "bounded": False}
    module = script.Chances(script.build("sparse", {**shape, "units": 8, "second_units": 4}))
    planes = torch.zeros(2, 17, 1, 24)
    planes[1, -1] = 1.0  # MAX is the mover of the second state
    torch.nn.init.zeros_(module.network.value.weight)
    # Win surely, by a gammon surely, never by a backgammon: two points for the mover.
    module.network.value.bias.data = torch.tensor([50.0, 50.0, -50.0, 0.0, 0.0])
    assert module(planes).tolist() == pytest.approx([-2.0, 2.0])
    module.network.value.bias.data = torch.tensor([-50.0, 0.0, 0.0, 50.0, 50.0])
    assert module(planes).tolist() == pytest.approx([3.0, -3.0])


def test_cards_of_networks_have_points_and_error_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    ship = importlib.import_module("ship_network")
    between = {"mean": 0.0105, "low": 0.0093, "high": 0.0117}
    match = {"interval": [0.6, 0.7], "score": 0.65, "games": 10, "adjusted": 0.64}
    match |= {"adjusted_interval": [0.62, 0.66], "points": {"mean": 0.63, "interval": [0.5, 0.76]}}
    answers = {
        "match": match,
        "accuracy": {"rows": {"by itself": [], "greedy": [{"group": "all", "regret": between}]}},
    }
    monkeypatch.setattr(ship, "measured", lambda arguments: answers[arguments[0]])
    assert "+0.630 points per game (+0.500 to +0.760)" in ship.against("net", "pubeval", "backgammon", 10)
    assert ship.error_rate("net", "file") == "millipoints: all 10.5 ± 1.2; PR 5.2"
    assert "points" in ship.about_values(True)
    dense = DenseNetwork((17, 1, 24), hidden=8, layers=1, bounded=False, seen_by_mover=True)
    assert ship.halved(dense).first.weight.dtype == torch.float16
    assert dense.first.weight.dtype == torch.float32

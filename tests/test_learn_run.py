"""Runs: a run can be repeated, stopped and resumed, and reports its progress."""

import json
import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dicent import load_network, read_records
from dicent.evaluate.network import Network
from dicent.learn import train as train_module
from dicent.learn.config import read_config
from dicent.learn.factories import Overrides
from dicent.learn.learner import Learner
from dicent.learn.measure import Measured
from dicent.learn.report import report
from dicent.learn.run_folder import RunFolder
from dicent.learn.run_reader import RunReader
from dicent.learn.status import Status
from dicent.learn.train import Training

from .running import TINY, StopHere, checkpoints, everything, quiet, rows, run_to, weights

pytestmark = pytest.mark.usefixtures("quick_preflight")

# Determinism: the same seed gives the same run


KINDS: dict[str, dict[str, Any]] = {
    "as on a laptop": {},
    "one after the other": {"overlap": False, "games_per_update": 3},
    "waves": {"waves": True, "overlap": False},
    "waves beside learning": {"waves": True, "groups": 2},
    "two groups": {"groups": 2, "games_at_once": 5},
    "smooth replay": {"replay": "smooth", "duplication": 3.0, "replay_games": 10, "schedule": "annealed"},
    "expectiminimax": {"search": "expectiminimax", "terminal": "depth"},
    "determinized": {"search": "determinized", "selection": "softmax", "completion": False},
    "unbounded": {"search": "unbounded", "selection": "epsilon-greedy", "targets": "root", "terminal": "mix"},
    "alphazero": {"search": "puct"},
    "evaluations": {"games": None, "evaluations": 1500, "targets": "terminal", "pretraining": 200},
    "measured": {"measurements": 2, "ladder_games": 2, "games": 12},
}


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_gives_the_same_run_across_a_stop(kind: str, tmp_path: Path) -> None:
    config = TINY.replace(**KINDS[kind])
    quiet(config, tmp_path / "whole")
    expected = everything(tmp_path / "whole")
    assert len(expected[0]) > 2
    for turn in (7, 60):
        folder = tmp_path / f"stopped-{turn}"
        run_to(folder, config, turn)
        quiet(config, folder)
        assert everything(folder) == expected, f"stopped after turn {turn}"


def test_stop_inside_a_wave_changes_nothing(tmp_path: Path) -> None:
    """Finished games wait for the others; the next games begin with the next network."""
    config = TINY.replace(waves=True, games_at_once=6)
    quiet(config, tmp_path / "whole")

    def watch(status: Status) -> None:
        idle = training.workers.plays[0].group.searches.status == 0
        if status.phases == 1 and idle.sum() >= 3:
            training.save()
            raise StopHere

    with RunFolder(tmp_path / "stopped") as run:
        training = Training(config, run, Overrides(), watch)
        with pytest.raises(StopHere), closing(training):
            training.run()
    quiet(config, tmp_path / "stopped")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_run_may_be_stopped_many_times(tmp_path: Path) -> None:
    config = TINY.replace(groups=2)
    quiet(config, tmp_path / "whole")
    for turn in (5, 1, 9, 2, 30):
        run_to(tmp_path / "stopped", config if turn == 5 else None, turn)
        run_to(tmp_path / "stopped", None, 3, save=False)  # steps after the checkpoint are lost
    quiet(None, tmp_path / "stopped")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_everything_and_stops(number: int, tmp_path: Path) -> None:
    turns = 0

    def watch(status: Status) -> None:
        nonlocal turns
        turns += 1
        if turns == 60:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        quiet(TINY, tmp_path / "stopped", watch=watch)
    assert turns == 60
    assert len(checkpoints(tmp_path / "stopped")) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    quiet(TINY, tmp_path / "stopped")
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_caller_can_stop_a_run(tmp_path: Path) -> None:
    turns = iter(range(1000))
    with pytest.raises(KeyboardInterrupt):
        quiet(TINY, tmp_path / "stopped", stop=lambda: next(turns) == 40)
    assert next(turns) == 41
    quiet(TINY, tmp_path / "stopped")
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_runs_differ_by_seed(tmp_path: Path) -> None:
    for seed in (3, 4):
        quiet(TINY.replace(seed=seed), tmp_path / str(seed))
    assert weights(tmp_path / "3") != weights(tmp_path / "4")


def test_frequency_of_checkpoints_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dicent.learn.train.SPACING", 0)  # a slow disk would delay the next checkpoint
    often, rarely = TINY.replace(checkpoint_seconds=1e-9), TINY
    quiet(often, tmp_path / "often")
    quiet(rarely, tmp_path / "rarely")
    assert everything(tmp_path / "often") == everything(tmp_path / "rarely")
    assert len(checkpoints(tmp_path / "often")) == 3
    assert len(checkpoints(tmp_path / "rarely")) == 1


def test_finished_run_resumes_with_a_larger_budget(tmp_path: Path) -> None:
    quiet(TINY.replace(games=12), tmp_path)
    before = rows(tmp_path)
    quiet(TINY.replace(games=24), tmp_path)
    assert rows(tmp_path)[: len(before)] == before
    assert rows(tmp_path)[-1]["games"] >= 24
    assert read_config(tmp_path / "config.toml").run.games == 24


def test_finished_run_is_not_changed(tmp_path: Path) -> None:
    config = TINY.replace(games=8, measurements=1, ladder_games=2)
    quiet(config, tmp_path)
    expected = everything(tmp_path)
    quiet(None, tmp_path)
    assert everything(tmp_path) == expected


def test_games_are_counted_and_learned(tmp_path: Path) -> None:
    seen: list[Status] = []
    path = quiet(TINY, tmp_path, watch=lambda status: seen.append(status))
    last = rows(tmp_path)[-1]
    assert last["kind"] == "phase"
    assert 24 <= last["games"] == seen[-1].games
    assert last["evaluations"] > 24 * 10
    assert last["states"] > 0
    assert [row["phase"] for row in rows(tmp_path)] == list(range(1, last["phase"] + 1))
    assert [status.games for status in seen] == sorted(status.games for status in seen)
    assert path == tmp_path / "checkpoints" / path.parent.name / "network.safetensors"
    description = load_network(path).description
    assert description is not None
    assert description.game == "dice-nim"
    assert description.training["games"] == last["games"]
    assert description.training["config"]["hidden"] == 16


def test_self_play_uses_complete_phases_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase may begin before self-play has loaded the weights of the previous one."""
    learned: list[torch.Tensor] = []
    played: list[torch.Tensor] = []
    phase, load = Learner.phase, Network.load

    def remembered(learner: Learner, *arguments: Any) -> float:
        loss = phase(learner, *arguments)
        learned.append(torch.cat([p.detach().flatten() for p in learner.module.parameters()]))
        return loss

    def late(network: Network, weights: dict[str, torch.Tensor]) -> None:
        time.sleep(0.05)  # meanwhile the next phase changes the learner's weights
        load(network, weights)
        played.append(torch.cat([p.detach().flatten() for p in network.module.parameters()]))

    monkeypatch.setattr(Learner, "phase", remembered)
    monkeypatch.setattr(Network, "load", late)
    quiet(TINY, tmp_path)
    assert len(learned) == len(played) > 3
    assert all(torch.equal(a, b) for a, b in zip(learned, played, strict=True))


def test_learning_lowers_the_loss(tmp_path: Path) -> None:
    quiet(TINY.replace(games=150, duplication=4.0, batch=32, learning_rate=3e-3), tmp_path)
    losses = [row["loss"] for row in rows(tmp_path)]
    assert np.mean(losses[-5:]) < 0.75 * np.mean(losses[:5])


# Metrics, reports and records


def test_incomplete_lines_are_skipped(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        assert folder.metrics() == []
        folder.cut("metrics.jsonl", 3)
        for i in range(4):
            folder.append("metrics.jsonl", json.dumps({"i": i}))
        with open(tmp_path / "metrics.jsonl", "a") as file:
            file.write('{"i": 4, "lo')
        assert folder.metrics() == [{"i": i} for i in range(4)]
        folder.cut("metrics.jsonl", 3)
        folder.append("metrics.jsonl", '{"i": 3}')
        assert (tmp_path / "metrics.jsonl").read_text() == "".join(f'{{"i": {i}}}\n' for i in range(4))


def test_report_shows_the_curves(tmp_path: Path) -> None:
    quiet(TINY.replace(measurements=1, ladder_games=2, games=12), tmp_path / "my <run>")
    page = (tmp_path / "my <run>" / "report.html").read_text()
    assert "my &lt;run&gt;" in page
    assert page.count("<svg") == 4  # strength, accuracy, loss, speed
    for text in ("uct:1000", "mean squared error", "evaluations per second", "12 games", "hidden = 16"):
        assert text in page
    assert "NaN" not in page
    assert "<run>" not in page


def test_report_without_metrics_is_a_page() -> None:
    page = report([], TINY, "empty")
    assert "no results yet" in page
    assert "No measurements yet" in page


def test_records_of_a_run_can_be_replayed(tmp_path: Path) -> None:
    quiet(TINY, tmp_path)
    records = list(read_records(tmp_path / "games.jsonl"))
    assert sorted(record.number for record in records)[:5] == [0, 5, 10, 15, 20]
    for record in records:
        assert list(record.states())[-1].result == record.result
        assert record.players == ("descent", "descent")


# Budgets


class FakeTime:
    """A clock that advances a little whenever it is read."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


def test_budget_in_minutes_includes_the_last_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "time", FakeTime(0.01))
    config = TINY.replace(games=None, minutes=10 / 60, measurements=2, ladder_games=2)
    quiet(config, tmp_path)
    metrics = RunReader(tmp_path).metrics()
    assert [row["kind"] for row in metrics].count("strength") == 2
    assert 9.0 < metrics[-1]["seconds"] < 10.5  # half a second is reserved for the last measurement
    quiet(config.replace(minutes=12 / 60), tmp_path)
    state = RunReader(tmp_path).state()
    assert state is not None
    assert 11.0 < state.seconds < 12.5  # both sessions together


def test_measurements_keep_to_their_share_of_the_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact positions and games take all the time that they are given."""
    clock, measured = FakeTime(0.01), []

    def take(network: object, sample: object, seconds: float) -> dict[str, float]:
        clock.now += seconds
        measured.append(seconds)
        return {}

    def play(network: object, game: object, games: int, seed: int, threads: int, seconds: float) -> object:
        clock.now += seconds
        measured.append(seconds)
        return {"random": Measured(0.5, 2, 1)}

    monkeypatch.setattr(train_module, "time", clock)
    monkeypatch.setattr(train_module, "exactness", take)
    monkeypatch.setattr(train_module, "scores", play)
    monkeypatch.setattr("dicent.learn.preflight.exactness", lambda *_: {})
    monkeypatch.setattr("dicent.learn.preflight.scores", lambda *_: {})
    config = TINY.replace(games=None, minutes=20 / 60, measurements=4, measured_share=0.25)
    quiet(config, tmp_path)
    metrics = RunReader(tmp_path).metrics()
    assert [row["kind"] for row in metrics].count("strength") == 4
    assert 0.95 * 20 < metrics[-1]["seconds"] < 1.05 * 20
    assert sum(measured) <= 0.25 * 20 + 1e-6
    assert [row["measured_cut"] for row in metrics if row["kind"] == "strength"] == [1] * 4
    assert "4 of these games were cut" in (tmp_path / "report.html").read_text()

"""Runs of version 0.1, with its names of settings, counters and files, open and resume."""

import json
import tarfile
from pathlib import Path

import pytest

from dicent import load_network, read_records
from dicent.learn import old_names
from dicent.learn.config import config_from
from dicent.learn.report import report
from dicent.learn.run_reader import RunReader
from dicent.reproduction import reproduce as reproduction
from dicent.reproduction.scale import SCALES
from dicent.web.runs import Runs

from .running import TIMES, quiet

DATA = Path(__file__).parent / "data"
KINDS = ("descent", "expectiminimax")
pytestmark = pytest.mark.usefixtures("quick_preflight")


@pytest.fixture(params=KINDS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a run stopped after 11 of 24 games, and the metrics of the same run without a stop."""
    with tarfile.open(DATA / f"run_0_1_{request.param}.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path


def counted(path: Path) -> list[dict[str, object]]:
    """Return the metrics without timings, rounded: losses and scores depend on the processor."""
    rows = RunReader(path).metrics()
    thinking = "moves", "iterations", "depths", "game_seconds"  # which 0.1 did not count
    left_out = (*TIMES, *thinking, "scores", "exact", "cut_games", "measured_games", "measured_cut")
    return [
        {k: pytest.approx(v, rel=1e-3) if k == "loss" else v for k, v in row.items() if k not in left_out}
        for row in rows
    ]


@pytest.mark.usefixtures("uncompiled")
def test_old_run_resumes_to_the_same_result(old: Path) -> None:
    before = RunReader(old / "stopped").state()
    assert before is not None
    assert (before.games, before.next_games, before.finished) == (11, [15], False)
    assert before.pending is not None
    assert len(before.results) > 20
    gains = RunReader(old / "stopped").config().search.terminal == "gain"
    quiet(None, old / "stopped")
    # With other terminal values a sure win no longer resolves a state, so that searches differ from 0.1.
    rows = None if gains else len([row for row in counted(old / "whole") if row["games"] <= before.games])
    assert counted(old / "stopped")[:rows] == counted(old / "whole")[:rows]
    if gains:
        assert (old / "stopped" / "games.jsonl").read_text() == (old / "whole" / "games.jsonl").read_text()
    after = RunReader(old / "stopped").state()
    assert after is not None
    assert after.finished
    assert after.games >= 24
    names = {path.name for path in RunReader(old / "stopped").checkpoints()[-1].iterdir()}
    assert {"replay_buffer.safetensors", "games_in_flight.zlib"} < names


@pytest.mark.usefixtures("uncompiled")
def test_old_run_resumes_with_a_larger_budget(old: Path) -> None:
    config = RunReader(old / "stopped").config()
    assert config.self_play.games_at_once == 4
    quiet(config.replace(games=40), old / "stopped")
    assert "\n[self_play]\ngames_at_once = 4\n" in (old / "stopped" / "config.toml").read_text()
    assert RunReader(old / "stopped").config().run.games == 40
    assert RunReader(old / "stopped").metrics()[-1]["games"] >= 40


def test_old_networks_and_records_open(old: Path) -> None:
    description = load_network(old / "stopped").description
    assert description is not None
    assert description.training["matches"] == 11
    config = config_from(description.training["config"], "header")
    assert config == RunReader(old / "stopped").config()
    for record in read_records(old / "stopped" / "games.jsonl"):
        assert record.game == "dice-nim:stones=6"


def test_reports_and_web_pages_read_old_metrics(old: Path) -> None:
    run = RunReader(old / "whole")
    page = report(run.metrics(), RunReader(old / "stopped").config(), "old")
    assert "24 games" in page
    (old / "whole" / "config.toml").write_bytes((old / "stopped" / "config.toml").read_bytes())
    shown = Runs(old).run("whole")
    assert shown.games >= 24
    assert shown.settings["games_per_update"] == 4
    assert shown.loss is not None


def test_old_reproductions_resume(tmp_path: Path) -> None:
    reproduction._settle(tmp_path, SCALES["small"], 0)
    path = tmp_path / "reproduction.json"
    old = json.loads(path.read_text())
    scale, back = old["scale"], {new: name for name, new in old_names.SETTINGS.items()}
    for part in ("network", "descent", "alphazero"):
        scale[part] = old_names.translate(scale[part], back)
    old["format"], old["scale"] = 2, old_names.translate(scale, {"self_play_games": "matches"})
    assert "at_once" in old["scale"]["descent"]
    path.write_text(json.dumps(old))
    reproduction._settle(tmp_path, SCALES["small"], 0)
    old["scale"]["descent"]["at_once"] += 1
    path.write_text(json.dumps(old))
    with pytest.raises(reproduction.DicentError, match=r"other settings \(descent\)"):
        reproduction._settle(tmp_path, SCALES["small"], 0)

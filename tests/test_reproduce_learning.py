"""The learning processes of a reproduction: their time, their cores, their device."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dicent import DicentError
from dicent.learn import preflight
from dicent.learn.run_reader import RunReader
from dicent.reproduction import reproduce as module
from dicent.reproduction.learning import Learners, Task, shares
from dicent.reproduction.reproduce import reproduce

from .reproducing import TINY


@pytest.fixture(autouse=True, scope="module")
def quick_preflight() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "SECONDS", 0.01)
        yield


def test_reproduction_stops_after_its_minutes_and_resumes(tmp_path: Path) -> None:
    result = reproduce(tmp_path, TINY, minutes=1e-6)
    assert not result.finished
    assert result.learned == ()
    assert "not finished" in (tmp_path / "report.md").read_text()
    left = iter([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    work = module._Reproduction(tmp_path, TINY, 0, lambda: next(left), lambda step: None, print)
    with pytest.raises(KeyboardInterrupt):  # in the middle of the first run, which is saved
        work.do()
    assert list(tmp_path.glob("runs/*/checkpoints/*/state.json"))


def test_process_without_a_finished_game_is_no_error(tmp_path: Path) -> None:
    result = reproduce(tmp_path, TINY.replace(seconds=1e-9))
    assert [learned.games for learned in result.learned] == [0] * 7
    assert result.finished


def test_learners_begin_together_and_share_the_cores(tmp_path: Path) -> None:
    scale = TINY.replace(processes=2, at_once=2)
    first, second = scale.runs(0)[:2]
    broken = scale.config(second).replace(game="no-such-game")
    shown: list[int] = []
    with Learners(2) as learners:
        learners.compile([scale.config(first)])
        tasks = [Task(scale.config(run), tmp_path / run.name) for run in (first, second)]
        learners.learn(tasks, 1e6, lambda i, progress: shown.append(i))
        for run in (first, second):
            state = RunReader(tmp_path / run.name).state()
            assert state is not None
            assert state.finished
            assert state.games >= 4
        with pytest.raises(DicentError, match="no-such-game"):
            learners.learn([Task(broken, tmp_path / "broken")], 1e6, lambda i, progress: None)
    assert all(child.poll() is not None for child in learners.children)


def test_cores_are_shared_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(10)), raising=False)
    assert shares(1) == [list(range(10))]
    assert shares(4) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert shares(11) == [[]] * 11


def test_process_that_cannot_finish_in_time_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, now = [], 0.0

    def train(config: object, path: Path, **_: object) -> None:
        nonlocal now
        begun.append(path.name)
        now += 50.0

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    for seconds, expected in ((0.0, 0), (10.0, 1), (99.0, 1), (101.0, 2), (149.0, 2)):
        begun.clear()
        end, scale = now + seconds, TINY.replace(seconds=45.0)
        work = module._Reproduction(tmp_path, scale, 0, lambda end=end: end - now, lambda step: None, print)
        with pytest.raises(KeyboardInterrupt):
            work.do()
        assert len(begun) == expected


def test_scale_for_a_gpu_needs_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "choose_device", lambda wanted: ("cpu", "it is gone" * (wanted == "cuda")))
    scale = TINY.replace(network={**TINY.network, "device": "cuda"})
    with pytest.raises(DicentError, match=r"it is gone: the scale .* needs a GPU; choose another scale"):
        reproduce(tmp_path, scale)
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "reproduction.json").exists()  # the folder stays free for another scale
    module._settle(tmp_path, TINY, 0)

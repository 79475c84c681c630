"""Preparing native code in the background, and what is answered meanwhile."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dicent.game.binding import bind, uncompiled
from dicent.game.registry import make
from dicent.reproduction.learning import Learners
from dicent.web import preparation
from dicent.web.preparation import JOBS, Preparation

from .serving import begin, post, served


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold all preparation until the event is set; no process is started."""
    go_on = threading.Event()

    def follow(self: Preparation, game: str) -> None:
        go_on.wait()

    monkeypatch.setattr(Preparation, "_follow_process", follow)
    monkeypatch.setattr(preparation, "run", lambda game, job: None)
    yield go_on
    go_on.set()


def test_uncompiled_code_answers_while_native_code_is_prepared(
    held: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*arguments: Any) -> None:
        raise AssertionError("native code was asked for")

    monkeypatch.setattr("dicent.game.binding._write_sources", compiled)
    with served(tmp_path, warm=True) as client:
        fields = {"position": "AB3/C4/5/4c/3ba 2 3", "players": {"MAX": "human", "MIN": "steady"}}
        game = begin(client, game="ewn:planes=moves", dice="hand", **fields)
        path = f"/api/games/{game['id']}"
        assert client.get(f"{path}/pending").json()["jobs"] == list(JOBS)
        game = post(client, f"{path}/reply", at=0)
        game = post(client, f"{path}/steps", at=1, step="3")
        hint = post(client, f"{path}/hint", at=2)
        assert hint["quick"]
        game = post(client, f"{path}/steps", at=2, step=hint["action"])
        assert post(client, f"{path}/grade", at=3)["grade"] == "good"
        held.set()


def test_jobs_end_even_if_the_process_fails(
    held: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.set()
    prepared = Preparation()
    prepared.begin("dice-nim")
    for job in JOBS:
        prepared.wait("dice-nim", job)
    assert prepared.pending("dice-nim") == []
    prepared.begin("dice-nim")
    assert prepared.pending("dice-nim") == []  # once is enough
    prepared.close()


def test_waiting_ends_when_the_server_stops(held: threading.Event) -> None:
    prepared = Preparation()
    prepared.begin("dice-nim")
    waiting = threading.Thread(target=prepared.wait, args=("dice-nim", "hint"))
    waiting.start()
    prepared.close()
    waiting.join(60)
    assert not waiting.is_alive()


def test_uncompiled_blocks_bind_plain_python() -> None:
    game = make("dice-nim")
    with uncompiled():
        assert not bind(game).compiled
    assert bind(game, compiled=False) is not None


def test_grades_of_moves(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        players = {"players": {"MAX": "human", "MIN": "steady"}, "dice": "hand"}
        game = begin(client, position="1a3/5/5/3A1/5 1 3", **players)
        path = f"/api/games/{game['id']}"
        refused = client.post(f"{path}/grade", json={"at": 0})
        assert (refused.status_code, "nothing to grade" in refused.json()["error"]) == (422, True)
        post(client, f"{path}/steps", at=0, step="d2e2")
        graded = post(client, f"{path}/grade", at=1)
        assert (graded["grade"], graded["large"], graded["unit"]) == ("blunder", True, "win")
        assert graded["best_win"] == 1.0
        assert graded["loss"] == pytest.approx(1 - graded["win"])


def test_compiling_process_reports_each_job() -> None:
    prepared = Preparation()
    done: list[str] = []
    prepared._finish = lambda game, job: done.append(job)  # type: ignore[method-assign]
    prepared._follow_process("dice-nim")
    assert done == list(JOBS)
    prepared.close()


@pytest.mark.parametrize("module", ["dicent.web.preparation", "dicent.reproduction.learner"])
def test_processes_import_nothing_from_the_working_folder(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "json", "threading"):
        (tmp_path / f"{name}.py").write_text("open('marker', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # as with `python -m` and `python -c`
    if module == "dicent.reproduction.learner":
        with Learners(1):
            pass
    else:
        prepared = Preparation()
        prepared._finish = lambda game, job: None  # type: ignore[method-assign]
        prepared._follow_process("dice-nim:stones=unknown")
        prepared.close()
    assert not (tmp_path / "marker").exists()

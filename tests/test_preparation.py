"""Preparing native code in the background, and what is answered meanwhile."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dicent.game.binding import _plainly, bind, uncompiled
from dicent.game.registry import make
from dicent.play.strengths import strength_player
from dicent.reproduction.learning import Learners
from dicent.web import hints, plain_search, preparation
from dicent.web.plain_search import is_short, stand_in
from dicent.web.preparation import JOBS, Preparation
from dicent.web.reviews import reviewer_of

from .serving import PATIENCE, begin, post, served


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


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, float]]:
    """Return the seconds of a random game in plain Python, by the name of the game, for tests to set."""
    seconds: dict[str, float] = {}
    monkeypatch.setattr(plain_search, "random_game_seconds", lambda game: seconds.get(game.name, 1e-3))
    hints._quick_reviewer.cache_clear()
    yield seconds
    hints._quick_reviewer.cache_clear()


def wait_for_all(prepared: Preparation) -> None:
    async def wait() -> None:
        for job in JOBS:
            await prepared.wait("dice-nim", job)

    asyncio.run(wait())


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
    wait_for_all(prepared)
    assert prepared.pending("dice-nim") == []
    prepared.begin("dice-nim")
    assert prepared.pending("dice-nim") == []  # once is enough
    prepared.close()


def test_waiting_ends_when_the_server_stops(held: threading.Event) -> None:
    prepared = Preparation()
    prepared.begin("dice-nim")
    waiting = threading.Thread(target=wait_for_all, args=(prepared,))
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


# Games without a network: random games of plain Python may take long


@pytest.mark.parametrize(("seconds", "short"), [(1e-3, True), (0.05, False)])
def test_random_games_are_short_only_if_plain_python_plays_them_fast(
    plain: dict[str, float], seconds: float, short: bool
) -> None:
    game = make("tic-tac-toe")
    plain["tic-tac-toe"] = seconds
    assert is_short(strength_player("steady", game), game) == short  # uct:300
    assert (stand_in("steady", game) is not None) == short
    assert hints._quick_reviewer(game) is not None


def test_a_hint_by_too_few_random_games_is_not_given(plain: dict[str, float]) -> None:
    plain["tic-tac-toe"] = 1.0
    assert hints._quick_reviewer(make("tic-tac-toe")) is None


def test_one_random_game_is_measured() -> None:
    assert 0 < plain_search.random_game_seconds(make("tic-tac-toe")) < 600


def test_a_deep_search_has_a_shallower_one_in_its_place() -> None:
    found = [stand_in(name, make("ewn")) for name in ("full", "advanced", "steady")]
    assert [player and player.name for player in found] == ["advanced", "advanced", "steady"]
    assert stand_in("full", make("tic-tac-toe")) is None  # fewer random games play much worse


def test_a_reply_that_waits_for_native_code_holds_no_thread(
    held: threading.Event, plain: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain["tic-tac-toe"] = 1e3  # too long
    is_waiting, real = threading.Event(), Preparation.wait

    async def wait(self: Preparation, game: str, job: str) -> None:
        is_waiting.set()
        await real(self, game, job)

    monkeypatch.setattr(Preparation, "wait", wait)
    with served(tmp_path, warm=True, threads=1) as client:
        players = {"MAX": "steady", "MIN": "human"}
        slow = begin(client, game="tic-tac-toe", players=players)
        replies: list[dict[str, Any]] = []
        waiting = threading.Thread(
            target=lambda: replies.append(post(client, f"/api/games/{slow['id']}/reply", at=0))
        )
        waiting.start()
        assert is_waiting.wait(PATIENCE)
        fast = begin(client, game="connect-four", players=players)
        assert post(client, f"/api/games/{fast['id']}/reply", at=0)["steps"]
        assert not replies
        held.set()
        waiting.join()
        assert replies[0]["steps"]


def test_reviewers_of_native_searches_are_made_outside_plain_python(
    plain: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reviewer holds an open tablebase, and counts the plies of random games."""
    made: list[bool] = []
    monkeypatch.setattr(
        hints, "reviewer_of", lambda *a, **b: (made.append(_plainly.get()), reviewer_of(*a, **b))[1]
    )
    hints._full_reviewer.cache_clear()
    game = make("tic-tac-toe")
    quick, full = hints._quick_reviewer(game), hints._full_reviewer(game)
    assert made == [True, False]
    assert quick is not full
    hints._full_reviewer.cache_clear()


# Games that are opened again


def test_an_open_game_is_prepared_when_a_page_shows_it(held: threading.Event, tmp_path: Path) -> None:
    with served(tmp_path) as client:
        nim = begin(client, game="dice-nim")
        over = begin(client, game="dice-nim:stones=9")
        post(client, f"/api/games/{over['id']}/resign", at=0, side="MAX")
        record = (
            '{"format": 1, "game": "tic-tac-toe:", "players": ["human", "steady"], "start": ".../.../... 1", '
        )
        text = record + '"steps": [], "result": null, "seed": 0, "number": 0}'
        [imported] = post(client, "/api/import", text=text)["ids"]
    with served(tmp_path, warm=True) as client:
        for id, jobs in ((nim["id"], list(JOBS)), (over["id"], []), (imported, list(JOBS))):
            assert client.get(f"/api/games/{id}/pending").json()["jobs"] == jobs


def test_preparation_has_a_limit_of_games(held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "MOST", 1000)
    monkeypatch.setattr(preparation, "ALL", 3)
    prepared = Preparation()
    for stones in range(10, 20):
        prepared.begin(f"dice-nim:stones={stones}")
    assert len(prepared._pending) == 3
    prepared.close()


# Noise of random games


def test_a_quick_search_by_random_games_warns_of_no_noise(
    held: threading.Event, plain: dict[str, float], tmp_path: Path
) -> None:
    plain["connect-four"] = plain_search.SECONDS / plain_search.FEWEST  # only so many random games
    with served(tmp_path, warm=True) as client:
        for column in range(1, 8):  # no first move loses much
            game = begin(client, game="connect-four", players={"MAX": "human", "MIN": "human"})
            path = f"/api/games/{game['id']}"
            post(client, f"{path}/steps", at=0, step=str(column))
            graded = post(client, f"{path}/grade", at=1)
            assert (graded["large"], graded["grade"]) == (False, "good"), column


def test_losses_beyond_the_noise_are_graded(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        position = "X.X/OO./... 1"  # a move wins, and others lose
        game = begin(client, game="tic-tac-toe", position=position, players={"MAX": "human", "MIN": "human"})
        path = f"/api/games/{game['id']}"
        post(client, f"{path}/steps", at=0, step="c1")
        graded = post(client, f"{path}/grade", at=1)
        assert (graded["grade"], graded["large"]) == ("blunder", True)

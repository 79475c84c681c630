"""The HTTP interface: saved games, reviews, runs, the engine, and the end of the server."""

import asyncio
import json
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

import dicent
from dicent.engine.query import GUESTS
from dicent.play.notation import formats
from dicent.play.record import Record
from dicent.web.threads import SearchThreads, has_running_search

from .serving import (
    BY_HAND,
    PATIENCE,
    START,
    Process,
    begin,
    free_port,
    go_on,
    play,
    post,
    served,
    step,
    until,
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def test_games_are_exported_and_imported(client: httpx.Client) -> None:
    game = play(client, begin(client, position=START, **BY_HAND), "2", "b5c4", "6", "e3d4")
    offered = client.get("/api/info").json()["formats"]
    names = [one["name"] for one in offered]
    assert {"name": "wtn", "title": "WTN", "suffix": "txt"} in offered
    for form in formats(dicent.make("ewn")):
        assert form in names
        text = client.get(f"/api/games/{game['id']}/export", params={"format": form}).text
        [id] = post(client, "/api/import", text=text)["ids"]
        again = client.get(f"/api/games/{id}").json()
        assert (again["start"], again["steps"], again["dice"]) == (START, game["steps"], "hand"), form
        assert step(client, again, "1")["steps"][-1] == "1"  # an imported game can be continued
        assert client.delete(f"/api/games/{id}").status_code == 204
        assert client.get(f"/api/games/{id}").status_code == 404
    wrong = client.post("/api/import", json={"text": "no game"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "text")
    nim = begin(client, game="dice-nim", **BY_HAND)
    assert client.get(f"/api/games/{nim['id']}/export", params={"format": "wtn"}).status_code == 422


def test_games_are_listed_and_found(client: httpx.Client) -> None:
    game = begin(client, game="connect-four", **BY_HAND)
    found = client.get(
        "/api/games", params={"text": "connect", "game": "connect-four", "result": "open"}
    ).json()
    assert [one["id"] for one in found["games"]] == [game["id"]]
    assert found["games"][0]["title"] == "Connect Four"
    assert (found["page"], found["pages"]) == (1, 1)
    assert client.get("/api/games", params={"page": 99}).json()["games"] == []
    assert client.get("/api/games", params={"page": 0}).status_code == 422
    assert client.get("/api/games", params={"result": "2"}).status_code == 422


def test_review_is_made_and_saved(client: httpx.Client) -> None:
    game = play(client, begin(client, position="5/1a3/5/3A1/5 1 -", **BY_HAND), "3", "d2e2", "6", "b4a5")
    path = f"/api/games/{game['id']}"
    assert client.get(f"{path}/review").json()["state"] == "none"
    assert client.get(f"{path}/review.html").status_code == 404
    assert client.post(f"{path}/review").status_code == 202
    state = until(lambda: (s := client.get(f"{path}/review").json())["state"] == "done" and s)
    assert state["review"]["mistakes"] == [1]
    assert state["review"]["moments"][1]["best"] == "d2e1"
    assert client.get(path).json()["reviewed"]
    page = client.get(f"{path}/review.html")
    assert page.text.startswith("<!doctype html>")
    assert "style-src 'sha256-" in page.headers["content-security-policy"]
    assert client.post(f"/api/games/{begin(client)['id']}/review").status_code == 422


def test_games_with_a_score_are_reviewed_in_points(client: httpx.Client) -> None:
    # Red bears off its last checkers with any roll; Blue has borne off none.
    game = begin(client, game="hypergammon", position="--A-------------------aaa- 1 -", **BY_HAND)
    game = play(client, game, "21")
    path = f"/api/games/{game['id']}"
    hint = client.post(f"{path}/hint", json={"at": 1}).json()
    assert (hint["win"], hint["equity"]) == (None, 2)
    game = play(client, game, hint["action"])
    assert (game["result"], game["position"]["score"]) == (1, 2)
    client.post(f"{path}/review")
    state = until(lambda: (s := client.get(f"{path}/review").json())["state"] == "done" and s)
    assert (state["review"]["unit"], state["review"]["start_equity"]) == ("points", 2)
    assert state["review"]["verdict"].startswith("MAX won 2 points.")


def test_runs_and_tournaments_are_shown(client: httpx.Client, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "mine").mkdir(parents=True)
    (runs / "mine" / "config.toml").write_text('game = "ewn"\nsearch = "descent"\n')
    rows = [
        {"kind": "phase", "loss": 0.5, "matches": 2, "seconds": 60, "evaluations": 9, "states": 4},
        {"kind": "strength", "scores": {"random": 0.75}, "exact": {}, "seconds": 90, "matches": 3},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows) + '{"kind": "pha'  # the last is incomplete
    (runs / "mine" / "metrics.jsonl").write_text(lines)
    played = [Record("ewn", ("a", "b"), START, (), None, number=number) for number in (1, 2)]
    (runs / "mine" / "games.jsonl").write_text("".join(record.to_json() + "\n" for record in played))
    dicent.play_tournament(runs / "cup", ["random", "uct:3"], "ewn", games=4)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "config.toml").write_text('game = "ewn"\n')
    with served(tmp_path, runs=runs) as own:
        [run] = own.get("/api/runs").json()
        assert (run["name"], run["game"], run["minutes"], run["games"], run["loss"]) == (
            "mine",
            "ewn",
            1.5,
            3,
            0.5,
        )
        shown = own.get("/api/runs/mine").json()
        curves = {curve["name"]: (curve["x"], curve["y"]) for curve in shown["curves"]}
        assert curves["random"] == ([1.5], [0.75])
        assert curves["loss"] == ([1.0], [0.5])
        assert [game["number"] for game in shown["records"]] == [2, 1]
        [cup] = own.get("/api/tournaments").json()
        assert (cup["name"], cup["players"], cup["finished"]) == ("cup", ["random", "uct:3"], True)
        table = own.get("/api/tournaments/cup").json()
        assert sum(table["cross"][i][1 - i] for i in (0, 1)) == 1
        assert table["ratings"][0]["elo"] >= table["ratings"][1]["elo"]
        for name in ("nothing", "cup", "%2e%2e", "%2e%2e%2fsecret", "..%2fsecret", "%2fetc", "mine%00"):
            assert own.get(f"/api/runs/{name}").status_code == 404, name
    assert client.get("/api/runs").json() == []  # without a folder of runs


def test_engine_answers_over_websocket(client: httpx.Client) -> None:
    base = str(client.base_url).replace("http", "ws", 1).rstrip("/")
    query = {"game": "ewn", "position": "ABC2/DE3/F3f/3de/2abc 1 2", "limit": {"evaluations": 500}}
    with connect(f"{base}/api/engine") as socket:
        socket.send("no JSON")
        assert "error" in json.loads(socket.recv(PATIENCE))
        socket.send(json.dumps({"id": 1, "query": "analyse", **query}))
        answer = json.loads(socket.recv(PATIENCE))
        assert (answer["id"], answer["partial"]) == (1, False)
        assert {move["action"] for move in answer["analysis"]["moves"]} == {"b5c5", "b5b4", "b5c4"}
        socket.send(json.dumps({"id": 2, "player": "process:ls", **query}))
        assert json.loads(socket.recv(PATIENCE))["field"] == "player"
        socket.send(json.dumps({"id": 3, **query, "game": "evil.py"}))
        assert json.loads(socket.recv(PATIENCE))["field"] == "game"


def test_move_does_not_wait_for_analyses(client: httpx.Client) -> None:
    base = str(client.base_url).replace("http", "ws", 1).rstrip("/")
    query = {"query": "analyse", "game": "ewn", "position": START, "limit": {"time": GUESTS.time}}
    game = go_on(client, begin(client, players={"MAX": "steady", "MIN": "human"}))
    go_on(client, go_on(client, begin(client, players={"MAX": "steady", "MIN": "human"})))  # compiles
    with connect(f"{base}/api/engine") as socket:
        for id in range(12):
            socket.send(json.dumps({"id": id, **query}))
        assert len(go_on(client, game)["steps"]) == 2
        with pytest.raises(TimeoutError):  # no analysis has ended: the move did not wait for one
            socket.recv(0)


def test_close_does_not_wait_for_a_running_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dicent.web.threads.PATIENCE", 0.1)
    threads, begun, over = SearchThreads(1), threading.Event(), threading.Event()
    thinking = threads.moves.submit(lambda: begun.set() or over.wait(PATIENCE))
    later = threads.moves.submit(int)
    assert begun.wait(PATIENCE)
    threads.close()
    assert has_running_search()
    assert later.cancelled()
    over.set()
    assert thinking.result(PATIENCE)


def test_killed_server_loses_no_game(tmp_path: Path) -> None:
    port = free_port()
    server = Process(tmp_path, port)
    game = begin(server.client)
    for _ in range(5):
        game = go_on(server.client, game)
    server.stop(signal.SIGKILL)
    server = Process(tmp_path, port)
    try:
        assert server.client.get(f"/api/games/{game['id']}").json() == game
        assert len(go_on(server.client, game)["steps"]) == 6
    finally:
        assert server.stop(signal.SIGINT) == 0


def load_test() -> dict[str, Any]:
    """Return the names of benchmarks/serve_load.py."""
    path = Path(__file__).parent.parent / "benchmarks" / "serve_load.py"
    names: dict[str, Any] = {"__name__": "serve_load"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def test_a_game_that_the_load_test_has_only_begun_is_not_lost(client: httpx.Client) -> None:
    names = load_test()
    load = names["Load"](client.base_url.port, 0.0, "steady", until=0.0)  # the time is over

    async def begin_one() -> None:
        async with httpx.AsyncClient(base_url=load.base, timeout=PATIENCE) as its_client:
            await load.game(its_client, random.Random(0))

    asyncio.run(begin_one())
    assert len(load.seen) == 1
    assert names["lost"](load) == []


def test_many_clients_play_and_no_game_is_lost() -> None:
    """A short version of `make load`."""
    found = load_test()["main"](["--games", "1", "--clients", "12", "--think", "0", "--strength", "steady"])
    assert (found["failures"], found["lost"], found["ended"]) == (0, 0, 12)
    assert found["rows"]["reply"]["asked"] >= 12

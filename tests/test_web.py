"""The HTTP interface: positions, games, reviews, runs and the engine."""

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
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

from .serving import PATIENCE, Process, begin, free_port, go_on, post, served

BY_HAND = {"players": {"MAX": "human", "MIN": "human"}, "dice": "hand"}
START = "ABC2/DE3/F3f/3de/2abc 1 -"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def step(client: httpx.Client, game: dict[str, Any], text: str) -> dict[str, Any]:
    return post(client, f"/api/games/{game['id']}/steps", at=len(game["steps"]), step=text)


def play(client: httpx.Client, game: dict[str, Any], *steps: str) -> dict[str, Any]:
    for text in steps:
        game = step(client, game, text)
    return game


def until(condition: Callable[[], Any]) -> Any:
    """Call `found` until it returns a true value; return that value."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_info_lists_games_options_and_strengths(client: httpx.Client) -> None:
    info = client.get("/api/info").json()
    games = {game["name"]: game for game in info["games"]}
    assert list(games) == dicent.game_names()
    assert games["ewn"]["chance"]
    assert games["ewn"]["view"]
    assert not games["dice-nim"]["view"]
    assert not games["tic-tac-toe"]["chance"]
    options = {option["name"]: option for option in games["ewn-paper"]["options"]}
    assert (options["rules"]["default"], options["rules"]["choices"]) == ("paper", ["official", "paper"])
    assert info["version"] == dicent.__version__
    assert [strength["name"] for strength in info["strengths"]][-1] == "full"
    assert client.get("/").is_success


def test_position_describes_board_and_actions(client: httpx.Client) -> None:
    asked = {"game": "ewn", "position": "ABC2/DE3/F3f/3de/2abc 1 2"}
    position = client.get("/api/position", params=asked).json()
    assert (position["to_play"], position["result"], position["ply"]) == ("MAX", None, 0)
    view = position["view"]
    assert view["dice"] == ["2"]
    assert {"place": 1, "label": "2", "owner": "MAX", "count": 1} in view["stacks"]
    assert [i for i, place in enumerate(view["places"]) if place["marked"]] == [0, 24]
    assert view["grid"]["column_names"] == list("abcde")
    assert position["actions"] == [  # the first captures a piece of the same side
        {"text": "b5c5", "paths": [[[1, 2]]]},
        {"text": "b5b4", "paths": [[[1, 6]]]},
        {"text": "b5c4", "paths": [[[1, 7]]]},
    ]
    after = post(client, "/api/position", **asked, step="b5c4")
    assert (after["position"], after["to_play"]) == ("A1C2/DEB2/F3f/3de/2abc 2 -", "CHANCE")
    assert (after["roller"], position["roller"]) == ("MIN", None)
    assert after["outcomes"][5] == {"text": "6", "p": pytest.approx(1 / 6), "dice": ["6"]}


@pytest.mark.parametrize(
    ("game", "position", "text", "paths"),
    [
        ("ewn:hole=true", "ABC2/DEF2/5/3de/2abc 1 6", "c4c3", [[[7, 12]]]),  # into the hole
        ("ewn:setup=alternate", "5/5/5/5/5 1 @", "A@a5", [[[None, 0]]]),
        ("tic-tac-toe", ".../.../... 1", "b3", [[[None, 1]]]),
        ("dice-nim", "9 1 2", "2", []),
        ("pig", "35 20 8 1 -", "roll", []),
        ("backgammon", "-b----E-C---eE---c-e----B- 1 31", "8/5 6/5", [[[8, 5], [6, 5]]]),
        ("backgammon", "-b----E-C---eE---c-e----B- 2 31", "8/5 6/5", [[[17, 20], [19, 20]]]),
    ],
)
def test_actions_have_their_paths(
    client: httpx.Client, game: str, position: str, text: str, paths: Any
) -> None:
    answer = client.get("/api/position", params={"game": game, "position": position}).json()
    [action] = [action for action in answer["actions"] if action["text"] == text]
    assert action["paths"] == paths


def test_boards_that_are_no_grid_are_described(client: httpx.Client) -> None:
    asked = {"game": "backgammon", "position": "-b----E-C---eE---c-e----B- 1 31"}
    view = client.get("/api/position", params=asked).json()["view"]
    assert (view["grid"], view["dice"], view["bottom"]) == (None, ["3", "1"], "MAX")
    assert view["places"][24]["shape"] == "point-down"
    assert {"place": 24, "owner": "MAX", "count": 2, "label": ""} in view["stacks"]
    game = begin(client, game="backgammon", players={"MAX": "human", "MIN": "human"})
    game = post(client, f"/api/games/{game['id']}/roll", at=0)
    [past] = game["history"]
    assert past["dice"] == list(past["step"].split(":")[1])


def test_position_by_seed_and_by_fen(client: httpx.Client) -> None:
    asked = [client.get("/api/position", params={"game": "ewn", "seed": seed}).json() for seed in (1, 1, 2)]
    assert asked[0] == asked[1] != asked[2]
    fen = client.get("/api/position", params={"game": "ewn", "position": "dec2/ba3/f3B/3EA/2DCF w 1 3"})
    assert fen.json()["position"] == "DEC2/BA3/F3b/3ea/2dcf 2 3"


def test_game_with_real_dice_follows_the_rules(client: httpx.Client) -> None:
    chooser, state = random.Random(3), dicent.make("ewn").initial_state(3)
    game = begin(client, position=str(state), **BY_HAND)
    positions = []
    while state.result is None:
        position = game["position"]
        assert position["position"] == str(state)
        assert [action["text"] for action in position["actions"]] == [
            state.game.format_action(state, action) for action in state.legal_actions
        ]
        choice = chooser.choice([o for o, _ in state.outcomes] if state.is_chance else state.legal_actions)
        text = (state.game.format_outcome if state.is_chance else state.game.format_action)(state, choice)
        state = state.apply_outcome(choice) if state.is_chance else state.apply(choice)
        game = step(client, game, f" {text} ")
        positions.append(str(state))
    assert (game["ended"], game["result"]) == ("played", state.result)
    assert [moment["position"] for moment in game["history"]] == positions
    assert game["history"][0]["player"] == "CHANCE"
    assert client.get(f"/api/games/{game['id']}").json() == game
    record = Record.from_json(client.get(f"/api/games/{game['id']}/export").text)
    assert [str(state) for state in record.states()][1:] == positions


def test_a_whole_game_against_the_computer(client: httpx.Client) -> None:
    game = begin(client)
    while game["ended"] is None:
        before = game
        game = go_on(client, game)
        assert game["steps"][:-1] == before["steps"]
    path = f"/api/games/{game['id']}"
    over = client.post(f"{path}/roll", json={"at": len(game["steps"])})
    assert (over.status_code, over.json()["error"]) == (422, "the game is over")


def test_outdated_request_gets_conflict_with_current_game(client: httpx.Client) -> None:
    game = play(client, begin(client, position=START, **BY_HAND), "2", "b5c4")
    for what, more in (
        ("steps", {"step": "6"}),
        ("take-back", {}),
        ("resign", {"side": "MAX"}),
        ("hint", {}),
    ):
        answer = client.post(f"/api/games/{game['id']}/{what}", json={"at": 1, **more})
        assert (answer.status_code, answer.json()["field"]) == (409, "at")
        assert answer.json()["game"] == game


def test_repeated_reply_request_makes_one_move(client: httpx.Client) -> None:
    game = begin(client, players={"MAX": "full", "MIN": "human"})
    game = go_on(client, game)
    path, answers = f"/api/games/{game['id']}/reply", list[httpx.Response]()

    def ask() -> None:
        answers.append(client.post(path, json={"at": 1}))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask()  # and again, after the reply
    assert {answer.status_code for answer in answers} == {200}
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert len(answers[0].json()["steps"]) == 2


def test_take_back_keeps_the_dice(client: httpx.Client) -> None:
    game = begin(client, position=START)
    path = f"/api/games/{game['id']}"
    while len(game["steps"]) < 4:
        game = go_on(client, game)
    steps = game["steps"]
    game = post(client, f"{path}/take-back", at=4)
    assert (game["steps"], game["position"]["to_play"]) == (steps[:1], "MAX")  # the roll of the move is kept
    other = game["position"]["actions"][1]["text"]
    game = go_on(client, step(client, game, other))
    assert game["steps"] == [steps[0], other, steps[2]]  # and so is the opponent's roll
    game = post(client, f"{path}/take-back", at=3)
    answer = client.post(f"{path}/take-back", json={"at": 1})
    assert (answer.status_code, answer.json()["error"]) == (422, "there is no move to take back")


def test_roll_of_real_dice_can_be_corrected(client: httpx.Client) -> None:
    game = begin(client, position=START, dice="hand")
    path = f"/api/games/{game['id']}"
    game = play(client, game, "2")
    game = post(client, f"{path}/take-back", at=1)
    assert (game["steps"], game["position"]["to_play"]) == ([], "CHANCE")
    game = play(client, game, "2", "b5c4", "6")
    game = go_on(client, game)  # the computer has replied to a roll entered by mistake
    game = post(client, f"{path}/take-back", at=4)
    assert game["steps"] == ["2", "b5c4"]
    game = post(client, f"{path}/take-back", at=2)
    assert game["steps"] == ["2"]


def test_resignation_can_be_taken_back(client: httpx.Client) -> None:
    game = go_on(client, begin(client))
    path = f"/api/games/{game['id']}"
    game = post(client, f"{path}/resign", at=1, side="MAX")
    assert (game["ended"], game["result"]) == ("resigned", -1)
    resigned = Record.from_json(client.get(f"{path}/export").text)
    assert (resigned.result, resigned.ended) == (-1, "resigned")
    game = post(client, f"{path}/take-back", at=1)
    assert (game["ended"], game["result"], len(game["steps"])) == (None, None, 1)


def test_hints(client: httpx.Client) -> None:
    game = begin(client, position="5/1a3/5/3A1/5 1 3", **BY_HAND)
    hint = post(client, f"/api/games/{game['id']}/hint", at=0)
    assert hint["action"] == "d2e1"
    assert hint["win"] > 0.95


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"game": "chess"}, "game"),
        ({"game": "ewn:size=77"}, "game"),
        ({"position": "nonsense"}, "position"),
        ({"position": "5/5/5/5/4A 1 -"}, "position"),  # a finished start position
        ({"players": {"MAX": "human", "MIN": "process:rm"}}, "players.MIN"),
        ({"players": {"MAX": "/etc/passwd", "MIN": "human"}}, "players.MAX"),
        ({"players": {"MAX": "human"}}, "players.MIN"),
        ({"dice": "loaded"}, "dice"),
        ({"more": 1}, "more"),
    ],
)
def test_invalid_new_game_names_the_field(client: httpx.Client, wanted: Any, field: str) -> None:
    content = {"game": "ewn", "players": {"MAX": "human", "MIN": "human"}, **wanted}
    answer = client.post("/api/games", json=content)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert answer.json()["error"]


def test_invalid_step_is_explained(client: httpx.Client) -> None:
    game = begin(client, position=START, players={"MAX": "human", "MIN": "full"})
    path = f"/api/games/{game['id']}"
    assert "request a roll" in client.post(f"{path}/steps", json={"at": 0, "step": "6"}).json()["error"]
    assert client.post(f"{path}/reply", json={"at": 0}).status_code == 422
    game = go_on(client, game)
    wrong = client.post(f"{path}/steps", json={"at": 1, "step": "a1a2"}).json()
    assert wrong["field"] == "step"
    assert wrong["error"].startswith("a1a2 is not possible: the die shows ")
    assert " You may play " in wrong["error"]
    assert not any(code in wrong["error"] for code in ("ewn", "MAX", "ABC2"))
    assert "no roll is due" in client.post(f"{path}/roll", json={"at": 1}).json()["error"]
    by_hand = begin(client, **BY_HAND)
    assert "real dice" in client.post(f"/api/games/{by_hand['id']}/roll", json={"at": 0}).json()["error"]
    assert client.get("/api/games/nothing").status_code == 404
    assert client.get("/nothing").json() == {"error": "Not Found", "field": None}


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


def test_many_clients_play_and_no_game_is_lost() -> None:
    """A short version of `make load`."""
    path = Path(__file__).parent.parent / "benchmarks" / "serve_load.py"
    load: dict[str, Any] = {"__name__": "serve_load"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), load)
    found = load["main"](["--games", "1", "--clients", "12", "--think", "0", "--strength", "steady"])
    assert (found["failures"], found["lost"], found["ended"]) == (0, 0, 12)
    assert found["rows"]["reply"]["asked"] >= 12

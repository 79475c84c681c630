"""The HTTP interface: positions, games and hints."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import dicent
from dicent.play.record import Record

from .serving import BY_HAND, START, begin, go_on, play, post, served, step


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


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

"""Games of two devices: the link, what a guest may do, news, and clocks."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dicent.library.library import Library
from dicent.play.record import Record
from dicent.web.error_answers import ProblemError
from dicent.web.seating import MOST, Seating
from dicent.web.server import Settings, make_app

from .serving import PATIENCE, begin, free_port, post, served

TOKEN = "correct-horse"
WITH_LINK = {"game": "dice-nim", "players": {"MAX": "human", "MIN": "link"}}


class Time:
    """A clock that a test sets."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@contextmanager
def reachable(folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    """Yield the owner's client of a server that other devices reach."""
    with served(
        folder, **{"host": "0.0.0.0", "token": TOKEN, "poll_seconds": PATIENCE, **settings}
    ) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield client


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with reachable(tmp_path_factory.mktemp("reachable")) as client:
        yield client


def secret_of(game: dict[str, Any]) -> str:
    return str(game["link"]).rpartition("/join/")[2]


@contextmanager
def joined(owner: httpx.Client, game: dict[str, Any]) -> Iterator[httpx.Client]:
    """Yield the client of a second device, which has followed the link."""
    with httpx.Client(base_url=owner.base_url, timeout=PATIENCE) as guest:
        answer = guest.get(f"/join/{secret_of(game)}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/#/play/{game['id']}")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        yield guest


def move(client: httpx.Client, game: dict[str, Any]) -> httpx.Response:
    """Make the next step of a game, as far as this client may."""
    position, seen = game["position"], {"at": len(game["steps"])}
    if position["to_play"] == "CHANCE":
        return client.post(f"/api/games/{game['id']}/roll", json=seen)
    step = {**seen, "step": position["actions"][0]["text"]}
    return client.post(f"/api/games/{game['id']}/steps", json=step)


def test_two_devices_play_a_whole_game(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    assert (game["yours"], game["waiting"], game["clock"]) == ("MAX", True, None)
    assert re.fullmatch(r"http://[^/]+/join/[\w-]{22,}", game["link"])
    assert TOKEN not in game["link"]
    path = f"/api/games/{game['id']}"
    assert "link" not in owner.get(path).json()
    with joined(owner, game) as guest:
        seen = guest.get(path).json()
        assert (seen["yours"], seen["waiting"], "link" in seen) == ("MIN", False, False)
        by = {"MAX": owner, "MIN": guest}
        while seen["ended"] is None:
            turn = seen["position"]["roller"] or seen["position"]["to_play"]
            other = by["MIN" if turn == "MAX" else "MAX"]
            refused = move(other, seen)
            assert (refused.status_code, refused.json()["error"]) == (403, "it is the other player's turn")
            answer = move(by[turn], seen)
            assert answer.is_success, answer.text
            assert answer.json()["version"] == seen["version"] + 1
            seen = answer.json()
        assert seen["ended"] == "played"
        assert guest.get(path).json() == {**owner.get(path).json(), "yours": "MIN", "guest": True}
        late = guest.post(f"{path}/roll", json={"at": 0})
        assert (late.status_code, late.json()["game"]["yours"]) == (409, "MIN")


def test_a_guest_resigns_for_its_own_side_only(owner: httpx.Client) -> None:
    game = begin(owner, **{**WITH_LINK, "players": {"MAX": "link", "MIN": "human"}})
    path = f"/api/games/{game['id']}"
    assert game["yours"] == "MIN"
    with joined(owner, game) as guest:
        for client, side in ((guest, "MIN"), (owner, "MAX")):
            assert client.post(f"{path}/resign", json={"at": 0, "side": side}).status_code == 403
        assert post(guest, f"{path}/resign", at=0, side="MAX")["result"] == -1


def test_hints_grades_and_taken_back_moves_are_refused(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    for what in ("hint", "grade", "take-back"):
        answer = owner.post(f"/api/games/{game['id']}/{what}", json={"at": 0})
        assert (answer.status_code, "two devices" in answer.json()["error"]) == (422, True), what


def routes_of(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of all routes, also of those in routers."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from routes_of(router.routes)
        else:
            yield from ((method, route.path) for method in getattr(route, "methods", None) or {"GET"})


ALLOWED = {
    ("GET", "/"),
    ("GET", "/service-worker.js"),
    ("GET", "/static"),
    ("GET", "/api/info"),
    ("GET", "/api/rules"),
    ("GET", "/api/guide"),
    ("GET", "/api/catalogue"),
    ("GET", "/api/position"),
    ("POST", "/api/position"),
    ("GET", "/api/games/{id}"),
    ("POST", "/api/games/{id}/steps"),
    ("POST", "/api/games/{id}/roll"),
    ("POST", "/api/games/{id}/resign"),
    ("POST", "/api/games/{id}/rematch"),
}


def test_a_guest_is_refused_on_every_other_route(owner: httpx.Client, tmp_path: Path) -> None:
    game, other = begin(owner, **WITH_LINK), begin(owner, **WITH_LINK)
    app = make_app(Settings(folder=tmp_path, runs=tmp_path / "runs"))
    routes = {(method, path) for method, path in routes_of(app.routes) if method != "HEAD"}
    assert routes > ALLOWED
    assert len(routes) > 30
    with joined(owner, game) as guest:
        for method, route in routes:
            files = {"/static": "/static/index.html"}
            path = files.get(route, re.sub(r"\{id\}", game["id"], route).replace("{name}", "mine"))
            answer = guest.request(method, path, json={} if method == "POST" else None)
            if (method, route) in ALLOWED:
                assert answer.status_code in (200, 422), (method, route)
                refused = guest.request(method, route.replace("{id}", other["id"]), json={})
                assert "{id}" not in route or refused.status_code == 403
            else:
                assert answer.status_code == 403, (method, route, answer.text)
                assert answer.json()["error"] == "a guest may only play the game of the link"
        for path in ("/nothing", "/api/games/", f"/api/games/{game['id']}/", f"//api/games/{other['id']}"):
            assert guest.get(path).status_code == 403, path
        assert guest.get("/static/../api/games").status_code in (403, 404)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in guest.cookies.items())}
        with pytest.raises(InvalidStatus, match="403"):
            connect(str(owner.base_url).replace("http", "ws") + "/api/engine", additional_headers=headers)


def test_wrong_secrets_and_deleted_games_give_no_seat(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    with httpx.Client(base_url=owner.base_url) as stranger:
        for secret in ("", "x", secret_of(game)[:-1], secret_of(game) + "x", game["id"], "%00", "a/b"):
            answer = stranger.get(f"/join/{secret}")
            assert (answer.status_code, "set-cookie" in answer.headers) == (404, False), secret
        assert stranger.post(f"/join/{secret_of(game)}").status_code == 401
        stranger.cookies.set(f"dicent-seat-{owner.base_url.port}", "x")
        assert stranger.get(f"/api/games/{game['id']}").status_code == 401
    with joined(owner, game) as guest:
        assert owner.delete(f"/api/games/{game['id']}").status_code == 204
        assert guest.get("/").status_code == 401


def test_the_owner_who_follows_the_link_stays_the_host(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    answer = owner.get(f"/join/{secret_of(game)}")
    assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)
    seen = owner.get(f"/api/games/{game['id']}").json()
    assert (seen["yours"], seen["waiting"]) == ("MAX", True)


def test_news_arrive_when_the_other_device_moves(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    path, found = f"/api/games/{game['id']}", list[dict[str, Any]]()

    def wait(version: int) -> threading.Thread:
        thread = threading.Thread(
            target=lambda: found.append(owner.get(path, params={"after": version}).json())
        )
        thread.start()
        return thread

    waiting = wait(game["version"])
    with joined(owner, game) as guest:
        seen = guest.get(path).json()  # joins, which is news for the host
        waiting.join(PATIENCE)
        assert [one["waiting"] for one in found] == [False]
        assert move(owner, seen).is_success  # an earlier version is answered at once
        news = guest.get(path, params={"after": seen["version"]}).json()
        assert len(news["steps"]) == 1
        waiting = wait(news["version"])
        assert post(guest, f"{path}/resign", at=1, side="MIN")["ended"] == "resigned"
        waiting.join(PATIENCE)
        assert found[-1]["ended"] == "resigned"


def test_requests_that_wait_are_limited_and_end_with_the_server() -> None:
    async def check() -> None:
        seating = Seating()
        seating.open(asyncio.get_running_loop())
        with ExitStack() as stack:
            events = [stack.enter_context(seating.news("one")) for _ in range(MOST)]
            with pytest.raises(ProblemError, match="already wait"), seating.news("one"):
                pass
            other = stack.enter_context(seating.news("other"))
            events.append(stack.enter_context(seating.news("one", is_guest=True)))  # has places of its own
            seating.changed("one")
            await asyncio.gather(*(event.wait() for event in events))
            assert not other.is_set()
            seating.close()
            assert other.is_set()
        with seating.news("one") as late:
            assert late.is_set()

    asyncio.run(check())


def test_waiting_ends_after_the_longest_wait(tmp_path: Path) -> None:
    with reachable(tmp_path, poll_seconds=0.01) as owner:
        game = begin(owner, **WITH_LINK)
        path = f"/api/games/{game['id']}"
        assert owner.get(path, params={"after": game["version"]}).json()["version"] == game["version"]


def test_time_runs_from_the_guests_first_request(tmp_path: Path) -> None:
    time = Time()
    with reachable(tmp_path, now=time) as owner:
        game = begin(owner, **WITH_LINK, clock="1+2")
        path = f"/api/games/{game['id']}"
        time.now += 1000
        assert game["clock"] == owner.get(path).json()["clock"]
        assert game["clock"] == {"left": {"MAX": 60, "MIN": 60}, "running": None}
        with joined(owner, game) as guest:
            seen = guest.get(path).json()
            assert seen["clock"]["running"] == (seen["position"]["roller"] or seen["position"]["to_play"])
            left = {"MAX": 60.0, "MIN": 60.0}
            times = []
            by = {"MAX": owner, "MIN": guest}
            for _ in range(2):
                turn = seen["clock"]["running"]
                time.now += 10
                if seen["position"]["to_play"] == "CHANCE":
                    seen = move(by[turn], seen).json()  # time goes on after a roll
                assert seen["clock"]["left"][turn] == left[turn] - 10
                seen = move(by[turn], seen).json()
                left[turn] -= 8
                times.append(10.0)
                assert seen["clock"]["left"] == left
            time.now += 1000
            over = guest.get(path).json()
            loser = seen["clock"]["running"]
            assert (over["ended"], over["result"]) == ("time", -1 if loser == "MAX" else 1)
            assert over["clock"] == {"left": {**left, loser: 0}, "running": None}
            late = move(by[loser], seen)
            assert (late.status_code, late.json()["error"]) == (422, "the game is over")
        record = Record.from_json(owner.get(f"{path}/export").text)
        assert (record.ended, record.times) == ("time", tuple(times))


def test_a_clock_that_runs_out_ends_the_game_without_a_request(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK, clock="0.001")
    path = f"/api/games/{game['id']}"
    with joined(owner, game) as guest:
        seen = guest.get(path).json()
        while seen["ended"] is None:
            seen = guest.get(path, params={"after": seen["version"]}).json()
        assert (seen["ended"], seen["result"]) == ("time", -1)


def test_a_restart_keeps_seats_and_clocks(tmp_path: Path) -> None:
    time, port = Time(), free_port()
    with reachable(tmp_path, now=time, port=port) as owner:
        game = begin(owner, **WITH_LINK, clock="5+3")
        path = f"/api/games/{game['id']}"
        with joined(owner, game) as guest:
            guest.get(path)
            cookies = dict(guest.cookies)
        time.now += 100
        assert sorted(owner.get(path).json()["clock"]["left"].values()) == [200, 300]
    time.now += 10_000  # while the server stands still
    with (
        reachable(tmp_path, now=time, port=port) as owner,
        httpx.Client(base_url=owner.base_url, cookies=cookies) as guest,
    ):
        seen = guest.get(path).json()
        assert (seen["yours"], seen["waiting"]) == ("MIN", False)
        assert sorted(seen["clock"]["left"].values()) == [300, 300]
        time.now += 50
        assert sorted(guest.get(path).json()["clock"]["left"].values()) == [250, 300]


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        ({"players": {"MAX": "link", "MIN": "link"}}, "players.MAX", "must be human"),
        ({"players": {"MAX": "full", "MIN": "link"}}, "players.MIN", "must be human"),
        ({"dice": "hand"}, "dice", "server's dice"),
        ({"clock": "soon"}, "clock", "as in 5+3"),
        ({"clock": "5", "players": {"MAX": "human", "MIN": "human"}}, "clock", "link"),
    ],
)
def test_wrong_games_of_two_devices_are_refused(
    owner: httpx.Client, wanted: dict[str, Any], field: str, words: str
) -> None:
    answer = owner.post("/api/games", json={**WITH_LINK, **wanted})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert words in answer.json()["error"]


def test_a_server_for_this_machine_only_gives_no_link(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        answer = client.post("/api/games", json=WITH_LINK)
        assert answer.status_code == 422
        assert "dicent serve --host 0.0.0.0" in answer.json()["error"]


def test_the_library_holds_no_secret_and_forgets_deleted_seats(tmp_path: Path) -> None:
    with closing(Library(tmp_path / "games.sqlite")) as library:
        id = library.add("dice-nim", "s", ("human", "human"), seat=("MIN", "a secret", False))
        assert library.seat("another") is None
        seat = library.seat("a secret")
        assert seat is not None
        assert (seat.game, seat.side, seat.joined) == (id, "MIN", False)
        with closing(sqlite3.connect(tmp_path / "games.sqlite")) as file:
            assert "a secret" not in str(file.execute("SELECT * FROM seats").fetchall())
        library.delete(id)
        assert library.seat("a secret") is None

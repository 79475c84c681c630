"""Rematches of games of two devices: offers, the link that leads to the new game, and a guest's rights."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .serving import PATIENCE, begin, post
from .test_web_two_devices import WITH_LINK, Time, joined, move, reachable, secret_of

CHOSEN = "5/1a3/5/3A1/5 1 -"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with reachable(tmp_path_factory.mktemp("reachable")) as client:
        yield client


def want(client: httpx.Client, game: dict[str, Any]) -> dict[str, Any]:
    """Offer a rematch of a game without steps, or accept the offer."""
    return post(client, f"/api/games/{game['id']}/rematch", at=0)


def give_up(client: httpx.Client, game: dict[str, Any], side: str) -> dict[str, Any]:
    return post(client, f"/api/games/{game['id']}/resign", at=0, side=side)


def test_both_sides_want_a_rematch_and_the_sides_are_swapped(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK, names={"MAX": "Ann"})
    path = f"/api/games/{game['id']}"
    assert (game["rematch_offer"], game["rematch"]) == (None, None)
    with joined(owner, game) as guest:
        guest.get(path)
        give_up(guest, game, "MIN")
        for _ in range(2):  # a second offer changes nothing
            offered = want(guest, game)
            assert (offered["rematch_offer"], offered["rematch"]) == ("MIN", None)
        before = owner.get(path).json()
        assert before["rematch_offer"] == "MIN"
        accepted = want(owner, game)
        assert accepted["version"] == before["version"] + 1
        second = f"/api/games/{accepted['rematch']}"
        assert want(owner, game)["rematch"] == accepted["rematch"]
        seen = owner.get(second).json()
        assert (seen["yours"], seen["waiting"], seen["names"]) == ("MIN", True, {"MAX": "", "MIN": "Ann"})
        theirs = guest.get(second).json()
        assert (theirs["yours"], theirs["guest"], theirs["waiting"]) == ("MAX", True, False)
        assert move(guest, theirs).is_success
        assert owner.get(path).json()["yours"] == "MAX"  # the first game stays one of two devices
        answer = owner.post(f"{path}/take-back", json={"at": 0})
        assert (answer.status_code, "two devices" in answer.json()["error"]) == (422, True)


def test_a_guest_may_play_the_rematch_only_and_the_link_leads_there(owner: httpx.Client) -> None:
    first, other = begin(owner, **WITH_LINK), begin(owner, **WITH_LINK)
    with joined(owner, first) as guest:
        give_up(owner, first, "MAX")
        want(owner, first)
        assert guest.get(f"/api/games/{first['id']}").json()["rematch_offer"] == "MAX"
        second = want(guest, first)["rematch"]
        assert guest.get("/api/info").json()["guest_of"] == second
        for id in (first["id"], other["id"]):
            for request in (
                guest.build_request("GET", f"/api/games/{id}"),
                guest.build_request("POST", f"/api/games/{id}/rematch", json={"at": 0}),
            ):
                answer = guest.send(request)
                assert (answer.status_code, answer.json()["error"]) == (
                    403, "a guest may only play the game of the link",
                )  # fmt: skip
        with joined(owner, {**first, "id": second}) as again:  # on a third device, by the same link
            assert again.get(f"/api/games/{second}").json()["yours"] == "MAX"
        assert owner.delete(f"/api/games/{first['id']}").status_code == 204
        assert guest.get(f"/api/games/{second}").status_code == 200
        assert owner.delete(f"/api/games/{second}").status_code == 204  # withdraws the link
        assert guest.get("/").status_code == 401
        assert guest.get(f"/join/{secret_of(first)}").status_code == 404


def test_a_page_that_waits_hears_of_the_offer_and_of_the_rematch(owner: httpx.Client) -> None:
    game = begin(owner, **WITH_LINK)
    path, news = f"/api/games/{game['id']}", list[dict[str, Any]]()
    with joined(owner, game) as guest:
        guest.get(path)
        seen = give_up(owner, game, "MAX")

        def follow() -> None:
            version = seen["version"]
            while not news or news[-1]["rematch"] is None:
                news.append(guest.get(path, params={"after": version}).json())
                version = news[-1]["version"]

        waiting = threading.Thread(target=follow)
        waiting.start()
        want(owner, game)
        with httpx.Client(base_url=owner.base_url, cookies=guest.cookies, timeout=PATIENCE) as same:
            second = want(same, game)["rematch"]
        waiting.join(PATIENCE)
        assert {one["yours"] for one in news} == {"MIN"}
        assert news[-1]["rematch"] == second
        assert guest.get(f"/api/games/{second}").json()["yours"] == "MAX"


def test_rematch_begins_at_the_chosen_position_with_a_full_clock(tmp_path: Path) -> None:
    time = Time()
    with reachable(tmp_path, now=time) as owner:
        wanted = {**WITH_LINK, "game": "ewn", "position": CHOSEN, "clock": "1+2"}
        game = begin(owner, **wanted)
        with joined(owner, game) as guest:
            guest.get(f"/api/games/{game['id']}")
            time.now += 20
            give_up(guest, game, "MIN")
            for round in range(2):
                want(owner, game)
                id = want(guest, game)["rematch"]
                seen = owner.get(f"/api/games/{id}").json()
                assert seen["start"] == game["start"] == CHOSEN
                assert seen["clock"] == {"left": {"MAX": 60, "MIN": 60}, "running": None}
                time.now += 1000
                assert guest.get(f"/api/games/{id}").json()["clock"]["running"] == "MAX"
                time.now += 10
                assert owner.get(f"/api/games/{id}").json()["clock"]["left"] == {"MAX": 50, "MIN": 60}
                game = give_up(owner, seen, ("MIN", "MAX")[round])


def test_dealt_games_are_dealt_again(owner: httpx.Client) -> None:
    game, starts = begin(owner, **{**WITH_LINK, "game": "ewn"}), set[str]()
    with joined(owner, game) as guest:
        for round in range(4):
            starts.add(game["start"])
            give_up(owner, game, ("MAX", "MIN")[round % 2])
            want(owner, game)
            game = owner.get(f"/api/games/{want(guest, game)['rematch']}").json()
    assert len(starts) > 1


def test_only_finished_games_of_two_devices_have_a_rematch(owner: httpx.Client) -> None:
    running, alone = begin(owner, **WITH_LINK), begin(owner)
    give_up(owner, alone, "MAX")
    for game in (running, alone):
        answer = owner.post(f"/api/games/{game['id']}/rematch", json={"at": 0})
        assert (answer.status_code, "two devices" in answer.json()["error"]) == (422, True)
    assert owner.post(f"/api/games/{running['id']}/rematch", json={"at": 1}).status_code == 409


def test_an_offer_outlasts_a_restart_of_the_server(tmp_path: Path) -> None:
    with reachable(tmp_path) as owner:
        game = begin(owner, **WITH_LINK)
        with joined(owner, game) as guest:
            give_up(guest, game, "MIN")
            want(guest, game)
    with reachable(tmp_path) as owner:
        id = want(owner, game)["rematch"]
        with joined(owner, {**game, "id": id}) as guest:
            assert guest.get(f"/api/games/{id}").json()["yours"] == "MAX"

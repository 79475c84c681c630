"""A game of two devices in two real browsers."""

from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from .browsing import Browser, missing, wait_for
from .serving import begin
from .test_web_two_devices import TOKEN, WITH_LINK, reachable

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
STEPS = (".to-roll", ".action-buttons button", ".found-moves button", ".cell.target", ".cell.movable")


def turn(page: Browser, owner: httpx.Client, path: str) -> None:
    """Click the die and the moves of a page until one move has been made."""
    from selenium.common.exceptions import WebDriverException

    def moves() -> int:
        return sum(past["player"] != "CHANCE" for past in owner.get(path).json()["history"])

    before = moves()

    def moved() -> bool:
        found = next(filter(None, map(page.all, STEPS)), [])
        with suppress(WebDriverException):  # the page has changed
            for element in found[:1]:
                element.click()
        return moves() > before

    wait_for(moved, "a move")


def links(page: Browser) -> set[str]:
    """Return where the links of a page lead."""
    return {str(link.get_dom_attribute("href")) for link in page.all("a[href^='#/']")}


def test_a_guest_finds_only_what_a_guest_may_open(browser: Browser, tmp_path: Path) -> None:
    with reachable(tmp_path) as owner:
        game = begin(owner, **WITH_LINK)
        own = f"#/play/{game['id']}"
        base, guest = f"http://127.0.0.1:{owner.base_url.port}/", Browser()
        try:
            guest.open(base + game["link"].partition("//")[2].partition("/")[2])
            guest.see(".status", "Red rolls")
            assert links(guest) == {"#/play", "#/rules?game=dice-nim"}
            for address in ("", "#/play", "#/library", "#/watch", "#/analyse", f"#/review/{game['id']}"):
                guest.open(base + address)
                wait_for(lambda: guest.driver.current_url.endswith(own), f"the game in place of {address}")
                guest.see(".status", "Red rolls")
            guest.click(".buttons a", "Rules")
            guest.see(".rules h1")
            assert links(guest) == {"#/play"}
            guest.click(".rules a.primary", "Play")
            guest.click("button", "Resign")
            guest.click("dialog button.danger", "Resign")
            guest.see(".status", "You lost: you resigned")
            assert links(guest) == {"#/play", "#/rules?game=dice-nim"}
            assert "review" not in guest.see("main").text.lower()
            guest.open(f"{base}#/play/no-such-game")
            guest.see(".status", "You lost: you resigned")
            assert guest.violations() == []
            browser.open(f"{base}?token={TOKEN}")
            browser.see("nav a", "Library")
            assert {"#/analyse", "#/library", "#/watch"} < links(browser)
            assert browser.complaints() == guest.complaints() == []
        finally:
            browser.open("about:blank")
            guest.driver.quit()


def test_two_devices_play_by_link(browser: Browser, tmp_path: Path) -> None:
    with reachable(tmp_path) as owner:
        base, other = f"http://127.0.0.1:{owner.base_url.port}/", Browser()
        try:
            browser.open(f"{base}?token={TOKEN}")
            browser.choose("#game", "dice-nim")
            browser.choose("#strength", "link")
            browser.choose("#clock", "5+3")
            browser.click("button.primary", "Start")
            link = str(browser.see(".invitation input").get_property("value"))
            assert browser.violations() == []
            id = browser.driver.current_url.rpartition("/")[2]
            other.open(base + link.partition("//")[2].partition("/")[2])
            wait_for(lambda: not browser.all(".invitation"), "the other device")
            for page, own, rival in ((browser, "Red", "Blue"), (other, "Blue", "Red")):
                page.see(".player-line .clock", ":")
                assert [own in line.text for line in page.all(".player-line")] == [False, True]
                assert [rival in line.text for line in page.all(".player-line")] == [True, False]
                assert not [one for one in page.all("button") if page.text(one) == "Hint"]
            other.see(".status", "Red rolls")
            for _ in range(2):
                turn(browser, owner, f"/api/games/{id}")
                other.see(".status", "Your roll")  # without a click
                turn(other, owner, f"/api/games/{id}")
                browser.see(".status", "Your roll")
            assert other.violations() == []
            other.click("button", "Resign")
            other.click("dialog button.danger", "Resign")
            browser.see(".status", "You won: Blue resigned")
            other.see(".status", "You lost: you resigned")
            assert browser.complaints() == other.complaints() == []
        finally:
            browser.open("about:blank")  # a page that waits would complain about the end of the server
            other.driver.quit()


def announced(page: Browser) -> str:
    """Return what a screen reader has been told last."""
    return str(page.driver.execute_script("return document.getElementById('announcer').textContent"))


def test_both_devices_move_to_the_rematch(browser: Browser, tmp_path: Path) -> None:
    with reachable(tmp_path) as owner:
        game = begin(owner, **WITH_LINK, clock="5+3")
        base, guest = f"http://127.0.0.1:{owner.base_url.port}/", Browser()

        def rematch_of(id: str) -> str:
            path = f"/api/games/{id}"
            return str(wait_for(lambda: owner.get(path).json()["rematch"], "the rematch"))

        def see_game(page: Browser, id: str) -> None:
            wait_for(lambda: page.driver.current_url.endswith(f"#/play/{id}"), "the address of the game")

        try:
            browser.open(f"{base}?token={TOKEN}")
            browser.open(f"{base}#/play/{game['id']}")
            guest.open(base + game["link"].partition("//")[2].partition("/")[2])
            guest.see(".status", "Red rolls")
            before = game["id"]
            for loser, winner in ((guest, browser), (browser, guest)):  # Blue loses twice
                loser.click("button", "Resign")
                loser.click("dialog button.danger", "Resign")
                winner.see(".status", "You won")
                loser.click(".buttons button", "Rematch")
                loser.see(".status-more", "Waiting for Red to accept the rematch.")
                assert not loser.see(".buttons button", "Rematch offered").is_enabled()
                winner.see(".status-more", "Blue offers a rematch.")
                wait_for(lambda page=winner: "Blue offers a rematch." in announced(page), "the announcement")
                assert winner.violations() == loser.violations() == []
                winner.click(".buttons button", "Accept rematch")
                before = rematch_of(before)
                for page in (winner, loser):
                    see_game(page, before)
                loser.see(".status", "Your roll")  # sides are swapped, and Red begins
                winner.see(".status", "Red rolls")
                wait_for(lambda: not browser.all(".invitation"), "the other device")
                browser.see(".clock", ":")
            guest.open(f"{base}#/play/{game['id']}")  # a bookmark of the first game
            see_game(guest, before)
            guest.see(".player-line .clock", ":")
            browser.open(f"{base}#/play/{game['id']}")
            browser.see(".status", "You won")
            browser.click(".buttons a", "Next game")
            see_game(browser, rematch_of(game["id"]))
            browser.see(".status", "You lost")
            assert browser.complaints() == guest.complaints() == []
        finally:
            browser.open("about:blank")
            guest.driver.quit()

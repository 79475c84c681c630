"""Positions that are pasted or set up by hand, in a real Chromium."""

from collections.abc import Iterator

import pytest

from .browsing import Browser, Server, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
FEW = "AB3/C4/5/4c/3ba 1 -"  # few pieces, far from each other
WON = "1c3/5/5/3A1/5 1 2"  # d2e1 wins for MAX; no other move does


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def test_pasted_position_is_analysed(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn")
    browser.see(".cell")
    browser.write("#position", WON)
    browser.click("button", "Show")
    best = browser.see(".moves-table tbody tr", "best")
    assert "d2e1" in best.text
    assert "100.0%" in best.text
    assert "exact" in best.text
    assert len(browser.all(".moves-table tbody tr")) == 3
    assert "100.0%" in browser.see(".win-bar", "100.0%").text
    browser.write("#position", FEW)
    browser.click("button", "Show")
    browser.see(".rolls li")
    assert len(browser.all(".rolls li")) == 6
    browser.click("button", "Stop")
    browser.click("button", "Continue")
    browser.click("[aria-label='Die: 3']")
    browser.see(".status", "Red to move, die 3")


def test_position_can_be_set_up_on_the_board(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+-")
    browser.click("button", "Set up board")
    browser.click("button", "Clear board")
    assert "over" in browser.see(".message").text or "both" in browser.see(".message").text
    for piece, cell in (("Red 1", "d2"), ("Blue 3", "b5")):
        browser.click(f"[aria-label='{piece}']")
        browser.click(f"[data-name='{cell}']")
    browser.click("[aria-label='Die: 2']")
    assert browser.see("#draft").get_attribute("value") == WON
    browser.click("button.primary", "Analyse")
    assert "d2e1" in browser.see(".moves-table tbody tr", "best").text


def test_invalid_position_shows_a_message(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn")
    browser.see(".cell")
    browser.write("#position", "AB3/C4/5/4c/3bb 1 -")
    browser.click("button", "Show")
    assert "stands on the board twice" in browser.see(".message").text
    browser.write("#position", FEW)
    browser.click("button", "Show")
    browser.see(".cell")
    assert not browser.all(".message")

"""The pages in German, in a real Chromium."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from .browsing import Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

GOAL = "5/5/5/1b1A1/5 1 -"  # Red wins with any roll
# Everything that a person sees, reads with a screen reader, or gets as a tooltip.
TEXTS = """
let seen = document.body.innerText;
for (const code of document.querySelectorAll("code, .mono")) seen = seen.replace(code.textContent, "");
const texts = [document.title, seen, document.getElementById("announcer").textContent];
for (const element of document.querySelectorAll("*")) {
  if (element.closest("#language, .mono, code")) continue;
  const names = ["aria-label", "title", "placeholder", "alt"];
  texts.push(...names.map((name) => element.getAttribute(name) ?? ""));
  if (element.classList.contains("hidden")) texts.push(element.textContent);
}
return texts.join(" \\n");
"""
NOTATION = {"off", "official"}  # a move of backgammon, and the name of a network
WIDTH = "return document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def english_again(browser: Browser) -> Iterator[None]:
    yield
    browser.driver.execute_script("localStorage.clear()")


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-zäöüß]{3,}", text.lower()))


def english_words(catalogue: dict[str, Any]) -> set[str]:
    """Return the words of the English sentences that no German sentence has."""
    entries = {**catalogue["pages"], **catalogue["answers"]}
    return words(" ".join(entries)) - words(" ".join(map(str, entries.values()))) - NOTATION


def in_german(browser: Browser, server: Server, address: str = "") -> None:
    browser.open(server.url)
    browser.driver.execute_script("localStorage.setItem('dicent.language', '\"de\"')")
    browser.open(server.url + address)


def check(browser: Browser, english: set[str], what: str) -> None:
    """Check that the page has no English word, and fits a phone."""
    found = words(browser.driver.execute_script(TEXTS)) & english
    assert not found, f"{what} is not translated: {sorted(found)}"
    wide = browser.driver.execute_script(WIDTH)
    assert wide <= 390, f"{what} is {wide} pixels wide on a phone of 390"


def test_a_whole_game_runs_in_german_without_an_english_word(browser: Browser, server: Server) -> None:
    english = english_words(server.get("api/catalogue?language=de"))
    assert len(english) > 300
    browser.look(390, 844)
    in_german(browser, server)
    browser.see("h1", "Neue Partie")
    assert browser.driver.execute_script("return document.documentElement.lang") == "de"
    browser.click("summary", "Regeln und Aufstellung")
    check(browser, english, "the start page")
    browser.click("a", "So wird gespielt")
    browser.see(".rules h2", "Wenn die gewürfelte Zahl fehlt")
    check(browser, english, "the rules")
    id = server.begin(position=GOAL, rival="steady")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".to-roll", "Würfeln")
    browser.see(".guide", "Würfle.")
    check(browser, english, "the game before a roll")
    browser.write("#typed", "d2e1")
    browser.click(".to-roll")
    browser.see(".cell.movable")
    check(browser, english, "the game before a move")
    browser.write("#typed", "d2d3")
    browser.click(".typed button")
    browser.see(".message", "nicht möglich")
    check(browser, english, "a move that is refused")
    browser.click("button", "Tipp")
    browser.see(".status-more", "Tipp: d2")
    browser.click(".cell[data-name='e1']")
    browser.see(".status", "Du hast gewonnen: Rot hat e1 erreicht")
    check(browser, english, "the end of the game")
    browser.click("a", "Auswertung")
    browser.click("button.primary", "Diese Partie auswerten")
    browser.see(".verdict", "Rot hat gewonnen.")
    check(browser, english, "the review")
    browser.open(f"{server.url}#/library")
    browser.see(".game-row", "Rot gewinnt")
    browser.click("summary", "Statistik")
    browser.see(".statistics")
    check(browser, english, "the library")
    browser.click("button", "Partien importieren")
    browser.see("dialog")
    check(browser, english, "the import")
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("address", "selector"),
    [
        ("#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+2", ".rolls li"),
        ("#/analyse?game=hypergammon&position=-AA---------------------a-+1+21", ".moves-table .exact"),
        ("#/rules?game=backgammon", ".rules .board"),
        ("#/rules?game=ur", ".rules .board"),
        ("#/rules?game=pig", ".rules .board"),
        ("#/watch", ".watch"),
    ],
)
def test_other_pages_are_german_too(browser: Browser, server: Server, address: str, selector: str) -> None:
    english = english_words(server.get("api/catalogue?language=de"))
    browser.look(390, 844)
    in_german(browser, server, address)
    browser.see(selector)
    check(browser, english, address)
    assert browser.violations() == []


def test_language_is_the_browsers_until_one_is_chosen(browser: Browser, server: Server) -> None:
    agent = browser.driver.execute_script("return navigator.userAgent")
    override = {"userAgent": agent, "acceptLanguage": "de-AT,de"}
    browser.driver.execute_cdp_cmd("Network.setUserAgentOverride", override)
    try:
        browser.open(server.url)
        browser.see("h1", "Neue Partie")
        browser.choose("#language", "en")
        browser.see("h1", "New game")
        browser.open(server.url)
        browser.see("h1", "New game")
        assert browser.driver.execute_script("return document.documentElement.lang") == "en"
    finally:
        browser.driver.execute_cdp_cmd(
            "Network.setUserAgentOverride", {**override, "acceptLanguage": "en-US"}
        )
    browser.choose("#language", "de")
    wait_for(lambda: browser.all("h1") and browser.see("h1").text == "Neue Partie", "the other language")
